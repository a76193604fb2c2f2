import Foundation
import Hearth

/// A condition of a query.
///
///     Book.query("title" == "Dune", "publishingYear" > 1960)
public struct QueryConstraint: Sendable {
  let filter: @Sendable (Firestore) throws -> Filter

  init(_ filter: @escaping @Sendable (Firestore) throws -> Filter) { self.filter = filter }

  /// A comparison of one key with one value.
  fileprivate init<Value: Encodable & Sendable>(
    _ key: String, _ value: Value, _ filter: @escaping @Sendable (FieldPath, Any) -> Filter
  ) {
    let constant = Constant(value)
    self.init { firestore in filter(try Self.path(key), try constant.stored(in: firestore)) }
  }

  static func path(_ key: String) throws(ParseError) -> FieldPath {
    if key == "objectId" { return .documentID() }
    let names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard !names.contains("") else {
      throw ParseError(.invalidKeyName, "'\(key)' is not the key of a property.")
    }
    return FieldPath(names)
  }
}

// MARK: - Comparisons

/// Matches objects whose property equals the value. A value that is an object, or a pointer, equals the
/// object with its id.
public func == <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value) { .whereField($0, isEqualTo: $1) }
}

/// Matches objects whose property does not equal the value, also those without the property.
public func != <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value) { .notFilter(.whereField($0, isEqualTo: $1)) }
}

/// Matches objects whose property is greater than the value, and of its type.
public func > <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value) { .whereField($0, isGreaterThan: $1) }
}

/// Matches objects whose property is the value or greater, and of its type.
public func >= <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value) { .whereField($0, isGreaterOrEqualTo: $1) }
}

/// Matches objects whose property is less than the value, and of its type.
public func < <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value) { .whereField($0, isLessThan: $1) }
}

/// Matches objects whose property is the value or less, and of its type.
public func <= <Value: Encodable & Sendable>(key: String, value: Value) -> QueryConstraint {
  QueryConstraint(key, value) { .whereField($0, isLessThanOrEqualTo: $1) }
}

/// Matches objects whose property refers to a result of the query.
///
///     Book.query("isbn" == ISBN.query("value" == number))
public func == <T: ParseObject>(key: String, value: Query<T>) -> QueryConstraint {
  QueryConstraint { firestore in
    .whereField(try QueryConstraint.path(key), isInResultsOf: try value.built(in: firestore))
  }
}

/// Matches objects whose property refers to no result of the query, also those without the property.
public func != <T: ParseObject>(key: String, value: Query<T>) -> QueryConstraint {
  QueryConstraint { firestore in .notFilter(try (key == value).filter(firestore)) }
}

// MARK: - Sets

/// Matches objects whose property is one of the values; for an array, has one of them as an element.
public func containedIn<Value: Encodable & Sendable>(
  key: String, array: [Value]
) -> QueryConstraint {
  QueryConstraint(key, array) { path, values in
    let values = values as? [Any] ?? []
    if path == .documentID() { return .whereField(path, inSet: values) }
    return .orFilter([
      .whereField(path, inSet: values), .whereField(path, arrayContainsAny: values),
    ])
  }
}

/// Matches objects whose property is none of the values, also those without the property.
public func notContainedIn<Value: Encodable & Sendable>(
  key: String, array: [Value]
) -> QueryConstraint {
  let constraint = containedIn(key: key, array: array)
  return QueryConstraint { .notFilter(try constraint.filter($0)) }
}

/// Matches objects whose property is an array with all of the values.
public func containsAll<Value: Encodable & Sendable>(
  key: String, array: [Value]
) -> QueryConstraint {
  QueryConstraint(key, array) { .whereField($0, arrayContainsAll: $1 as? [Any] ?? []) }
}

// MARK: - Presence

/// Matches objects that have the property.
public func exists(key: String) -> QueryConstraint {
  QueryConstraint { _ in .whereField(try QueryConstraint.path(key), isNotEqualTo: NSNull()) }
}

