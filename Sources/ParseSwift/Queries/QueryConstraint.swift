import Foundation
import Hearth

/// A condition of a query, made by an operator or a function on the key of a property.
///
///     let query = Book.query("title" == "Dune", "publishingYear" > 1960)
///
/// A dot in a key leads into a map: `address.city`. Making a condition checks nothing. The query
/// throws `ParseError`: `.invalidKeyName` for an invalid key, `.missingObjectId` for a value that
/// is an unsaved object, `.incorrectType` for a value that cannot be encoded.
public struct QueryConstraint: Sendable {
  /// A comparison, for `relative(_:)`.
  struct Comparison: Sendable {
    enum Operator: Sendable { case equal, less, lessOrEqual, greater, greaterOrEqual }
    var key: String
    var `operator`: Operator
    var value: any Sendable
  }

  /// The words that a query searches for.
  struct Search: Sendable {
    var key: String
    var text: String
    var language: String
  }

  /// The point by whose distance results are ordered.
  struct Center: Sendable {
    var key: String
    var point: ParseGeoPoint
  }

  let filter: @Sendable (QueryContext) throws -> Filter
  private(set) var comparison: Comparison?
  private(set) var search: Search?
  private(set) var center: Center?

  init(_ filter: @escaping @Sendable (QueryContext) throws -> Filter) { self.filter = filter }

  /// A comparison of one key with one value.
  init<Value: Encodable & Sendable>(
    _ key: String, _ value: Value,
    _ filter: @escaping @Sendable (FieldPath, Any) throws -> Filter
  ) {
    let constant = Constant(value)
    self.init { try filter(Self.path(key), constant.stored(in: $0.firestore)) }
  }

  /// The same, which `relative(_:)` may take.
  fileprivate init<Value: Encodable & Sendable>(
    _ key: String, _ comparison: Comparison.Operator, _ value: Value,
    _ filter: @escaping @Sendable (FieldPath, Any) -> Filter
  ) {
    self.init(key, value, filter)
    self.comparison = Comparison(key: key, operator: comparison, value: value)
  }

  /// A search for words, which is a condition of a whole query.
  init(_ search: Search) {
    self.init { _ in
      throw ParseError(
        .invalidQuery, "A search for words is one of a query's own conditions, and the only one.")
    }
    self.search = search
  }

  /// Results are ordered by their distance, if the constraint is one of the query's own.
  func sorted(by center: Center) -> QueryConstraint {
    var constraint = self
    constraint.center = center
    return constraint
  }

  static func path(_ key: String) throws(ParseError) -> FieldPath {
    key == "objectId" ? .documentID() : FieldPath(try names(key))
  }

  /// The name of a property, and of the keys of maps in it.
  static func names(_ key: String) throws(ParseError) -> [String] {
    let names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard !names.contains("") else {
      throw ParseError(.invalidKeyName, "'\(key)' is not the key of a property.")
    }
    return names
  }

  /// Whether the property is an array: nil if the class does not say.
  fileprivate static func isArray(_ key: String, _ context: QueryContext) -> Bool? {
    if key == "objectId" { return false }
    return context.types[key].map {
      if case .array = PropertyKind($0) { true } else { false }
    }
  }

  /// For a property that is an array, `ofArrays`; for one that is not, `ofOthers`; else both.
  static func byKind(
    _ key: String, _ context: QueryContext, _ ofOthers: Filter, _ ofArrays: Filter
  ) -> Filter {
    switch isArray(key, context) {
    case true?: ofArrays
    case false?: ofOthers
    case nil: .orFilter([ofOthers, ofArrays])
    }
  }

  var negated: QueryConstraint { QueryConstraint { .notFilter(try filter($0)) } }
}

// MARK: - Comparisons

/// Matches objects whose property equals the value, or is an array with such an element. A value
/// that is an object, or a pointer, equals the object with its id. Several conditions of one key
/// must all hold.
public func == <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  equalTo(key: key, value: value)
}

/// Matches objects whose property does not equal the value, also those without the property.
public func != <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  equalTo(key: key, value: value).negated
}

