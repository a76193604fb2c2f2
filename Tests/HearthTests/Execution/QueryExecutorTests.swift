import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// What an answer costs, and what a run does with what it cannot trust.
@Suite struct QueryExecutorTests {
  private static let books = ResourcePath(["books"])

  private static func world() async throws -> QueryWorld {
    try await QueryWorld(
      (100..<200).map {
        (
          books.appending("\($0)"),
          MapValue([("n", .integer(Int64($0 % 10))), ("m", .integer(Int64($0)))])
        )
      })
  }

  private func name(_ kind: StructuredQuery.Comparison.Operator, _ ids: String...)
    -> StructuredQuery.Filter
  {
    let paths = ids.map { Value.reference(Self.books.appending($0)) }
    return .comparison(
      StructuredQuery.Comparison(
        field: .documentID, operator: kind,
        operand: kind.takesList ? .array(paths) : paths.first ?? .null))
  }

  @Test func `what is asked by name costs what it finds`() async throws {
    let world = try await Self.world()
    func cost(_ change: (inout StructuredQuery) -> Void) throws -> (names: Int, keys: Int) {
      var query = StructuredQuery(.collection(Self.books))
      change(&query)
      let touched = ReadCounters()
      let found = try world.names(query, touched: touched)
      return (found.count, touched.keys)
    }
    #expect(try cost { $0.add(name(.equal, "150")) } == (1, 1))
    #expect(try cost { $0.add(name(.in, "150", "151", "none")) } == (2, 3))
    #expect(
      try cost {
        $0.add(name(.greaterThanOrEqual, "150"))
        $0.add(name(.lessThan, "160"))
      } == (10, 11))
    #expect(
      try cost {
        $0.orders = [StructuredQuery.Order(field: .documentID)]
        $0.start = StructuredQuery.Bound(
          values: [.reference(Self.books.appending("190"))], isBefore: true)
      } == (10, 10))
    #expect(
      try cost {
        $0.orders = [StructuredQuery.Order(field: .documentID, isDescending: true)]
        $0.limit = 3
      } == (3, 3))
    #expect(
      try cost {
        $0.orders = [StructuredQuery.Order(field: .documentID)]
        $0.limit = 3
        $0.isLimitToLast = true
      } == (3, 3))
    #expect(try cost { $0.limit = 5 } == (5, 5))
    #expect(try cost { $0.limit = 0 } == (0, 0))
    #expect(try cost { $0.add(name(.greaterThan, "999")) } == (0, 0))
  }

  @Test func `counting a whole collection reads no document`() async throws {
    let world = try await Self.world()
    let touched = ReadCounters()
    var query = StructuredQuery(.collection(Self.books))
    let count = [Aggregation(.count(upTo: nil)), Aggregation(.count(upTo: 7))]
    #expect(
      try world.aggregate(count, over: query, touched: touched) == [.integer(100), .integer(7)])
    #expect(touched.documents == 0 && touched.keys == 1)
    query.offset = 95
    #expect(try world.aggregate(count, over: query) == [.integer(5), .integer(5)])
    query.limit = 2
    #expect(try world.aggregate(count, over: query) == [.integer(2), .integer(2)])
    query.offset = .max
    query.limit = .max
    #expect(try world.aggregate(count, over: query) == [.integer(0), .integer(0)])
  }

  @Test func `a count with a limit stops there`() async throws {
    let world = try await Self.world()
    let touched = ReadCounters()
    var query = StructuredQuery(.collection(Self.books))
    query.add(
      .comparison(
        StructuredQuery.Comparison(
          field: FieldSegments(["n"]), operator: .equal, operand: .integer(3))))
    #expect(
      try world.aggregate([Aggregation(.count(upTo: 2))], over: query, touched: touched) == [
        .integer(2)
      ])
    #expect(touched.documents == 14)
  }

  @Test func `limits and offsets beyond all bounds`() async throws {
    let world = try await Self.world()
    var query = StructuredQuery(.collection(Self.books))
    query.orders = [StructuredQuery.Order(field: FieldSegments(["m"]), isDescending: true)]
    query.limit = .max
    query.offset = .max
    #expect(try world.names(query).isEmpty)
    query.offset = 98
    #expect(try world.names(query) == ["books/101", "books/100"])
    query.offset = 0
    query.limit = 40
    #expect(try world.names(query) == (160..<200).reversed().map { "books/\($0)" })
  }

  @Test func `the first few of many are the first of all`() throws {
    var random = SeededGenerator(seed: 3)
    for limit in [0, 1, 2, 31, 32, 33, 100, 10_000] {
      let all = (0..<1000).map { _ in random.below(500) }
      var topK = TopK<Int>(limit: limit)
      for element in all { try topK.add(element) { $0 - $1 } }
      #expect(try topK.finish { $0 - $1 } == Array(all.sorted().prefix(limit)))
    }
  }

  @Test func `sums are exact as long as they can be`() throws {
    func total(_ values: Value...) throws -> NumberTotal {
      var total = NumberTotal()
      for value in values {
        let bytes = PinnedBytes(encoding: value)
        try total.add(bytes.view)
      }
      return total
    }
    #expect(try total(.integer(.max), .integer(1), .integer(-1)).sumValue == .integer(.max))
    #expect(try total(.integer(.max), .integer(.max)).sumValue == .double(0x1p64))
    #expect(try total(.integer(.max), .integer(.max)).averageValue == .double(0x1p63))
    #expect(try total(.double(1e100), .integer(1), .double(-1e100)).sumValue == .double(1))
    #expect(try total(.double(0.1), .double(0.2), .double(0.3)).sumValue == .double(0.6))
    #expect(try total(.double(.infinity), .double(1)).sumValue == .double(.infinity))
    #expect(try total(.double(.infinity), .double(-.infinity)).sumValue == .double(.nan))
    #expect(
      try total(.double(.greatestFiniteMagnitude), .double(.greatestFiniteMagnitude)).sumValue
        == .double(.infinity))
    #expect(try total(.double(-0.0)).sumValue == .double(0))
    #expect(try total(.string("7"), .null).sumValue == .integer(0))
    #expect(try total(.string("7"), .null).averageValue == .null)
  }

  @Test func `a vector search agrees with plain arithmetic`() async throws {
    var random = RandomValues(seed: 11)
    let documents = (0..<60).map { index -> (path: ResourcePath, fields: MapValue) in
      let vector = (0..<19).map { _ in Double(random.generator.below(2000) - 1000) / 64 }
      return (Self.books.appending("\(100 + index)"), MapValue([("v", .vector(vector))]))
    }
    let world = try await QueryWorld(documents)
    let target = (0..<19).map { _ in Double(random.generator.below(2000) - 1000) / 64 }
    for measure in [DistanceMeasure.euclidean, .cosine, .dotProduct] {
      let expected = documents.map { document -> (name: String, distance: Double) in
        guard case .vector(let vector)? = document.fields["v"] else { return ("", 0) }
        let pairs = zip(vector, target)
        let product = pairs.reduce(0) { $0 + $1.0 * $1.1 }
        func length(_ vector: [Double]) -> Double { vector.reduce(0) { $0 + $1 * $1 }.squareRoot() }
        let distance =
          switch measure {
          case .euclidean: pairs.reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }.squareRoot()
          case .cosine: 1 - product / (length(vector) * length(target))
          case .dotProduct: -product
          }
        return (document.path.text, distance)
      }.sorted { $0.distance < $1.distance }
      var query = StructuredQuery(.collection(Self.books))
      query.question = .nearest(
        StructuredQuery.Nearest(
          field: FieldSegments(["v"]), vector: target, limit: 20, measure: measure))
      #expect(try world.names(query) == expected.prefix(20).map(\.name))
    }
  }

  @Test func `named documents are counted without being read only if there is no other condition`()
    async throws
  {
    let collection = ResourcePath(["books"])
    let world = try await QueryWorld(
      (0..<20).map { number in
        (collection.appending("\(number)"), MapValue([("n", .integer(Int64(number % 4)))]))
      })
    var query = StructuredQuery(.collection(collection))
    query.add(
      .comparison(
        StructuredQuery.Comparison(
          field: .documentID, operator: .inSet,
          operand: .array((10..<30).map { .reference(collection.appending("\($0)")) }))))
    let count = [Aggregation(.count(upTo: nil))]
    let counters = ReadCounters()
    #expect(try world.aggregate(count, over: query, touched: counters) == [.integer(10)])
    #expect(counters.documents == 0)
    query.add(
      .comparison(
        StructuredQuery.Comparison(
          field: FieldSegments(["n"]), operator: .equal, operand: .integer(2))))
    #expect(try world.aggregate(count, over: query) == [.integer(3)])
    #expect(try world.documents(query).count == 3)
  }

  @Test func `results of an index without order are in the order of their names, also long ones`()
    async throws
  {
    let collection = ResourcePath(["shops"])
    let field = FieldSegments(["place"])
    var names = (0..<40).map { "\($0 * 7919 % 1000)" }
    // Longer than keys: some differ only behind the part that a key has.
    names += (0..<40).map { String(repeating: "\($0 % 10)", count: 24) + "\($0)" }
    let documents = names.map { name in
      (
        path: collection.appending(name),
        fields: MapValue([("place", .geoPoint(Coordinate(latitude: 52, longitude: 13)))])
      )
    }
    for keyLimit in [24, 40, 511] {
      let world = try await QueryWorld(
        documents, keyLimit: KeyLimit(keyLimit),
        indexes: [IndexDefinition("shops", [.init(field: field, kind: .cells)])])
      for isDescending in [false, true] {
        var query = StructuredQuery(.collection(collection))
        query.add(
          .comparison(
            .init(
              field: field,
              within: .circle(latitude: 52, longitude: 13, radiusMeters: 1000))))
        query.orders = [.init(field: .documentID, isDescending: isDescending)]
        let expected = documents.map(\.path).sorted {
          ResourcePath.compare($0, $1) < 0
        }
        for answer in try world.documentsByEveryPlan(query) {
          let found = answer.documents.map(\.path)
          #expect(found == (isDescending ? expected.reversed() : expected), "\(answer.plan)")
        }
      }
    }
  }
}
