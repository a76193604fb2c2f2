import Foundation
import Hearth

/// A condition of a query, made by an operator or a function on the key of a property.
///
///     let query = Book.query("title" == "Dune", "publishingYear" > 1960)
///
/// A dot in a key leads into a map: `address.city`; and into each map of an array: `doses.drug`. A
/// condition holds for an array if it holds for one of its elements. Making a condition checks nothing.
/// The query throws `ParseError`: `.invalidKeyName` for an invalid key, `.missingObjectId` for a value that
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
  fileprivate(set) var comparison: Comparison?
  private(set) var search: Search?
  private(set) var center: Center?
  /// Whether an object meets the condition by its own properties, at any time and whatever other objects
  /// there are. False if that is not known.
  private(set) var isOfObjectAlone = false

  init(_ filter: @escaping @Sendable (QueryContext) throws -> Filter) { self.filter = filter }

  /// A comparison of one key with one value.
  ///
  /// - Parameter comparison: That of a constraint which `relative(_:)` may take.
  init<Value: Encodable & Sendable>(
    _ key: String, _ value: Value, _ comparison: Comparison.Operator? = nil,
    _ filter: @escaping @Sendable (FieldPath, Any) throws -> Filter
  ) {
    let constant = Constant(value)
    self.init {
      try Self.reaching(key, $0, filter(Self.path(key), constant.stored(in: $0.firestore)))
    }
    isOfObjectAlone = true
    self.comparison = comparison.map { Comparison(key: key, operator: $0, value: value) }
  }

  /// A condition of one key, whose names may lead through arrays.
  ///
  /// - Parameter center: Results are ordered by their distance from it, if the constraint is one of the
  ///   query's own.
  init(
    of key: String, center: Center? = nil,
    _ filter: @escaping @Sendable (FieldPath, QueryContext) throws -> Filter
  ) {
    self.init { try Self.reaching(key, $0, filter(Self.path(key), $0)) }
    isOfObjectAlone = true
    self.center = center
  }

  /// A condition made of others.
  init(
    of others: [QueryConstraint], _ filter: @escaping @Sendable (QueryContext) throws -> Filter
  ) {
    self.init(filter)
    isOfObjectAlone = others.allSatisfy(\.isOfObjectAlone)
  }

  /// A search for words, which is a condition of a whole query.
  init(_ search: Search) {
    self.init { _ in
      throw ParseError(
        .invalidQuery, "A search for words is one of a query's own conditions, and the only one.")
    }
    self.search = search
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

  /// The condition on a key whose names may lead through arrays. Indexes serve it only if they do not.
  static func reaching(_ key: String, _ context: QueryContext, _ filter: Filter) -> Filter {
    context.property(key).passesArray == false ? filter : .throughArrays(filter)
  }

  /// Throws for a key that leads through an array, where that has no meaning.
  static func refuseArrays(_ key: String, _ context: QueryContext) throws(ParseError) {
    guard context.property(key).passesArray == true else { return }
    throw ParseError(
      .invalidQuery,
      "'\(key)' leads through an array. Conditions may do that, but no order, no group, no relative "
        + "time, and no condition on the results of a query.")
  }

  /// For a property that is an array, `ofArrays`; for one that is not, `ofOthers`; else both.
  static func byKind(
    _ key: String, _ context: QueryContext, _ ofOthers: Filter, _ ofArrays: Filter
  ) -> Filter {
    switch key == "objectId" ? false : context.property(key).isArray {
    case true?: ofArrays
    case false?: ofOthers
    case nil: .orFilter([ofOthers, ofArrays])
    }
  }

  var negated: QueryConstraint { QueryConstraint(of: [self]) { .notFilter(try filter($0)) } }
}

// MARK: - Comparisons

/// Matches objects whose property equals the value, or is an array with such an element. A value
/// that is an object, or a pointer, equals the object with its id. Nil matches objects without the
/// property, and those in which it is null. Several conditions of one key must all hold.
public func == <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  equalTo(key: key, value: value)
}

/// Matches objects whose property does not equal the value, also those without the property. Nil
/// matches the objects that have the property.
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
  var constraint = QueryConstraint(of: []) { context in
    let path = try QueryConstraint.path(key)
    let stored = try constant.stored(in: context.firestore)
    if stored is NSNull { return try .absence(of: key, context) }
    let equal = Filter.whereField(path, isEqualTo: stored)
    return QueryConstraint.reaching(
      key, context,
      stored is [Any] || key == "objectId"
        ? equal
        : QueryConstraint.byKind(key, context, equal, .whereField(path, arrayContains: stored)))
  }
  constraint.comparison = .init(key: key, operator: .equal, value: value)
  return constraint
}

/// Matches objects whose property is greater than the value. Only numbers compare across types.
public func > <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value, .greater) { .whereField($0, isGreaterThan: $1) }
}

/// Matches objects whose property is the value or greater. Only numbers compare across types.
public func >= <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value, .greaterOrEqual) { .whereField($0, isGreaterOrEqualTo: $1) }
}

/// Matches objects whose property is less than the value. Only numbers compare across types.
public func < <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value, .less) { .whereField($0, isLessThan: $1) }
}

/// Matches objects whose property is the value or less. Only numbers compare across types.
public func <= <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value, .lessOrEqual) { .whereField($0, isLessThanOrEqualTo: $1) }
}

// MARK: - Presence

/// Matches objects that have the property, and in which it is not null.
public func exists(key: String) -> QueryConstraint { doesNotExist(key: key).negated }

/// Matches objects without the property, or in which it is null.
public func doesNotExist(key: String) -> QueryConstraint {
  QueryConstraint(of: []) { try .absence(of: key, $0) }
}

/// Same as `doesNotExist(key:)`: a property that is null counts as missing.
public func isNull(key: String) -> QueryConstraint { doesNotExist(key: key) }

/// Same as `exists(key:)`.
public func isNotNull(key: String) -> QueryConstraint { exists(key: key) }

// MARK: - Several conditions

/// Matches objects that meet at least one of the conditions.
public func or(_ constraints: QueryConstraint...) -> QueryConstraint { or(constraints) }

/// Matches objects that meet at least one of the conditions. Without conditions, matches none.
public func or(_ constraints: [QueryConstraint]) -> QueryConstraint {
  QueryConstraint(of: constraints) { context in
    if constraints.isEmpty { return .nothing(in: context.firestore) }
    return .orFilter(try constraints.map { try $0.filter(context) })
  }
}

extension Filter {
  /// Matches documents without a property, or in which it is null.
  static func absence(of key: String, _ context: QueryContext) throws(ParseError) -> Filter {
    let path = try QueryConstraint.path(key)
    // Every object has an id.
    if key == "objectId" { return .nothing(in: context.firestore) }
    return QueryConstraint.reaching(
      key, context, .notFilter(.whereField(path, isNotEqualTo: NSNull())))
  }

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
  QueryConstraint(of: constraints) { context in
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