/// Matches objects without the property.
public func doesNotExist(key: String) -> QueryConstraint {
  QueryConstraint { .notFilter(try exists(key: key).filter($0)) }
}

/// Matches objects without the property: null is stored for none.
public func isNull(key: String) -> QueryConstraint { doesNotExist(key: key) }

/// Matches objects that have the property.
public func isNotNull(key: String) -> QueryConstraint { exists(key: key) }

// MARK: - Texts

/// Matches objects whose property is a string that contains `substring`.
public func containsString(key: String, substring: String) -> QueryConstraint {
  QueryConstraint { _ in
    .whereField(try QueryConstraint.path(key), containsText: substring)
  }
}

/// Matches objects whose property is a string that begins with `prefix`.
public func hasPrefix(key: String, prefix: String) -> QueryConstraint {
  QueryConstraint { _ in .whereField(try QueryConstraint.path(key), hasPrefix: prefix) }
}

/// Matches objects whose property is a string that ends with `suffix`.
public func hasSuffix(key: String, suffix: String) -> QueryConstraint {
  QueryConstraint { _ in .whereField(try QueryConstraint.path(key), hasSuffix: suffix) }
}

// MARK: - Several conditions

/// Matches objects that meet one of the conditions.
public func or(_ constraints: QueryConstraint...) -> QueryConstraint { or(constraints) }

/// Matches objects that meet one of the conditions.
public func or(_ constraints: [QueryConstraint]) -> QueryConstraint {
  QueryConstraint { firestore in .orFilter(try constraints.map { try $0.filter(firestore) }) }
}

/// Matches objects that meet all of the conditions.
public func and(_ constraints: QueryConstraint...) -> QueryConstraint { and(constraints) }

/// Matches objects that meet all of the conditions.
public func and(_ constraints: [QueryConstraint]) -> QueryConstraint {
  QueryConstraint { firestore in .andFilter(try constraints.map { try $0.filter(firestore) }) }
}

/// Matches objects that meet none of the conditions.
public func nor(_ constraints: QueryConstraint...) -> QueryConstraint { nor(constraints) }

/// Matches objects that meet none of the conditions.
public func nor(_ constraints: [QueryConstraint]) -> QueryConstraint {
  QueryConstraint { .notFilter(try or(constraints).filter($0)) }
}

// MARK: - Relations

/// Matches the objects that `object` is related to by the key.
///
///     Author.query(related("authors", object: book))
public func related<Parent: ParseObject>(_ key: String, object: Parent) -> QueryConstraint {
  let pointer = Result { () throws(ParseError) in try Pointer(object) }
  return QueryConstraint { try related(key, object: pointer.get()).filter($0) }
}

/// Same as `related(_:object:)`, for a pointer.
public func related<Parent: ParseObject>(
  _ key: String, object: Pointer<Parent>
) -> QueryConstraint {
  QueryConstraint { firestore in
    let relation = try RelationKey(key, of: Parent.self)
    let edges = relation.edges(in: firestore)
      .whereField("owner", isEqualTo: try object.reference(in: firestore))
    return .whereField(
      .documentID(), isInResultsOf: edges, field: FieldPath(["related"]))
  }
}

/// Matches the objects of the class `Parent` that are related to `child` by the key: the other direction
/// of `related(_:object:)`.
///
///     Book.query(related("authors", of: Book.self, to: herbert))
public func related<Parent: ParseObject, Child: ParseObject>(
  _ key: String, of parent: Parent.Type, to child: Child
) -> QueryConstraint {
  let pointer = Result { () throws(ParseError) in try Pointer(child) }
  return QueryConstraint { firestore in
    let relation = try RelationKey(key, of: parent)
    let edges = relation.edges(in: firestore)
      .whereField("related", isEqualTo: try pointer.get().reference(in: firestore))
    return .whereField(.documentID(), isInResultsOf: edges, field: FieldPath(["owner"]))
  }
}
