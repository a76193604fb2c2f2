import Foundation
import TestSupport
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
