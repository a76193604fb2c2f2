import TestSupport
import Testing

@testable import HearthEngine

@Suite
struct ReferringQueriesTests {
  private static let reviews = ResourcePath(["reviews"])

  private static func component(
    _ name: String, _ kind: IndexDefinition.Component.Kind
  ) -> IndexDefinition.Component {
    IndexDefinition.Component(field: FieldSegments([name]), kind: kind)
  }

  /// Of which some have the reference first, some do not, and some are read backwards.
  private static let indexes: [[[IndexDefinition.Component]]] = [
    [],
    [[component("book", .ascending), component("stars", .descending)]],
    [[component("book", .descending), component("stars", .ascending)]],
    [
      [
        component("kind", .ascending), component("book", .ascending),
        component("stars", .ascending),
      ]
    ],
    [[component("books", .contains), component("stars", .descending)]],
    [[component("book", .ascending)], [component("books", .contains)]],
  ]

  private static func book(_ number: Int) -> ResourcePath { ResourcePath(["books", "\(number)"]) }

  @Test(arguments: indexes.indices, [511, 24])
  func `each document has the results of its own query`(set: Int, keyLimit: Int) async throws {
    var random = SeededGenerator(seed: UInt64(set))
    let documents = (0..<120).map { number in
      var fields = [
        ("stars", Value.integer(Int64.random(in: 1...5, using: &random))),
        ("kind", .string(["long", "short"].randomElement(using: &random) ?? "")),
        ("book", .reference(Self.book(Int.random(in: 0..<8, using: &random)))),
      ]
      if Bool.random(using: &random) {
        let books = (0..<3).map { _ in
          Value.reference(Self.book(Int.random(in: 0..<8, using: &random)))
        }
        fields.append(("books", .array(books)))
      }
      return (path: Self.reviews.appending("\(number)"), fields: MapValue(fields))
    }
    let world = try await QueryWorld(
      documents, keyLimit: KeyLimit(keyLimit),
      indexes: Self.indexes[set].map {
        IndexDefinition("reviews", $0)
      })
    var results = 0
    for isArray in [false, true] {
      for shape in 0..<12 {
        var query = StructuredQuery(.collection(Self.reviews))
        if shape % 2 == 1 {
          query.add(
            .comparison(
              StructuredQuery.Comparison(
                field: FieldSegments(["kind"]), operator: .equal, operand: .string("long"))))
        }
        if shape % 3 > 0 {
          query.orders = [
            StructuredQuery.Order(field: FieldSegments(["stars"]), isDescending: shape % 3 == 1)
          ]
        }
        if shape >= 4 { query.limit = shape - 4 }
        if shape >= 8 { query.offset = shape - 8 }
        if shape == 6 { query.isLimitToLast = true }
        let relation = Inclusion.Relation.referring(
          query, FieldSegments([isArray ? "books" : "book"]), isArray: isArray)
        try world.database.store.read { snapshot in
          var queries = ReferringQueries(relation, in: snapshot, QueryTrace())
          for number in 0..<10 {
            let found = try queries.documents(referringTo: Self.book(number))
            let own = try #require(relation.query(referringTo: Self.book(number)))
            let expected = try snapshot.run(EffectiveQuery(own)).documents()
            #expect(found?.map(\.path.text) == expected.map(\.path.text))
            results += expected.count
          }
          var none = ReferringQueries(
            .reference(FieldSegments(["book"])), in: snapshot, QueryTrace())
          #expect(try none.documents(referringTo: Self.book(0)) == nil)
        }
      }
    }
    #expect(results > 200)
  }
}
