#if Postgres
  import Foundation
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine
  @testable import HearthPostgres

  /// What a database on a PostgreSQL server promises in addition to what every database does. The public
  /// API's tests are run over it by `HEARTH_TEST_BACKEND=postgres`.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresTests {
    @Test func `what was acknowledged is there for another process and after reopening`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let one = try PostgresServer.open(url, as: "one")
      let other = try PostgresServer.open(url, as: "other")
      try await one.document("books/dune").setData(["title": "Dune"])
      #expect(try await other.document("books/dune").getDocument()["title"] as? String == "Dune")
      try await other.document("books/dune").updateData(["pages": 412])
      #expect(try await one.document("books/dune").getDocument()["pages"] as? Int == 412)
      try await one.terminate()
      try await other.terminate()
      let again = try PostgresServer.open(url, as: "one")
      #expect(try await again.document("books/dune").getDocument()["pages"] as? Int == 412)
      try await again.terminate()
    }

    @Test func `a listener hears of every commit of another process, once and in order`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let writer = try PostgresServer.open(url, as: "writer")
      let reader = try PostgresServer.open(url, as: "reader")
      let count = 200
      let token = try await reader.changeToken()
      let seen = Task {
        var numbers: [Int] = []
        for try await change in reader.changes(since: token) {
          numbers.append(change.after?["n"] as? Int ?? -1)
          if numbers.count == count { break }
        }
        return numbers
      }
      for n in 0..<count { try await writer.document("log/\(n % 7)").setData(["n": n]) }
      #expect(try await seen.value == Array(0..<count))
      try await writer.terminate()
      try await reader.terminate()
    }

    @Test func `counters of many tasks in two processes lose nothing`() async throws {
      let url = try PostgresServer.newURL()
      let databases = [
        try PostgresServer.open(url, as: "one"), try PostgresServer.open(url, as: "other"),
      ]
      try await databases[0].document("c/n").setData(["n": 0])
      try await withThrowingTaskGroup { group in
        for task in 0..<16 {
          let db = databases[task % 2]
          group.addTask {
            for _ in 0..<5 {
              try await db.inTransaction { transaction in
                let n = try transaction.getDocument(db.document("c/n"))["n"] as? Int ?? 0
                transaction.updateData(["n": n + 1], forDocument: db.document("c/n"))
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await databases[0].document("c/n").getDocument()["n"] as? Int == 80)
      for db in databases { try await db.terminate() }
    }

    /// Two transactions read both documents, and each clears one if both are set.
    @Test func `a batch with a check is checked on the state that it commits on`() async throws {
      struct Full: Error {}
      let url = try PostgresServer.newURL()
      let databases = [
        try PostgresServer.open(url, as: "one"), try PostgresServer.open(url, as: "other"),
      ]
      try await databases[0].document("c/n").setData(["n": 0])
      let refused = await withTaskGroup(of: Bool.self) { group in
        for task in 0..<16 {
          let db = databases[task % 2]
          group.addTask {
            do {
              try await db.batch()
                .setData(["task": task], forDocument: db.document("c/\(task)"))
                .updateData(["n": FieldValue.increment(Int64(1))], forDocument: db.document("c/n"))
                .check(db.document("c/n")) { if $0["n"] as? Int ?? 0 > 5 { throw Full() } }
                .commit()
              return false
            } catch {
              return error is Full
            }
          }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(refused == 11)
      #expect(try await databases[1].collection("c").getDocuments().count == 6)
      // Without the check, the server would decide this one alone.
      await #expect(throws: Full.self) {
        try await databases[0].batch().setData(["n": 9], forDocument: databases[0].document("c/x"))
          .check(databases[0].document("c/x")) { if $0["n"] as? Int == 9 { throw Full() } }.commit()
      }
      for db in databases { try await db.terminate() }
    }

    @Test func `write skew does not happen`() async throws {
      let url = try PostgresServer.newURL()
      let databases = [
        try PostgresServer.open(url, as: "one"), try PostgresServer.open(url, as: "other"),
      ]
      let ids = ["a", "b"]
      for _ in 0..<20 {
        for id in ids { try await databases[0].document("on/\(id)").setData(["on": true]) }
        try await withThrowingTaskGroup { group in
          for (number, db) in databases.enumerated() {
            group.addTask {
              try await db.inTransaction { transaction in
                let on = try transaction.getDocuments(
                  db.collection("on").whereField("on", isEqualTo: true))
                guard on.count == 2 else { return }
                transaction.updateData(["on": false], forDocument: db.document("on/\(ids[number])"))
              }
            }
          }
          try await group.waitForAll()
        }
        let left = try await databases[0].collection("on").whereField("on", isEqualTo: true)
          .getDocuments()
        #expect(left.count == 1)
      }
      for db in databases { try await db.terminate() }
    }

    @Test func `of many who insert a unique value in two processes one wins`() async throws {
      let url = try PostgresServer.newURL()
      let databases = [
        try PostgresServer.open(url, as: "one"), try PostgresServer.open(url, as: "other"),
      ]
      try await databases[0].indexes.declare(FirestoreIndex(unique: "users", .ascending("email")))
      try await databases[0].indexes.waitUntilReady()
      for round in 0..<10 {
        let won = await withTaskGroup(of: Bool.self) { group in
          for task in 0..<16 {
            let document = databases[task % 2].document("users/\(round)-\(task)")
            group.addTask {
              do {
                try await document.setData(["email": "\(round)@example.com"])
                return true
              } catch FirestoreErrorCode.alreadyExists {
                return false
              } catch {
                Issue.record(error)
                return false
              }
            }
          }
          return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(won == 1)
      }
      #expect(try await databases[1].collection("users").getDocuments().count == 10)
      for db in databases { try await db.terminate() }
    }

    /// The server applies a commit whose answer is lost, or does not: the writer finds out which.
    @Test(arguments: [PostgresProxy.Cut.afterCommit, .beforeCommit])
    func `a commit whose answer is lost is applied once and acknowledged`(
      cut: PostgresProxy.Cut
    ) async throws {
      let url = try PostgresServer.newURL()
      let proxy = try PostgresProxy(to: PostgresServer.port)
      defer { proxy.close() }
      let db = try Firestore.open(PostgresServer.url(url, through: proxy))
      let token = try await db.changeToken()
      let rounds = Soak.isOn ? 200 : 20
      for round in 1...rounds {
        proxy.cutNextCommit(cut)
        // Decided here: the old value is read first.
        try await db.document("c/n").setData(["n": FieldValue.increment(Int64(1))], merge: true)
        #expect(try await db.document("c/n").getDocument()["n"] as? Int == round)
        proxy.cutNextCommit(cut)
        // Decided by the server.
        let batch = db.batch()
        batch.setData(["n": round], forDocument: db.document("c/blind"))
        batch.setData(["n": 0], forDocument: db.document("c/\(round)"))
        try await batch.commit()
        #expect(try await db.document("c/blind").getDocument()["n"] as? Int == round)
      }
      #expect(proxy.cuts == rounds * 2)
      var changes: [String: Int] = [:]
      for try await change in db.changes(since: token) {
        changes[change.document.path, default: 0] += 1
        if changes.values.reduce(0, +) == rounds * 3 { break }
      }
      #expect(changes["c/n"] == rounds && changes["c/blind"] == rounds)
      #expect(changes.count == rounds + 2)
      try await db.terminate()
    }

    /// Also what became of each of several requests that were in the commit.
    @Test func `a lost answer is found with all of its outcomes`() async throws {
      let url = try PostgresServer.newURL()
      let proxy = try PostgresProxy(to: PostgresServer.port)
      defer { proxy.close() }
      let db = try Firestore.open(PostgresServer.url(url, through: proxy))
      let backend = try db.database().backend
      for round in 0..<(Soak.isOn ? 50 : 5) {
        try await db.document("c/known-\(round)").setData(["n": 1])
        var start = TransactionStart(at: CallSite(file: #file, line: #line))
        start.isExclusive = true
        let hold = try await backend.awaiting { backend.beginTransaction(start, .busy, $0) }
        func set(_ text: String, isNew: Bool) throws -> Mutation {
          Mutation(
            path: ResourcePath(relative: text),
            operation: try .set(encoding: MapValue([("n", .integer(1))])),
            precondition: isNew ? .exists(false) : .none)
        }
        // Also if the hold has ended before all are there: then in several commits.
        proxy.cutNextCommit()
        let names = ["new-\(round)", "known-\(round)", "new-\(round)", "last-\(round)"]
        let outcomes = Guarded<[Int: String]>([:])
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
          for (number, name) in names.enumerated() {
            guard let mutation = try? set("c/\(name)", isNew: number < 3) else { continue }
            backend.commit(CommitRequest([mutation], isAwaited: false), .busy) { outcome in
              let isLast = outcomes.withLock { outcomes in
                switch outcome {
                case .success(let result): outcomes[number] = "\(result.sequence)"
                case .failure(let status): outcomes[number] = "\(status.code)"
                }
                return outcomes.count == names.count
              }
              if isLast { done.resume() }
            }
          }
          backend.end(hold, isRetried: false)
        }
        let last = round * 3 + 1
        #expect(
          outcomes.withLock(\.self) == [
            0: "\(last + 1)", 1: "alreadyExists", 2: "alreadyExists", 3: "\(last + 2)",
          ])
        #expect(proxy.cuts == round + 1)
      }
      try await db.terminate()
    }

    /// Others may write as soon as the lock is gone: what was read before says nothing any more.
    @Test func `a closure that loses the lock commits nothing`() async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "victim")
      try await db.document("c/n").setData(["n": 1])
      let document = db.document("c/n")
      do {
        try await db.write { session in
          _ = try session.getDocument(document)
          let connection = try PostgresConnection.forWriting(url)
          _ = try connection.run([
            PostgresStatement(
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'"
            )
          ])
          // The closure does not notice.
          _ = try? session.getDocument(db.document("c/other"))
          try? session.setData(["n": 2], forDocument: document)
        }
        Issue.record("Nothing could be committed.")
      } catch FirestoreErrorCode.unavailable {}
      #expect(try await document.getDocument()["n"] as? Int == 1)
      try await document.setData(["n": 3])
      #expect(try await document.getDocument()["n"] as? Int == 3)
      try await db.terminate()
    }

    @Test func `round trips`() async throws {
      let url = try PostgresServer.newURL()
      let proxy = try PostgresProxy(to: PostgresServer.port)
      defer { proxy.close() }
      let db = try Firestore.open(PostgresServer.url(url, through: proxy))
      for n in 0..<20 { try await db.document("books/\(n)").setData(["n": n]) }
      /// After a first call, for which connections are made and statements prepared.
      func trips(_ goal: Int, _ body: () async throws -> Void) async throws {
        // Each of the reading threads has made its connection.
        try await withThrowingTaskGroup { group in
          for _ in 0..<64 { group.addTask { _ = try await db.document("x/y").getDocument() } }
          try await group.waitForAll()
        }
        try await body()
        #expect(try await proxy.fewestRoundTrips(of: body) == goal)
      }
      try await trips(1) { _ = try await db.document("books/1").getDocument() }
      try await trips(1) { _ = try await db.collection("books").getDocuments() }
      try await trips(1) {
        _ = try await db.collection("books").whereField("n", isGreaterThan: 3).getDocuments()
      }
      var n = 100
      for isIndexed in [false, true] {
        if isIndexed {
          try await db.indexes.declare(FirestoreIndex("books", .ascending("n")))
          try await db.indexes.waitUntilReady()
        }
        try await trips(1) {
          n += 1
          try await db.document("books/1").setData(["n": n])
        }
        try await trips(1) {
          n += 1
          let batch = db.batch()
          for id in 0..<50 { batch.setData(["n": n], forDocument: db.document("books/\(id)")) }
          batch.deleteDocument(db.document("books/\(n)"))
          try await batch.commit()
        }
        try await trips(1) {
          n += 1
          try await db.document("books/new-\(n)").create(["n": n])
        }
        try await trips(1) {
          n += 1
          try await db.document("books/new-\(n - 3)").delete()
        }
        try await trips(2) {
          try await db.document("books/1").updateData(["n": FieldValue.increment(Int64(1))])
        }
        try await trips(2) {
          n += 1
          try await db.document("books/1").setData(["m": n], merge: true)
        }
        // Two reads.
        try await trips(3) {
          try await db.inTransaction { transaction in
            let found = try transaction.getDocument(db.document("books/1"))["n"] as? Int ?? 0
            _ = try transaction.getDocuments(
              db.collection("books").whereField("n", isLessThan: 3))
            transaction.setData(["n": found + 1], forDocument: db.document("books/1"))
          }
        }
        try await trips(3) {
          try await db.inTransaction { transaction in
            let found = try transaction.getDocument(db.document("books/1"))["n"] as? Int ?? 0
            transaction.updateData(["n": found + 1], forDocument: db.document("books/1"))
          }
        }
      }
      try await db.terminate()
    }

    @Test func `names and documents of any size are stored and found`() async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "limits")
      var random = SystemRandomNumberGenerator()
      /// Bytes that do not compress.
      func id(_ count: Int) -> String {
        String(
          (0..<count).map { _ in
            Character(UnicodeScalar(UInt8.random(in: 97...122, using: &random)))
          })
      }
      var paths: [String] = []
      for segments in [[1500], [1000, 500, 1200, 1], [1500, 1, 1500, 1, 1500, 1]] {
        let ids = segments.map(id)
        let path = ids.count == 1 ? "long/\(ids[0])" : ids.joined(separator: "/")
        paths.append(path)
        try await db.document(path).setData(["path": path, "text": id(2_000)])
      }
      try await db.indexes.declare(FirestoreIndex("long", .ascending("text")))
      try await db.indexes.waitUntilReady()
      let body = id(1_000_000)
      try await db.document("large/one").setData(["text": body])
      for path in paths {
        #expect(try await db.document(path).getDocument()["path"] as? String == path)
        let parent = db.document(path).parent
        #expect(try await parent.getDocuments().documents.map(\.reference.path) == [path])
      }
      #expect(try await db.document("large/one").getDocument()["text"] as? String == body)
      let text = try await db.document(paths[0]).getDocument()["text"] as? String ?? ""
      #expect(
        try await db.collection("long").whereField("text", isEqualTo: text).getDocuments().count
          == 1)
      try await db.terminate()
    }

    @Test func `an index is built, used, kept and dropped`() async throws {
      let url = try PostgresServer.newURL()
      let db = try PostgresServer.open(url, as: "indexes")
      let other = try PostgresServer.open(url, as: "others")
      let batch = db.batch()
      for n in 0..<400 {
        batch.setData(["n": n, "odd": n % 2 == 1], forDocument: db.document("d/\(n)"))
      }
      try await batch.commit()
      let index = FirestoreIndex("d", .ascending("n"))
      try await db.indexes.declare(index)
      try await db.indexes.waitUntilReady()
      let query = other.collection("d").whereField("n", isLessThan: 10)
      #expect(try await query.getDocuments().count == 10)
      let explained = try await query.explain(analyze: true)
      #expect(explained.isServed)
      #expect(explained.execution?.documentsRead == 10)
      let page = other.collection("d").order(by: "n", descending: true).limit(to: 5)
      #expect(
        try await page.getDocuments().documents.map { $0["n"] as? Int } == [
          399, 398, 397, 396, 395,
        ])
      #expect(try await page.explain(analyze: true).execution?.documentsRead == 5)
      let next = other.collection("d").order(by: "n", descending: true).start(after: [395])
        .limit(to: 2)
      #expect(try await next.getDocuments().documents.map { $0["n"] as? Int } == [394, 393])
      #expect(try await next.explain(analyze: true).execution?.documentsRead == 2)
      try await other.document("d/3").updateData(["n": 1000])
      try await other.document("d/4").delete()
      try await other.document("d/new").setData(["n": 5])
      #expect(
        try await db.collection("d").whereField("n", isLessThan: 10).getDocuments().count == 9)
      try await db.indexes.drop(index)
      // A process that knows the index still must not use what is no longer there.
      #expect(try await query.getDocuments().count == 9)
      try await db.terminate()
      try await other.terminate()
    }

    @Test func `a URL that is none, and a server that is not there`() async throws {
      #expect(throws: (any Error).self) { try Firestore.open("mysql://localhost/x") }
      do {
        _ = try Firestore.open("postgresql://nobody@127.0.0.1:1/none")
        Issue.record("Nothing is there.")
      } catch FirestoreErrorCode.unavailable {}
    }
  }
#endif
