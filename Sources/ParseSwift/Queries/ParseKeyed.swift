/// A class whose conditions may be written with key paths: a table of its properties and their keys.
///
///     extension Book: ParseKeyed {
///       static var keys: [PartialKeyPath<Book>: String] { [\.title: "title", \.isbn: "isbn"] }
///     }
///
///     let books = try Book.query(\Book.title == "Dune").order([.ascending(key(\Book.title))]).find()
public protocol ParseKeyed: ParseObject {
  /// The key of each property that conditions may name. A query refuses a property that is missing
  /// here, with `.invalidKeyName`.
  static var keys: [PartialKeyPath<Self>: String] { get }
}

/// The key of a property in `ParseKeyed.keys`. Empty for a property that the table lacks: every
/// query refuses it with `.invalidKeyName`.
public func key<T: ParseKeyed>(_ path: PartialKeyPath<T>) -> String { T.keys[path] ?? "" }

/// Same as `==` with the property's key; the value has the property's type. Nil matches objects without
/// the property.
public func == <T: ParseKeyed, Value: Encodable & Sendable>(
  path: KeyPath<T, Value?>, value: Value?
) -> QueryConstraint {
  value.map { key(path) == $0 } ?? doesNotExist(key: key(path))
}

/// Same as `!=` with the property's key. Nil matches the objects that have the property.
public func != <T: ParseKeyed, Value: Encodable & Sendable>(
  path: KeyPath<T, Value?>, value: Value?
) -> QueryConstraint {
  value.map { key(path) != $0 } ?? exists(key: key(path))
}

/// Same as `>` with the property's key.
public func > <T: ParseKeyed, Value: Encodable & Sendable>(
  path: KeyPath<T, Value?>, value: Value
) -> QueryConstraint {
  key(path) > value
}

/// Same as `>=` with the property's key.
public func >= <T: ParseKeyed, Value: Encodable & Sendable>(
  path: KeyPath<T, Value?>, value: Value
) -> QueryConstraint {
  key(path) >= value
}

/// Same as `<` with the property's key.
public func < <T: ParseKeyed, Value: Encodable & Sendable>(
  path: KeyPath<T, Value?>, value: Value
) -> QueryConstraint {
  key(path) < value
}

/// Same as `<=` with the property's key.
public func <= <T: ParseKeyed, Value: Encodable & Sendable>(
  path: KeyPath<T, Value?>, value: Value
) -> QueryConstraint {
  key(path) <= value
}

/// Same as `==` with the property's key and a query for its class.
public func == <T: ParseKeyed, Object: ParseObject>(
  path: KeyPath<T, Object?>, value: Query<Object>
) -> QueryConstraint {
  key(path) == value
}
