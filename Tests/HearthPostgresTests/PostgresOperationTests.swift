#if Postgres
  import Foundation
  import Logging
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine
  @testable import HearthPostgres

  /// What a service meets in production: outages, large tables, processes that end in the middle, other
  /// databases on the same server.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresOperationTests {
    private func fill(_ db: Firestore, _ collection: String, _ count: Int) async throws {
      for start in stride(from: 0, to: count, by: 400) {
        let batch = db.batch()
        for n in start..<min(start + 400, count) {
          batch.setData(["n": n], forDocument: db.document("\(collection)/\(n)"))
        }
        try await batch.commit()
      }
    }

    private func set(_ path: String, _ n: Int64) throws -> Mutation {
      Mutation(
        path: ResourcePath(relative: path),
        operation: try .set(encoding: MapValue([("n", .integer(n))])))
    }

    private static func open(
      _ url: String, as store: (PostgresStore) -> any RemoteStore = { $0 }
    ) throws -> RemoteBackend {
      let logger = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
      var settings = EmbeddedBackend.Settings()
      settings.store.ttlSweepInterval = nil
      return try RemoteBackend(
        store(
          PostgresStore(
            url, retention: ChangeLogRetention(age: .seconds(3600), limitBytes: 1 << 30),
            logger: logger)), settings, logger: logger)
    }

    // MARK: Outages

    /// What becomes of each verb for 2000 numbers, all at once: how often each outcome came.
    private static func outcomes(
      of verbs: [@Sendable (Int) async throws -> Void]
    ) async -> [String: Int] {
      await withTaskGroup(of: String.self) { group in
        for number in 0..<2000 {
          for verb in verbs {
            group.addTask {
              do {
                try await verb(number)
                return "done"
              } catch FirestoreErrorCode.unavailable {
                return "unavailable"
              } catch {
                return "\(error)"
              }
            }
          }
        }
        return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
      }
    }

    /// However many wait: not one after another.
    @Test func `all writes and reads fail in time while the server is away`() async throws {
      let server = try OwnServer()
      defer { server.stop() }
      // A server that is away refuses connections at once.
      let db = try PostgresServer.open(server.url + "?connect_timeout=60", as: "outage")
      try await db.document("c/first").setData(["n": 0])
      _ = try await db.document("c/first").getDocument()
      #expect(try server.control("kill"))
      // Its connections may answer for a moment.
      while (try? await db.document("c/first").getDocument()) != nil {}
      let began = ContinuousClock.now
      let outcomes = await Self.outcomes(of: [
        { try await db.document("c/\($0)").setData(["n": $0]) },
        { _ = try await db.document("c/\($0)").getDocument() },
      ])
      #expect(outcomes == ["unavailable": 4000])
      #expect(ContinuousClock.now - began < .seconds(120))
      #expect(try server.control("start"))
      try await db.document("c/first").setData(["n": 1])
      #expect(try await db.document("c/first").getDocument()["n"] as? Int == 1)
      try await db.terminate()
    }

    /// The lock of a table stands for a server that is slow.
    @Test(arguments: ["reads", "writes"])
    func `of more calls than may wait, some are refused at once, and all others are done`(
      kind: String
    ) async throws {
      let url = try PostgresServer.newURL()
      let backend = try Self.open(url)
      _ = try await backend.commit([try set("c/first", 0)])
      // What is under way does not wait: four times 64 reads, or 128 writes.
      let (waiting, underWay) = (20_000, 256)
      let count = waiting + 2 * underWay
      // Without tasks: so many begin late on a busy machine, and a lock is waited for only for ten seconds.
      let requests = try (0..<count).map { CommitRequest([try set("c/\($0)", Int64($0))]) }
      let slow = try PostgresConnection.forWriting(url)
      _ = try slow.run([
        PostgresStatement("BEGIN"),
        PostgresStatement("SET LOCAL idle_in_transaction_session_timeout = 0"),
        PostgresStatement("LOCK TABLE hearth_documents, hearth_store IN ACCESS EXCLUSIVE MODE"),
      ])
      let outcomes = Guarded<[String: Int]>([:])
      @Sendable func note<Answer>(_ outcome: Result<Answer, Status>) {
        outcomes.withLock { outcomes in
          switch outcome {
          case .success: outcomes["done", default: 0] += 1
          case .failure(let status): outcomes["\(status.code)", default: 0] += 1
          }
        }
      }
      let first = ReadRequest.documents(at: [ResourcePath(["c", "first"])])
      for request in requests {
        if kind == "writes" {
          backend.commit(request, .busy) { note($0) }
        } else {
          backend.read(first, .lent) { outcome in
            if case .success(let found) = outcome {
              #expect((try? found.answer.documents[0]) != nil)
            }
            note(outcome)
          }
        }
      }
      try await eventually { outcomes.withLock { $0["resourceExhausted"] ?? 0 } >= underWay }
      _ = try slow.run([PostgresStatement("COMMIT")])
      try await eventually { outcomes.withLock { $0.values.reduce(0, +) } == count }
      let found = outcomes.withLock(\.self)
      let done = try #require(found["done"])
      #expect(found == ["done": done, "resourceExhausted": count - done])
      #expect(done >= waiting)
      if kind == "writes" {
        var request = RemoteRead()
        request.withCount = true
        #expect(try backend.store.readBlocking(request).count == Int64(done + 1))
      }
      backend.close()
    }

    /// Each attempt takes the time in which a connection must be made. Batches that wait have none of
    /// their own.
    @Test func `all writes fail in time while connections hang`() async throws {
      let proxy = try PostgresProxy(to: PostgresServer.port)
      defer { proxy.close() }
      let db = try PostgresServer.open(
        PostgresServer.url(PostgresServer.newURL(), through: proxy), as: "hanging")
      try await db.document("c/first").setData(["n": 0])
      proxy.fallSilent()
      let began = ContinuousClock.now
      let outcomes = await Self.outcomes(of: [
        { try await db.document("c/\($0)").setData(["n": $0]) }
      ])
      #expect(outcomes == ["unavailable": 2000])
      // For thirty seconds it is tried to find out what became of the first batch.
      #expect(ContinuousClock.now - began < .seconds(300))
      try await db.terminate()
    }

    @Test func `a server that does not answer is waited for as long as asked`() throws {
      let url = try PostgresServer.newURL()
      let (holding, waiting) = (
        try PostgresConnection.forWriting(url), try PostgresConnection.forWriting(url)
      )
      let lock = PostgresStatement("SELECT pg_advisory_xact_lock(hashtext(current_schema()))")
      _ = try holding.run([
        PostgresStatement("BEGIN"),
        PostgresStatement("SET LOCAL idle_in_transaction_session_timeout = 0"), lock,
      ])
      waiting.patience = 1
      let began = ContinuousClock.now
      let failure = #expect(throws: PostgresFailure.self) { _ = try waiting.run([lock]) }
      #expect(failure?.isOfConnection == true)
      #expect(ContinuousClock.now - began < .seconds(120))
    }

    /// The second one was sent with the name of a statement that the first one was to prepare.
    @Test func `a group that follows a failed one is sent again`() throws {
      let connection = try PostgresConnection.forReading(PostgresServer.newURL())
      let statement = PostgresStatement("SELECT 7::bigint")
      var outcomes: [Result<[PostgresRows], PostgresFailure>] = []
      try connection.run([[PostgresStatement("SELECT 1 / 0"), statement], [statement]]) {
        outcomes.append($1)
      }
      try #require(outcomes.count == 2)
      if case .failure(let failure) = outcomes[0] {
        #expect(failure.state == "22012" && !failure.isContention)
      } else {
        Issue.record("It divides by zero.")
      }
      if case .failure(let failure) = outcomes[1] { #expect(failure.isContention) }
      #expect(try connection.run([statement]).first?.integer(0, 0) == 7)
    }

    // MARK: Lost commits

    /// What a replica has that took over without the commits after a sequence.
    private static func lose(after sequence: Int64, at url: String) throws {
      let connection = try PostgresConnection.forWriting(url)
      for statement in [
        "DELETE FROM hearth_documents WHERE sequence > \(sequence)",
        "DELETE FROM hearth_log WHERE sequence > \(sequence)",
        """
        UPDATE hearth_store SET sequence = \(sequence),
          time = (SELECT max(time) FROM hearth_log),
          logged_bytes = (SELECT sum(size) FROM hearth_log)
        """,
      ] {
        _ = try connection.run([PostgresStatement(statement)])
      }
    }

    @Test func `listeners and tokens begin again after commits were lost`() async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "seen")
      for n in 1...3 { try await db.document("c/\(n)").setData(["n": n]) }
      let kept = try await db.changeToken()
      let ids = Guarded<[String]>([])
      let listener = db.collection("c").addSnapshotListener { snapshot, _ in
        ids.withLock { $0 = snapshot?.documents.map(\.documentID) ?? [] }
      }
      for n in 4...5 { try await db.document("c/\(n)").setData(["n": n]) }
      let lost = try await db.changeToken()
      func expect(_ wanted: [String]) async throws {
        _ = try await becomesTrue { ids.withLock(\.self) == wanted }
        #expect(ids.withLock(\.self) == wanted)
      }
      try await expect(["1", "2", "3", "4", "5"])
      try Self.lose(after: 3, at: url)
      try await expect(["1", "2", "3"])
      // With the sequences of the lost ones, the listener would not notice.
      let other = try PostgresServer.open(url, as: "other")
      for n in 6...7 { try await other.document("c/\(n)").setData(["n": n]) }
      try await expect(["1", "2", "3", "6", "7"])
      for token in [kept, lost] {
        do {
          for try await _ in other.changes(since: token) { break }
          Issue.record("The token is from before the loss.")
        } catch FirestoreErrorCode.outOfRange {}
      }
      let token = try await other.changeToken()
      try await db.document("c/8").setData(["n": 8])
      for try await change in other.changes(since: token) {
        #expect(change.document.path == "c/8")
        break
      }
      listener.remove()
      try await db.terminate()
      try await other.terminate()
    }

    /// Without a listener, the commit itself notices.
    @Test(arguments: [false, true])
    func `no commit reuses the sequence of one that was lost`(readsFirst: Bool) async throws {
      let url = try PostgresServer.newURL()
      let backend = try Self.open(url)
      backend.writer.readsFirst.withLock { $0 = readsFirst }
      var last: CommitResult?
      for n in 1...5 as ClosedRange<Int64> { last = try await backend.commit([try set("c/a", n)]) }
      let seen = try #require(last)
      try Self.lose(after: 3, at: url)
      let next = try await backend.commit([try set("c/b", 1)])
      #expect(next.sequence > seen.sequence && next.commitTime > seen.commitTime)
      let connection = try PostgresConnection.forReading(url)
      let rows = try connection.run([
        PostgresStatement(
          """
          SELECT logged_bytes, (SELECT sum(size)::bigint FROM hearth_log),
            first_logged, (SELECT min(sequence) FROM hearth_log) FROM hearth_store
          """)
      ])
      #expect(rows[0].integer(0, 0) == rows[0].integer(0, 1))
      #expect(rows[0].integer(0, 2) == rows[0].integer(0, 3))
      backend.close()
    }

    /// The log after the query's state is empty because that state is lost.
    @Test func `a transaction that has read what was lost is not applied`() async throws {
      let url = try PostgresServer.newURL()
      let (backend, other) = (try Self.open(url), try Self.open(url))
      for n in 1...5 as ClosedRange<Int64> { _ = try await other.commit([try set("c/\(n)", n)]) }
      let start = TransactionStart(at: CallSite(file: #file, line: #line))
      let id = try await backend.awaiting { backend.beginTransaction(start, .lent, $0) }
      let context = RequestContext(thread: .lent, transaction: id)
      let query = StructuredQuery(.collection(ResourcePath(["c"])))
      let found = try await backend.awaiting {
        backend.read(.results(EffectiveQuery(query)), context, $0)
      }
      .answer.results
      #expect(found.count == 5)
      try Self.lose(after: 3, at: url)
      let request = CommitRequest([try set("d/sum", 5)], in: id)
      do {
        _ = try await backend.commit(request)
        Issue.record("Two of the documents were lost.")
      } catch let status as Status { #expect(status.code == .aborted) }
      backend.close()
      other.close()
    }

    // MARK: Trimming

    /// Scans of whole tables are switched off as in production: if there is no other way, they are used.
    @Test func `trimming reads no table as a whole`() throws {
      let url = try PostgresServer.newURL()
      let backend = try Self.open(url)
      backend.close()
      let connection = try PostgresConnection.forWriting(url)
      for statement in [
        """
        INSERT INTO hearth_log (sequence, time, ends, collection, id, collection_id, name,
          new_created, new_updated, new_body)
        SELECT n, n / 2, true, 'c', n::text::bytea, 'c', 'c', 1, 1, 'body'
        FROM generate_series(1, 20000) n
        """,
        """
        INSERT INTO hearth_commits (id, is_refused, made)
        SELECT sha256(n::text::bytea), false, now() - n * interval '10 s'
        FROM generate_series(1, 20000) n
        """,
        "ANALYZE hearth_log", "ANALYZE hearth_commits",
      ] {
        _ = try connection.run([PostgresStatement(statement)])
      }
      var request = RemoteRead()
      request.lastChangeAt = 200
      request.logLimitBytes = 1 << 30
      let statements =
        PostgresQueries(request).statements + [PostgresStatement(PostgresSchema.oldCommitIDs)]
      for statement in statements {
        let rows = try connection.run([
          PostgresStatement("EXPLAIN " + statement.text, statement.parameters)
        ])
        let plan = (0..<rows[0].count).map {
          String(decoding: rows[0].bytes($0, 0) ?? [], as: UTF8.self)
        }.joined(separator: "\n")
        #expect(!plan.contains("Seq Scan on hearth_log"), "\(plan)")
        #expect(!plan.contains("Seq Scan on hearth_commits"), "\(plan)")
        // Neither may it walk an index to what it looks for.
        if statement.text.contains("time <=") { #expect(!plan.contains("Filter"), "\(plan)") }
      }
      let answer = try PostgresQueries(request).answer(
        connection.run(PostgresQueries(request).statements))
      #expect(answer.lastChangeAt == 401 && answer.lastExcess == nil)
    }

    @Test func `ids of commits are forgotten after a day, whatever the log keeps`() async throws {
      let url = try PostgresServer.newURL()
      let backend = try Self.open(url)
      let connection = try PostgresConnection.forWriting(url)
      _ = try connection.run([
        PostgresStatement(
          """
          INSERT INTO hearth_commits (id, is_refused, made)
          SELECT sha256(n::text::bytea), false, now() - interval '25 h'
          FROM generate_series(1, 12000) n
          """)
      ])
      // Each one trims afterwards, as long as there is more; the last one waits for that.
      for n in 1...5 as ClosedRange<Int64> { _ = try await backend.commit([try set("c/a", n)]) }
      let rows = try connection.run([
        PostgresStatement(
          """
          SELECT count(*) FILTER (WHERE made < now() - interval '1 day'), count(*)
          FROM hearth_commits
          """)
      ])
      #expect(rows[0].integer(0, 0) == 0)
      #expect(rows[0].integer(0, 1) == 5)
      backend.close()
    }

    // MARK: Indexes

    /// A store with something to do at the beginning and at the end of each read of a verification.
    private final class WatchedStore: RemoteStore {
      private let store: PostgresStore
      private let onRead: @Sendable () -> Void

      init(_ store: PostgresStore, onRead: @escaping @Sendable () -> Void) {
        self.store = store
        self.onRead = onRead
      }

      var name: String { store.name }
      var retention: ChangeLogRetention { store.retention }
      var isReadOnly: Bool { store.isReadOnly }

      func read(_ request: RemoteRead, _ done: @escaping Completion<RemoteAnswer>) {
        store.read(request, done)
      }

      func write<Answer>(
        _ body: (any RemoteWriting) throws(Status) -> Answer
      ) throws(Status) -> Answer { try store.write(body) }

      func readAlone<Answer>(
        _ body: (_ read: (RemoteRead) throws(Status) -> RemoteAnswer) throws(Status) -> Answer
      ) throws(Status) -> Answer? {
        try withoutActuallyEscaping(body) { body throws(Status) in
          try store.readAlone { read throws(Status) in
            onRead()
            let answer = try body(read)
            // A lock of what was read would still be held.
            onRead()
            return answer
          }
        }
      }

      func watch(_ signal: @escaping @Sendable () -> Void) { store.watch(signal) }
      func stopWatching() { store.stopWatching() }
      func close() { store.close() }
    }

    /// In the midst of a verification others commit, who would wait in vain for a lock that it holds.
    @Test func `writes go on while a unique index is verified`() async throws {
      let url = try PostgresServer.newURL()
      let next = try set("noise/a", 1)
      let areWritten = Guarded<[Bool]>([])
      let backend = try Self.open(url) { store in
        WatchedStore(store) {
          let commit = try? {
            let other = try Self.open(url)
            defer { other.close() }
            return try other.waiting { other.commit(CommitRequest([next]), .blocked, $0) }
          }()
          areWritten.withLock { $0.append(commit != nil) }
        }
      }
      _ = try await backend.commit(try (0..<100).map { try set("users/\($0)", Int64($0)) })
      try await backend.declare([
        IndexDefinition(
          "users", [.init(field: FieldSegments(["n"]), kind: .ascending)], constraint: .unique)
      ])
      try await backend.waitForIndexes()
      let commits = areWritten.withLock(\.self)
      #expect(commits.count >= 2 && commits.allSatisfy(\.self))
      await #expect(throws: Status.self) {
        _ = try await backend.commit([try set("users/new", 17)])
      }
      backend.close()
    }

    @Test func `a lone read is of one state, and one at a time`() async throws {
      let url = try PostgresServer.newURL()
      let (backend, other) = (try Self.open(url), try Self.open(url))
      _ = try await backend.commit([try set("c/a", 1)])
      let next = try set("c/b", 2)
      let counts = try backend.store.readAlone { read throws(Status) in
        var request = RemoteRead()
        request.withCount = true
        let before = try read(request).count
        _ = try other.waiting { other.commit(CommitRequest([next]), .blocked, $0) }
        let isAlone = try other.store.readAlone { _ in true } == nil
        return (before, try read(request).count, isAlone)
      }
      #expect(counts?.0 == 1 && counts?.1 == 1 && counts?.2 == true)
      #expect(try other.store.readAlone { _ in true } == true)
      backend.close()
      other.close()
    }

    private final class NoWriting: RemoteWriting {
      func look(_ request: RemoteRead) throws(Status) -> RemoteAnswer { throw .terminated }
      func lock(_ request: RemoteRead) throws(Status) -> RemoteAnswer { throw .terminated }
      func read(_ request: RemoteRead) throws(Status) -> RemoteAnswer { throw .terminated }
      func commit(_ batch: RemoteBatch) throws(Status) { throw .terminated }
      func commit(_ batch: RemoteBlindBatch) throws(Status) -> [RemoteBlindAnswer?] {
        throw .terminated
      }
      func removeOldCommitIDs() throws(Status) -> Bool { throw .terminated }
      func times(upTo now: Int64) throws(Status) -> (kept: Int64, newest: Int64) {
        throw .terminated
      }
      func commit(_ repair: TimeRepair, id: [UInt8]) throws(Status) -> Int { throw .terminated }
    }

    /// An index may have been dropped meanwhile, and another one declared under its number.
    @Test func `a verification of an earlier catalogue is not believed`() throws {
      let index = StoredIndex(
        number: 1,
        definition: IndexDefinition(
          "users", [.init(field: FieldSegments(["n"]), kind: .ascending)], constraint: .unique),
        state: .verifying, origin: .declared)
      func answer(_ generation: UInt64) -> RemoteAnswer {
        var answer = RemoteAnswer(
          record: RemoteRecord(
            history: 0, isRestored: false, sequence: 0, time: 0, firstLogged: 1, trimmedTime: 0,
            generation: generation, readTime: 0))
        answer.indexes = [1: index.encoded()]
        return answer
      }
      let verification = try RemoteIndexVerification { _ throws(Status) in answer(7) }
      #expect(verification.violations == [1: IndexViolations()])
      for generation in [7, 8] as [UInt64] {
        let catalogue = try RemoteCatalogue(
          generation: generation, answer(generation).indexes)
        var edit = RemoteIndexEdit(
          catalogue, NoWriting(), id: [], record: answer(generation).record)
        edit.conclude(verification)
        #expect(edit.hasChanges == (generation == 7))
      }
    }

    /// By every process that hears of it.
    @Test(arguments: [false, true])
    func `an index whose process ends is built by another one`(isUnique: Bool) async throws {
      let url = try PostgresServer.newURL()
      let (declaring, other) = (try Self.open(url), try PostgresServer.open(url, as: "other"))
      try await fill(other, "d", 8000)
      let index = IndexDefinition(
        "d", [.init(field: FieldSegments(["n"]), kind: .ascending)],
        constraint: isUnique ? .unique : .none)
      try await declaring.declare([index])
      declaring.close()
      try await eventually { try await other.indexes.list().map(\.state) == [.ready] }
      try await other.terminate()
    }

    // MARK: Schemas

    @Test func `a database in a later schema of the search path is another one`() async throws {
      let first = try PostgresServer.newURL()
      let one = try Firestore.open(first)
      try await one.document("c/one").setData(["n": 1])
      let schema = try #require(first.components(separatedBy: "%3D").last)
      let other = try Firestore.open(try PostgresServer.newURL() + "%2C" + schema)
      #expect(try await !other.document("c/one").getDocument().exists)
      try await other.document("c/other").setData(["n": 2])
      try await other.document("c/other").updateData(["m": 3])
      #expect(
        try await other.allDocuments().getDocuments().documents.map(\.documentID) == ["other"])
      #expect(try await one.allDocuments().getDocuments().documents.map(\.documentID) == ["one"])
      #expect(try await one.changeToken() != other.changeToken())
      try await one.terminate()
      try await other.terminate()
    }

    @Test func `a search path without a schema is refused with a reason`() throws {
      let url = try #require(PostgresServer.url)
      let refused = #expect(throws: Status.self) {
        try Self.open(url + "?options=-csearch_path%3Dno_such_schema")
      }
      #expect(refused?.code == .failedPrecondition)
      #expect(refused?.message.contains("search path") == true)
    }
  }
#endif
