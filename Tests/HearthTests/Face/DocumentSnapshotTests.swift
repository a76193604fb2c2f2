import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct DocumentSnapshotTests {
  private let folder = TemporaryFolder()
  private let db: Firestore

  init() throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    db = try Firestore.open(at: folder.path + "/snapshots.hearth", settings: settings)
  }

  private func code(_ error: (any Error)?) -> Int? { (error as? NSError)?.code }
  private let dataLoss = Status.Code.dataLoss.rawValue

  private func isDamaged(_ body: () async throws -> Void) async -> Bool {
    do {
      try await body()
      return false
    } catch {
      return code(error) == dataLoss
    }
  }

  // MARK: Damage

  @Test(.embedded("It damages a file."))
  func `a damaged document throws data loss and never reads as an empty one`() async throws {
    let dune = db.document("books/dune")
    try await dune.setData(["title": "Dune", "pages": 412, "tags": ["sand"]])
    let store = try db.database().store
    let bodyBytes = try await dune.getDocument().stored?.body.bytes.count ?? 0
    for distance in 1...bodyBytes {
      try store.damage("books/dune", fromEnd: distance)
      let read = await isDamaged { _ = try await dune.getDocument() }
      #expect(read, "\(distance) bytes from the end")
      let queried = await isDamaged { _ = try await db.collection("books").getDocuments() }
      #expect(queried, "\(distance) bytes from the end")
      try store.damage("books/dune", fromEnd: distance)
    }
    #expect(try await dune.getDocument()["pages"] as? Int == 412)
    try await db.terminate()
  }

  @Test(.embedded("It damages a file.")) func `every way to a copy reports damage`() async throws {
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
      let found = await isDamaged(way)
      #expect(found, "\(name)")
    }
    // The others are read as before.
    #expect(try await books.document("emma").getDocument()["pages"] as? Int == 474)
    try await db.terminate()
  }

  @Test(.embedded("It damages a file.")) func `a damaged document can be replaced and deleted`()
    async throws
  {
    let dune = db.document("books/dune")
    let emma = db.document("books/emma")
    let token = try await db.changeToken()
    for document in [dune, emma] {
      try await document.setData(["pages": 1])
      try db.database().store.damage(document.path)
    }
    let kept = await isDamaged { try await dune.updateData(["title": "Dune"]) }
    #expect(kept)
    try await dune.setData(["pages": 412])
    try await emma.delete()
    #expect(try await dune.getDocument()["pages"] as? Int == 412)
    #expect(try await emma.getDocument().exists == false)
    // The log has the damaged versions: it says so, too.
    let logged = await isDamaged { for try await _ in db.changes(since: token) {} }
    #expect(logged)
    try await db.terminate()
  }

  @Test(.embedded("It damages a file.")) func `a listener sees how a damaged document is replaced`()
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

  // MARK: Names that Swift takes for equal

  /// One é and an e with an accent: the same to Swift's `String`, two fields to Firestore.
  private let composed = "caf\u{E9}"
  private let decomposed = "cafe\u{301}"

  private func twins() async throws -> DocumentReference {
    let document = db.document("d/1")
    try await document.setData(["other": 0])
    try await document.updateData([
      FieldPath([composed]): 1, FieldPath([decomposed]): 2, FieldPath(["m", composed]): 3,
      FieldPath(["m", decomposed]): 4,
    ])
    return document
  }

  @Test func `of two fields that are one String a dictionary has the first by bytes`() async throws
  {
    let snapshot = try await twins().getDocument()
    #expect(snapshot.get(FieldPath([composed])) as? Int == 1)
    #expect(snapshot.get(FieldPath([decomposed])) as? Int == 2)
    let data = try #require(snapshot.data())
    #expect(data.count == 3)
    #expect(data[composed] as? Int == 2)
    // The name and the value belong together.
    let name = try #require(data.keys.first { $0 == composed })
    #expect(Array(name.utf8) == Array(decomposed.utf8))
    let inner = try #require(data["m"] as? [String: Any])
    #expect(inner.count == 1 && inner[composed] as? Int == 4)
    try await db.terminate()
  }

  @Test func `a dictionary that cannot hold two fields is not decoded`() async throws {
    struct Both: Codable, Equatable {
      var one: Int
      var two: Int
      enum CodingKeys: String, CodingKey {
        case one = "caf\u{E9}"
        case two = "cafe\u{301}"
      }
    }
    let snapshot = try await twins().getDocument()
    #expect(try snapshot.data(as: Both.self) == Both(one: 1, two: 2))
    struct Holder: Decodable { var m: [String: Int] }
    struct Loose: Decodable { var m: [String: Int]? }
    for read: () throws -> Void in [
      { _ = try snapshot.data(as: Holder.self) }, { _ = try snapshot.data(as: Loose.self) },
    ] {
      let error = #expect(throws: DecodingError.self) { try read() }
      guard case .dataCorrupted(let context)? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(context.codingPath.map(\.stringValue) == ["m"])
    }
    let both = Both(one: 1, two: 2)
    #expect(throws: NSError.self) { try Firestore.Encoder().encode(both) }
    // What was wrong with one run is forgotten by the next.
    try await db.document("d/2").setData(["m": ["x": 1]])
    #expect(try await db.document("d/2").getDocument().data(as: Holder.self).m == ["x": 1])
    try await db.terminate()
  }
}
