/// A class whose conditions may be written with key paths: a table of its properties and their keys.
///
///     extension Book: ParseKeyed {
///       static var keys: [PartialKeyPath<Book>: String] { [\.title: "title", \.isbn: "isbn"] }
///     }
///
///     let books = try Book.query(\Book.title == "Dune").order([.ascending(key(\Book.title))]).find()
public protocol ParseKeyed: ParseObject {
  static var keys: [PartialKeyPath<Self>: String] { get }
}

/// The key of a property. An empty text, which every query refuses with `.invalidKeyName`, for one that the
/// table lacks.
public func key<T: ParseKeyed>(_ path: PartialKeyPath<T>) -> String { T.keys[path] ?? "" }

/// Same as `==` with the property's key; the value has the property's type.
public func == <T: ParseKeyed, Value: Encodable & Sendable>(
  path: KeyPath<T, Value?>, value: Value
) -> QueryConstraint {
  key(path) == value
}

/// Same as `!=` with the property's key.
public func != <T: ParseKeyed, Value: Encodable & Sendable>(
  path: KeyPath<T, Value?>, value: Value
) -> QueryConstraint {
  key(path) != value
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
