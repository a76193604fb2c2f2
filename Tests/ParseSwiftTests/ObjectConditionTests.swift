import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Testing

#if Macros
  import HearthMacros

  @Document
  struct Shelf: ParseObject {
    var objectId: String?
    var createdAt: Date?
    var updatedAt: Date?
    var ACL: ParseACL?
    var originalData: Data?

    var name: String?
    var width: Int?
    var owner: Author?
  }
#else
  struct Shelf: ParseObject {
    var objectId: String?
    var createdAt: Date?
    var updatedAt: Date?
    var ACL: ParseACL?
    var originalData: Data?

    var name: String?
    var width: Int?
    var owner: Author?
  }

  /// The table that `@Document` writes.
  extension Shelf: DocumentModel {
    struct Fields: Sendable {
      var objectId: Field<String?> { Field("objectId") }
      var name: Field<String?> { Field("name") }
      var width: Field<Int?> { Field("width") }
      var owner: Field<Author?> { Field("owner") }
    }
    static let fields = Fields()
  }
#endif

/// Conditions with key paths of a table of fields. With the trait `Macros`, `@Document` writes the table.
@Suite struct ObjectConditionTests {
  @Test func `conditions with key paths are those with the properties' names`() async throws {
    let database = try TemporaryDatabase()
    try await ParseSwift.withFirestore(database.firestore) {
      let (ann, bob) = (try await Author(name: "Ann").save(), try await Author(name: "Bob").save())
      let shelves = try await [
        Shelf(name: "a", width: 1, owner: ann), Shelf(name: "b", width: 2, owner: bob),
        Shelf(name: "c", width: 3), Shelf(name: "d"),
      ].saveAll().map { try $0.get() }
      func names(_ conditions: ObjectCondition<Shelf>) async throws -> String {
        try await Shelf.query(conditions).order([.ascending(Shelf.key(\.name))]).find()
          .compactMap(\.name).joined()
      }
      let found = [
        try await names(\.name == "b"), try await names(\.name != "b"),
        try await names(\.width < 2), try await names(\.width <= 2), try await names(\.width > 2),
        try await names(\.width >= 2), try await names(\.width > 1 && \.name < "c"),
        try await names(\.name == "a" || \.width == 3), try await names(!(\.width >= 2)),
        try await names(\.owner == ann), try await names(\.owner == Author.query("name" == "Bob")),
        try await names(\.objectId == shelves[3].id), try await names(\.width == nil),
        try await names(\.width != nil),
      ]
      #expect(
        found == ["b", "acd", "a", "ab", "c", "bc", "b", "ac", "ad", "a", "b", "d", "d", "abc"])
      let both = try await Shelf.query(\.width > 0, \.width < 3).include("owner").find()
      #expect(both.map(\.owner) == [ann, bob])
      // A class with a table is saved and read as any other.
      let again = try await shelves[0].set(\.width, to: 9).save()
      #expect(again.owner == ann && again.name == "a" && again.updatedAt != again.createdAt)
      let mixed = try await Shelf.query(
        or("name" == "b", again.isSaved ? "width" == 9 : "width" == 0)
      )
      .find()
      #expect(mixed.count == 2)
    }
  }
}
