#if Postgres
  import DequeModule
  import Dispatch
  import Foundation
  import HearthEngine
  import Logging

  /// The tables of a PostgreSQL server, for `RemoteBackend`.
  ///
  ///     reads    threads with a connection each: all that wait are sent together
  ///     writes   one connection, whose transactions hold the lock of `hearth_store`
  ///     signals  one connection that listens for `NOTIFY`, and looks once a second if none comes
  ///
  /// A connection that fails is replaced; requests are sent again, except for a commit.
  package final class PostgresStore: Sendable {
    private struct Job: Sendable {
      var request: RemoteRead
      var done: Completion<RemoteAnswer>
      /// From then on a failure ends it.
      let deadline = ContinuousClock.now + PostgresStore.patience
    }

    private struct Shared {
      var jobs: Deque<Job> = []
      /// Threads that read and have something to do.
      var busy = 0
      var threads = 0
      var isClosed = false
    }

    package let name: String
    package let retention: ChangeLogRetention
    package let isReadOnly: Bool
    private let url: String
    private let logger: Logger
    private let shared = Guarded(Shared())
    private let work = DispatchSemaphore(value: 0)
    private let threads = DispatchGroup()
    /// Nil if the store is only read.
    private let writing: PostgresWriting?
    private let turn = DispatchSemaphore(value: 1)
    private let feed: PostgresFeed

    private static let readers = 4
    /// Reads that may wait for a connection.
    static let waitingReads = 20_000
    /// How long a read is tried again.
    private static let patience = Duration.seconds(15)

    /// Connects, and makes the tables if there are none. Blocks.
    ///
    /// - Parameters:
    ///   - url: As libpq takes it: `postgresql://user@host:5432/database?sslmode=require`.
    ///   - isReadOnly: Makes and upgrades nothing: a role with `SELECT` alone suffices.
    package init(
      _ url: String, retention: ChangeLogRetention, isReadOnly: Bool = false, logger: Logger
    ) throws(Status) {
      self.isReadOnly = isReadOnly
      self.url = url
      self.retention = retention
      self.logger = logger
      name = Self.withoutCredentials(url)
      do throws(PostgresFailure) {
        if isReadOnly {
          try PostgresConnection.forReading(url, isReadOnly: true).checkTables()
          writing = nil
        } else {
          let connection = try PostgresConnection.forWriting(url)
          try connection.prepareTables()
          writing = PostgresWriting(url, connection, try connection.channel())
        }
      } catch {
        throw error.status
      }
      feed = PostgresFeed(url, isReadOnly: isReadOnly, logger)
    }

    private static func withoutCredentials(_ url: String) -> String {
      guard var parts = URLComponents(string: url) else { return "postgresql" }
      parts.password = nil
      parts.queryItems = parts.queryItems?.filter { !$0.name.hasSuffix("password") }
      return parts.string ?? "postgresql"
    }

    /// Removes a schema with everything in it, and makes an empty one. For tests.
    package static func makeSchema(_ schema: String, at url: String) throws(Status) {
      do throws(PostgresFailure) {
        let connection = try PostgresConnection.forWriting(url)
        _ = try connection.run(["DROP SCHEMA IF EXISTS \(schema) CASCADE"])
        _ = try connection.run(["CREATE SCHEMA \(schema)"])
      } catch {
        throw error.status
      }
    }

    // MARK: Reading

    private func startThread() {
      threads.enter()
      let thread = Thread { [self] in
        serve()
        threads.leave()
      }
      thread.name = "hearth.postgres.read"
      thread.start()
    }

    /// On a thread of its own: sends what waits, until the store is closed.
    private func serve() {
      var connection: PostgresConnection?
      while true {
        work.wait()
        let (jobs, isClosed) = shared.withLock { shared in
          // The threads that have nothing to do share the jobs.
          let idle = max(Self.readers - shared.busy, 1)
          let count = min((shared.jobs.count + idle - 1) / idle, 64)
          let jobs = Array(shared.jobs.prefix(count))
          shared.jobs.removeFirst(jobs.count)
          if !jobs.isEmpty { shared.busy += 1 }
          return (jobs, shared.isClosed)
        }
        if !jobs.isEmpty {
          answer(jobs, &connection)
          shared.withLock { $0.busy -= 1 }
        } else if isClosed {
          return
        }
      }
    }

    private func answer(_ jobs: [Job], _ connection: inout PostgresConnection?) {
      let queries = jobs.map { PostgresQueries($0.request) }
      var isAnswered = jobs.map { _ in false }
      var pause = 0.01
      while true {
        let open = jobs.indices.filter { !isAnswered[$0] }
        if open.isEmpty { return }
        do throws(PostgresFailure) {
          let current: PostgresConnection
          if let connection {
            current = connection
          } else {
            current = try PostgresConnection.forReading(url, isReadOnly: isReadOnly)
            connection = current
          }
          try current.run(open.map { queries[$0].statements }) { position, result in
            let number = open[position]
            if case .failure(let failure) = result, failure.isContention,
              ContinuousClock.now < jobs[number].deadline
            {
              return
            }
            isAnswered[number] = true
            jobs[number].done(
              Result { () throws(Status) in
                switch result {
                case .success(let rows): return try queries[number].answer(rows)
                case .failure(let failure): throw failure.status
                }
              })
          }
          // Another attempt of those that were in another one's way.
          if isAnswered.contains(false) { Thread.sleep(forTimeInterval: 0.005) }
        } catch {
          connection = nil
          let mayRepeat = !error.isRefusedLogin && !shared.withLock(\.isClosed)
          let now = ContinuousClock.now
          for number in open where !isAnswered[number] {
            if mayRepeat, now < jobs[number].deadline { continue }
            isAnswered[number] = true
            jobs[number].done(.failure(error.status))
          }
          failWaiting(before: now, error.status)
          guard isAnswered.contains(false) else { return }
          logger.warning("Reading is tried again.", metadata: ["error": "\(error.message)"])
          Thread.sleep(forTimeInterval: pause)
          pause = min(pause * 2, 1)
        }
      }
    }
  }

  extension PostgresStore {
    /// Those that have waited for too long do not wait until it is their turn to fail.
    private func failWaiting(before now: ContinuousClock.Instant, _ status: Status) {
      let late = shared.withLock { shared in
        // In the order of their deadlines.
        let count = shared.jobs.firstIndex { now < $0.deadline } ?? shared.jobs.count
        defer { shared.jobs.removeFirst(count) }
        return Array(shared.jobs.prefix(count))
      }
      for job in late { job.done(.failure(status)) }
    }
  }

  extension PostgresStore: RemoteStore {
    private static let tooManyReads = Status(
      .resourceExhausted, "\(waitingReads) reads wait for PostgreSQL already. Try again later.")

    package func read(_ request: RemoteRead, _ done: @escaping Completion<RemoteAnswer>) {
      let (refusal, mustStart): (Status?, Bool) = shared.withLock { shared in
        if shared.isClosed { return (.terminated, false) }
        guard shared.jobs.count < Self.waitingReads else { return (Self.tooManyReads, false) }
        shared.jobs.append(Job(request: request, done: done))
        let mustStart =
          shared.threads < Self.readers && shared.jobs.count > shared.threads - shared.busy
        if mustStart { shared.threads += 1 }
        return (nil, mustStart)
      }
      if let refusal { return done(.failure(refusal)) }
      if mustStart { startThread() }
      work.signal()
    }

    package func write<Answer>(
      _ body: (any RemoteWriting) throws(Status) -> Answer
    ) throws(Status) -> Answer {
      turn.wait()
      defer { turn.signal() }
      if shared.withLock(\.isClosed) { throw .terminated }
      guard let writing else { throw .openForReading }
      defer { writing.end() }
      return try body(writing)
    }

    package func readAlone<Answer>(
      _ body: (_ read: (RemoteRead) throws(Status) -> RemoteAnswer) throws(Status) -> Answer
    ) throws(Status) -> Answer? {
      func run(
        _ statements: [PostgresStatement], _ connection: PostgresConnection
      ) throws(Status) -> [PostgresRows] {
        if shared.withLock(\.isClosed) { throw .terminated }
        do throws(PostgresFailure) { return try connection.run(statements) } catch {
          throw error.status
        }
      }
      let connection: PostgresConnection
      do throws(PostgresFailure) { connection = try .forReading(url, isReadOnly: isReadOnly) } catch
      { throw error.status }
      // A process that hangs does not stop the others.
      _ = try run(
        ["SET idle_in_transaction_session_timeout = '60s'"], connection)
      let rows = try run(
        [
          "BEGIN ISOLATION LEVEL REPEATABLE READ",
          """
          SELECT pg_try_advisory_xact_lock(
            hashtext('hearth alone'), hashtext(current_schema()))
          """,
        ], connection)
      guard rows.last?.isTrue(0, 0) == true else { return nil }
      // At once, and not when the server notices that the connection is closed.
      defer { _ = try? connection.run(["ROLLBACK"]) }
      return try body { request throws(Status) in
        let queries = PostgresQueries(request)
        return try queries.answer(run(queries.statements, connection))
      }
    }

    package func watch(_ signal: @escaping @Sendable () -> Void) { feed.start(signal) }
    package func stopWatching() { feed.stop() }

    package func close() {
      feed.stop()
      let (jobs, count) = shared.withLock { shared in
        shared.isClosed = true
        let jobs = Array(shared.jobs)
        shared.jobs = []
        return (jobs, shared.threads)
      }
      for job in jobs { job.done(.failure(.terminated)) }
      for _ in 0..<count { work.signal() }
      threads.wait()
      turn.wait()
      writing?.close()
      turn.signal()
    }
  }

  extension PostgresConnection {
    private static let common = [
      ("application_name", "hearth"), ("connect_timeout", "5"), ("tcp_user_timeout", "10000"),
    ]

    /// Of several hosts, the one that writes: a replica may lag behind. A role that only reads may have
    /// transactions that only read by default, and then finds no host that is `read-write`.
    private static func host(isReadOnly: Bool) -> (String, String) {
      ("target_session_attrs", isReadOnly ? "primary" : "read-write")
    }

    /// The first schema of the URL's search path, alone: a database in a later one is another database.
    private static let ownSchema = PostgresStatement(
      """
      SELECT set_config('search_path', quote_ident(current_schema()), false)
      WHERE current_schema() IS NOT NULL
      """)

    /// A scan that is disabled seems expensive enough to be compiled: for milliseconds.
    private static let planning: [PostgresStatement] = [
      "SET enable_seqscan = off", "SET jit = off",
    ]

    private static func open(
      _ url: String, isReadOnly: Bool = false, _ settings: [PostgresStatement]
    ) throws(PostgresFailure) -> PostgresConnection {
      let connection = try PostgresConnection(
        url, defaults: common + [host(isReadOnly: isReadOnly)])
      guard try connection.run([ownSchema] + planning + settings).first?.count == 1 else {
        throw PostgresFailure(
          state: "3F000",
          message: "No schema of the search path exists. Create it, or name another one in the URL."
        )
      }
      return connection
    }

    /// Each group of statements is one transaction on one state.
    ///
    /// - Parameter isReadOnly: Nothing of this process writes.
    static func forReading(
      _ url: String, isReadOnly: Bool = false
    ) throws(PostgresFailure) -> PostgresConnection {
      try open(
        url, isReadOnly: isReadOnly,
        [
          "SET default_transaction_isolation = 'repeatable read'",
          "SET default_transaction_read_only = on",
          "SET statement_timeout = '60s'",
        ])
    }

    static func forWriting(_ url: String) throws(PostgresFailure) -> PostgresConnection {
      try open(
        url,
        [
          // A limit would end a commit's wait for its synchronous replica: the server then acknowledges
          // what the replica does not have.
          "SET statement_timeout = 0",
          "SET lock_timeout = '10s'",
          // Another process waits for the lock, if this one hangs.
          "SET idle_in_transaction_session_timeout = '5s'",
          "SET synchronous_commit = on",
          // The statements of a commit are large, and one plan of each is good for all parameters.
          "SET plan_cache_mode = force_generic_plan",
          "SET work_mem = '32MB'",
        ])
    }

    /// Makes the tables if there are none, and upgrades those of an older format.
    fileprivate func prepareTables() throws(PostgresFailure) {
      _ = try run(["BEGIN"])
      // One process makes them; others wait for it.
      _ = try run([
        "SELECT pg_advisory_xact_lock(hashtext('hearth'), hashtext(current_schema()))"
      ])
      if try !hasTables() {
        for statement in PostgresSchema.creation { _ = try run([PostgresStatement(statement)]) }
      }
      let format = try format()
      guard (1...PostgresSchema.format).contains(format) else { throw Self.newer(format) }
      if format < PostgresSchema.format {
        // In the order of commits: a process of an older version may be writing.
        _ = try run(["SELECT true FROM hearth_store FOR UPDATE"])
      }
      for statement in PostgresSchema.upgrades[Int(format - 1)...].joined() {
        _ = try run([PostgresStatement(statement)])
      }
      for statement in PostgresSchema.originCheck { _ = try run([PostgresStatement(statement)]) }
      _ = try run(["COMMIT"])
    }

    /// Throws unless the tables are there, in the format of this version.
    fileprivate func checkTables() throws(PostgresFailure) {
      guard try hasTables() else {
        throw PostgresFailure(
          state: "3F000",
          message:
            "The schema has no tables of Hearth. Open the database once for writing, which makes "
            + "them.")
      }
      let format = try format()
      if format > PostgresSchema.format { throw Self.newer(format) }
      guard format < PostgresSchema.format else { return }
      throw PostgresFailure(
        state: "0A000",
        message: "The tables have the format \(format). Open the database once for writing, which "
          + "brings them to the format \(PostgresSchema.format).")
    }

    private func hasTables() throws(PostgresFailure) -> Bool {
      let rows = try run([
        "SELECT to_regclass(quote_ident(current_schema()) || '.hearth_store') IS NOT NULL"
      ])
      return rows.first?.isTrue(0, 0) == true
    }

    private func format() throws(PostgresFailure) -> Int64 {
      try run(["SELECT format FROM hearth_store"]).first?.integer(0, 0) ?? 0
    }

    private static func newer(_ format: Int64) -> PostgresFailure {
      PostgresFailure(
        state: "0A000",
        message: "The tables have the format \(format), and this version of Hearth reads "
          + "\(PostgresSchema.format). Use a newer version of Hearth.")
    }

    /// The name of this schema's notifications.
    func channel() throws(PostgresFailure) -> String {
      let rows = try run([
        """
        SELECT ('hearth_' || quote_ident(current_schema())::regnamespace::oid::bigint)::bytea
        """
      ])
      return String(decoding: rows.first?.bytes(0, 0) ?? [], as: UTF8.self)
    }
  }
#endif
