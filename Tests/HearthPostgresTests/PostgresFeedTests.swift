#if Postgres
  import Foundation
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth

  /// The feed of changes, with writers in several processes that pause, fail and hold transactions
  /// open.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(.minutes(30)))
  struct PostgresFeedTests {
    @Test func `twelve writers and a follower: nothing is missed, nothing comes twice`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let databases = try (0..<3).map { try PostgresServer.open(url, as: "w\($0)") }
      let follower = try PostgresServer.open(url, as: "follower")
      let token = try await follower.changeToken()
      let commits = Soak.isOn ? 1250 : 40
      try await withThrowingTaskGroup { group in
        for writer in 0..<12 {
          let db = databases[writer % 3]
          group.addTask {
            var random = SeededGenerator(seed: UInt64(writer))
            for n in 1...commits {
              if n % 7 == 0 { random.pause(below: 2000) }
              let batch = db.batch()
              batch.setData(["n": n], forDocument: db.document("w/\(writer)"))
              batch.setData(["n": n], forDocument: db.document("v/\(writer)"))
              try await batch.commit()
              // One in twenty is refused as a whole.
              if n % 20 == 0 {
                let refused = db.batch()
                refused.setData(["n": -1], forDocument: db.document("w/\(writer)"))
                refused.updateData(["n": 0], forDocument: db.document("nobody/\(writer)"))
                try? await refused.commit()
              }
            }
          }
        }
        try await group.waitForAll()
      }
      var last: [String: Int] = [:]
      var count = 0
      for try await change in follower.changes(since: token) {
        let n = try #require(change.after?["n"] as? Int)
        let path = change.document.path
        #expect(n == last[path, default: 0] + 1)
        last[path] = n
        // The second document of a batch ends its commit.
        #expect(change.endsCommit == path.hasPrefix("v/"))
        count += 1
        if count == 12 * commits * 2 { break }
      }
      #expect(last.count == 24 && last.values.allSatisfy { $0 == commits })
      for db in databases + [follower] { try await db.terminate() }
    }

    /// Each snapshot of a listener is a state that existed: all documents of a batch have one number.
    @Test func `a listener sees no half of a commit of another process`() async throws {
      let url = try PostgresServer.newURL()
      let writer = try PostgresServer.open(url, as: "writer")
      let reader = try PostgresServer.open(url, as: "reader")
      let rounds = Soak.isOn ? 500 : 40
      let watching = Task {
        for try await snapshot in reader.collection("d").snapshots {
          let numbers = Set(snapshot.documents.compactMap { $0["n"] as? Int })
          #expect(numbers.count <= 1)
          if numbers == [rounds] { return }
        }
      }
      for n in 1...rounds {
        let batch = writer.batch()
        for id in 0..<5 { batch.setData(["n": n], forDocument: writer.document("d/\(id)")) }
        try await batch.commit()
      }
      try await watching.value
      try await writer.terminate()
      try await reader.terminate()
    }
  }
#endif
