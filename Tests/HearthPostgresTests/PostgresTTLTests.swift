#if Postgres
  import Foundation
  import PostgresTestServer
  import Testing

  @testable import Hearth

  /// Documents on a server expire as those of a file do.
  @Suite(.enabled(if: PostgresServer.isRunning)) struct PostgresTTLTests {
    private static let past = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)
    private static let future = Timestamp(seconds: 4_000_000_000, nanoseconds: 0)

    private static func open(_ url: String, sweep: Duration? = nil) throws -> Firestore {
      let settings = FirestoreSettings()
      settings.ttlSweepInterval = sweep
      return try Firestore.open(url, settings: settings)
    }

    @Test func `documents expire by the field of their collection's policy, whoever set it`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let db = try Self.open(url)
      let other = try Self.open("\(url)&application_name=other")
      let sessions = db.collection("sessions")
      let below = db.collection("users/ada/sessions")
      let batch = db.batch()
      for number in 0..<300 {
        batch.setData(
          ["until": Self.past, "n": number], forDocument: sessions.document("old\(number)"))
      }
      batch.setData(["until": Self.past], forDocument: below.document("old"))
      batch.setData(["until": Self.future], forDocument: sessions.document("new"))
      batch.setData(["until": "2020"], forDocument: sessions.document("text"))
      batch.setData(["until": 1], forDocument: sessions.document("number"))
      batch.setData(["n": 1], forDocument: sessions.document("without"))
      batch.setData(["until": Self.past], forDocument: db.document("others/old"))
      batch.setData(["n": 1], forDocument: db.document("sessions/old0/parts/one"))
      try await batch.commit()

      #expect(try await db.ttl.deleteExpired() == 0)
      try await db.ttl.setPolicy(collectionGroup: "sessions", field: "until")
      #expect(
        try await other.ttl.policies()
          == [FirestoreTTL.Policy(collectionGroup: "sessions", field: "until")])
      #expect(try await other.ttl.deleteExpired() == 301)
      #expect(try await db.ttl.deleteExpired() == 0)
      let left = try await sessions.getDocuments().documents.map(\.documentID)
      #expect(left == ["new", "number", "text", "without"])
      #expect(try await below.getDocuments().isEmpty)
      #expect(try await db.document("others/old").getDocument().exists)
      #expect(try await db.document("sessions/old0/parts/one").getDocument().exists)

      // Another field, then none.
      try await sessions.document("text").setData(["end": Self.past])
      try await sessions.document("number").setData(["until": Self.past])
      try await db.ttl.setPolicy(collectionGroup: "sessions", field: "end")
      #expect(try await db.ttl.deleteExpired() == 1)
      try await db.ttl.removePolicy(collectionGroup: "sessions")
      #expect(try await other.ttl.policies().isEmpty)
      #expect(try await other.ttl.deleteExpired() == 0)
      #expect(try await sessions.document("number").getDocument().exists)
      try await db.terminate()
      try await other.terminate()
    }

    @Test func `a document that a rule keeps does not keep those behind it`() async throws {
      let db = try Self.open(try PostgresServer.newURL())
      try await db.references.declare([
        FirestoreReferenceRule("books", field: "by", to: "authors", onDelete: .restrict)
      ])
      let batch = db.batch()
      for number in 0..<200 {
        let author = db.document("authors/a\(1000 + number)")
        batch.setData(["until": Self.past], forDocument: author)
        if number < 150 {
          batch.setData(["by": author], forDocument: db.document("books/\(number)"))
        }
      }
      try await batch.commit()
      try await db.ttl.setPolicy(collectionGroup: "authors", field: "until")
      #expect(try await db.ttl.deleteExpired() == 50)
      #expect(try await db.collection("authors").getDocuments().count == 150)
      try await db.terminate()
    }

    @Test func `processes sweep by themselves, and listeners receive it`() async throws {
      let url = try PostgresServer.newURL()
      let db = try Self.open(url, sweep: .milliseconds(50))
      let other = try Self.open("\(url)&application_name=other", sweep: .milliseconds(50))
      try await db.ttl.setPolicy(collectionGroup: "sessions", field: "until")
      let snapshots = other.collection("sessions").snapshots
      try await db.document("sessions/one").setData(["until": Self.past])
      try await db.document("sessions/two").setData(["until": Self.future])
      for try await snapshot in snapshots
      where snapshot.documents.map(\.documentID) == ["two"] { break }
      #expect(try await !db.document("sessions/one").getDocument().exists)
      try await db.terminate()
      try await other.terminate()
    }
  }
#endif
