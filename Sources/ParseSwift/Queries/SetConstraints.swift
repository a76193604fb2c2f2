import Foundation
import Hearth

/// Matches objects whose property is one of the values, or is an array with one of them as an
/// element. Nil among the values matches objects without the property. There may be any number of
/// values; without values, nothing matches.
public func containedIn<Value: Encodable & Sendable>(
  key: String, array: [Value]
) -> QueryConstraint {
  if array.isEmpty { return or([]) }
  let constant = Constant(array)
  return QueryConstraint(of: []) { context in
    let path = try QueryConstraint.path(key)
    let stored = try constant.stored(in: context.firestore) as? [Any] ?? []
    let values = stored.filter { !($0 is NSNull) }
    var filters: [Filter] = []
    if values.count < stored.count { filters.append(try .absence(of: key, context)) }
    if !values.isEmpty {
      let isAmong = QueryConstraint.byKind(
        key, context, .whereField(path, inSet: values), .whereField(path, arrayContainsAny: values))
      filters.append(QueryConstraint.reaching(key, context, isAmong))
    }
    return .orFilter(filters)
  }
}

/// Matches objects whose property is none of the values, also those without the property.
public func notContainedIn<Value: Encodable & Sendable>(
  key: String, array: [Value]
) -> QueryConstraint {
  containedIn(key: key, array: array).negated
}

/// Matches objects whose property is an array with all of the values. There may be any number of
/// values; without values, nothing matches.
public func containsAll<Value: Encodable & Sendable>(
  key: String, array: [Value]
) -> QueryConstraint {
  if array.isEmpty { return or([]) }
  return QueryConstraint(key, array) { .whereField($0, arrayContainsAll: $1 as? [Any] ?? []) }
}

/// Matches objects whose property is an array that has no elements except for these values. An
/// empty array in an object matches.
public func containedBy<Value: Encodable & Sendable>(
  key: String, array: [Value]
) -> QueryConstraint {
  if array.isEmpty { return equalTo(key: key, value: array) }
  return QueryConstraint(key, array) { .whereField($0, arrayContainedIn: $1 as? [Any] ?? []) }
}
