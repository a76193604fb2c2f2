/// One number computed from all results of a query.
package struct Aggregation: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The number of results, counted up to a limit.
    case count(upTo: Int64?)
    case sum(FieldSegments)
    case average(FieldSegments)
    /// The smallest and the largest value that is not null, in the order of all values. Hearth's own.
    case minimum(FieldSegments)
    case maximum(FieldSegments)
    /// The number of different values that are not null. Hearth's own.
    case distinct(FieldSegments)
    /// The number of values that are not null. Hearth's own.
    case values(FieldSegments)
    /// Of different numbers, each taken once. Hearth's own.
    case distinctSum(FieldSegments)
    case distinctAverage(FieldSegments)
  }

  var kind: Kind
  /// The name of the result; nil for `field_1`, `field_2` and so on.
  var alias: String?

  package init(_ kind: Kind, alias: String? = nil) {
    self.kind = kind
    self.alias = alias
  }

  var field: FieldSegments? {
    switch kind {
    case .count: nil
    case .sum(let field), .average(let field), .minimum(let field), .maximum(let field),
      .distinct(let field), .values(let field), .distinctSum(let field),
      .distinctAverage(let field):
      field
    }
  }
}

extension StructuredQuery {
  /// Throws `invalidArgument` for what the Firestore server refuses, in the aggregations or the
  /// query.
  package func check(_ aggregations: [Aggregation]) throws(Status) {
    try checkOnlyAggregations(aggregations)
    try check()
  }

  /// The same for a query that was checked.
  package func checkOnlyAggregations(_ aggregations: [Aggregation]) throws(Status) {
    guard !aggregations.isEmpty else {
      throw .invalidArgument("Aggregations can not be empty.")
    }
    guard aggregations.count <= Limits.aggregations else {
      throw .invalidArgument(
        "The maximum number of aggregations allowed in an aggregation query is "
          + "\(Limits.aggregations). Received: \(aggregations.count)")
    }
    _ = try Aggregation.aliases(aggregations)
    for aggregation in aggregations {
      if case .count(let limit?) = aggregation.kind, limit <= 0 {
        throw .invalidArgument(
          "The `up_to` value in a COUNT aggregation must be greater than zero.")
      }
      guard let field = aggregation.field else { continue }
      guard !field.isDocumentID else {
        throw .invalidArgument("Aggregations are not supported for the property: __key__")
      }
      try StructuredQuery.check(field: field)
      guard projection.isEmpty || projection.contains(where: { field.hasPrefix($0) }) else {
        throw .invalidArgument(
          "The aggregation property \(field.canonicalText) is not present in the base query's "
            + "property mask.")
      }
    }
    guard question.traits.contains(.aggregated) else {
      throw .invalidArgument("The results of a vector search are not aggregated.")
    }
  }
}

extension Aggregation {
  /// The names of the results. Missing names become `field_1`, `field_2` and so on.
  package static func aliases(_ aggregations: [Aggregation]) throws(Status) -> [String] {
    var aliases: [String] = []
    var next = 1
    for aggregation in aggregations {
      let alias = aggregation.alias ?? "field_\(next)"
      if aggregation.alias == nil { next += 1 }
      guard !ResourcePath.isReserved(alias) else {
        throw .invalidArgument("The property.name \"\(alias)\" is reserved.")
      }
      guard !aliases.contains(where: { UTF8Order.areEqual($0, alias) }) else {
        throw .invalidArgument("Aggregation aliases contain duplicate alias: \(alias).")
      }
      aliases.append(alias)
    }
    return aliases
  }
}

extension Aggregation {
  var countLimit: Int64 {
    guard case .count(let limit?) = kind else { return .max }
    return limit
  }

  func counted(_ count: Int64) -> Int64 { min(count, countLimit) }
}
