#if Postgres
  import Dispatch
  import Foundation
  import HearthEngine

  /// The connection that writes. One thread at a time, and in the pauses of this one a timer.
  ///
  /// The server ends a transaction in which nothing is sent for five seconds: its process hangs, or its
  /// machine is gone, and others wait for the lock. A process that is busy, with a large cascade or in a
  /// user's closure, sends something now and then, for `longestTransaction`.
  final class PostgresWriting: RemoteWriting, @unchecked Sendable {
    // Unchecked: `use` is held by whoever touches what may change.

    private let url: String
    private let channel: String
    private let use = NSLock()
    private var connection: PostgresConnection?
    private var isInTransaction = false
    private var begun = ContinuousClock.now
    private let timer = DispatchSource.makeTimerSource(
      queue: DispatchQueue(label: "hearth.postgres.alive"))

    /// How long it is tried to find out what became of a commit, in seconds.
    private static let patience = 30.0
    private static let longestTransaction = Duration.seconds(30)
    /// In seconds.
    private static let longestRepair = 86_400.0

    init(_ url: String, _ connection: PostgresConnection, _ channel: String) {
      self.url = url
      self.connection = connection
      self.channel = channel
      timer.schedule(deadline: .now() + 2, repeating: 2, leeway: .milliseconds(200))
      timer.setEventHandler { [weak self] in self?.keepAlive() }
      timer.activate()
    }

    deinit { timer.cancel() }

    private func keepAlive() {
      // In use, it is alive.
      guard use.try() else { return }
      defer { use.unlock() }
      guard isInTransaction, ContinuousClock.now - begun < Self.longestTransaction else { return }
      // The next statement reports what fails.
      _ = try? run(["SELECT"])
    }

    /// Undoes what is not committed.
    func end() {
      use.lock()
      defer { use.unlock() }
      guard isInTransaction else { return }
      isInTransaction = false
      do throws(PostgresFailure) {
        _ = try connection?.run(["ROLLBACK"])
      } catch {
        connection = nil
      }
    }

    func close() {
      timer.cancel()
      use.withLock { connection = nil }
    }

    private func opened() throws(PostgresFailure) -> PostgresConnection {
      if let connection { return connection }
      let made = try PostgresConnection.forWriting(url)
      connection = made
      return made
    }

    /// Runs statements in the transaction; a connection that fails is given up, and with it the lock.
    private func run(_ statements: [PostgresStatement]) throws(Status) -> [PostgresRows] {
      let connection = try locked()
      do throws(PostgresFailure) { return try connection.run(statements) } catch {
        if error.isOfConnection {
          self.connection = nil
          isInTransaction = false
        }
        throw error.status
      }
    }

    /// The connection that has the lock. Throws if it was lost since: then others may have written.
    private func locked() throws(Status) -> PostgresConnection {
      guard isInTransaction, let connection else {
        throw Status(
          .unavailable,
          "The connection to PostgreSQL was lost before the commit. Nothing was applied.")
      }
      return connection
    }

    /// Each statement sees what was committed before it.
    private static let begin = PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED")

    func lock(_ request: RemoteRead) throws(Status) -> RemoteAnswer {
      let queries = PostgresQueries(request, locks: true)
      use.lock()
      defer { use.unlock() }
      do throws(PostgresFailure) { _ = try opened() } catch { throw error.status }
      isInTransaction = true
      begun = .now
      let rows = try run([Self.begin] + queries.statements)
      return try queries.answer(Array(rows.dropFirst()))
    }

    func read(_ request: RemoteRead) throws(Status) -> RemoteAnswer {
      let queries = PostgresQueries(request)
      use.lock()
      defer { use.unlock() }
      return try queries.answer(run(queries.statements))
    }

    func commit(_ batch: RemoteBatch) throws(Status) {
      let statements = PostgresBatch(batch).statements
      use.lock()
      defer { use.unlock() }
      _ = try locked()
      isInTransaction = false
      _ = try finish(statements, [batch.id], notifies: batch.isNews)
    }

    func commit(_ batch: RemoteBlindBatch) throws(Status) -> [RemoteBlindAnswer?] {
      let blind = PostgresBlindBatch(batch)
      use.lock()
      defer { use.unlock() }
      do throws(PostgresFailure) { _ = try opened() } catch { throw error.status }
      switch try finish([Self.begin] + blind.statements, blind.ids) {
      case .answered(let rows):
        // After the beginning.
        return try blind.answer(rows.dropFirst())
      case .applied(let answers): return try blind.answer(answers)
      }
    }

    func look(_ request: RemoteRead) throws(Status) -> RemoteAnswer {
      let queries = PostgresQueries(request)
      return try queries.answer(runUnlocked(queries.statements))
    }

    func removeOldCommitIDs() throws(Status) -> Bool {
      let rows = try runUnlocked([PostgresStatement(PostgresSchema.oldCommitIDs)])
      return rows.first?.count == PostgresSchema.oldCommitCount
    }

    func times(upTo now: Int64) throws(Status) -> (kept: Int64, newest: Int64) {
      let statement = PostgresStatement(PostgresSchema.storedTimes, [.integer(now)])
      use.lock()
      defer { use.unlock() }
      let connection = try locked()
      // Every document is read.
      connection.patience = Self.longestRepair
      defer { connection.patience = PostgresConnection.longPatience }
      let rows = try run([statement])
      return (rows.first?.integer(0, 0) ?? 0, rows.first?.integer(0, 1) ?? 0)
    }

    func commit(_ repair: TimeRepair, id: [UInt8]) throws(Status) -> Int {
      let times = [repair.now, repair.kept, repair.newest].map { PostgresParameter.integer($0) }
      let statements = [
        PostgresStatement(PostgresSchema.documentTimeRepair, times),
        "DELETE FROM hearth_log",
        PostgresStatement(PostgresSchema.storeTimeRepair, times),
        PostgresStatement(
          "INSERT INTO hearth_commits (id, is_refused) VALUES ($1::bytea, false)", [.bytes(id)]),
      ]
      use.lock()
      defer { use.unlock() }
      let connection = try locked()
      // Every document may be rewritten.
      connection.patience = Self.longestRepair
      defer { connection.patience = PostgresConnection.longPatience }
      isInTransaction = false
      // If the answer was lost, their number is unknown.
      guard case .answered(let rows) = try finish(statements, [id]) else { return 0 }
      return Int(clamping: rows.first?.integer(0, 0) ?? 0)
    }

    private func runUnlocked(_ statements: [PostgresStatement]) throws(Status) -> [PostgresRows] {
      use.lock()
      defer { use.unlock() }
      do throws(PostgresFailure) { return try opened().run(statements) } catch {
        if error.isOfConnection { connection = nil }
        throw error.status
      }
    }

    private enum Outcome {
      case answered([PostgresRows])
      /// The answer was lost; those that the commits themselves hold, by their ids.
      case applied([[UInt8]: [UInt8]])
    }

    /// Runs statements and commits.
    ///
    /// - Parameters:
    ///   - ids: The commit's, and those of its parts.
    ///   - notifies: Others may have to read what has changed.
    private func finish(
      _ statements: [PostgresStatement], _ ids: [[UInt8]], notifies: Bool = true
    ) throws(Status) -> Outcome {
      do throws(PostgresFailure) {
        let connection = try opened()
        var outcome: Result<[PostgresRows], PostgresFailure> = .success([])
        // The notification is apart: in the commit it would hold a lock of the whole server. It need
        // not be durable, and nobody waits for it.
        let notification = PostgresStatement(
          """
          SELECT set_config('synchronous_commit', 'off', true), pg_notify('\(channel)', '')
          """)
        try connection.run(
          [statements + ["COMMIT"]], last: notifies ? [notification] : nil
        ) { outcome = $1 }
        if case .failure = outcome { isInTransaction = true }
        return .answered(try outcome.get())
      } catch {
        guard error.isOfConnection else { throw error.status }
        self.connection = nil
        isInTransaction = false
        return .applied(try resolve(ids, error))
      }
    }

    /// Finds out whether a commit was applied; if not, it never will be. Throws `unavailable` then,
    /// and if that cannot be found out, a status with `mayBeDone`.
    private func resolve(
      _ ids: [[UInt8]], _ failure: PostgresFailure
    ) throws(Status) -> [[UInt8]: [UInt8]] {
      let deadline = Date(timeIntervalSinceNow: Self.patience)
      var pause = 0.01
      while true {
        do throws(PostgresFailure) {
          if let answers = try refuse(ids, until: deadline) { return answers }
          throw failure
        } catch {
          // The answer: it was not applied.
          if connection != nil { throw failure.status }
        }
        guard Date() < deadline else {
          var status = Status(
            .unavailable,
            "The connection to PostgreSQL was lost during a commit, which may have been applied.",
            cause: failure)
          status.mayBeDone = true
          throw status
        }
        Thread.sleep(forTimeInterval: pause)
        pause = min(pause * 2, 1)
      }
    }

    /// Refuses a commit for ever, unless it was applied: then returns its answers. Without a
    /// connection after a failure.
    private func refuse(
      _ ids: [[UInt8]], until deadline: Date
    ) throws(PostgresFailure) -> [[UInt8]: [UInt8]]? {
      do throws(PostgresFailure) {
        let connection = try opened()
        connection.patience = max(1, deadline.timeIntervalSinceNow)
        defer { connection.patience = PostgresConnection.longPatience }
        // Waits for the commit, if the server still has it. Writes in any case: what was committed on
        // this server alone, before its synchronous replica had it, then waits for the replica, too.
        _ = try connection.run([
          PostgresStatement(
            """
            INSERT INTO hearth_commits (id, is_refused) VALUES ($1::bytea, true)
            ON CONFLICT (id) DO UPDATE SET made = excluded.made
            """, [.bytes(ids[0])])
        ])
        let rows = try connection.run([
          PostgresStatement(
            """
            SELECT id, answer FROM hearth_commits WHERE id = ANY($1::bytea[]) AND NOT is_refused
            """, [.array(ids)])
        ])
        guard let rows = rows.first else { return nil }
        var answers: [[UInt8]: [UInt8]] = [:]
        var isApplied = false
        for row in 0..<rows.count {
          guard let id = rows.bytes(row, 0) else { continue }
          if id == ids[0] { isApplied = true }
          answers[id] = rows.bytes(row, 1)
        }
        return isApplied ? answers : nil
      } catch {
        connection = nil
        throw error
      }
    }
  }

  /// A batch as statements.
  private struct PostgresBatch {
    private(set) var statements: [PostgresStatement] = []

    private typealias Change = (key: RemoteKey, change: LoggedChange)

    init(_ batch: RemoteBatch) {
      add(
        "INSERT INTO hearth_commits (id, is_refused) VALUES ($1::bytea, false)", [.bytes(batch.id)])
      let changes = batch.changes.map { (key: RemoteKey($0.path), change: $0) }
      addDocuments(changes)
      addEntries(batch)
      addIndexes(batch.indexes)
      if let sequence = batch.trimsThrough {
        add(
          """
          WITH trimmed AS (DELETE FROM hearth_log WHERE sequence <= $1::bigint RETURNING size)
          UPDATE hearth_store
          SET logged_bytes = logged_bytes - (SELECT coalesce(sum(size), 0) FROM trimmed)
          """, [.integer(sequence)])
      }
      addLog(changes, batch.record)
    }

    private mutating func add(_ text: String, _ parameters: [PostgresParameter]) {
      statements.append(PostgresStatement(text, parameters))
    }

    private mutating func addDocuments(_ changes: [Change]) {
      // The last version of each.
      var last: [[UInt8]: Int] = [:]
      for (position, change) in changes.enumerated() { last[change.key.name] = position }
      let newest = changes.indices.filter { last[changes[$0].key.name] == $0 }.map { changes[$0] }
      let deleted = newest.filter { $0.change.after == nil }
      if !deleted.isEmpty {
        add(
          """
          DELETE FROM hearth_documents d USING unnest($1::bytea[], $2::bytea[]) AS k(c, i)
          WHERE d.collection = hearth_key(k.c, 1000) AND d.id = hearth_key(k.i, 1600)
          """, PostgresParameter.keys(deleted.map(\.key)))
      }
      let stored = newest.filter { $0.change.after != nil }
      guard !stored.isEmpty else { return }
      let versions = stored.map(\.change.after)
      add(
        """
        INSERT INTO hearth_documents
        SELECT hearth_key(c, 1000), hearth_key(i, 1600), g, n, s, cr, up, b FROM unnest(
          $1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[],
          $7::bigint[], $8::bytea[]) AS t(c, i, g, n, s, cr, up, b)
        ON CONFLICT (collection, id) DO UPDATE SET sequence = excluded.sequence,
          created = excluded.created, updated = excluded.updated, body = excluded.body
        """,
        PostgresParameter.keys(stored.map(\.key)) + [
          .array(stored.map(\.key.collectionID)), .array(stored.map(\.key.name)),
          .array(versions.map { $0?.sequence }),
        ] + Self.columns(versions))
    }

    /// The times and the bodies.
    private static func columns(_ versions: [StoredDocument?]) -> [PostgresParameter] {
      [
        .array(versions.map { $0?.createTime.microseconds }),
        .array(versions.map { $0?.updateTime.microseconds }),
        .array(versions.map { $0?.body.bytes }),
      ]
    }

    /// The log, and the record of the store.
    private mutating func addLog(_ changes: [Change], _ record: RemoteRecord) {
      let update = """
        UPDATE hearth_store SET sequence = $1::bigint, time = $2::bigint, first_logged = $3::bigint,
          trimmed_time = $4::bigint, generation = $5::bigint, read_time = $6::bigint
        """
      let numbers: [PostgresParameter] = [
        .integer(record.sequence), .integer(record.time), .integer(record.firstLogged),
        .integer(record.trimmedTime), .integer(record.generation), .integer(record.readTime),
      ]
      guard !changes.isEmpty else { return add(update, numbers) }
      let (keys, logged) = (changes.map(\.key), changes.map(\.change))
      let before = logged.map(\.before)
      add(
        """
        WITH logged AS (
          INSERT INTO hearth_log
          SELECT s, t, e, hearth_key(c, 1000), hearth_key(i, 1600), g, n, os, oc, ou, ob, nc, nu,
            nb
          FROM unnest(
            $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bigint[], $12::bigint[],
            $13::boolean[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bytea[],
            $18::bigint[], $19::bigint[], $20::bytea[])
            AS l(c, i, g, n, s, t, e, os, oc, ou, ob, nc, nu, nb)
          RETURNING size)
        \(update), logged_bytes = logged_bytes + (SELECT sum(size) FROM logged)
        """,
        numbers + PostgresParameter.keys(keys) + [
          .array(keys.map(\.collectionID)), .array(keys.map(\.name)),
          .array(logged.map(\.sequence)), .array(logged.map(\.commitTime.microseconds)),
          .array(logged.map(\.endsCommit)), .array(before.map { $0?.sequence }),
        ] + Self.columns(before) + Self.columns(logged.map(\.after)))
    }

    private mutating func addEntries(_ batch: RemoteBatch) {
      // Added and removed again in one batch, an entry is as it was.
      let net = batch.netEntries
      if !net.removed.isEmpty {
        add(
          """
          DELETE FROM hearth_entries e USING unnest($1::bigint[], $2::bytea[]) AS r(n, k)
          WHERE e.number = r.n AND e.key = hearth_key(r.k, 2500)
          """, [.array(net.removed.map(\.index)), .array(net.removed.map(\.key))])
      }
      guard !net.added.isEmpty else { return }
      add(
        """
        INSERT INTO hearth_entries
        SELECT n, hearth_key(k, 2500), hearth_key(c, 1000), hearth_key(i, 1600)
        FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bytea[]) AS a(c, i, n, k)
        ON CONFLICT (number, key) DO NOTHING
        """,
        PostgresParameter.keys(net.added.map(\.document)) + [
          .array(net.added.map(\.index)), .array(net.added.map(\.key)),
        ])
    }

    private mutating func addIndexes(_ indexes: [UInt32: [UInt8]?]) {
      for (number, record) in indexes.sorted(by: { $0.key < $1.key }) {
        let number = PostgresParameter.integer(number)
        guard let record else {
          add("DELETE FROM hearth_indexes WHERE number = $1::bigint", [number])
          add("DELETE FROM hearth_entries WHERE number = $1::bigint", [number])
          continue
        }
        add(
          """
          INSERT INTO hearth_indexes VALUES ($1::bigint, $2::bytea)
          ON CONFLICT (number) DO UPDATE SET record = excluded.record
          """, [number, .bytes(record)])
      }
    }
  }
#endif
