import Foundation
import Hearth

extension GrowthRoute {
  /// A condition with a list of `count` elements, on documents of which one has as many.
  private static func condition(
    _ name: String, _ calls: [String], because reason: String, count: Int = 400,
    isIndexed: Bool = true, _ filter: @escaping @Sendable (Int) -> Filter
  ) -> GrowthRoute {
    GrowthRoute(name, calls, because: reason, count: count) { shelf, count in
      if isIndexed {
        try await shelf.db.indexes.declare([
          FirestoreIndex("books", .ascending("id")), FirestoreIndex("books", .contains("list")),
        ])
        try await shelf.db.indexes.waitUntilReady()
      }
      try await shelf.dune.setData(["id": 3, "owner": 3, "list": Array(0..<count)])
      try await shelf.books.document("emma").setData(["id": -1, "owner": 0, "list": [-1]])
      return { _ = try await shelf.books.whereFilter(filter(count)).getDocuments() }
    }
  }

  private static func pair(_ id: Int) -> Filter {
    .andFilter([.whereField("id", isEqualTo: id), .whereField("owner", isEqualTo: id % 7)])
  }

  private static let lists = "Both names of the field, and typed conditions, make one comparison."

  static let conditions: [GrowthRoute] = [
    condition("alternatives", ["Filter.orFilter(_:)"], because: "There is one call.") { count in
      .unordered(.orFilter((0..<count).map(pair)))
    },
    condition("conditions that all hold", ["Filter.andFilter(_:)"], because: "There is one call.") {
      count in
      .unordered(.andFilter((0..<count).map { .whereField("id", isNotEqualTo: -2 - $0) }))
    },
    condition(
      "conditions on many fields", [], because: "As the one before, with a field for each.",
      count: 200
    ) { count in
      .unordered(.andFilter((0..<count).map { .whereField("f\($0)", isEqualTo: 1) }))
    },
    GrowthRoute("conditions that are refused", [], because: "Of both calls.") { shelf, count in
      return {
        await GrowthShelf.attempt {
          let all = Filter.andFilter((0..<count).map { .whereField("id", in: [$0]) })
          _ = try await shelf.books.whereFilter(all).getDocuments()
        }
        await GrowthShelf.attempt {
          let any = Filter.orFilter((0..<count).map(pair))
          _ = try await shelf.books.whereFilter(any).getDocuments()
        }
      }
    },
    condition(
      "one of a list",
      [
        "Filter.whereField(_:in:)", "Query.whereField(_:in:)", "QueryField.in(_:)",
        "Filter.whereField(_:inSet:)", "QueryField.inSet(_:)",
      ],
      because: lists
    ) { count in
      .orFilter([
        .unordered(.whereField("id", in: Array(0..<count))),
        .whereField("id", inSet: Array(0..<count)),
      ])
    },
    condition(
      "none of a list",
      ["Filter.whereField(_:notIn:)", "Query.whereField(_:notIn:)", "QueryField.notIn(_:)"],
      because: lists
    ) { count in
      .unordered(.whereField("id", notIn: (0..<count).map { -2 - $0 }))
    },
    condition(
      "an element of a list",
      [
        "Filter.whereField(_:arrayContainsAny:)", "Query.whereField(_:arrayContainsAny:)",
        "QueryField.contains(anyOf:)",
      ],
      because: lists
    ) { count in
      .unordered(.whereField("list", arrayContainsAny: (0..<count).map { count + $0 }))
    },
    condition(
      "all elements of a list",
      ["Filter.whereField(_:arrayContainsAll:)", "QueryField.contains(allOf:)"], because: lists
    ) { count in
      .unordered(.whereField("list", arrayContainsAll: Array((0..<count).reversed())))
    },
    condition(
      "only elements of a list",
      ["Filter.whereField(_:arrayContainedIn:)", "QueryField.isContained(in:)"], because: lists
    ) { count in
      .whereField("list", arrayContainedIn: Array((0..<count).reversed()))
    },
    condition(
      "a polygon", ["Filter.whereField(_:isWithinPolygon:)", "QueryField.isWithinPolygon(_:)"],
      because: lists
    ) { count in
      .whereField(
        "place",
        isWithinPolygon: (0..<count).map { index in
          let angle = Double(index) / Double(count) * 2 * .pi
          return GeoPoint(latitude: 10 + sin(angle), longitude: 10 + cos(angle))
        })
    },
  ]

