#if Postgres
  import Foundation
  import Logging
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine
  @testable import HearthPostgres

  /// Mistakes that show only at a bad moment: a slow server, an old catalogue, long keys, a trimmed log.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresEdgeTests {
    private func set(_ path: String, _ n: Int64) throws -> Mutation {
      Mutation(
        path: ResourcePath(relative: path),
        operation: try .set(encoding: MapValue([("n", .integer(n))])))
    }

    /// Nil if that is as far as the database goes back.
    private static func oldestReadableTime(of backend: RemoteBackend) throws -> Timestamp? {
      let trimmed = try backend.store.readBlocking(RemoteRead()).record.trimmedTime
      return trimmed == 0 ? nil : Timestamp(Instant(microseconds: trimmed))
    }

    private func exclusive(_ backend: any Backend) async throws -> TransactionID {
      var start = TransactionStart(at: CallSite(file: #file, line: #line))
      start.isExclusive = true
      return try await backend.awaiting { backend.beginTransaction(start, .busy, $0) }
    }

    /// The server has all of a commit and cannot begin yet when its connection is lost: it is refused for
    /// ever before it is sent again.
    @Test
    func `a commit that still waits on the server when its answer is lost is not applied twice`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let proxy = try PostgresProxy(to: PostgresServer.port)
      defer { proxy.close() }
      let db = try Firestore.open(PostgresServer.url(url, through: proxy))
      // After the first commit, the log is trimmed, which needs the lock, too: the second waits for that.
      for n in 0..<2 { try await db.document("c/first").setData(["n": n]) }
      let token = try await db.changeToken()
      let other = try PostgresConnection.forWriting(url)
      _ = try other.run([
        PostgresStatement("BEGIN"),
        // On a busy machine the rest takes longer than a transaction may wait.
        PostgresStatement("SET LOCAL idle_in_transaction_session_timeout = 0"),
        PostgresStatement("SELECT true FROM hearth_store FOR UPDATE"),
      ])
      proxy.cutNextCommit(.afterCommit)
      let creating = Task { try await db.document("c/new").create(["n": 1]) }
      try await eventually { proxy.cuts > 0 }
      // The writer finds out what became of it, while the server still waits for the lock.
      try await Task.sleep(for: .milliseconds(500))
      _ = try other.run([PostgresStatement("COMMIT")])
      try await creating.value
      try await db.document("c/last").setData(["n": 2])
      var paths: [String] = []
      for try await change in db.changes(since: token) {
        paths.append(change.document.path)
        if paths.last == "c/last" { break }
      }
      #expect(paths == ["c/new", "c/last"])
      try await db.terminate()
    }

    /// Longer than the server lets a transaction wait that does nothing.
    @Test func `a process that is busy keeps the lock`() async throws {
      let db = try Firestore.open(try PostgresServer.newURL())
      for attempt in 1...10 {
        do {
          try await db.write { writer in
            Thread.sleep(forTimeInterval: 7)
            try writer.setData(["n": 1], forDocument: db.document("c/a"))
          }
          break
        } catch FirestoreErrorCode.unavailable where attempt < 10 {
          // On a busy machine it may say too late that it is still there. One that says nothing never succeeds.
        }
      }
      #expect(try await db.document("c/a").getDocument()["n"] as? Int == 1)
      try await db.terminate()
    }

    @Test func `a process that hangs loses the lock, and is told why`() async throws {
      let url = try PostgresServer.newURL()
      let db = try Firestore.open(url)
      let hung = try PostgresConnection.forWriting(url)
      _ = try hung.run([
        PostgresStatement("BEGIN"),
        PostgresStatement("SELECT true FROM hearth_store FOR UPDATE"),
      ])
      try await db.document("c/a").setData(["n": 1])
      let failure = #expect(throws: PostgresFailure.self) {
        _ = try hung.run([PostgresStatement("COMMIT")])
      }
      #expect(failure?.isOfConnection == true)
      #expect(failure?.message.contains("idle-in-transaction") == true, "\(failure as Any)")
      try await db.terminate()
    }

    /// Also under the same number.
    @Test func `an index that is dropped leaves no entries for the next one`() async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "drop")
      for n in 0..<6 { try await db.document("d/\(n)").setData(["n": n]) }
      let index = FirestoreIndex("d", .ascending("n"))
      try await db.indexes.declare(index)
      try await db.indexes.waitUntilReady()
      try await db.indexes.drop(index)
      let connection = try PostgresConnection.forReading(url)
      let rows = try connection.run([PostgresStatement("SELECT count(*) FROM hearth_entries")])
      #expect(rows.first?.integer(0, 0) == 0)
      for n in 0..<3 { try await db.document("d/\(n)").setData(["n": n + 100]) }
      try await db.indexes.declare(index)
      try await db.indexes.waitUntilReady()
      let page = try await db.collection("d").order(by: "n").limit(to: 2).getDocuments()
      #expect(page.documents.map { $0["n"] as? Int } == [3, 4])
      try await db.terminate()
    }

    /// A process whose clock is so many hours ahead, and which keeps changes for an hour.
    private static func open(
      _ url: String, hoursLater hours: Int64 = 0, logLimitBytes: Int = 1 << 30
    ) throws -> RemoteBackend {
      let logger = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
      var settings = EmbeddedBackend.Settings()
      settings.store.now = {
        Instant(microseconds: 1_767_225_600_000_000 + hours * 3_600_000_000)
      }
      settings.store.ttlSweepInterval = nil
      return try RemoteBackend(
        PostgresStore(
          url, retention: ChangeLogRetention(age: .seconds(3600), limitBytes: logLimitBytes),
          logger: logger), settings, logger: logger)
    }

    private func text(_ count: Int) -> MapValue {
      MapValue([("text", .string(String(repeating: "x", count: count)))])
    }

    /// Whatever decides the commits, the server or the process; and what is left has no gap.
    @Test func `the log is cut to about its limit in bytes`() async throws {
      let url = try PostgresServer.newURL()
      let writer = try Self.open(url)
      for n in 0..<60 {
        let path = ResourcePath(["c", "\(n % 10)"])
        _ = try await writer.commit([
          n % 3 == 0
            ? Mutation(path: path, operation: try .set(encoding: text(10_000)))
            : Mutation(
              path: path,
              operation: .patch(
                try DocumentBody(
                  encoding: MapValue([("text", .string(String(repeating: "y", count: n * 300)))])),
                mask: [FieldSegments(["text"])]))
        ])
      }
      _ = try await writer.commit([Mutation(path: ResourcePath(["c", "0"]), operation: .delete)])
      writer.close()
      let connection = try PostgresConnection.forReading(url)
      func bytes() throws -> (counted: Int64, logged: Int64) {
        let rows = try connection.run([
          PostgresStatement(
            "SELECT logged_bytes, (SELECT sum(size)::bigint FROM hearth_log) FROM hearth_store")
        ])
        return (rows[0].integer(0, 0) ?? 0, rows[0].integer(0, 1) ?? 0)
      }
      let before = try bytes()
      #expect(before.counted == before.logged && before.logged > 800_000)
      let cutter = try Self.open(url, logLimitBytes: 300_000)
      // The first one trims afterwards, before the second one is done.
      for n in 1...2 as ClosedRange<Int64> { _ = try await cutter.commit([try set("d/1", n)]) }
      let after = try bytes()
      #expect(after.counted == after.logged)
      #expect((270_000...301_000).contains(after.logged), "\(after.logged)")
      let time = try #require(try Self.oldestReadableTime(of: cutter))
      var token = cutter.token(
        after: try await cutter.versioned(.nothing, at: time).version.sequence)
      var sequences: [UInt64] = []
      while true {
        let from = token
        let page = try await cutter.awaiting { cutter.changes(since: from, $0, $1) }
        guard let last = page.last else { break }
        sequences += page.map(\.sequence)
        token = cutter.token(after: last.sequence)
      }
      #expect(sequences.last == 63 && sequences == Array((sequences.first ?? 0)...63))
      #expect(sequences.count < 61)
      cutter.close()
    }

    /// A walk through a database or its log has some megabytes at once, however large documents are.
    @Test func `pages of large documents and changes are short`() async throws {
      let url = try PostgresServer.newURL()
      let backend = try Self.open(url)
      for n in 0..<30 {
        let path = ResourcePath(["c", String(n + 10)])
        _ = try await backend.commit([
          Mutation(path: path, operation: try .set(encoding: text(900_000)))
        ])
      }
      var ids: [String] = []
      var position: [UInt8]?
      repeat {
        let start = position
        let page = try await backend.awaiting {
          backend.read(
            .page(after: start, PageLimits(count: 512, byteCount: 4_000_000)), $0, $1)
        }.answer.page
        #expect(page.documents.count <= 5)
        ids += page.documents.map(\.path.id)
        position = page.next
      } while position != nil
      #expect(ids == (10..<40).map(String.init))
      var sequence: UInt64 = 0
      while sequence < 30 {
        let token = backend.token(after: sequence)
        let changes = try await backend.awaiting { backend.changes(since: token, $0, $1) }
        #expect((1...10).contains(changes.count))
        guard changes.first?.sequence == sequence + 1, let last = changes.last else { break }
        sequence = last.sequence
      }
      #expect(sequence == 30)
      backend.close()
    }

    @Test func `places in a circle are found by ranges of cells`() async throws {
      let db = try PostgresServer.open(PostgresServer.newURL(), as: "cells")
      for part in 0..<4 {
        let batch = db.batch()
        for n in 0..<500 {
          let (x, y) = (Double((part * 500 + n) % 50), Double((part * 500 + n) / 50))
          batch.setData(
            ["place": GeoPoint(latitude: 40 + y / 10, longitude: x / 10)],
            forDocument: db.document("shops/\(part)-\(n)"))
        }
        try await batch.commit()
      }
      let near = db.collection("shops").whereFilter(
        .whereField(
          "place", isWithin: 30_000, metersOf: GeoPoint(latitude: 42, longitude: 2.5)))
      let scanned = try await near.getDocuments().documents.map(\.documentID)
      try await db.indexes.declare(FirestoreIndex("shops", .cells("place")))
      try await db.indexes.waitUntilReady()
      #expect(try await near.getDocuments().documents.map(\.documentID) == scanned)
      #expect(scanned.count > 10)
      let read = try #require(try await near.explain(analyze: true).execution)
      #expect(read.documentsRead <= 2 * scanned.count + 100)
      try await db.terminate()
    }

    /// Of a document that has changed often since, one version is read.
    @Test func `the past of a document costs one version, however often it has changed`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let backend = try Self.open(url)
      var times: [Instant] = []
      for n in 0..<40 as Range<Int64> {
        times.append(try await backend.commit([try set("c/a", n)]).commitTime)
        if n == 20 { times.append(try await backend.commit([try set("c/b", n)]).commitTime) }
      }
      var request = RemoteRead()
      request.changedScopes = [.collection(ResourcePath(["c"]).remoteIDs, nil)]
      request.undoesChangesAfter = 5
      let answer = try backend.store.readBlocking(request)
      #expect(
        answer.formerVersions.map { String(decoding: $0.name, as: UTF8.self) } == ["c/a", "c/b"])
      #expect(answer.formerVersions.map { $0.version?.sequence } == [5, nil])
      let paths = [ResourcePath(["c", "a"]), ResourcePath(["c", "b"])]
      for (position, time) in times.enumerated() {
        let found = try await backend.versioned(.documents(at: paths), at: Timestamp(time)).answer
          .documents
        let versions = found.map { $0?.updateTime }
        #expect(versions == [position == 21 ? times[20] : time, position < 21 ? nil : times[21]])
      }
      backend.close()
    }

    /// What came after the dump is not in it: tokens of that time are refused, and those who follow begin
    /// with everything.
    @Test func `a restored dump begins a new history`() async throws {
      let url = try PostgresServer.newURL()
      let old = try PostgresServer.open(url, as: "old")
      try await old.document("c/1").setData(["n": 1])
      let token = try await old.changeToken()
      let folder = TemporaryFolder()
      let file = folder.path + "/dump.sql"
      let dump = "pg_dump '\(url)' --schema=$(psql '\(url)' -Atc 'SELECT current_schema()')"
      #expect(try Self.shell("\(dump) > \(file)") == 0)
      try await old.document("c/2").setData(["n": 2])
      try await old.terminate()
      func restored(_ name: String) async throws -> Firestore {
        #expect(
          try Self.shell(
            """
            psql -q '\(url)' -c "DROP SCHEMA $(psql '\(url)' -Atc 'SELECT current_schema()') CASCADE"
            psql -q '\(url)' -v ON_ERROR_STOP=1 -f \(file) >/dev/null
            """) == 0)
        return try PostgresServer.open(url, as: name)
      }
      var tokens: [ChangeToken] = []
      for name in ["one", "two"] {
        let db = try await restored(name)
        let count = try await db.collection("c").getDocuments().count
        #expect(count == 1)
        for former in [token] + tokens {
          do {
            for try await _ in db.changes(since: former) { break }
            Issue.record("The token is of another history.")
          } catch FirestoreErrorCode.outOfRange {}
        }
        tokens.append(try await db.changeToken())
        // A second opening keeps the history.
        let again = try PostgresServer.open(url, as: name + "-again")
        #expect(try await again.changeToken() == tokens.last)
        try await again.terminate()
        try await db.terminate()
      }
      #expect(Set(tokens.map(\.bytes)).count == 2)
    }

    private static func shell(_ script: String) throws -> Int32 {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/bash")
      process.arguments = ["-c", "set -e\n" + script]
      try process.run()
      process.waitUntilExit()
      return process.terminationStatus
    }

    /// The log is trimmed by age when a process writes for the first time, and then now and then.
    @Test func `the past that is no longer in the log cannot be read`() async throws {
      let url = try PostgresServer.newURL()
      let early = try Self.open(url, hoursLater: 0)
      let path = ResourcePath(["c", "1"])
      let first = try await early.commit([try set("c/1", 1)]).commitTime
      let second = try await early.commit([try set("c/1", 2)]).commitTime
      let token = early.token(after: 0)
      early.close()
      let late = try Self.open(url, hoursLater: 2)
      // The first one trims afterwards, before the second one is done.
      for n in 3...4 as ClosedRange<Int64> { _ = try await late.commit([try set("c/1", n)]) }
      #expect(try Self.oldestReadableTime(of: late) == Timestamp(second))
      let readable = try await late.versioned(.documents(at: [path]), at: Timestamp(second)).answer
        .documents
      #expect(readable[0]?.updateTime == second)
      func expectOutOfRange(_ body: () async throws -> Void) async {
        do {
          try await body()
          Issue.record("It is not in the log.")
        } catch let status as Status where status.code == .outOfRange {
        } catch {
          Issue.record(error)
        }
      }
      await expectOutOfRange {
        let read = try await late.versioned(.documents(at: [path]), at: Timestamp(first)).answer
          .documents
        Issue.record("\(read[0]?.updateTime.microseconds ?? 0), not \(first.microseconds)")
      }
      await expectOutOfRange {
        _ = try await late.awaiting { late.changes(since: token, $0, $1) }
      }
      late.close()
    }

    @Test func `a listener hears of what another process commits all at once`() async throws {
      let url = try PostgresServer.newURL()
      let writer = try PostgresServer.open(url, as: "writer")
      let reader = try PostgresServer.open(url, as: "reader")
      try await writer.document("d/0").setData(["n": 0])
      var counts: [Int] = []
      for try await snapshot in reader.collection("d").snapshots {
        counts.append(snapshot.count)
        if snapshot.count == 351 { break }
        guard counts.count == 1 else { continue }
        // More than come with the news of them.
        let batch = writer.batch()
        for n in 1...350 { batch.setData(["n": n], forDocument: writer.document("d/\(n)")) }
        try await batch.commit()
      }
      #expect(counts == [1, 351])
      try await writer.terminate()
      try await reader.terminate()
    }

    /// A process that ends between its commit and the notification.
    @Test func `a listener hears of a commit whose notification was never sent`() async throws {
      let url = try PostgresServer.newURL()
      let reader = try PostgresServer.open(url, as: "reader")
      try await reader.document("d/0").setData(["n": 0])
      let connection = try PostgresConnection.forWriting(url)
      let writing = PostgresWriting(url, connection, "hearth_nobody")
      var isFirst = true
      for try await snapshot in reader.collection("d").snapshots {
        if snapshot.count == 2 { break }
        guard isFirst else { continue }
        isFirst = false
        // The feed has begun to listen, and has looked.
        try await Task.sleep(for: .seconds(2))
        guard case .set(let body) = try set("d/1", 1).operation else { return }
        var batch = RemoteBlindBatch(
          id: UUID().bytes, generation: 0, time: Instant.now().microseconds)
        batch.waves = [
          RemoteBlindBatch.Wave(writes: [
            RemoteBlindBatch.Write(
              job: 0, key: RemoteKey(ResourcePath(["d", "1"])),
              operation: .store(body.withBytes { Array($0) }), condition: .none)
          ])
        ]
        _ = try writing.commit(batch)
      }
      try await reader.terminate()
    }

    /// Keys of 2,500 bytes are cut, and a hash is in place of the rest: in no order. Bounds are cut, too.
    @Test(arguments: [2440, 2450, 2455, 2460, 2465, 2470, 2480, 2500, 3000])
    func `values that differ behind a long beginning are told apart and ordered`(
      length: Int
    ) async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "long")
      try await db.indexes.declare(FirestoreIndex("long", .ascending("text")))
      try await db.indexes.waitUntilReady()
      let start = String(repeating: "x", count: length)
      let collection = db.collection("long")
      for n in 10..<40 {
        try await collection.document("\((n - 10) * 7 % 30)").setData(["text": start + "\(n)"])
      }
      func texts(_ query: Query) async throws -> [String] {
        try await query.getDocuments().documents.map {
          String(($0["text"] as? String ?? "").dropFirst(length))
        }
      }
      for n in 10..<40 {
        #expect(
          try await texts(collection.whereField("text", isEqualTo: start + "\(n)")) == ["\(n)"])
      }
      let ordered = collection.order(by: "text")
      #expect(try await texts(ordered.limit(to: 3)) == ["10", "11", "12"])
      #expect(
        try await texts(ordered.start(after: [start + "20"]).limit(to: 2)) == ["21", "22"])
      #expect(
        try await texts(collection.order(by: "text", descending: true).limit(to: 2))
          == ["39", "38"])
      for isDescending in [false, true] {
        let ordered = collection.order(by: "text", descending: isDescending)
        #expect(
          try await texts(
            ordered.whereField("text", isGreaterThanOrEqualTo: start + "36").limit(to: 3))
            == (isDescending ? ["39", "38", "37"] : ["36", "37", "38"]))
        #expect(
          try await texts(ordered.whereField("text", isLessThan: start + "14").limit(to: 3))
            == (isDescending ? ["13", "12", "11"] : ["10", "11", "12"]))
      }
      try await collection.document("0").delete()
      try await collection.document("7").setData(["text": start + "50"])
      #expect(try await texts(ordered.limit(to: 2)) == ["12", "13"])
      try await db.terminate()
    }

    /// A control character has two bytes in a key.
    @Test(arguments: [780, 784, 790, 800, 1490])
    func `ids that differ behind a long beginning are ordered`(length: Int) async throws {
      let db = try PostgresServer.open(PostgresServer.newURL(), as: "ids")
      let start = String(repeating: "\u{1}", count: length)
      let collection = db.collection("long")
      for n in 10..<30 {
        try await collection.document(start + "\((n - 10) * 7 % 20 + 10)").setData(["n": n])
      }
      func ids(_ query: Query) async throws -> [String] {
        try await query.getDocuments().documents.map { String($0.documentID.dropFirst(length)) }
      }
      let ordered = collection.order(by: FieldPath.documentID())
      let backwards = collection.order(by: FieldPath.documentID(), descending: true)
      #expect(try await ids(ordered.limit(to: 3)) == ["10", "11", "12"])
      #expect(try await ids(backwards.limit(to: 3)) == ["29", "28", "27"])
      #expect(try await ids(ordered.start(after: [start + "20"]).limit(to: 2)) == ["21", "22"])
      #expect(try await ids(backwards.start(after: [start + "20"]).limit(to: 2)) == ["19", "18"])
      #expect(try await ids(ordered.end(at: [start + "11"]).limit(to: 5)) == ["10", "11"])
      try await db.terminate()
    }

    @Test func `collections with a long beginning in common are different ones`() async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "deep")
      let parent = "c/" + String(repeating: "x", count: 1400)
      let (one, other) = (db.document("\(parent)/s1/d"), db.document("\(parent)/s2/d"))
      // Decided by the server, then by the process.
      try await one.setData(["n": 1])
      try await other.setData(["n": 2])
      #expect(try await one.getDocument()["n"] as? Int == 1)
      #expect(try await other.getDocument()["n"] as? Int == 2)
      try await one.updateData(["n": FieldValue.increment(Int64(10))])
      #expect(try await other.parent.getDocuments().documents.map { $0["n"] as? Int } == [2])
      try await one.delete()
      #expect(try await other.getDocument()["n"] as? Int == 2)
      #expect(try await !one.getDocument().exists)
      try await db.terminate()
    }

    /// The sweep has found the document before it is prolonged, and deletes after that.
    @Test func `a document that is prolonged while it is swept stays`() async throws {
      let url = try PostgresServer.newURL()
      let settings = FirestoreSettings()
      settings.ttlSweepInterval = nil
      let db = try Firestore.open(url, settings: settings)
      let other = try Firestore.open("\(url)&application_name=other", settings: settings)
      try await db.ttl.setPolicy(collectionGroup: "sessions", field: "until")
      let past = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)
      // After the first commit, the log is trimmed, which needs the lock, too: the second waits for that.
      for n in 0..<2 { try await db.document("sessions/one").setData(["until": past, "n": n]) }
      let backend = try other.database().backend
      var request = CommitRequest([
        Mutation(
          path: ResourcePath(["sessions", "one"]),
          operation: try .set(
            encoding: MapValue([("until", .timestamp(Instant(microseconds: 1 << 52)))])))
      ])
      // On a busy machine, the transaction may hold up writes for too long. Then the document is swept.
      while true {
        request.transaction = try await exclusive(backend)
        let sweeping = Task { try await db.ttl.deleteExpired() }
        try await Task.sleep(for: .milliseconds(400))
        do {
          _ = try await backend.commit(request)
        } catch let status as Status where status.isContention {
          _ = try await sweeping.value
          try await db.document("sessions/one").setData(["until": past])
          continue
        }
        #expect(try await sweeping.value == 0)
        break
      }
      #expect(try await db.document("sessions/one").getDocument().exists)
      try await db.terminate()
      try await other.terminate()
    }

    /// Both wait for the same commit of the server, and insert what the other one has not found.
    @Test(arguments: [false, true])
    func `of two transactions in one commit, the second sees what the first has written`(
      readsFirst: Bool
    ) async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "skew")
      let backend = try #require(try db.database().backend as? RemoteBackend)
      backend.writer.readsFirst.withLock { $0 = readsFirst }
      _ = try await backend.commit([try set("on/a", 0), try set("on/b", 0)])
      var query = StructuredQuery(.collection(ResourcePath(["on"])))
      query.filters = [
        .comparison(
          StructuredQuery.Comparison(
            field: FieldSegments(["n"]), operator: .equal, operand: .integer(1)))
      ]
      let asked = query
      var requests: [CommitRequest] = []
      for name in ["on/a", "on/b"] {
        let start = TransactionStart(at: CallSite(file: #file, line: #line))
        let id = try await backend.awaiting { backend.beginTransaction(start, .lent, $0) }
        let context = RequestContext(thread: .lent, transaction: id)
        let found = try await backend.awaiting {
          backend.read(.results(EffectiveQuery(asked)), context, $0)
        }
        .answer.results
        #expect(found.isEmpty)
        let request = CommitRequest([try set(name, 1)], isAwaited: false, in: id)
        requests.append(request)
      }
      let hold = try await exclusive(backend)
      let outcomes = Guarded<[String]>([])
      await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
        for request in requests {
          backend.commit(request, .busy) { outcome in
            let isLast = outcomes.withLock { outcomes in
              switch outcome {
              case .success: outcomes.append("applied")
              case .failure(let status): outcomes.append("\(status.code)")
              }
              return outcomes.count == 2
            }
            if isLast { done.resume() }
          }
        }
        backend.end(hold, isRetried: false)
      }
      #expect(outcomes.withLock(\.self).sorted() == ["aborted", "applied"])
      #expect(try await backend.read(.results(EffectiveQuery(asked))).results.count == 1)
      try await db.terminate()
    }

    @Test func `a process that does not know an index yet keeps its entries`() async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "one")
      let other = try PostgresServer.open(url, as: "other")
      try await other.document("d/0").setData(["n": 0])
      try await other.document("d/1").setData(["n": 1])
      try await db.indexes.declare(FirestoreIndex("d", .ascending("n")))
      try await db.indexes.waitUntilReady()
      let batch = other.batch()
      batch.setData(["n": 100], forDocument: other.document("d/0"))
      batch.setData(["n": 2], forDocument: other.document("d/2"))
      try await batch.commit()
      let query = db.collection("d").order(by: "n").limit(to: 5)
      #expect(try await query.explain(analyze: true).isServed)
      #expect(try await query.getDocuments().documents.map(\.documentID) == ["1", "2", "0"])
      try await db.terminate()
      try await other.terminate()
    }

    /// An index has no entries of the past.
    @Test func `the past is found by a query that an index serves now`() async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "past")
      try await db.indexes.declare(FirestoreIndex("d", .ascending("n")))
      try await db.indexes.waitUntilReady()
      let backend = try db.database().backend
      for n in 0..<4 as Range<Int64> { _ = try await backend.commit([try set("d/\(n)", n)]) }
      let time = try await backend.newestVersion().time
      _ = try await backend.commit([
        try set("d/0", 100), Mutation(path: ResourcePath(["d", "1"]), operation: .delete),
        try set("d/new", 2),
      ])
      var query = StructuredQuery(.collection(ResourcePath(["d"])))
      query.filters = [
        .comparison(
          StructuredQuery.Comparison(
            field: FieldSegments(["n"]), operator: .lessThan, operand: .integer(10)))
      ]
      let past = try await backend.versioned(.results(EffectiveQuery(query)), at: time).answer
        .results
      #expect(past.map(\.path.id) == ["0", "1", "2", "3"])
      query.limit = 2
      let page = try await backend.versioned(.results(EffectiveQuery(query)), at: time).answer
        .results
      #expect(page.map(\.path.id) == ["0", "1"])
      try await db.terminate()
    }

    @Test func `a transaction that holds all writes and never ends is over after a second`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "hold")
      let other = try PostgresServer.open(url, as: "other")
      let backend = try db.database().backend
      let hold = try await exclusive(backend)
      try await other.document("c/1").setData(["n": 1])
      try await db.document("c/1").setData(["n": 2])
      let request = CommitRequest([try set("c/1", 3)], in: hold)
      do {
        _ = try await backend.commit(request)
        Issue.record("It has held all writes for too long.")
      } catch let status as Status { #expect(status.code == .aborted) }
      #expect(try await db.document("c/1").getDocument()["n"] as? Int == 2)
      try await db.terminate()
      try await other.terminate()
    }

    @Test func `a comparison finds a document with the same fields and other times`() async throws {
      let old = try Firestore.open(PostgresServer.newURL())
      let new = try Firestore.open(PostgresServer.newURL())
      for n in 0..<10 { try await old.document("c/\(n)").setData(["n": n]) }
      let copy = try await DatabaseCopy.begin(from: old, to: new)
      try await copy.copyDocuments()
      let token = copy.token
      #expect(try await copy.verify().isEqual)
      try await new.document("c/3").delete()
      try await new.document("c/3").setData(["n": 3])
      #expect(try await copy.verify().differences == ["c/3"])
      try await old.document("c/3").setData(["n": 4])
      try await copy.catchUp()
      #expect(try await copy.verifyChanges(since: token).isEqual)
      try await new.document("c/3").setData(["n": 5])
      try await new.document("c/3").setData(["n": 4])
      #expect(try await copy.verifyChanges(since: token).differences == ["c/3"])
      try await old.terminate()
      try await new.terminate()
    }

    /// A copy never says more about itself than is true of the documents that are there: it may be
    /// interrupted after any commit.
    @Test func `no commit of a copy says more than is copied`() async throws {
      let old = try Firestore.open(PostgresServer.newURL())
      let new = try Firestore.open(PostgresServer.newURL())
      let count = 700
      let batch = old.batch()
      for n in 0..<count { batch.setData(["n": n], forDocument: old.document("c\(n % 3)/\(n)")) }
      try await batch.commit()
      let copy = try await DatabaseCopy.begin(from: old, to: new)
      try await copy.copyDocuments()
      let target = try new.database().backend.asChangeFeed()
      var documents: Set<ResourcePath> = []
      var states = 0
      var sequence: UInt64 = 0
      while true {
        let token = target.token(after: sequence)
        let changes = try await target.awaiting { target.changes(since: token, $0, $1) }
        guard let last = changes.last else { break }
        sequence = last.sequence
        for change in changes {
          guard change.path == CopyState.path else {
            documents.insert(change.path)
            continue
          }
          #expect(change.endsCommit)
          let state = try CopyState(try #require(change.after))
          #expect(documents.count == state.documents)
          #expect(state.phase == .documents || state.documents == count)
          states += 1
        }
      }
      #expect(documents.count == count && states > 2)
      try await old.terminate()
      try await new.terminate()
    }

    /// The log no longer has the change that the query would find.
    @Test func `a transaction that has read before the log begins is not applied unseen`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let early = try Self.open(url, hoursLater: 0)
      let late = try Self.open(url, hoursLater: 2)
      _ = try await early.commit([try set("d/0", 1)])
      let begin = TransactionStart(at: CallSite(file: #file, line: #line))
      let id = try await early.awaiting { early.beginTransaction(begin, .lent, $0) }
      let context = RequestContext(thread: .lent, transaction: id)
      let query = StructuredQuery(.collection(ResourcePath(["c"])))
      let found = try await early.awaiting {
        early.read(.results(EffectiveQuery(query)), context, $0)
      }.answer
        .results
      #expect(found.isEmpty)
      _ = try await early.commit([try set("c/other", 1)])
      // The first one trims afterwards, before the second one is done.
      for n in 1...2 as ClosedRange<Int64> { _ = try await late.commit([try set("d/1", n)]) }
      #expect(try Self.oldestReadableTime(of: late) != nil)
      let request = CommitRequest([try set("c/own", 1)], in: id)
      do {
        _ = try await early.commit(request)
        Issue.record("The query finds more now.")
      } catch let status as Status { #expect(status.code == .aborted) }
      early.close()
      late.close()
    }

    /// It is applied in parts: a copy that is interrupted between them begins with it again.
    @Test func `the position of a copy is never inside a commit of the source`() async throws {
      let old = try Firestore.open(PostgresServer.newURL())
      let new = try Firestore.open(PostgresServer.newURL())
      let copy = try await DatabaseCopy.begin(from: old, to: new)
      try await copy.copyDocuments()
      let source = try old.database().backend.asChangeFeed()
      let target = try new.database().backend.asChangeFeed()
      // More than two commits of the target hold.
      let text = String(repeating: "x", count: 900_000)
      let mutations = try (0..<11).map { n in
        Mutation(
          path: ResourcePath(["c", "\(n)"]),
          operation: try .set(encoding: MapValue([("text", .string(text))])))
      }
      _ = try await source.commit(mutations)
      try await copy.catchUp()
      #expect(try await copy.verify().isEqual)
      var ends: Set<UInt64> = [0]
      var positions: [UInt64] = []
      for backend in [source, target] {
        var sequence: UInt64 = 0
        while true {
          let token = backend.token(after: sequence)
          let changes = try await backend.awaiting { backend.changes(since: token, $0, $1) }
          guard let last = changes.last else { break }
          sequence = last.sequence
          for change in changes {
            if backend === source, change.endsCommit { ends.insert(change.sequence) }
            guard backend === target, change.path == CopyState.path else { continue }
            positions.append(try CopyState(try #require(change.after)).token.sequence)
          }
        }
      }
      #expect(positions.last == 11)
      #expect(positions.allSatisfy(ends.contains))
      try await old.terminate()
      try await new.terminate()
    }

    /// News of another process come at any moment, also while a commit's answer is under way. A write that took
    /// longer than it waits for callbacks promises nothing: a machine may be that busy.
    @Test func `a write returns after the listener of its process, whatever others write`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "own")
      let other = try PostgresServer.open(url, as: "other")
      let seen = Guarded(-1)
      let listener = db.collection("d").addSnapshotListener { snapshot, _ in
        let n = snapshot?.documents.compactMap { $0["n"] as? Int }.max() ?? 0
        seen.withLock { $0 = max($0, n) }
      }
      try await eventually { seen.withLock(\.self) >= 0 }
      let isOver = Guarded(false)
      let noise = Task {
        var m = 0
        while !isOver.withLock(\.self) {
          m += 1
          try await other.document("noise/\(m % 5)").setData(["m": m])
        }
      }
      var (inTime, late) = (0, 0)
      for n in 1...10_000 where n <= 200 || inTime == 0 {
        let began = ContinuousClock.now
        try await db.document("d/own").setData(["n": n])
        let isSeen = seen.withLock(\.self) >= n
        if ContinuousClock.now - began < Acknowledgements.patience {
          inTime += 1
          if !isSeen { late += 1 }
        }
      }
      isOver.withLock { $0 = true }
      try await noise.value
      #expect(inTime > 0 && late == 0)
      listener.remove()
      try await db.terminate()
      try await other.terminate()
    }
  }
#endif
