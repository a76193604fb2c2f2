#if Postgres
  import Foundation
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth

  /// Transactions and listeners of three processes that use the same documents at once: each process is
  /// an instance with its own connections.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresIsolationTests {
    private static func open() throws -> [Firestore] {
      let url = try PostgresServer.newURL()
      return try (0..<3).map { try PostgresServer.open(url, as: "process\($0)") }
    }

    private static func close(_ databases: [Firestore]) async throws {
      for db in databases { try await db.terminate() }
    }

    /// No money comes or goes, every reader sees the same sum, and every task ends.
    @Test func `sixty-four tasks of three processes move money between eight accounts`()
      async throws
    {
      let databases = try Self.open()
      let (accounts, transfers) = (8, Soak.isOn ? 50 : 4)
      let batch = databases[0].batch()
      for account in 0..<accounts {
        batch.setData(["money": 1000], forDocument: databases[0].document("bank/\(account)"))
      }
      try await batch.commit()
      try await withThrowingTaskGroup { group in
        for task in 0..<64 {
          let db = databases[task % 3]
          group.addTask {
            for number in 0..<transfers {
              let (from, to) = ((task + number) % accounts, (task * 5 + number * 3 + 1) % accounts)
              guard from != to else { continue }
              try await db.inTransaction { transaction in
                let (payer, payee) = (db.document("bank/\(from)"), db.document("bank/\(to)"))
                let has = try #require(transaction.getDocument(payer)["money"] as? Int)
                let other = try #require(transaction.getDocument(payee)["money"] as? Int)
                let amount = min(has, 1 + number)
                transaction.updateData(["money": has - amount], forDocument: payer)
                transaction.updateData(["money": other + amount], forDocument: payee)
              }
            }
          }
        }
        for db in databases {
          group.addTask {
            for _ in 0..<20 {
              let found = try await db.collection("bank").getDocuments().documents
              let money = found.compactMap { $0["money"] as? Int }
              #expect(money.reduce(0, +) == accounts * 1000 && money.allSatisfy { $0 >= 0 })
            }
          }
        }
        try await group.waitForAll()
      }
      let sum =
        try await databases[1].collection("bank").aggregate([.sum("money")])
        .getAggregation(source: .server).get(.sum("money")) as? Int
      #expect(sum == accounts * 1000)
      try await Self.close(databases)
    }

    /// Each transaction counts the results of a query and adds one more: no two count the same.
    @Test func `there are no phantoms`() async throws {
      let databases = try Self.open()
      let count = Soak.isOn ? 120 : 24
      try await withThrowingTaskGroup { group in
        for task in 0..<12 {
          let db = databases[task % 3]
          group.addTask {
            for _ in 0..<(count / 12) {
              try await db.inTransaction { transaction in
                let query = db.collection("tickets").whereField("open", isEqualTo: true)
                let number = try transaction.getDocuments(query).count
                transaction.setData(
                  ["open": true, "number": number],
                  forDocument: db.collection("tickets").document())
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let numbers = try await databases[0].collection("tickets").getDocuments().documents
        .compactMap { $0["number"] as? Int }
      #expect(numbers.sorted() == Array(0..<count))
      try await Self.close(databases)
    }

    /// Every snapshot is the query's result after some commit, never an earlier one than before.
    @Test func `a listener's snapshots are results of the query, in the order of the commits`()
      async throws
    {
      let databases = try Self.open()
      let (writer, other, db) = (databases[0], databases[1], databases[2])
      let token = try await other.changeToken()
      func text(_ documents: [(id: String, value: Int)]) -> String {
        documents.map { "\($0.id)=\($0.value)" }.joined(separator: " ")
      }
      let query = db.collection("c").whereField("v", isGreaterThan: 3)
        .order(by: "v", descending: true).limit(to: 5)
      let listening = Task {
        var seen: [String] = []
        for try await snapshot in query.snapshots {
          seen.append(
            text(snapshot.documents.map { ($0.documentID, $0["v"] as? Int ?? -1) }))
          if snapshot.documents.first?.documentID == "end" { break }
        }
        return seen
      }
      let commits = Soak.isOn ? 1000 : 60
      try await withThrowingTaskGroup { group in
        for task in 0..<4 {
          let db = task % 2 == 0 ? writer : other
          group.addTask {
            var random = SystemRandomNumberGenerator()
            for _ in 0..<commits {
              let batch = db.batch()
              for _ in 0..<Int.random(in: 1...3, using: &random) {
                let document = db.document("c/\(Int.random(in: 0..<12, using: &random))")
                if Int.random(in: 0..<4, using: &random) == 0 {
                  batch.deleteDocument(document)
                } else {
                  batch.setData(
                    ["v": Int.random(in: 0..<10, using: &random)], forDocument: document)
                }
              }
              try await batch.commit()
            }
          }
        }
        try await group.waitForAll()
      }
      try await writer.document("c/end").setData(["v": 100])
      let seen = try await listening.value

      var state: [String: Int] = [:]
      var results = [""]
      for try await change in other.changes(since: token) {
        state[change.document.documentID] = change.after?["v"] as? Int
        guard change.endsCommit else { continue }
        let found = state.filter { $0.value > 3 }.map { (id: $0.key, value: $0.value) }
          .sorted { ($0.value, $0.id) > ($1.value, $1.id) }
        results.append(text(Array(found.prefix(5))))
        if change.document.documentID == "end" { break }
      }
      var rest = results[...]
      for snapshot in seen {
        let position = rest.firstIndex(of: snapshot)
        #expect(position != nil, "\(snapshot) was no result then")
        if let position { rest = rest[position...] }
      }
      #expect(rest.count == 1)
      try await Self.close(databases)
    }
  }
#endif
