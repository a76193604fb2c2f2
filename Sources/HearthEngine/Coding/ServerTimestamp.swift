import Foundation

/// A type that `@ServerTimestamp` can hold.
public protocol ServerTimestampWrappable {
  static func wrap(_ timestamp: Timestamp) throws -> Self
  static func unwrap(_ value: Self) throws -> Timestamp
}

extension Date: ServerTimestampWrappable {
  public static func wrap(_ timestamp: Timestamp) throws -> Self { timestamp.dateValue() }
  public static func unwrap(_ value: Self) throws -> Timestamp {
    try EncodingRules.timestamp(value)
  }
}

extension Timestamp: ServerTimestampWrappable {
  public static func wrap(_ timestamp: Timestamp) throws -> Self {
    Self(seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds)
  }

  public static func unwrap(_ value: Timestamp) throws -> Timestamp { value }
}

/// A time that the database fills in when it is nil as the document is written.
///
///     struct Post: Codable {
///       var title: String
///       @ServerTimestamp var created: Date?
///     }
///
/// Nil is written as `FieldValue.serverTimestamp()`, a value as that time. A null or a missing field is
/// read as nil.
@propertyWrapper
public struct ServerTimestamp<Value: ServerTimestampWrappable & Codable>: Codable {
  public var wrappedValue: Value?

  public init(wrappedValue value: Value?) { wrappedValue = value }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try Value.wrap(container.decode(Timestamp.self))
  }

  public func encode(to encoder: any Encoder) throws {
    if Value.self == Date.self, let wrappedValue, let sink = DocumentSink(encoder),
      !sink.isStructure
    {
      // Stored as any other date is: a timestamp would be cut, not rounded.
      return try sink.encode(EncodingRules.instant(identity(wrappedValue, as: Date.self)))
    }
    var container = encoder.singleValueContainer()
    if let wrappedValue {
      try container.encode(Value.unwrap(wrappedValue))
    } else {
      try container.encode(FieldValue.serverTimestamp())
    }
  }
}

extension ServerTimestamp: Equatable where Value: Equatable {}
extension ServerTimestamp: Hashable where Value: Hashable {}
extension ServerTimestamp: Sendable where Value: Sendable {}

extension KeyedDecodingContainer {
  /// A missing field is a time not yet known.
  public func decode<Value>(
    _ type: ServerTimestamp<Value>.Type, forKey key: Key
  ) throws -> ServerTimestamp<Value> {
    try decodeIfPresent(type, forKey: key) ?? ServerTimestamp(wrappedValue: nil)
  }
}
