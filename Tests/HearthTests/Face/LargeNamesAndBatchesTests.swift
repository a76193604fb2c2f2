import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Names, documents and batches at the limits. The expected answers are those of plain Swift, so that they are
/// the same over every backend.
@Suite struct LargeNamesAndBatchesTests {
  private let database: TemporaryDatabase
  private let db: Firestore

  init() throws {
    database = try TemporaryDatabase()
    db = database.firestore
  }

  /// Names of about so many bytes, which differ at random places.
  private static let sizes = [2_500, 2_703, 2_704, 2_705, 4_000, 6_144]

  /// A document whose name has exactly so many bytes, in the collection `names` or below one of its documents.
  private func path(_ bytes: Int, _ random: inout SeededGenerator) -> ResourcePath {
    var segments: [String] = []
    while true {
      segments.append(segments.count % 4 == 0 ? "names" : "other")
      let room = bytes - Limits.size(ofName: ResourcePath(segments + [""]))
      let isLast = room <= Limits.id
      var length = isLast ? room : min(Limits.id, room - 700)
      if !isLast { length = min(length, 1_200 + Int.random(in: 0..<100, using: &random)) }
      var id = [UInt8](repeating: UInt8(ascii: "a"), count: length)
      for _ in 0..<3 {
        id[Int.random(in: 0..<length, using: &random)] = UInt8(
          ascii: ["b", "c", "B", "~"].randomElement(using: &random) ?? "b")
      }
      segments.append(String(decoding: id, as: UTF8.self))
      if isLast { return ResourcePath(segments) }
    }
  }

  @Test func `documents with names of any length are found, listed and deleted`() async throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    var expected: [ResourcePath: Int] = [:]
    for size in Self.sizes {
      for _ in 0..<6 {
        let path = path(size, &random)
        #expect(Limits.size(ofName: path) == size, "seed \(seed)")
        expected[path] = expected.count
      }
    }
    for (path, number) in expected { try await db.document(path.text).setData(["n": number]) }
    let paths = expected.keys.sorted { ResourcePath.compare($0, $1) < 0 }
    for path in paths {
      #expect(try await db.document(path.text).getDocument()["n"] as? Int == expected[path])
    }
    for id in ["names", "other"] {
      let own = paths.filter { $0.segments[$0.segments.count - 2] == id }
      let group = db.collectionGroup(id).order(by: .documentID())
      #expect(
        try await group.getDocuments().documents.map(\.reference.path) == own.map(\.text),
        "seed \(seed)")
      guard own.count > 2 else { continue }
      let middle = own[own.count / 2]
      let after = try await group.start(after: [middle.text]).limit(to: 2)
        .getDocuments().documents.map(\.reference.path)
      #expect(
        after == own.drop { ResourcePath.compare($0, middle) <= 0 }.prefix(2).map(\.text),
        "seed \(seed)")
      let picked = try await group.whereField(.documentID(), isEqualTo: db.document(middle.text))
        .getDocuments().documents.map(\.reference.path)
      #expect(picked == [middle.text], "seed \(seed)")
    }
    for path in paths.dropFirst(2) { try await db.document(path.text).delete() }
    for path in paths {
      let isLeft = paths.prefix(2).contains(path)
      #expect(try await db.document(path.text).getDocument().exists == isLeft, "seed \(seed)")
    }
    let longer = paths[0].text + String(repeating: "x", count: Limits.documentName)
    await expectRefused(.invalidArgument) { try await db.document(longer).setData([:]) }
  }

  @Test func `a batch of 500 is one commit, of documents of any size`() async throws {
    let notes = db.collection("notes")
    let texts = (0..<500).map { String(repeating: "t\($0)", count: $0 % 50 == 0 ? 20_000 : 3) }
    let batch = db.batch()
    for (number, text) in texts.enumerated() {
      batch.setData(["n": number, "text": text], forDocument: notes.document("\(number)"))
    }
    try await batch.commit()
    let found = try await notes.order(by: "n").getDocuments().documents
    #expect(found.map { $0["text"] as? String } == texts)
    #expect(Set(found.map(\.updateTime)).count == 1)
    // The last of 500 fails: none is written.
    let refused = db.batch()
    for number in 0..<499 { refused.deleteDocument(notes.document("\(number)")) }
    refused.updateData(["n": 1], forDocument: notes.document("missing"))
    await expectRefused(.notFound) { try await refused.commit() }
    let count = try await notes.count.getAggregation(source: .server).count
    #expect(count == 500)
  }

  @Test func `a document of nearly one mebibyte is stored, and a larger one is refused`()
    async throws
  {
    let document = db.document("large/one")
    let text = String(repeating: "x", count: Limits.fieldValue)
    try await document.setData(["t": text])
    #expect(try await document.getDocument()["t"] as? String == text)
    await expectRefused(.invalidArgument) { try await document.setData(["t": text + "x"]) }
    // Ten of them are the largest request.
    let batch = db.batch()
    for number in 0..<9 { batch.setData(["t": text], forDocument: db.document("large/\(number)")) }
    try await batch.commit()
    let found = try await db.collection("large").getDocuments()
    #expect(found.count == 10 && found.documents.allSatisfy { $0["t"] as? String == text })
  }
}
