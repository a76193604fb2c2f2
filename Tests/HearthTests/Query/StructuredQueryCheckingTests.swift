import ProcessorTime
import Testing

@testable import Hearth
@testable import HearthEngine

/// What the server refuses, with its sentences.
@Suite struct StructuredQueryCheckingTests {
  private func field(_ name: String) -> FieldSegments { FieldSegments([name]) }

  private func compare(
    _ name: String, _ kind: StructuredQuery.Comparison.Operator, _ operand: Value = .null
  ) -> StructuredQuery.Filter {
    .comparison(StructuredQuery.Comparison(field: field(name), operator: kind, operand: operand))
  }

  private func list(_ count: Int) -> Value { .array((0..<count).map { .integer(Int64($0)) }) }

  private func sentence(
    _ scope: StructuredQuery.Scope = .collection(ResourcePath(["books"])),
    sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout StructuredQuery) -> Void
  ) -> String? {
    var query = StructuredQuery(scope)
    change(&query)
    return refusal({ try query.check() }, sourceLocation: sourceLocation)
  }

  private func accepts(_ filters: StructuredQuery.Filter...) -> Bool {
    var query = StructuredQuery(.collection(ResourcePath(["books"])))
    for filter in filters { query.add(filter) }
    do throws(Status) {
      try query.check()
      return true
    } catch {
      return false
    }
  }

  @Test func `two negative filters`() {
    let kinds: [(StructuredQuery.Comparison.Operator, Value)] = [
      (.notEqual, .integer(1)), (.notIn, list(2)), (.isNotNaN, .null), (.isNotNull, .null),
    ]
    for (one, operand) in kinds {
      for (other, otherOperand) in kinds {
        #expect(
          sentence {
            $0.add(compare("a", one, operand))
            $0.add(compare("b", other, otherOperand))
          }
            == "Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed "
            + "per query.")
      }
    }
  }

  @Test func `not-in beside other lists and alternatives`() {
    let expected =
      "'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'."
    for other in [
      compare("b", .in, list(2)), compare("b", .arrayContainsAny, list(2)),
      .any([compare("b", .equal, .integer(1)), compare("c", .equal, .integer(1))]),
    ] {
      #expect(
        sentence {
          $0.add(compare("a", .notIn, list(2)))
          $0.add(other)
        } == expected)
    }
  }

  @Test func `lists that are none, empty or too long`() {
    let names: [(StructuredQuery.Comparison.Operator, String, Int)] = [
      (.in, "IN", 30), (.arrayContainsAny, "ARRAY_CONTAINS_ANY", 30), (.notIn, "NOT_IN", 10),
    ]
    for (kind, name, most) in names {
      #expect(
        sentence { $0.add(compare("a", kind, .integer(1))) } == "'\(name)' requires an ArrayValue.")
      #expect(
        sentence { $0.add(compare("a", kind, .array([]))) }
          == "'\(name)' requires an non-empty ArrayValue.")
      #expect(
        sentence { $0.add(compare("a", kind, list(most + 1))) }
          == "'\(name)' supports up to \(most) comparison values.")
      #expect(accepts(compare("a", kind, list(most))))
    }
  }

  @Test func `the documentation's counts of disjunctions`() throws {
    func equal(_ name: String, _ value: Int64) -> StructuredQuery.Filter {
      compare(name, .equal, .integer(value))
    }
    func count(_ filters: StructuredQuery.Filter...) throws -> Int {
      try Disjunctions(filters).conjunctions.count
    }
    #expect(try count() == 1)
    #expect(try count(equal("a", 1)) == 1)
    #expect(try count(.any([equal("a", 1), equal("b", 2)])) == 2)
    #expect(
      try count(
        .any([equal("a", 1), equal("b", 2)]), .any([equal("c", 3), equal("d", 4)])) == 4)
    #expect(try count(compare("a", .in, list(10))) == 10)
    #expect(try count(.any([compare("a", .in, list(10)), compare("b", .in, list(10))])) == 20)
    #expect(
      try count(compare("a", .in, list(5)), .any([equal("b", 2), equal("c", 3)])) == 10)
    #expect(try count(compare("a", .notIn, list(10))) == 1)
    #expect(
      sentence {
        $0.add(compare("a", .in, list(5)))
        $0.add(compare("b", .in, list(10)))
      }
        == "Too many disjunctions after normalization. Result had 50 disjunctions which is more than "
        + "the maximum of 30")
  }

  @Test func `what is written twice counts once, and hopeless queries are told soon`() throws {
    let either = StructuredQuery.Filter.any([
      compare("a", .equal, .integer(1)), compare("b", .equal, .integer(1)),
    ])
    #expect(try Disjunctions(Array(repeating: either, count: 50)).conjunctions.count == 3)
    let wide = (0..<40).map { index in
      StructuredQuery.Filter.any([
        compare("a\(index)", .equal, .integer(1)), compare("b\(index)", .equal, .integer(1)),
      ])
    }
    #expect(
      sentence { query in for filter in wide { query.add(filter) } }
        == "Too many disjunctions after normalization, the maximum is 30")
  }

  @Test func `a long conjunction of alternatives is refused at once`() {
    let start = ProcessorTime.ofThread
    let refused = sentence { query in
      query.add(
        .all(
          [.any((1...999).map { compare("a", .equal, .integer($0)) })]
            + (1...2000).map { compare("b", .equal, .integer($0)) }))
    }
    #expect(
      refused
        == "The query may not have more than 100 filters + sort orders + ancestor total. Currently "
        + "there are 2001 filters, 0 sort orders, and no ancestor filter.")
    #expect(ProcessorTime.ofThread - start < .seconds(2))
    // What all alternatives have in common is no alternative.
    let both = [compare("a", .equal, .integer(1)), compare("a", .equal, .integer(2))]
    #expect(accepts(.any(both), .all(both)))
  }

  @Test func `two array memberships in one disjunction`() {
    let expected = "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction."
    let one = compare("a", .arrayContains, .integer(1))
    #expect(
      sentence {
        $0.add(one)
        $0.add(compare("b", .arrayContains, .integer(1)))
      } == expected)
    #expect(
      sentence {
        $0.add(one)
        $0.add(compare("a", .arrayContainsAny, list(2)))
      } == expected)
    #expect(accepts(.any([one, compare("b", .arrayContains, .integer(1))])))
  }

  @Test func `more than ten fields with inequalities`() {
    #expect(
      sentence { query in
        for index in 0..<11 {
          query.add(compare("f\(index)", .greaterThan, .integer(1)))
        }
      }
        == "The query contains 11 distinct inequality fields: [f0, f1, f10, f2, f3, f4, f5, f6, f7, "
        + "f8, f9]. A query may not have more than 10 distinct inequality fields.")
  }

  @Test func `more than a hundred parts`() {
    let nested = StructuredQuery.Scope.collection(ResourcePath(["books", "a", "pages"]))
    #expect(
      sentence(nested) { query in
        for index in 0..<99 { query.add(compare("f\(index)", .equal, .integer(1))) }
        query.orders = [StructuredQuery.Order(field: field("a"))]
      }
        == "The query may not have more than 100 filters + sort orders + ancestor total. Currently "
        + "there are 99 filters, 1 sort orders, and one ancestor filter.")
    #expect(
      sentence { query in
        for index in 0..<101 {
          query.orders.append(StructuredQuery.Order(field: field("f\(index)")))
        }
      }
        == "The query may not have more than 100 filters + sort orders + ancestor total. Currently "
        + "there are 0 filters, 101 sort orders, and no ancestor filter.")
    #expect(
      sentence { query in
        for _ in 0..<100_000 { query.filters.append(compare("f", .equal, .integer(1))) }
      } != nil)
    #expect(
      sentence { query in
        query.add(.any((0..<5000).map { compare("f", .equal, .integer($0)) }))
      }
        == "The query may not have more than 100 filters + sort orders + ancestor total. Currently "
        + "there are 5000 filters, 0 sort orders, and no ancestor filter.")
  }

  @Test func `what is only a condition does not count`() {
    func unordered(_ index: Int) -> StructuredQuery.Filter {
      compare("f\(index)", .equal, .integer(1)).unordered
    }
    let pairs = (0..<5000).map { StructuredQuery.Filter.all([unordered($0), unordered($0 + 1)]) }
    #expect(accepts(.any(pairs)))
    #expect(accepts(.all((0..<5000).map(unordered))))
    let hundred = (0..<100).map { compare("f\($0)", .equal, .integer(1)) }
    #expect(accepts(.all(hundred + pairs)))
    #expect(
      sentence { $0.add(.all(hundred + [compare("a", .equal, .integer(1))] + pairs)) }
        == "The query may not have more than 100 filters + sort orders + ancestor total. Currently "
        + "there are 101 filters, 0 sort orders, and no ancestor filter.")
  }

  @Test func `orders`() {
    #expect(
      sentence {
        $0.orders = [
          StructuredQuery.Order(field: field("a")),
          StructuredQuery.Order(field: field("a"), isDescending: true),
        ]
      }
        == "order by clause cannot contain duplicate fields a")
    let afterKey = "order by clause cannot contain more fields after the key"
    #expect(
      sentence {
        $0.orders = [
          StructuredQuery.Order(field: .documentID), StructuredQuery.Order(field: field("a")),
        ]
      } == afterKey)
    #expect(
      sentence {
        $0.orders = [StructuredQuery.Order(field: .documentID)]
        $0.add(compare("a", .greaterThan, .integer(1)))
      } == afterKey)
  }

  @Test func `names and other fields`() {
    let key = Value.reference(ResourcePath(["books", "a"]))
    #expect(
      sentence {
        $0.add(compare("__name__", .equal, key))
        $0.add(compare("a", .greaterThan, .integer(1)))
      }
        == "Equality on key is not allowed if there are other inequality fields and key does not "
        + "appear in inequalities.")
    #expect(
      accepts(
        compare("__name__", .equal, key), compare("__name__", .greaterThan, key),
        compare("a", .greaterThan, .integer(1))))
    for (kind, operand) in [
      (StructuredQuery.Comparison.Operator.equal, Value.string("a")), (.greaterThan, .null),
      (.isNull, .null),
      (.in, .array([key, .integer(1)])), (.notIn, .array([.string("x")])),
    ] {
      #expect(
        sentence { $0.add(compare("__name__", kind, operand)) }
          == "__key__ filter value must be a Key")
    }
    #expect(
      sentence { $0.add(compare("__name__", .arrayContains, key)) }
        == "the name __key__ is reserved")
    #expect(
      sentence { $0.add(compare("__key__", .equal, .integer(1))) } == "the name __key__ is reserved"
    )
    #expect(
      sentence { $0.add(compare("__foo__", .equal, .integer(1))) }
        == "Invalid reserved name in field path __foo__")
    #expect(
      sentence {
        $0.orders = [StructuredQuery.Order(field: field(String(repeating: "x", count: 1501)))]
      }
        == "The property path is longer than 1500 bytes.")
  }

  @Test func `queries across collections`() {
    let everything = StructuredQuery.Scope.subtree(below: .root)
    let below = StructuredQuery.Scope.subtree(below: ResourcePath(["books", "a"]))
    let group = StructuredQuery.Scope.group("pages", below: ResourcePath(["books", "a"]))
    #expect(
      sentence(everything) { $0.add(compare("a", .equal, .integer(1))) }
        == "kind is required for filter: a")
    #expect(
      sentence(everything) { $0.add(compare("a", .arrayContains, .integer(1))) }
        == "kind is required for filter: a[*]")
    let orders = "kind is required for all orders except __key__ ascending"
    #expect(
      sentence(everything) { $0.orders = [StructuredQuery.Order(field: field("a"))] } == orders)
    #expect(
      sentence(below) {
        $0.orders = [StructuredQuery.Order(field: .documentID, isDescending: true)]
      } == orders
    )
    let root = "collection group queries are only allowed at the root parent"
    #expect(sentence(below) { $0.add(compare("a", .equal, .integer(1))) } == root)
    #expect(sentence(group) { $0.add(compare("a", .equal, .integer(1))) } == root)
    #expect(sentence(group) { $0.orders = [StructuredQuery.Order(field: field("a"))] } == root)
  }

  @Test func `composites of nothing`() {
    #expect(
      sentence { $0.add(.any([])) } == "Composite filter must have at least one sub-filter.")
  }

  @Test func `cursors`() {
    #expect(
      sentence { $0.start = StructuredQuery.Bound(values: [.integer(1)], isBefore: true) }
        == "Cursor has too many values.")
    #expect(
      sentence {
        $0.orders = [StructuredQuery.Order(field: .documentID)]
        $0.end = StructuredQuery.Bound(values: [.string("a")], isBefore: true)
      } == "Cursor __key__ value is not a document reference.")
    #expect(
      sentence {
        $0.orders = [StructuredQuery.Order(field: .documentID)]
        $0.start = StructuredQuery.Bound(
          values: [.reference(ResourcePath(["books"]))], isBefore: true)
      } == "Resource name \"books\" lacks \"/\" at index 5.")
  }

  @Test func `negative counts`() {
    #expect(sentence { $0.limit = -1 } == "limit is negative")
    #expect(sentence { $0.offset = -1 } == "offset is negative")
  }

  @Test func `operands that no document could hold`() {
    #expect(
      sentence {
        $0.add(compare("a", .equal, .geoPoint(Coordinate(latitude: 91, longitude: 0))))
      } == "Geo point latitude '91.0' outside permitted range -90.0 to 90.0.")
    #expect(
      sentence { $0.add(compare("a", .equal, .map(MapValue([("__a__", .null)])))) }
        == "field name '__a__' is reserved.")
    #expect(
      sentence { $0.add(compare("a", .equal, .vector([]))) } == "Cannot have a zero length vector.")
  }

  @Test func `vector searches`() {
    func nearest(_ change: (inout StructuredQuery.Nearest) -> Void) -> String? {
      sentence { query in
        var nearest = StructuredQuery.Nearest(
          field: field("v"), vector: [1], limit: 1, measure: .cosine)
        change(&nearest)
        query.question = .nearest(nearest)
      }
    }
    #expect(nearest { $0.vector = [] } == "Cannot have a zero length vector.")
    #expect(nearest { $0.vector = [.nan] } == "Vector cannot contain NaN values.")
    #expect(
      nearest { $0.vector = [Double](repeating: 1, count: 2049) }
        == "Vectors must be at most 2048 dimensions.")
    for limit in [0, -1, 1001] {
      #expect(
        nearest { $0.limit = limit }
          == "FindNearest.limit must be a positive integer of no more than 1000")
    }
    #expect(
      nearest { $0.distanceField = .documentID }
        == "The distanceResultField.property.name \"__name__\" is reserved.")
    #expect(
      sentence {
        $0.projection = [field("a")]
        $0.question = .nearest(
          StructuredQuery.Nearest(
            field: field("v"), vector: [1], limit: 1, measure: .cosine, distanceField: field("d")))
      } == "The distanceResultField d is not named in the projection.")
  }

  @Test func `aggregations`() {
    func sentence(_ aggregations: [Aggregation]) -> String? {
      var query = StructuredQuery(.collection(ResourcePath(["books"])))
      query.projection = [field("b")]
      return refusal { try query.check(aggregations) }
    }
    #expect(sentence([]) == "Aggregations can not be empty.")
    #expect(
      sentence([
        Aggregation(.count(upTo: nil), alias: "c"), Aggregation(.count(upTo: nil), alias: "c"),
      ])
        == "Aggregation aliases contain duplicate alias: c.")
    #expect(
      sentence([Aggregation(.count(upTo: nil), alias: "__x__")])
        == "The property.name \"__x__\" is reserved.")
    #expect(
      sentence([Aggregation(.sum(.documentID))])
        == "Aggregations are not supported for the property: __key__")
    #expect(
      sentence([Aggregation(.sum(field("a")))])
        == "The aggregation property a is not present in the base query's property mask.")
    #expect(
      sentence([Aggregation(.count(upTo: 0))])
        == "The `up_to` value in a COUNT aggregation must be greater than zero.")
    #expect(
      sentence((0..<6).map { Aggregation(.count(upTo: nil), alias: "a\($0)") })
        == "The maximum number of aggregations allowed in an aggregation query is 5. Received: 6")
  }
}
