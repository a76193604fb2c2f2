import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// What answers cost in entries and documents, whatever the clock says.
@Suite(.serialized) struct QueryWorkTests {
  /// The table is the same whatever the size.
  static let sizes = Soak.isOn ? [10_000, 100_000, 1_000_000] : [2000]

  private static let books = ResourcePath(["books"])

  /// A question, and what it may cost.
  private struct Question {
    var title: String
    var query: StructuredQuery
    var cost: Cost

    enum Cost {
      /// An index serves it: what is touched is what is returned, and a few more.
      case served(Int)
      /// Entries alone tell how many there are.
      case counted
      /// Several indexes, or a part of what one holds: no more than this share of all.
      case share(Double)
      /// All documents.
      case everything
    }
  }

  private static func field(_ name: String) -> FieldSegments { FieldSegments([name]) }

  private static func compare(
    _ name: String, _ kind: StructuredQuery.Comparison.Operator, _ operand: Value = .null
  ) -> StructuredQuery.Filter {
    .comparison(StructuredQuery.Comparison(field: field(name), operator: kind, operand: operand))
  }

  private static func asking(
    _ filters: StructuredQuery.Filter..., order: [(String, Bool)] = [], limit: Int? = nil,
    _ change: (inout StructuredQuery) -> Void = { _ in }
  ) -> StructuredQuery {
    var query = StructuredQuery(.collection(books))
    for filter in filters { query.add(filter) }
    query.orders = order.map { StructuredQuery.Order(field: field($0.0), isDescending: $0.1) }
    query.limit = limit
    change(&query)
    return query
  }

  /// The middle title of so many.
  private static func title(_ number: Int) -> Value {
    .string("title-" + String(10_000_000 + number))
  }

  private static func table(_ count: Int) -> [Question] {
    let sf = compare("genre", .equal, .string("genre-7"))
    let author = compare("author", .equal, .string("author-\(count / 200)"))
    func list(_ values: String...) -> Value { .array(values.map(Value.string)) }
    let long = compare("pages", .greaterThan, .integer(Int64(count / 2 - 20)))
    let middle = StructuredQuery.Bound(values: [title(count / 2)], isBefore: true)
    return [
      Question(title: "author ==", query: asking(author), cost: .served(1)),
      Question(
        title: "author == limit 20", query: asking(author, limit: 20), cost: .served(1)),
      Question(
        title: "author == none", query: asking(compare("author", .equal, .string("x"))),
        cost: .served(1)),
      Question(title: "pages >", query: asking(long), cost: .served(1)),
      Question(
        title: "pages > descending", query: asking(long, order: [("pages", true)]), cost: .served(1)
      ),
      Question(
        title: "100 <= pages < 130",
        query: asking(
          compare("pages", .greaterThanOrEqual, .integer(100)),
          compare("pages", .lessThan, .integer(130))), cost: .served(1)),
      Question(
        title: "order by pages limit 20", query: asking(order: [("pages", false)], limit: 20),
        cost: .served(1)),
      Question(
        title: "order by pages desc limit 20", query: asking(order: [("pages", true)], limit: 20),
        cost: .served(1)),
      Question(
        title: "order by title, last 20",
        query: asking(order: [("title", false)], limit: 20) { $0.isLimitToLast = true },
        cost: .served(1)),
      Question(
        title: "a page in the middle",
        query: asking(order: [("title", false)], limit: 20) { $0.start = middle }, cost: .served(1)),
      Question(
        title: "a page before the middle, descending",
        query: asking(order: [("title", true)], limit: 20) { $0.start = middle }, cost: .served(1)),
      Question(
        title: "from the middle to 30 later",
        query: asking(order: [("title", false)]) {
          $0.start = middle
          $0.end = StructuredQuery.Bound(values: [title(count / 2 + 30)], isBefore: false)
        }, cost: .served(1)),
      Question(
        title: "a page of documents by name",
        query: asking(limit: 20) {
          $0.orders = [StructuredQuery.Order(field: .documentID)]
          $0.start = StructuredQuery.Bound(
            values: [.reference(books.appending(String(10_000_000 + count / 2)))], isBefore: false)
        }, cost: .served(1)),
      Question(
        title: "genre == order by pages limit 20",
        query: asking(sf, order: [("pages", false)], limit: 20), cost: .served(1)),
      Question(
        title: "genre == and pages >",
        query: asking(sf, long), cost: .served(1)),
      Question(
        title: "genre == order by year desc limit 20",
        query: asking(sf, order: [("year", true)], limit: 20), cost: .served(1)),
      Question(
        title: "genre == order by year limit 20",
        query: asking(sf, order: [("year", false)], limit: 20), cost: .served(1)),
      Question(
        title: "genre in 3 order by pages limit 20",
        query: asking(
          compare("genre", .in, list("genre-1", "genre-2", "genre-3")), order: [("pages", false)],
          limit: 20), cost: .served(4)),
      Question(
        title: "title in 10",
        query: asking(compare("title", .in, .array((0..<10).map { title(7 * $0) }))),
        cost: .served(10)),
      Question(
        title: "tags contains limit 20",
        query: asking(compare("tags", .arrayContains, .string("tag-7")), limit: 20),
        cost: .served(1)),
      Question(
        title: "tags contains order by pages limit 20",
        query: asking(
          compare("tags", .arrayContains, .string("tag-7")), order: [("pages", false)], limit: 20),
        cost: .served(1)),
      Question(
        title: "tags contains any of 2 order by pages limit 20",
        query: asking(
          compare("tags", .arrayContainsAny, list("tag-7", "tag-8")), order: [("pages", false)],
          limit: 20), cost: .served(23)),
      Question(
        title: "author == or author ==",
        query: asking(.any([author, compare("author", .equal, .string("author-3"))])),
        cost: .served(2)),
      Question(
        title: "genre == or tags contains, order by pages limit 20",
        query: asking(
          .any([sf, compare("tags", .arrayContains, .string("tag-7"))]), order: [("pages", false)],
          limit: 20), cost: .served(23)),
      Question(
        title: "pages not-in, limit 20",
        query: asking(compare("pages", .notIn, .array([.integer(0), .integer(1)])), limit: 20),
        cost: .served(1)),
      Question(
        title: "pages != limit 20",
        query: asking(compare("pages", .notEqual, .integer(0)), limit: 20), cost: .served(1)),
      Question(
        title: "order by pages, year desc limit 20",
        query: asking(order: [("pages", false), ("year", true)], limit: 20), cost: .served(1)),
      Question(
        title: "pages > and year >, in the entries",
        query: asking(long, compare("year", .greaterThan, .integer(1950))), cost: .share(0.2)),
      Question(
        title: "genre == and year ==", query: asking(sf, compare("year", .equal, .integer(1950))),
        cost: .served(1)),
      Question(
        title: "author == and year == (join)",
        query: asking(author, compare("year", .equal, .integer(1950))), cost: .share(0.06)),
      Question(title: "count genre ==", query: asking(sf), cost: .counted),
      Question(title: "count pages >", query: asking(long), cost: .counted),
      Question(
        title: "unindexed blurb ==",
        query: asking(compare("blurb", .equal, .string("x"))), cost: .everything),
    ]
  }

