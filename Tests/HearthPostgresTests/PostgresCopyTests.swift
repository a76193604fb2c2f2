#if Postgres
  import Foundation
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine

  /// Moving between a file and a server.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresCopyTests {
    private let folder = TemporaryFolder()

    private final class End: Sendable {
      private let state = Guarded(false)
      var isOver: Bool { state.withLock(\.self) }
      func come() { state.withLock { $0 = true } }
    }

    private func openFile(_ name: String) throws -> Firestore {
      let settings = FirestoreSettings()
      settings.durability = .unsafeWithoutFlushing
      settings.mapSizeBytes = 1 << 30
      return try Firestore.open(at: "\(folder.path)/\(name).hearth", settings: settings)
    }

    private func close(_ databases: Firestore...) async throws {
      for db in databases { try await db.terminate() }
    }

    /// Fields of every type.
    private static func fields(_ n: Int, _ db: Firestore) -> [String: Any] {
      [
        "n": n, "double": n == 3 ? Double.nan : Double(n) / 3, "zero": -0.0, "null": NSNull(),
        "true": n.isMultiple(of: 2), "text": "é e\u{301} 🦔 \u{0}\(n)",
        "time": Timestamp(seconds: Int64(n), nanoseconds: 5000),
        "bytes": Data([0, 1, 0xFF]), "point": GeoPoint(latitude: 59.91, longitude: Double(n % 180)),
        "reference": db.document("authors/\(n)"), "vector": FieldValue.vector([1, Double(n)]),
        "list": [1, "two", ["three": 3]], "map": ["a": ["b": ["c": n]], "é": 1],
        "filler": String(repeating: "x", count: n % 11 * 700),
      ]
    }

    private static func path(_ n: Int) -> String {
      switch n % 6 {
      case 0: "books/\(n)"
      case 1: "books/\(n - 1)/reviews/é\(n)"
      case 2: "books/e\u{301}\(n)"
      case 3: "a\(n)/b/c/d/e/f"
      case 4:
        (0..<4).map { _ in String(repeating: "ü", count: 700) + "\(n)" }.joined(separator: "/")
      default: "__id\(n)__/__id\(-n)__"
      }
    }

    private func fill(_ db: Firestore, _ count: Int) async throws {
      for start in stride(from: 0, to: count, by: 50) {
        let batch = db.batch()
        for n in start..<start + 50 where n % 6 != 5 {
          batch.setData(Self.fields(n, db), forDocument: db.document(Self.path(n)))
        }
        try await batch.commit()
      }
    }

    private func lines(_ db: Firestore) async throws -> [String] {
      let backend = try db.database().backend
      let limits = PageLimits(count: 100_000, byteCount: 1 << 30)
      return try await backend.awaiting { backend.read(.page(after: nil, limits), $0, $1) }.answer
        .page.documents.map {
          let times = "\($0.createTime.microseconds) \($0.updateTime.microseconds)"
          return "\($0.path.text) \(times) \(Data($0.body.bytes).base64EncodedString())"
        }
        .sorted()
    }

    private func copy(_ old: Firestore, _ new: Firestore) async throws {
      let copy = try await DatabaseCopy.begin(from: old, to: new)
      try await copy.copyDocuments()
      try await copy.copyIndexes()
      let verification = try await copy.verify()
      #expect(verification.isEqual, "\(verification.differences)")
      try await copy.finish()
    }

    @Test func `a file is copied to a server and back, with its rules`() async throws {
      let (old, new) = (try openFile("old"), try Firestore.open(PostgresServer.newURL()))
      let again = try openFile("again")
      try await fill(old, 900)
      try await old.indexes.declare(
        FirestoreIndex("books", .ascending("true"), .descending("n")),
        FirestoreIndex(unique: "books", .ascending("n")))
      try await old.references.declare(
        FirestoreReferenceRule("reviews", field: "reference", to: "authors", onDelete: .nullify),
        FirestoreReferenceRule("reviews", field: "reference", to: "books", onDelete: .cascade))
      try await old.ttl.setPolicy(collectionGroup: "sessions", field: "until")
      try await copy(old, new)
      try await copy(new, again)
      let policies = try await old.ttl.policies()
      #expect(policies.count == 1)
      #expect(try await new.ttl.policies() == policies)
      #expect(try await again.ttl.policies() == policies)
      let first = try await lines(old)
      #expect(try await lines(new) == first)
      #expect(try await lines(again) == first)
      #expect(try await again.maintenance.check().problems == [])
      let descriptions = Set(try await old.indexes.list().map(\.description))
      // And that of the policy.
      let added = Set(try await new.indexes.list().map(\.description))
      #expect(added.isSuperset(of: descriptions) && added.count == descriptions.count + 1)
      #expect(Set(try await again.indexes.list().map(\.description)) == added)
      try await close(old, new, again)
    }

    @Test func `an interrupted copy to a server goes on`() async throws {
      let (old, new) = (try openFile("old"), try Firestore.open(PostgresServer.newURL()))
      try await fill(old, 1200)
      var interruptions = 0
      while true {
        let copy = try await DatabaseCopy.begin(from: old, to: new)
        let left = Guarded(Int.random(in: 1...3))
        do {
          try await Task {
            try await copy.copyDocuments { _ in
              let isOver = left.withLock { left in
                left -= 1
                return left < 0
              }
              if isOver { withUnsafeCurrentTask { $0?.cancel() } }
            }
          }.value
          #expect(try await copy.verify().isEqual)
          try await copy.finish()
          break
        } catch is CancellationError {
          interruptions += 1
          try await old.document("books/late\(interruptions)").setData(["n": -interruptions])
          try await old.document("books/\(interruptions * 6)").delete()
        }
      }
      #expect(interruptions > 0)
      #expect(try await lines(new) == lines(old))
      try await close(old, new)
    }

    @Test(arguments: [true, false])
    func `a service of four writers moves, and misses nothing`(toServer: Bool) async throws {
      let (file, server) = (try openFile("old"), try Firestore.open(PostgresServer.newURL()))
      let (old, new) = toServer ? (file, server) : (server, file)
      try await fill(old, 300)
      let end = End()
      let writers = Task {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for writer in 0..<4 {
            group.addTask {
              var n = 0
              while !end.isOver {
                n += 1
                let batch = old.batch()
                batch.setData(["n": n], forDocument: old.document("live/\(writer)"))
                batch.setData(["n": n], forDocument: old.document("live/\(writer)-\(n % 50)"))
                batch.deleteDocument(old.document("live/\(writer)-\((n + 25) % 50)"))
                try await batch.commit()
              }
            }
          }
          try await group.waitForAll()
        }
      }
      let copy = try await DatabaseCopy.begin(from: old, to: new)
      try await copy.copyDocuments()
      try await copy.copyIndexes()
      #expect(try await copy.verify().isEqual)
      let verified = copy.token
      let batches = Guarded(0)
      let following = Task {
        try await copy.follow { _ in
          batches.withLock { $0 += 1 }
          return true
        }
      }
      try await eventually { batches.withLock(\.self) >= 10 }
      end.come()
      try await writers.value
      following.cancel()
      await #expect(throws: CancellationError.self) { try await following.value }
      try await copy.catchUp()
      #expect(try await copy.verifyChanges(since: verified).isEqual)
      #expect(try await !copy.hasMissingChanges())
      #expect(try await copy.verify().isEqual)
      try await copy.finish()
      #expect(try await lines(new) == lines(old))
      try await close(file, server)
    }

    @Test func `a comparison finds a document that is different on the server`() async throws {
      let (old, new) = (try openFile("old"), try Firestore.open(PostgresServer.newURL()))
      try await fill(old, 100)
      let copy = try await DatabaseCopy.begin(from: old, to: new)
      try await copy.copyDocuments()
      try await new.document("books/6").updateData(["n": 7])
      try await new.document("books/12").delete()
      let verification = try await copy.verify()
      #expect(Set(verification.differences) == ["books/6", "books/12"])
      #expect(verification.differenceCount == 2)
      try await close(old, new)
    }
  }
#endif
