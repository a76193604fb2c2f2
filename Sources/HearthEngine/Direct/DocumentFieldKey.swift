/// A field's name as a coding key, for `init(from:)` of types whose fields have default values.
///
///     struct Book: Codable {
///       var title: String
///       var pages = 0
///       @ServerTimestamp var updated: Date?
///
///       init(from decoder: any Decoder) throws {
///         let fields = try decoder.container(keyedBy: DocumentFieldKey.self)
///         title = try fields.decode(field: "title")
///         if fields.contains("pages") { pages = try fields.decode(field: "pages") }
///         _updated = try fields.decode(wrapper: "updated")
///       }
///     }
public struct DocumentFieldKey: CodingKey, ExpressibleByStringLiteral, Sendable {
  public let stringValue: String
  public var intValue: Int? { nil }

  public init(stringValue: String) { self.stringValue = stringValue }
  public init?(intValue: Int) { nil }
  public init(stringLiteral value: String) { stringValue = value }
}

extension KeyedDecodingContainer where Key == DocumentFieldKey {
  /// A field that is there. Throws `DecodingError` if it is missing.
  @_disfavoredOverload
  public func decode<T: Decodable>(field key: Key) throws -> T { try decode(T.self, forKey: key) }

  /// Nil if the field is missing or null.
  public func decode<T: Decodable>(field key: Key) throws -> T? {
    try decodeIfPresent(T.self, forKey: key)
  }

  /// Nil if the field is missing.
  public func decode<Value>(wrapper key: Key) throws -> ServerTimestamp<Value> {
    try decode(ServerTimestamp<Value>.self, forKey: key)
  }

  /// Nil if the field is missing.
  public func decode<Value: Decodable>(wrapper key: Key) throws -> ExplicitNull<Value> {
    try decode(ExplicitNull<Value>.self, forKey: key)
  }
}
