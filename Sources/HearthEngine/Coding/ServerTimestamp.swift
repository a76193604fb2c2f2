import Foundation

/// A type that `@ServerTimestamp` can hold.
public protocol ServerTimestampWrappable {
  /// Converts a timestamp to this type.
  static func wrap(_ timestamp: Timestamp) throws -> Self
  /// Converts a value of this type to a timestamp. Throws if a `Date` is outside the years 0001 to
  /// 9999.
  static func unwrap(_ value: Self) throws -> Timestamp
}

extension Date: ServerTimestampWrappable {
  public static func wrap(_ timestamp: Timestamp) throws -> Self { timestamp.dateValue() }
  public static func unwrap(_ value: Self) throws -> Timestamp {
    do { return try EncodingRules.timestamp(value) } catch { throw error.nsError }
  }
}

extension Timestamp: ServerTimestampWrappable {
  public static func wrap(_ timestamp: Timestamp) throws -> Self {
    Self(seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds)
  }

  public static func unwrap(_ value: Timestamp) throws -> Timestamp { value }
}

/// A time that the database sets when it writes the document, if the value is nil.
///
///     struct Post: Codable {
///       var title: String
///       @ServerTimestamp var created: Date?
///     }
///
/// Nil is written as `FieldValue.serverTimestamp()`, any other value as that time. A null or a
/// missing field is read as nil.
@propertyWrapper
public struct ServerTimestamp<Value: ServerTimestampWrappable & Codable>: Codable {
  /// The time; nil if the database is to set it, or has not set it yet.
  public var wrappedValue: Value?

  /// Wraps a time, or nil.
  public init(wrappedValue value: Value?) { wrappedValue = value }

  /// Reads a `Timestamp`, and null as nil.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try Value.wrap(container.decode(Timestamp.self))
  }

  /// Writes the time; nil as `FieldValue.serverTimestamp()`, which only Firestore's encoder accepts: any
  /// other throws `FirestoreEncodingError`.
  public func encode(to encoder: any Encoder) throws {
    if Value.self == Date.self, let wrappedValue, let sink = DocumentSink(encoder),
      !sink.isStructure
    {
      // Stored like any other date: a `Timestamp` would be truncated to microseconds, not rounded.
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
  /// Decodes a missing field as nil.
  public func decode<Value>(
    _ type: ServerTimestamp<Value>.Type, forKey key: Key
  ) throws -> ServerTimestamp<Value> {
    try decodeIfPresent(type, forKey: key) ?? ServerTimestamp(wrappedValue: nil)
  }
}
