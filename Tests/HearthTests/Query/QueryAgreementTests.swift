import Foundation
import HearthText
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// Agreement: the engine, the reference, and what Firestore recorded.
@Suite struct QueryAgreementTests {
  /// Worlds of each kind, and queries asked of each; more than 20,000 in all with HEARTH_SOAK.
  static let worlds: UInt64 = Soak.isOn ? 40 : 6
  static let queries = Soak.isOn ? 600 : 100

  @Test func `the reference finds what Firestore found`() throws {
    let json = try JSON(resource: "vectors/queries.json")
    let documents = try RecordedQuery.documents(json).map(ReferenceQuery.Document.init)
    for element in json["queries"]?.array ?? [] where element["emulatorOnly"]?.boolean != true {
      let found = ReferenceQuery(query: try RecordedQuery.read(element)).run(documents)
      let expected = (element["expected"]?.array ?? []).compactMap(\.string)
      #expect(found.map(\.path.text) == expected, "\(element["id"]?.string ?? "")")
      if let fields = try element["expectedFields"]?.array?.map(ProtoJSON.fields) {
        #expect(found.map(\.fields) == fields, "\(element["id"]?.string ?? "")")
      }
    }
  }

  @Test(arguments: [511, 24], 0..<worlds)
  func `any query finds what the reference finds`(keyLimit: Int, seed: UInt64) async throws {
    var random = RandomQueries(seed: seed &* 77 &+ UInt64(keyLimit))
    let documents = random.world(45)
    let reference = documents.map(ReferenceQuery.Document.init)
    let world = try await QueryWorld(documents, keyLimit: KeyLimit(keyLimit))
    var asked = 0
    var nonEmpty = 0
    while asked < Self.queries {
      let query = random.query(documents)
      let found: [StoredDocument]
      do {
        found = try world.documents(query)
      } catch let status as Status where status.code == .invalidArgument {
        continue
      }
      asked += 1
      if !found.isEmpty { nonEmpty += 1 }
      let expected = ReferenceQuery(query: query).run(reference)
      guard found.map(\.path.text) == expected.map(\.path.text),
        try found.map({ try $0.body.map() }) == expected.map(\.fields)
      else {
        Issue.record(
          """
          seed \(seed), key limit \(keyLimit): \(query)
          found \(found.map(\.path.text)), not \(expected.map(\.path.text))
          """)
        return
      }
    }
    #expect(nonEmpty > Self.queries / 5)
  }

  /// So many documents that several threads scan them.
  @Test(arguments: [511, 24]) func `many threads find what the reference finds`(
    keyLimit: Int
  ) async throws {
    var random = RandomQueries(seed: UInt64(keyLimit))
    let books = ResourcePath(["books"])
    let documents = (0..<1200).map { number in
      (path: books.appending("a book with a long name, number \(number)"), fields: random.fields())
    }
    let reference = documents.map(ReferenceQuery.Document.init)
    let world = try await QueryWorld(
      documents, keyLimit: KeyLimit(keyLimit), configure: { $0.scanThreads = 4 })
    var asked = 0
    var large = 0
    while asked < (Soak.isOn ? 1000 : 20) {
      var query = random.query(documents)
      query.scope = .collection(books)
      let touched = ReadCounters()
      guard let found = try? world.documents(query, touched: touched) else { continue }
      asked += 1
      if touched.documents > 600 { large += 1 }
      let expected = ReferenceQuery(query: query).run(reference)
      #expect(found.map(\.path) == expected.map(\.path), "\(query)")
    }
    #expect(large > asked / 4)
  }

