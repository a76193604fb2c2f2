import Foundation
import Hearth
import HearthTesting
import ProcessorTime
import Testing

@testable import ParseSwift

private struct Board: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
  var stones: Set<Stone>?
  var marks: [String: Int]?
  var authors: [Author]?

  struct Stone: Codable, Hashable {
    var x: Int
    var y: Int
  }
}

/// The time on the thread of the caller is proportional to the elements.
@Suite(.serialized) struct GrowthTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private func expectLinear<Input>(
    _ what: String, _ few: Input, _ many: Input, _ body: (Input) throws -> Void
  ) rethrows {
    let exponent = try ProcessorTime.exponent(
      of: { try body(many) }, to: { try body(few) }, factor: 16)
    #expect(exponent < 1.5, "\(what)")
  }

  private func board(_ count: Int) throws -> Board {
    let authors = try (0..<count).map { Author(name: "\($0)") }.saveAll().map { try $0.get() }
    return try Board(
      name: "board", stones: Set((0..<count).map { Board.Stone(x: $0, y: -$0) }),
      marks: Dictionary(uniqueKeysWithValues: (0..<count).map { ("mark \($0)", $0) }),
      authors: authors
    ).save()
  }

  @Test func `an object with large properties is compared and read in time of their size`() throws {
    try ParseSwift.withFirestore(database.firestore) {
      let (few, many) = (try board(125), try board(2000))
      // Nothing has changed.
      try expectLinear("saving", few, many) { try $0.save() }
      try expectLinear("including", few, many) { board in
        let found = try board.fetch(includeKeys: ["authors"])
        guard found.authors?.last?.name != nil else { throw ObjectGraph.notFound }
      }
    }
  }

  @Test func `a query with many conditions and keys is built in time of their number`() throws {
    try ParseSwift.withFirestore(database.firestore) {
      let context = try ParseSwift.context
      try expectLinear("conditions", 250, 4000) { count in
        _ = try Board.query((0..<count).map { "key\($0)" == $0 }).built(context)
      }
      expectLinear("keys", 250, 4000) { count in
        _ = Board.query().include((0..<count).map { "key\($0).inner" }).paths
      }
    }
  }

  @Test func `sets and maps of equal elements in another order are no change`() throws {
    try ParseSwift.withFirestore(database.firestore) {
      let saved = try board(100)
      let before = try database.firestore.blocking.getDocument(
        saved.toPointer().reference(in: database.firestore)
      ).updateTime
      var copy = saved
      copy.stones = Set(saved.stones?.shuffled() ?? [])
      try copy.save()
      let document = try saved.toPointer().reference(in: database.firestore)
      #expect(try database.firestore.blocking.getDocument(document).updateTime == before)
      copy.stones?.remove(Board.Stone(x: 1, y: -1))
      copy.stones?.insert(Board.Stone(x: 1, y: 1))
      try copy.save()
      #expect(try saved.fetch().stones == copy.stones)
      #expect(try database.firestore.blocking.getDocument(document).updateTime != before)
    }
  }
}
