import Foundation
import Hearth

/// A type of the values of results, read without `Codable`. For generated code.
public protocol DataConnectDecodable {
  /// Throws an error for a value of another form.
  init(dataConnectValue: DataValue) throws
}

/// A type of the values of variables, written without `Codable`. For generated code.
public protocol DataConnectEncodable {
  var dataConnectValue: DataValue { get }
}

/// The variables of a generated operation.
public protocol DataConnectVariables: Encodable, Hashable, Sendable {
  /// Without those that are unset.
  var dataConnectValues: DataObject { get }
}

extension DataConnectVariables {
  public func encode(to encoder: any Encoder) throws {
    try DataValue.object(dataConnectValues).encode(to: encoder)
  }
}

/// An object of a result: a generated structure.
public protocol DataConnectRow: DataConnectDecodable, Decodable, Sendable {
  init(row: DataConnectReader) throws
}

extension DataConnectRow {
  public init(dataConnectValue value: DataValue) throws {
    guard case .object(let object) = value else { throw value.mismatch(Self.self) }
    try self.init(row: DataConnectReader(object))
  }

  public init(from decoder: any Decoder) throws {
    try self.init(dataConnectValue: DataValue(from: decoder))
  }
}

/// Reads the members of an object of a result.
public struct DataConnectReader {
  private let object: DataObject

  init(_ object: DataObject) { self.object = object }

  /// The member with the name, which is probably the one with that index. An optional type gives nil for
  /// null, and for a member that is missing.
  ///
  /// Throws an error for a value of another form.
  public func read<Value: DataConnectDecodable>(_ name: String, at index: Int) throws -> Value {
    if index < object.names.count, object.names[index] == name {
      return try Value(dataConnectValue: object.values[index])
    }
    return try Value(dataConnectValue: object[name] ?? .null)
  }
}

extension DataValue {
  func mismatch(_ type: Any.Type) -> DataConnectCodecError {
    DataConnectCodecError(
      .decodingFailed, "The value \(json.prefix(100)) is not of the type \(type).")
  }
}

extension Optional: DataConnectDecodable where Wrapped: DataConnectDecodable {
  public init(dataConnectValue value: DataValue) throws {
    self = value.isNull ? nil : try Wrapped(dataConnectValue: value)
  }
}

extension Optional: DataConnectEncodable where Wrapped: DataConnectEncodable {
  public var dataConnectValue: DataValue { self?.dataConnectValue ?? .null }
}

extension Array: DataConnectDecodable where Element: DataConnectDecodable {
  public init(dataConnectValue value: DataValue) throws {
    guard case .list(let values) = value else { throw value.mismatch(Self.self) }
    self = try values.map { try Element(dataConnectValue: $0) }
  }
}

extension Array: DataConnectEncodable where Element: DataConnectEncodable {
  public var dataConnectValue: DataValue { .list(map(\.dataConnectValue)) }
}

extension String: DataConnectDecodable, DataConnectEncodable {
  public init(dataConnectValue value: DataValue) throws {
    guard case .string(let text) = value else { throw value.mismatch(Self.self) }
    self = text
  }

  public var dataConnectValue: DataValue { .string(self) }
}

extension Bool: DataConnectDecodable, DataConnectEncodable {
  public init(dataConnectValue value: DataValue) throws {
    guard case .bool(let flag) = value else { throw value.mismatch(Self.self) }
    self = flag
  }

  public var dataConnectValue: DataValue { .bool(self) }
}

extension Int: DataConnectDecodable, DataConnectEncodable {
  public init(dataConnectValue value: DataValue) throws {
    self.init(try Int64(dataConnectValue: value))
  }

  public var dataConnectValue: DataValue { .int(Int64(self)) }
}

extension Int64: DataConnectDecodable, DataConnectEncodable {
  public init(dataConnectValue value: DataValue) throws {
    let found: Int64? =
      switch value {
      case .int(let number): number
      case .double(let number): Int64(exactly: number)
      case .string(let text): Int64(text)
      default: nil
      }
    guard let found else { throw value.mismatch(Self.self) }
    self = found
  }

  public var dataConnectValue: DataValue { .int(self) }
}

extension Double: DataConnectDecodable, DataConnectEncodable {
  public init(dataConnectValue value: DataValue) throws {
    switch value {
    case .double(let number): self = number
    case .int(let number): self = Double(number)
    case .string("inf"): self = .infinity
    case .string("-inf"): self = -.infinity
    case .string("nan"): self = .nan
    default: throw value.mismatch(Self.self)
    }
  }

  public var dataConnectValue: DataValue { .double(self) }
}

extension UUID: DataConnectDecodable, DataConnectEncodable {
  public init(dataConnectValue value: DataValue) throws {
    guard case .string(let text) = value else { throw value.mismatch(Self.self) }
    try self.init(dataConnectText: text)
  }

  public var dataConnectValue: DataValue { .string(dataConnectText) }
}

extension LocalDate: DataConnectDecodable, DataConnectEncodable {
  public init(dataConnectValue value: DataValue) throws {
    guard case .string(let text) = value else { throw value.mismatch(Self.self) }
    try self.init(localDateString: text)
  }

  public var dataConnectValue: DataValue { .string(description) }
}

extension Timestamp: DataConnectDecodable, DataConnectEncodable {
  public convenience init(dataConnectValue value: DataValue) throws {
    switch value {
    case .timestamp(let time): self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
    case .string(let text): try self.init(rfc3339: text)
    default: throw value.mismatch(Self.self)
    }
  }

  public var dataConnectValue: DataValue { .timestamp(self) }
}

extension AnyValue: DataConnectDecodable, DataConnectEncodable {
  public init(dataConnectValue value: DataValue) { self.init(value) }

  public var dataConnectValue: DataValue { dataValue }
}

/// The direction of an order.
public enum OrderDirection: String, Codable, Sendable, Hashable, CaseIterable {
  case ASC, DESC
}

/// The form of the text of a search.
public enum SearchQueryFormat: String, Codable, Sendable, Hashable, CaseIterable {
  /// Words, `or`, `-` and quotes, as in search engines.
  case QUERY
  /// All words.
  case PLAIN
  /// The words one after another.
  case PHRASE
  /// `&`, `|`, `!`
  case ADVANCED
}

extension DataConnectDecodable where Self: RawRepresentable, RawValue == String {
  public init(dataConnectValue value: DataValue) throws {
    guard case .string(let text) = value, let found = Self(rawValue: text) else {
      throw value.mismatch(Self.self)
    }
    self = found
  }
}

extension DataConnectEncodable where Self: RawRepresentable, RawValue == String {
  public var dataConnectValue: DataValue { .string(rawValue) }
}

extension OrderDirection: DataConnectDecodable, DataConnectEncodable {}
extension SearchQueryFormat: DataConnectDecodable, DataConnectEncodable {}
