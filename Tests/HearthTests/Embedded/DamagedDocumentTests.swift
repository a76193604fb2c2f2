import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A stored document that was damaged, read and written by all public ways.
@Suite(.embedded("It damages a file.")) struct DamagedDocumentTests {
  private let folder = TemporaryFolder()
  private let db: Firestore

  init() throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    db = try Firestore.open(at: folder.path + "/snapshots.hearth", settings: settings)
  }

  @Test
  func `a damaged document throws data loss and never reads as an empty one`() async throws {
    let dune = db.document("books/dune")
    try await dune.setData(["title": "Dune", "pages": 412, "tags": ["sand"]])
    let store = try db.database().store
    let bodyBytes = try await dune.getDocument().stored?.body.bytes.count ?? 0
    for distance in 1...bodyBytes {
      try store.damage("books/dune", fromEnd: distance)
      let read = await code { _ = try await dune.getDocument() } == .dataLoss
      #expect(read, "\(distance) bytes from the end")
      let queried = await code { _ = try await db.collection("books").getDocuments() } == .dataLoss
      #expect(queried, "\(distance) bytes from the end")
      try store.damage("books/dune", fromEnd: distance)
    }
    #expect(try await dune.getDocument()["pages"] as? Int == 412)
    try await db.terminate()
  }

  @Test func `every way to a copy reports damage`() async throws {
    let books = db.collection("books")
    try await books.document("dune").setData(["title": "Dune", "pages": 412])
    try await books.document("emma").setData(["title": "Emma", "pages": 474])
    try db.database().store.damage("books/dune")
    let dune = books.document("dune")
    let db = db
    let ways: [String: @Sendable () async throws -> Void] = [
      "document": { _ = try await dune.getDocument() },
      "session": { _ = try await db.read { try $0.getDocument(dune) } },
      "session's query": { _ = try await db.read { try $0.getDocuments(books) } },
      "closure": { _ = try await db.write { try $0.getDocument(dune) } },
      "closure's query": { _ = try await db.write { try $0.getDocuments(books) } },
      "planned": {
        _ = try await db.write { tx in
          try? tx.updateData(["pages": 1], forDocument: dune)
          _ = try tx.getDocument(dune)
        }
      },
      "transaction": {
        _ = try await db.runTransaction { transaction, _ in
          try? transaction.getDocument(dune).data()
        }
      },
      "sequence": { for try await _ in books.documents() {} },
      "projection": { _ = try await books.select(["title"]).getDocuments() },
      "listener": { for try await _ in dune.snapshots { return } },
      "query's listener": { for try await _ in books.snapshots { return } },
    ]
    for (name, way) in ways {
      let found = await code(of: way) == .dataLoss
      #expect(found, "\(name)")
    }
    // The others are read as before.
    #expect(try await books.document("emma").getDocument()["pages"] as? Int == 474)
    try await db.terminate()
  }

  @Test func `a damaged document can be replaced and deleted`()
    async throws
  {
    let dune = db.document("books/dune")
    let emma = db.document("books/emma")
    let token = try await db.changeToken()
    for document in [dune, emma] {
      try await document.setData(["pages": 1])
      try db.database().store.damage(document.path)
    }
    let kept = await code { try await dune.updateData(["title": "Dune"]) } == .dataLoss
    #expect(kept)
    try await dune.setData(["pages": 412])
    try await emma.delete()
    #expect(try await dune.getDocument()["pages"] as? Int == 412)
    #expect(try await emma.getDocument().exists == false)
    // The log has the damaged versions: it says so, too.
    let logged = await code { for try await _ in db.changes(since: token) {} } == .dataLoss
    #expect(logged)
    try await db.terminate()
  }

  @Test func `a listener sees how a damaged document is replaced`()
    async throws
  {
    let dune = db.document("books/dune")
    try await dune.setData(["pages": 1])
    var snapshots = db.collection("books").snapshots.makeAsyncIterator()
    #expect(try await snapshots.next()?.documents.first?["pages"] as? Int == 1)
    try db.database().store.damage("books/dune")
    try await dune.setData(["pages": 2])
    #expect(try await snapshots.next()?.documents.first?["pages"] as? Int == 2)
    try await db.terminate()
  }
}
