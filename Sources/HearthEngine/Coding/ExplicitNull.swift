/// An optional that writes nil as null. Other optionals leave the field out.
///
///     struct Member: Codable {
///       var name: String
///       @ExplicitNull var nickname: String?
///     }
///
/// Reads a null or a missing field as nil.
@propertyWrapper
public struct ExplicitNull<Value> {
  /// The value; nil for null.
  public var wrappedValue: Value?

  /// Wraps a value or nil.
  public init(wrappedValue value: Value?) { wrappedValue = value }
}

extension ExplicitNull: Equatable where Value: Equatable {}
extension ExplicitNull: Hashable where Value: Hashable {}
extension ExplicitNull: Sendable where Value: Sendable {}

extension ExplicitNull: Encodable where Value: Encodable {
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue {
      try container.encode(wrappedValue)
    } else {
      try container.encodeNil()
    }
  }
}

extension ExplicitNull: Decodable where Value: Decodable {
  /// Reads null as nil.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
  }
}

extension KeyedDecodingContainer {
  /// Decodes a missing field as nil.
  public func decode<Value: Decodable>(
    _ type: ExplicitNull<Value>.Type, forKey key: Key
  ) throws -> ExplicitNull<Value> {
    try decodeIfPresent(type, forKey: key) ?? ExplicitNull(wrappedValue: nil)
  }
}