  /// For each world, indexes of all kinds: some on single fields, some at random, some that its queries
  /// want. In a soak five sets of indexes, and 100,000 queries in all.
  @Test(arguments: [511, 24], 0..<worlds)
  func `every plan finds what the reference finds`(keyLimit: Int, seed: UInt64) async throws {
    var random = RandomQueries(seed: seed &* 77 &+ 13 &* UInt64(keyLimit))
    let documents = random.world(45)
    let reference = documents.map(ReferenceQuery.Document.init)
    let queries = random.validQueries(Soak.isOn ? 1250 : Self.queries, documents)
    let expected = queries.map { query in
      var unlimited = query
      unlimited.limit = nil
      unlimited.offset = 0
      unlimited.isLimitToLast = false
      return (
        found: ReferenceQuery(query: query).run(reference),
        count: ReferenceQuery(query: unlimited).run(reference).count
      )
    }
    for _ in 0..<(Soak.isOn ? 5 : 1) {
      let world = try await QueryWorld(
        documents, keyLimit: KeyLimit(keyLimit), indexes: random.indexes(wantedBy: queries))
      var indexed = 0
      var plans = 0
      for (query, expected) in zip(queries, expected) {
        let answers = try world.documentsByEveryPlan(query)
        if answers.count > 1 { indexed += 1 }
        let chosen = try world.database.store.read {
          try $0.planner(EffectiveQuery(query)).best()
        }
        // Of the plans that read an index, none costs less; but all of them are counted further.
        let same = answers.first { $0.plan.source == chosen.source }
        // What a test in the entries lets pass is a guess, and so is the cost of such a plan.
        let least = answers.filter { $0.plan.usesIndexes && !$0.plan.testsEntries }
          .map(\.plan.cost).min()
        #expect(same.map { !chosen.usesIndexes || $0.plan.cost <= least ?? $0.plan.cost } == true)
        for answer in answers {
          let found = answer.documents
          plans += 1
          guard found.map(\.path.text) == expected.found.map(\.path.text),
            try found.map({ try $0.body.map() }) == expected.found.map(\.fields),
            answer.counted ?? expected.count == expected.count
          else {
            Issue.record(
              """
              seed \(seed), key limit \(keyLimit): \(query)
              \(answer.plan)
              counted \(answer.counted ?? expected.count) of \(expected.count), \
              found \(found.map(\.path.text)), not \(expected.found.map(\.path.text))
              """)
            return
          }
        }
      }
      #expect(indexed > queries.count / 8)
      print("plans: seed \(seed), key limit \(keyLimit): \(queries.count) queries, \(plans) plans")
    }
  }