/// Same as `==`.
///
/// - Parameters:
///   - key: The property.
///   - value: The value, which is encoded as the property is.
///   - usingEqComparator: Has no effect: conditions of one key never replace each other.
public func equalTo<Value: Encodable & Sendable>(
  key: String, value: Value, usingEqComparator: Bool = true
) -> QueryConstraint {
  let constant = Constant(value)
  var constraint = QueryConstraint(key, .equal, value) { .whereField($0, isEqualTo: $1) }
  constraint = constraint.filtering { context in
    let path = try QueryConstraint.path(key)
    let stored = try constant.stored(in: context.firestore)
    let equal = Filter.whereField(path, isEqualTo: stored)
    if stored is [Any] || stored is NSNull || key == "objectId" { return equal }
    return QueryConstraint.byKind(key, context, equal, .whereField(path, arrayContains: stored))
  }
  return constraint
}

extension QueryConstraint {
  fileprivate func filtering(
    _ filter: @escaping @Sendable (QueryContext) throws -> Filter
  ) -> QueryConstraint {
    var constraint = QueryConstraint(filter)
    constraint.comparison = comparison
    return constraint
  }
}

/// Matches objects whose property is greater than the value. Only numbers compare across types.
public func > <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, .greater, value) { .whereField($0, isGreaterThan: $1) }
}

/// Matches objects whose property is the value or greater. Only numbers compare across types.
public func >= <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, .greaterOrEqual, value) { .whereField($0, isGreaterOrEqualTo: $1) }
}

/// Matches objects whose property is less than the value. Only numbers compare across types.
public func < <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, .less, value) { .whereField($0, isLessThan: $1) }
}

/// Matches objects whose property is the value or less. Only numbers compare across types.
public func <= <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, .lessOrEqual, value) { .whereField($0, isLessThanOrEqualTo: $1) }
}

// MARK: - Presence

/// Matches objects that have the property, and in which it is not null.
public func exists(key: String) -> QueryConstraint {
  QueryConstraint { _ in .whereField(try QueryConstraint.path(key), isNotEqualTo: NSNull()) }
}

/// Matches objects without the property, or in which it is null.
public func doesNotExist(key: String) -> QueryConstraint { exists(key: key).negated }

/// Same as `doesNotExist(key:)`: a property that is null counts as missing.
public func isNull(key: String) -> QueryConstraint { doesNotExist(key: key) }

/// Same as `exists(key:)`.
public func isNotNull(key: String) -> QueryConstraint { exists(key: key) }

// MARK: - Several conditions

/// Matches objects that meet at least one of the conditions.
public func or(_ constraints: QueryConstraint...) -> QueryConstraint { or(constraints) }

/// Matches objects that meet at least one of the conditions. Without conditions, matches none.
public func or(_ constraints: [QueryConstraint]) -> QueryConstraint {
  QueryConstraint { context in
    if constraints.isEmpty { return .nothing(in: context.firestore) }
    return .orFilter(try constraints.map { try $0.filter(context) })
  }
}

extension Filter {
  /// Matches no documents.
  static func nothing(in firestore: Firestore) -> Filter {
    .whereField(.documentID(), isInResultsOf: firestore.collection("_Nothing").limit(to: 1))
  }
}

/// Matches objects that meet all conditions of at least one of the queries. Their orders and limits
/// have no effect.
public func or<T: ParseObject>(queries: [Query<T>]) -> QueryConstraint {
  or(queries.map { and($0.constraints) })
}

/// Matches objects that meet all of the conditions.
public func and(_ constraints: QueryConstraint...) -> QueryConstraint { and(constraints) }

/// Matches objects that meet all of the conditions. Without conditions, matches all.
public func and(_ constraints: [QueryConstraint]) -> QueryConstraint {
  QueryConstraint { context in
    // An empty list would be no member of the filter around it.
    if constraints.isEmpty { return .notFilter(.nothing(in: context.firestore)) }
    return .andFilter(try constraints.map { try $0.filter(context) })
  }
}

/// Matches objects that meet the conditions of all queries. Their orders and limits have no effect.
public func and<T: ParseObject>(queries: [Query<T>]) -> QueryConstraint {
  and(queries.flatMap(\.constraints))
}

/// Matches objects that meet none of the conditions.
public func nor(_ constraints: QueryConstraint...) -> QueryConstraint { nor(constraints) }

/// Matches objects that meet none of the conditions.
public func nor(_ constraints: [QueryConstraint]) -> QueryConstraint { or(constraints).negated }

/// Matches objects that meet none of the queries: of each query, at least one condition is not met.
/// Their orders and limits have no effect.
public func nor<T: ParseObject>(queries: [Query<T>]) -> QueryConstraint {
  or(queries: queries).negated
}