  private static func indexes() -> [IndexDefinition] {
    func index(_ fields: (String, IndexDefinition.Component.Kind)...) -> IndexDefinition {
      IndexDefinition(
        "books", fields.map { IndexDefinition.Component(field: field($0.0), kind: $0.1) })
    }
    return [
      index(("author", .ascending)), index(("genre", .ascending)), index(("pages", .ascending)),
      index(("title", .ascending)), index(("year", .ascending)), index(("tags", .contains)),
      index(("genre", .ascending), ("pages", .ascending)),
      index(("genre", .ascending), ("year", .descending)),
      index(("tags", .contains), ("pages", .ascending)),
      index(("pages", .ascending), ("year", .descending)),
    ]
  }

  static func world(_ count: Int, indexes: [IndexDefinition]) async throws -> QueryWorld {
    var random = SeededGenerator(seed: UInt64(count))
    let world = try await QueryWorld([], indexes: indexes)
    for start in stride(from: 0, to: count, by: 2000) {
      try await world.database.add(
        (start..<min(start + 2000, count)).map { number in
          (
            books.appending(String(10_000_000 + number)),
            MapValue([
              ("author", .string("author-\(number / 100)")), ("blurb", .string("nothing much")),
              ("genre", .string("genre-\(number % 50)")),
              ("pages", .integer(Int64(random.below(count / 2)))),
              ("tags", .array([.string("tag-\(number % 40)"), .string("tag-\(number % 37)")])),
              ("title", title(number)), ("year", .integer(Int64(1900 + random.below(100)))),
            ])
          )
        })
    }
    return world
  }

  @Test(arguments: sizes) func `what an index serves costs what it returns`(count: Int) async throws
  {
    let world = try await Self.world(count, indexes: Self.indexes())
    print("\(count) documents: returned, entries, keys, documents, probes, time")
    for shape in Self.table(count) {
      try world.database.store.read { snapshot in
        let trace = QueryTrace()
        let query = EffectiveQuery(shape.query)
        let clock = ContinuousClock()
        let start = clock.now
        let returned: Int
        if case .counted = shape.cost {
          let count = try snapshot.aggregate(
            [Aggregation(.count(upTo: nil))], over: query, trace: trace)
          guard case .integer(let number)? = count.first else { return }
          returned = Int(number)
        } else {
          returned = try snapshot.documents(matching: query, trace: trace).count
        }
        let time = clock.now - start
        let touched = trace.touched
        print(
          """
          \(shape.title): \(returned), \(touched.entries), \(touched.keys), \(touched.documents), \
          \(touched.probes), \(Int(time / .microseconds(1))) µs: \(trace.plan?.description ?? "")
          """)
        // Choosing: a few entries of each index, and further as far as that may spare more.
        let spared = trace.plan?.cost ?? 0
        #expect(
          Double(touched.probes) <= Double(32 * Self.indexes().count) + spared, "\(shape.title)")
        switch shape.cost {
        case .served(let more):
          #expect(touched.entries + touched.keys <= returned + more, "\(shape.title)")
          #expect(touched.documents <= returned + more, "\(shape.title)")
        case .counted:
          #expect(touched.entries == returned && touched.documents == 0, "\(shape.title)")
        case .share(let share):
          #expect(
            Double(touched.entries + touched.keys) <= Double(count) * share, "\(shape.title)")
          #expect(touched.documents <= returned + 1, "\(shape.title)")
        case .everything: #expect(touched.keys == count && touched.documents == count)
        }
      }
    }
  }

  @Test func `a page of a group costs what it returns, however many collections there are`()
    async throws
  {
    let count = Soak.isOn ? 1_000_000 : 2000
    let world = try await QueryWorld([])
    for start in stride(from: 0, to: count, by: 2000) {
      try await world.database.add(
        (start..<start + 2000).map { number in
          let book = Self.books.appending(String(10_000_000 + number))
          return (
            book.appending("reviews").appending("1"), MapValue([("stars", .integer(5))])
          )
        })
    }
    var query = StructuredQuery(.group("reviews", below: .root))
    query.limit = 20
    let touched = ReadCounters()
    #expect(try world.names(query, touched: touched).count == 20)
    #expect(touched.keys <= 22 && touched.documents == 20)
    print("group of \(count) collections, limit 20: \(touched.keys) keys")
  }
}
