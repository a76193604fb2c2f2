import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// The planner alone: no store, only a query, indexes and numbers.
@Suite struct PlannerTests {
  private static let books = ResourcePath(["books"])

  private static func index(
    _ number: UInt32, _ fields: (String, IndexDefinition.Component.Kind)...
  ) -> StoredIndex {
    StoredIndex(
      number: number,
      definition: IndexDefinition(
        "books",
        fields.map { IndexDefinition.Component(field: FieldSegments([$0.0]), kind: $0.1) }
      ).stored, state: .ready, origin: .declared)
  }

  private let author = index(1, ("author", .ascending))
  private let genre = index(2, ("genre", .ascending))
  private let pages = index(3, ("pages", .ascending))
  private let genrePages = index(4, ("genre", .ascending), ("pages", .descending))
  private let authorPages = index(5, ("author", .ascending), ("pages", .descending))
  private let tags = index(6, ("tags", .contains))

  private func compare(
    _ name: String, _ kind: StructuredQuery.Comparison.Operator, _ operand: Value = .null
  ) -> StructuredQuery.Filter {
    .comparison(
      StructuredQuery.Comparison(field: FieldSegments([name]), operator: kind, operand: operand))
  }

  private func planner(
    _ indexes: [StoredIndex], counts: [UInt32: Int] = [:], countsOnly: Bool = false,
    _ change: (inout StructuredQuery) -> Void
  ) -> Planner {
    var query = StructuredQuery(.collection(Self.books))
    change(&query)
    return Planner(
      EffectiveQuery(query), indexes: indexes, documentCount: 10_000, needsOrder: !countsOnly,
      countsOnly: countsOnly
    ) { plan, ranges, limit in
      let count = counts[plan.index.number] ?? 1000
      let full = count == 0 ? ranges.count : min(ranges.count, (limit + count - 1) / count)
      return (0..<full).map { min(count, limit - $0 * count) }
    }
  }

  private func entries(_ plan: QueryPlan) throws -> [EntryPlan] {
    guard case .entries(let branches) = plan.source else { return [] }
    return branches
  }

  /// One after another, and each looked for in those before it.
  private static func members(
    _ filter: StructuredQuery.Filter
  ) -> [[StructuredQuery.Comparison]] {
    switch filter {
    case .comparison(let comparison): return [[comparison]]
    case .all(let filters):
      return filters.reduce([[]]) { result, filter in
        result.flatMap { left in
          members(filter).map { left + $0.filter { !left.contains($0) } }
        }
      }
    case .any(let filters):
      var result: [[StructuredQuery.Comparison]] = []
      for conjunction in filters.flatMap(members) where !result.contains(conjunction) {
        result.append(conjunction)
      }
      return result
    }
  }

