import FirebaseFirestore
import Foundation
import HearthTesting
import Testing

/// What the landing page and the documentation comments show compiles, and runs.
@Suite struct DocumentationTests {
  struct Book: Codable, Equatable {
    @DocumentID var id: String?
    var title: String
    var pages: Int
    var tags: [String]
  }

  @Test func `a book is stored whole`() async throws {
    try await expectRoundTrip(Book(title: "Dune", pages: 412, tags: ["sand"]))
  }

  struct Loan: Codable, Equatable {
    var book: DocumentReference
    var reader: String
  }

  @Test func `a model with a reference is stored whole`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    try await expectRoundTrip(Loan(book: dune, reader: "Ann"), in: database)
  }

  @Suite struct BookTests {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    @Test func `a book has a title`() async throws {
      let dune = database.firestore.document("books/dune")
      try await dune.setData(["title": "Dune"])
      #expect(try await dune.getDocument()["title"] as? String == "Dune")
    }
  }

  @Test func `the landing page`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    try await dune.setData(["title": "Dune"])

    let recorder = SnapshotRecorder(dune)
    _ = try await recorder.next()
    try await dune.updateData(["title": "Dune Messiah"])
    #expect(try await recorder.next()["title"] as? String == "Dune Messiah")

    await #expect { try await dune.create([:]) } throws: { error in
      (error as? FirestoreErrorCode)?.code == .alreadyExists
    }

    let clock = FixedClock(at: Date(timeIntervalSince1970: 1_700_000_000))
    let past = try TemporaryDatabase(clock: clock)
    defer { withExtendedLifetime(past) {} }
    let emma = past.firestore.document("books/emma")
    try await emma.setData(["seen": FieldValue.serverTimestamp()])
    #expect(try await emma.getDocument()["seen"] as? Timestamp == clock.now)
    clock.advance(by: .seconds(60))
  }
}

extension SnapshotRecorder {
  /// The one that this file calls: the machine may be busier than users' are.
  fileprivate func next() async throws -> Snapshot { try await next(timeout: .seconds(120)) }
}
