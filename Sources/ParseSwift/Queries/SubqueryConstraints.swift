import Hearth

/// Matches objects whose property refers to a result of the query, or is an array with an element
/// that does. The query's limit and skip count. The outer query throws `ParseError` with
/// `.invalidQuery` for a query that limits results by their distance.
///
///     let books = Book.query("isbn" == ISBN.query("value" == "978-0441013593"))
public func == <T: ParseObject>(key: String, value: Query<T>) -> QueryConstraint {
  QueryConstraint { context in
    try QueryConstraint.refuseArrays(key, context)
    let path = try QueryConstraint.path(key)
    let query = try value.subquery(context)
    return QueryConstraint.byKind(
      key, context, .whereField(path, isInResultsOf: query),
      .whereField(path, arrayContainsAnyInResultsOf: query))
  }
}

/// Matches objects whose property refers to no result of the query, also those without the property.
public func != <T: ParseObject>(key: String, value: Query<T>) -> QueryConstraint {
  (key == value).negated
}

/// Matches objects whose property equals the property `queryKey` of a result of the query, or is an
/// array with an element that does. `objectId` equals references; the outer query throws `ParseError`
/// with `.invalidQuery` if the other key is a property of strings.
public func matchesKeyInQuery<T: ParseObject>(
  key: String, queryKey: String, query: Query<T>
) -> QueryConstraint {
  QueryConstraint { context in
    try QueryConstraint.refuseArrays(key, context)
    try QueryConstraint.refuseArrays(queryKey, context.querying(T.self))
    let path = try QueryConstraint.path(key)
    let other = try QueryConstraint.path(queryKey)
    let isId = (key == "objectId", queryKey == "objectId")
    let types = isId.0 ? FieldNames.types(of: T.self) : context.types
    guard isId.0 == isId.1 || !isOfStrings(types[isId.0 ? queryKey : key]) else {
      throw ParseError(.invalidQuery, "'\(key)' and '\(queryKey)': no string equals a reference.")
    }
    let results = try query.subquery(context)
    return QueryConstraint.byKind(
      key, context, .whereField(path, isInResultsOf: results, field: other),
      .whereField(path, arrayContainsAnyInResultsOf: results, field: other))
  }
}

private func isOfStrings(_ type: (any Any.Type)?) -> Bool {
  guard let type else { return false }
  if case .array(let element, _) = PropertyKind(type) { return element is String.Type }
  return type is String.Type
}

/// Matches objects whose property equals the property `queryKey` of no result of the query, also
/// those without the property.
public func doesNotMatchKeyInQuery<T: ParseObject>(
  key: String, queryKey: String, query: Query<T>
) -> QueryConstraint {
  matchesKeyInQuery(key: key, queryKey: queryKey, query: query).negated
}

// MARK: - Relations

/// Matches the objects that `object` is related to by the key. The query throws `ParseError`:
/// `.missingObjectId` for an unsaved object, `.invalidKeyName` for an invalid key.
///
///     let authors = try Author.query(related(key: "authors", object: book)).find()
public func related<Parent: ParseObject>(key: String, object: Parent) -> QueryConstraint {
  let pointer = Result { () throws(ParseError) in try Pointer(object) }
  return QueryConstraint { try related(key: key, object: pointer.get()).filter($0) }
}

/// Same as `related(key:object:)`, for a pointer.
public func related<Parent: ParseObject>(
  key: String, object: Pointer<Parent>
) -> QueryConstraint {
  QueryConstraint { try RelationEdges(key, from: object).constraint.filter($0) }
}

/// Matches the objects of the class `Parent` that are related to `child` by the key: the other direction
/// of `related(key:object:)`.
///
///     let books = try Book.query(related(key: "authors", of: Book.self, to: herbert)).find()
public func related<Parent: ParseObject, Child: ParseObject>(
  key: String, of parent: Parent.Type, to child: Child
) -> QueryConstraint {
  let pointer = Result { () throws(ParseError) in try Pointer(child) }
  return QueryConstraint {
    try RelationEdges(key, of: parent, to: pointer.get()).constraint.filter($0)
  }
}

/// Parse's condition without a key.
@available(*, unavailable, message: "A relation has a key: use related(key:object:).")
public func related<Parent: ParseObject>(object: Parent) -> QueryConstraint { or([]) }

/// Parse's condition without a parent.
@available(*, unavailable, message: "A relation has a parent: use related(key:object:).")
public func related(key: String) -> QueryConstraint { or([]) }