  @Test(arguments: [UInt64](1...200))
  func `a condition is an OR of conjunctions, if there are few`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    func filter(_ depth: Int) -> StructuredQuery.Filter {
      let count = 1 + random.below(4)
      switch random.below(depth > 0 ? 4 : 1) {
      case 0:
        return compare(random.pick(["a", "b", "c"]), .equal, .integer(Int64(random.below(4))))
      case 1: return .all((0..<count).map { _ in filter(depth - 1) })
      default: return .any((0..<count).map { _ in filter(depth - 1) })
      }
    }
    let condition = filter(2)
    let expected = Self.members(condition)
    let found = Conjunctions([condition]).members
    if let found {
      #expect(found == expected, "seed \(seed)")
    } else {
      #expect(Self.mostMembers(condition) > 30, "seed \(seed)")
    }
    #expect(found != nil || expected.count > 5, "seed \(seed)")
  }

  /// The most alternatives that any part of the condition has.
  private static func mostMembers(_ filter: StructuredQuery.Filter) -> Int {
    switch filter {
    case .comparison: 1
    case .all(let filters):
      max(
        filters.map(mostMembers).max() ?? 1,
        filters.map { members($0).count }.reduce(1, *))
    case .any(let filters): max(filters.map(mostMembers).max() ?? 1, members(filter).count)
    }
  }

  @Test func `more than thirty alternatives are not planned, however many are the same`() {
    func any(_ count: Int, of distinct: Int) -> StructuredQuery.Filter {
      .any((0..<count).map { compare("a", .equal, .integer(Int64($0 % distinct))) })
    }
    #expect(Conjunctions([any(5000, of: 30)]).members?.count == 30)
    #expect(Conjunctions([any(31, of: 31)]).members == nil)
    #expect(Conjunctions([any(6, of: 6), any(6, of: 6)]).members == nil)
    #expect(Conjunctions([any(5, of: 5), any(6, of: 6)]).members?.count == 30)
    let long = StructuredQuery.Filter.all((0..<5000).map { compare("f\($0)", .equal, .null) })
    #expect(Conjunctions([long, any(2, of: 2)]).members?.map(\.count) == [5001, 5001])
    #expect(
      Conjunctions([any(3, of: 2), long]).members?.map { $0[0].constant } == [
        .integer(0), .integer(1),
      ])
  }

  @Test func `without an index there is the scan`() throws {
    let plans = try planner([]) { $0.add(compare("author", .equal, .string("a"))) }.candidates()
    #expect(plans.map(\.source) == [.documents])
  }

  @Test func `an index that lacks results is not read`() throws {
    // Documents without pages would be missing.
    let best = try planner([authorPages, pages, tags]) {
      $0.add(compare("author", .equal, .string("a")))
    }.best()
    #expect(best.source == .documents)
  }

  @Test func `the index that has fewer entries is read`() throws {
    for (few, many) in [(author, genre), (genre, author)] {
      let best = try planner([author, genre], counts: [few.number: 2, many.number: 1000]) {
        $0.add(compare("author", .equal, .string("a")))
        $0.add(compare("genre", .equal, .string("g")))
      }.best()
      #expect(try entries(best).first?.index == few)
    }
  }

  @Test func `a long list of values with few entries each is read through the only index`() throws {
    for (count, isRead) in [(1, true), (10, true), (1000, false)] {
      let best = try planner([author], counts: [author.number: count]) {
        $0.add(compare("author", .in, .array((0..<30).map { .string("author-\($0)") })))
      }.best()
      #expect(best.usesIndexes == isRead, "\(count) each")
    }
  }

  @Test func `order comes from an index, forwards or backwards`() throws {
    for isDescending in [false, true] {
      let best = try planner([genre, genrePages]) {
        $0.add(compare("genre", .equal, .string("g")))
        $0.orders = [
          StructuredQuery.Order(field: FieldSegments(["pages"]), isDescending: isDescending)
        ]
        $0.limit = 20
      }.best()
      let plan = try #require(try entries(best).first)
      #expect(plan.index == genrePages && best.isOrdered && best.isExact)
      // Stored with ascending names: genre descends, pages ascend.
      #expect(plan.isBackward == isDescending)
    }
  }

  @Test func `equalities with the same order behind them are joined`() throws {
    let plans = try planner([genrePages, authorPages]) {
      $0.add(compare("author", .equal, .string("a")))
      $0.add(compare("genre", .equal, .string("g")))
      $0.orders = [StructuredQuery.Order(field: FieldSegments(["pages"]))]
    }.candidates()
    let joins = try plans.flatMap(entries).filter { !$0.joined.isEmpty }
    #expect(joins.count == 2 && joins.allSatisfy { $0.isOrdered && $0.isExact })
    // One index alone leaves a condition to the documents.
    #expect(try plans.flatMap(entries).filter { $0.joined.isEmpty }.allSatisfy { !$0.isExact })
  }

  @Test func `equalities with another order behind them are not joined`() throws {
    let plans = try planner([genrePages, author]) {
      $0.add(compare("author", .equal, .string("a")))
      $0.add(compare("genre", .equal, .string("g")))
      $0.orders = [StructuredQuery.Order(field: FieldSegments(["pages"]))]
    }.candidates()
    let walks = try plans.flatMap(entries)
    #expect(walks.count == 2 && walks.allSatisfy(\.joined.isEmpty))
  }

  @Test func `an index of elements does not tell what the whole array is`() throws {
    let plans = try planner([tags], countsOnly: true) {
      $0.add(compare("tags", .arrayContains, .string("t")))
      $0.add(compare("tags", .notEqual, .array([.string("t")])))
    }.candidates()
    #expect(try plans.flatMap(entries).count == 1)
    #expect(plans.allSatisfy { !$0.isExact })
  }

  @Test func `of two indexes the one with fewer entries is read, however many both have`() throws {
    for (few, many) in [(author, genre), (genre, author)] {
      let best = try planner([author, genre], counts: [few.number: 100, many.number: 5000]) {
        $0.add(compare("author", .equal, .string("a")))
        $0.add(compare("genre", .equal, .string("g")))
      }.best()
      #expect(try entries(best).first?.index == few)
    }
  }

  @Test func `a list is read side by side, or in one go where it is what is ordered by`() throws {
    func best(_ field: String) throws -> EntryPlan? {
      try entries(
        planner([genrePages]) {
          $0.add(compare("genre", .in, .array([.string("b"), .string("a")])))
          $0.orders = [
            StructuredQuery.Order(field: FieldSegments([field]), isDescending: field == "genre"),
            StructuredQuery.Order(field: FieldSegments([field == "genre" ? "pages" : "genre"])),
          ]
          $0.limit = 5
        }.best()
      ).first
    }
    #expect(try best("pages")?.rangeLists.count == 2)
    #expect(try best("genre")?.rangeLists.count == 1)
    #expect(try best("genre")?.rangeLists.first?.count == 2)
  }

  @Test func `a union has a plan for each branch, or there is none`() throws {
    func plans(_ indexes: [StoredIndex]) throws -> [QueryPlan] {
      try planner(indexes) {
        $0.add(
          .any([
            compare("author", .equal, .string("a")), compare("tags", .arrayContains, .string("t")),
          ]))
      }.candidates()
    }
    #expect(try plans([author, tags]).contains { (try? entries($0).count) == 2 })
    #expect(try plans([author]).map(\.source) == [.documents])
  }

  @Test func `what cannot be is not looked for`() throws {
    for impossible in [
      [compare("author", .equal)],
      [compare("author", .equal, .string("a")), compare("author", .equal, .string("b"))],
      [compare("pages", .lessThan, .integer(1)), compare("pages", .greaterThan, .string(""))],
      [compare("author", .notIn, .array([.null]))],
    ] {
      let best = try planner([]) { for filter in impossible { $0.add(filter) } }.best()
      #expect(best.source == .nothing)
    }
  }

  @Test func `an index is read through where it holds all that is counted`() throws {
    let best = try planner([genrePages], countsOnly: true) {
      $0.add(compare("genre", .equal, .string("g")))
      $0.add(compare("pages", .notEqual, .integer(1)))
    }.best()
    #expect(best.isExact)
    #expect(try entries(best).first?.rangeLists.first?.count == 3)
  }

  @Test func `the index that a query wants serves it alone`() throws {
    var random = RandomQueries(seed: 4)
    let world = random.world(20)
    var served = 0
    for query in random.validQueries(300, world) {
      let effective = EffectiveQuery(query)
      let wanted = effective.wantedIndexes()
      guard !wanted.isEmpty else { continue }
      let collectionID = wanted[0].collectionID
      let indexes = wanted.enumerated().map {
        StoredIndex(number: UInt32($0), definition: $1, state: .ready, origin: .declared)
      }
      #expect(wanted.allSatisfy { $0.collectionID == collectionID && !$0.isNameDescending })
      let planner = Planner(effective, indexes: indexes, documentCount: 1_000_000) {
        _, ranges, _ in ranges.map { _ in 0 }
      }
      guard try !planner.candidates().contains(where: { $0.isServed(effective, needsOrder: true) })
      else {
        served += 1
        continue
      }
      // Two arrays are more than an index has, and so are an array and its elements. Keys do not show
      // what is in a text or behind an array, nor which documents lack a field; and a prefix is no order.
      let members = try #require(Conjunctions(query.filters).members)
      let isMore = members.contains { conjunction in
        let arrays = conjunction.filter { $0.operator.traits.keys == .anyElement }.map(\.field)
        let others = conjunction.filter { $0.operator.traits.keys != .anyElement }.map(\.field)
        let isInText = conjunction.contains {
          $0.isNegated || ($0.isUnordered && $0.operator.isInequality) || $0.operator.takesText
            || [.matchesPattern, .withinRegion, .arrayContainedIn, .throughArrays].contains(
              $0.operator)
        }
        let hasAll = conjunction.contains { $0.operator == .arrayContainsAll }
        // Names that are listed are in no order, and those of a group are no range.
        let picksNames = conjunction.contains(where: \.field.isDocumentID)
        let keepsMissing = effective.orders.contains(where: \.keepsMissing)
        return arrays.count > 1 || isInText || hasAll || picksNames || keepsMissing
          || !Set(arrays).isDisjoint(with: effective.orders.map(\.field) + others)
      }
      #expect(isMore, "\(query)\n\(wanted)")
    }
    #expect(served > 50)
  }
}