  @Test func `a branch leaves to another what only that one lets pass`() async throws {
    func equal(_ name: String, _ value: String) -> StructuredQuery.Filter {
      .comparison(
        StructuredQuery.Comparison(
          field: FieldSegments([name]), operator: .equal, operand: .string(value)))
    }
    let books = ResourcePath(["books"])
    let world = try await QueryWorld(
      [("1", "z"), ("2", "y")].map {
        (books.appending($0), MapValue([("author", .string($1)), ("genre", .string("x"))]))
      },
      indexes: ["author", "genre"].map {
        IndexDefinition("books", [.init(field: FieldSegments([$0]), kind: .ascending)])
      })
    // Whoever is found by its genre has one author only, and so is in order.
    var query = StructuredQuery(.collection(books))
    query.add(.any([.all([equal("genre", "x"), equal("author", "y")]), equal("author", "z")]))
    query.orders = [StructuredQuery.Order(field: FieldSegments(["author"]))]
    let answers = try world.documentsByEveryPlan(query)
    #expect(
      answers.contains { $0.plan.isOrdered && $0.plan.description.contains("index (books: genre") })
    for answer in answers {
      #expect(answer.documents.map(\.path.text) == ["books/2", "books/1"], "\(answer.plan)")
    }
  }

  @Test func `a document that has several of what is counted counts once`() async throws {
    func tags(_ kind: StructuredQuery.Comparison.Operator, _ tags: Value) -> StructuredQuery.Filter
    {
      .comparison(
        StructuredQuery.Comparison(field: FieldSegments(["tags"]), operator: kind, operand: tags))
    }
    let books = ResourcePath(["books"])
    let both = Value.array([.string("a"), .string("b")])
    let world = try await QueryWorld(
      (0..<3).map { (books.appending("\($0)"), MapValue([("tags", both)])) },
      indexes: [IndexDefinition("books", [.init(field: FieldSegments(["tags"]), kind: .contains)])])
    for filter in [
      tags(.arrayContainsAny, both),
      .any([tags(.arrayContains, .string("a")), tags(.arrayContains, .string("b"))]),
    ] {
      var query = StructuredQuery(.collection(books))
      query.add(filter)
      let counts = try world.documentsByEveryPlan(query).compactMap(\.counted)
      #expect(!counts.isEmpty && counts.allSatisfy { $0 == 3 }, "\(counts)")
    }
  }

  /// Every place that values of a small world make, with and without what is the same in all results.
  @Test(arguments: ["genre == b", "genre in a, c", "all"])
  func `every plan enters and leaves where cursors say`(condition: String) async throws {
    let books = ResourcePath(["books"])
    let genre = FieldSegments(["genre"])
    let pages = FieldSegments(["pages"])
    let documents = (0..<18).map { number -> (path: ResourcePath, fields: MapValue) in
      (
        books.appending("\(10 + (number * 7) % 18)"),
        MapValue([
          ("genre", .string(["a", "b", "c"][number % 3])), ("pages", .integer(Int64(number / 6))),
        ])
      )
    }
    let reference = documents.map(ReferenceQuery.Document.init)
    let world = try await QueryWorld(
      documents,
      indexes: [IndexDefinition.Component.Kind.ascending, .descending].map {
        IndexDefinition(
          "books", [.init(field: genre, kind: .ascending), .init(field: pages, kind: $0)],
          isNameDescending: false)
      })
    var places: [[Value]] = []
    for genre in ["a", "b", "bb"].map(Value.string) {
      places.append([genre])
      places.append([genre, .integer(1)])
      for id in ["1", "16"] {
        places.append([genre, .integer(1), .reference(books.appending(id))])
      }
    }
    for directions in 0..<8 {
      var query = StructuredQuery(.collection(books))
      let operand = Value.array([.string("a"), .string("c")])
      switch condition {
      case "genre == b":
        query.add(
          .comparison(
            StructuredQuery.Comparison(field: genre, operator: .equal, operand: .string("b"))))
      case "genre in a, c":
        query.add(
          .comparison(StructuredQuery.Comparison(field: genre, operator: .in, operand: operand)))
      default: break
      }
      query.orders = [genre, pages, .documentID].enumerated().map {
        StructuredQuery.Order(field: $1, isDescending: directions >> $0 & 1 == 1)
      }
      var streamed = 0
      for place in places {
        for side in 0..<4 {
          let bound = StructuredQuery.Bound(values: place, isBefore: side & 1 == 1)
          query.start = side & 2 == 0 ? bound : nil
          query.end = side & 2 == 0 ? nil : bound
          let expected = ReferenceQuery(query: query).run(reference).map(\.path.text)
          for answer in try world.documentsByEveryPlan(query) {
            if answer.plan.usesIndexes, answer.plan.isOrdered { streamed += 1 }
            #expect(
              answer.documents.map(\.path.text) == expected
                && answer.counted ?? expected.count == expected.count,
              "\(query)\n\(answer.plan)")
          }
        }
      }
      // Names ascend in both indexes: with pages that go with them, or against.
      #expect(condition == "all" && (directions & 1) != directions >> 2 || streamed > 0)
    }
  }

  @Test(arguments: [511, 24], 0..<worlds)
  func `any aggregation comes to what the reference comes to`(
    keyLimit: Int, seed: UInt64
  ) async throws {
    var random = RandomQueries(seed: seed &* 31 &+ 5)
    let documents = random.world(45)
    let reference = documents.map(ReferenceQuery.Document.init)
    let queries = random.validQueries(Self.queries / 2, documents)
    let world = try await QueryWorld(
      documents, keyLimit: KeyLimit(keyLimit), indexes: random.indexes(wantedBy: queries))
    for var query in queries {
      query.projection = []
      let aggregations = random.aggregations()
      let found: [Value]
      do {
        found = try world.aggregate(aggregations, over: query)
      } catch let status as Status where status.code == .invalidArgument {
        continue
      } catch {
        Issue.record("seed \(seed): \(aggregations) \(query): \(error)")
        return
      }
      let expected = ReferenceQuery(query: query).aggregate(aggregations, reference)
      let isRight = zip(found, expected).allSatisfy { one, other in
        guard case .double(let a) = one, case .double(let b) = other else { return one == other }
        // Sums that cancel or overflow depend on their order.
        return one == other || !a.isFinite || !b.isFinite || abs(a - b) <= 1e-9 * max(1, abs(a))
          || abs(a) < 1 || max(abs(a), abs(b)) > 0x1p52
      }
      #expect(isRight, "seed \(seed): \(aggregations) \(query): \(found), not \(expected)")
    }
  }
}

extension QueryPlan {
  fileprivate var testsEntries: Bool {
    guard case .entries(let branches) = source else { return false }
    return branches.contains { !$0.tests.isEmpty }
  }
}