  static let queries: [GrowthRoute] = [
    GrowthRoute(
      "the values of a cursor",
      [
        "Query.start(at:)", "Query.start(after:)", "Query.end(before:)", "Query.end(at:)",
      ],
      because: "All of them make a bound, which has at most as many values as there are orders."
    ) { shelf, count in
      return {
        await GrowthShelf.attempt {
          let query = shelf.books.order(by: "a").start(at: Array(0..<count))
          _ = try await query.getDocuments()
        }
      }
    },
    GrowthRoute(
      "the fields of a projection", ["Query.select(_:)"],
      because: "Names and paths make one projection."
    ) { shelf, count in
      let names = GrowthShelf.names(count)
      try await shelf.dune.setData(
        Dictionary(uniqueKeysWithValues: names.map { ($0, 1 as Any) }))
      return {
        _ = try await shelf.books.select(names.map { FieldPath([$0]) }).getDocuments()
      }
    },
    GrowthRoute(
      "aggregations", ["Query.aggregate(_:)"], because: "There is one call, for at most five."
    ) { shelf, count in
      return {
        await GrowthShelf.attempt {
          let query = shelf.books.aggregate((0..<count).map { .sum("f\($0)") })
          _ = try await query.getAggregation(source: .server)
        }
      }
    },
    GrowthRoute(
      "groups and their aggregations",
      [
        "Query.group(by:aggregating:)", "TypedQueryable.group(by:aggregating:)",
      ],
      because: "Names, paths and typed fields make one grouped query.", count: 100
    ) { shelf, count in
      try await shelf.dune.setData(["f1": 1])
      return {
        var query = shelf.books.group(
          by: (0..<count).map { "f\($0)" }, aggregating: (0..<count).map { .sum("f\($0)") })
        // At most ten inequalities.
        for index in 0..<min(count, 10) {
          query = query.having(.sum("f\(count - 1 - index)"), isGreaterThanOrEqualTo: -1)
        }
        let groups = try await query.getGroups()
        guard groups.count <= 1 else { throw GrowthShelf.IsWrong() }
      }
    },
    GrowthRoute(
      "included documents",
      [
        "Query.including(_:)", "TypedQueryable.including(_:)",
        "DocumentInclusion.reference(_:as:including:)",
        "DocumentInclusion.referring(_:by:isArray:as:including:)",
      ],
      because: "Inclusions of a query and of an inclusion are resolved by the same function.",
      count: 100
    ) { shelf, count in
      try await shelf.dune.setData(["f1": shelf.dune])
      return {
        let inclusions = (0..<count).map { DocumentInclusion.reference("f\($0)") }
        _ = try await shelf.books.including(inclusions).getDocuments()
      }
    },
    GrowthRoute(
      "the fields of a search for words",
      ["SearchFields.init(_:language:)", "SearchFields.init(weights:language:)"],
      because: "There are at most a few fields."
    ) { shelf, count in
      return {
        await GrowthShelf.attempt {
          let index = FirestoreIndex(words: "books", in: SearchFields(GrowthShelf.names(count)))
          try await shelf.db.indexes.declare(index)
        }
      }
    },
  ]

  static let settings: [GrowthRoute] = [
    GrowthRoute(
      "the fields of an index",
      [
        "FirestoreIndex.init(_:scope:_:)", "FirestoreIndex.init(unique:scope:_:)",
      ],
      because: "An index has at most 100 fields."
    ) { shelf, count in
      return {
        await GrowthShelf.attempt {
          let index = FirestoreIndex("books", GrowthShelf.names(count).map { .ascending($0) })
          try await shelf.db.indexes.declare(index)
        }
      }
    },
    GrowthRoute(
      "indexes",
      [
        "FirestoreIndexes.declare(_:)", "FirestoreIndexes.drop(_:)",
        "BlockingFirestore.declare(_:)", "FirestoreReferences.declare(_:)",
        "FirestoreReferences.drop(_:)",
      ],
      because: "Rules are indexes, of which a database has at most 1,000: more are refused first.",
      count: 1100
    ) { shelf, count in
      let indexes = GrowthShelf.names(count).map {
        FirestoreIndex("books", .ascending($0), .ascending("a"))
      }
      return { await GrowthShelf.attempt { try await shelf.db.indexes.declare(indexes) } }
    },
  ]
}
