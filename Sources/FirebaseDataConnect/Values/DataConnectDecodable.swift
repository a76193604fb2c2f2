import Foundation
import Hearth

/// A type of the values of results, read without `Codable`. For generated code.
public protocol DataConnectDecodable {
  /// Reads a value. Throws `DataConnectCodecError` for one of another form.
  init(dataConnectValue: DataValue) throws
}

/// A type of the values of variables, written without `Codable`. For generated code.
public protocol DataConnectEncodable {
  /// The value in the form in which Data Connect sends it.
  var dataConnectValue: DataValue { get }
}

/// The variables of a generated operation.
public protocol DataConnectVariables: Encodable, Hashable, Sendable {
  /// The variables by their names in the operation, without those that are unset.
  var dataConnectValues: DataObject { get }
}

extension DataConnectVariables {
  /// Encodes the variables that are set as an object. Throws the error of the encoder.
  public func encode(to encoder: any Encoder) throws {
    try DataValue.object(dataConnectValues).encode(to: encoder)
  }
}

/// An object of a result: a generated structure.
public protocol DataConnectRow: DataConnectDecodable, Decodable, Sendable {
  /// Reads the members of the object. Throws `DataConnectCodecError` for a member of another form.
  init(row: DataConnectReader) throws
}

extension DataConnectRow {
  /// Reads an object. Throws `DataConnectCodecError` with `.decodingFailed` for any other value.
  public init(dataConnectValue value: DataValue) throws {
    guard case .object(let object) = value else { throw value.mismatch(Self.self) }
    try self.init(row: DataConnectReader(object))
  }

  /// Decodes an object from JSON or another format. Throws `DecodingError`, and
  /// `DataConnectCodecError` for a member of another form.
  public init(from decoder: any Decoder) throws {
    try self.init(dataConnectValue: DataValue(from: decoder))
  }
}

/// Reads the members of an object of a result. For generated code.
public struct DataConnectReader {
  private let object: DataObject

  init(_ object: DataObject) { self.object = object }

  /// The member with the name. `index` is its probable position, where it is found in constant
  /// time; otherwise it is searched. An optional type gives nil for null, and for a member that is
  /// missing.
  ///
  /// Throws `DataConnectCodecError` for a value of another form.
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

  /// An integer, a number without a fraction, or a decimal text, as an `Int64` is sent. Nil for
  /// others.
  func integer<Number: FixedWidthInteger>() -> Number? {
    switch self {
    case .int(let number): Number(exactly: number)
    case .double(let number): Number(exactly: number)
    case .string(let text): Number(text)
    default: nil
    }
  }

  /// A number, or one that is not finite as text. Nil for others.
  var number: Double? {
    switch self {
    case .double(let number): number
    case .int(let number): Double(number)
    case .string("inf"): .infinity
    case .string("-inf"): -.infinity
    case .string("nan"): .nan
    default: nil
    }
  }
}

extension Optional: DataConnectDecodable where Wrapped: DataConnectDecodable {
  /// Nil for null. Throws as the wrapped type.
  public init(dataConnectValue value: DataValue) throws {
    self = value.isNull ? nil : try Wrapped(dataConnectValue: value)
  }
}

extension Optional: DataConnectEncodable where Wrapped: DataConnectEncodable {
  /// Null for nil.
  public var dataConnectValue: DataValue { self?.dataConnectValue ?? .null }
}

extension Array: DataConnectDecodable where Element: DataConnectDecodable {
  /// Reads a list. Throws `DataConnectCodecError` with `.decodingFailed` for any other
  /// value, also for a single element, and the error of an element.
  public init(dataConnectValue value: DataValue) throws {
    guard case .list(let values) = value else { throw value.mismatch(Self.self) }
    self = try values.map { try Element(dataConnectValue: $0) }
  }
}

extension Array: DataConnectEncodable where Element: DataConnectEncodable {
  /// A list of the elements' values.
  public var dataConnectValue: DataValue { .list(map(\.dataConnectValue)) }
}

extension String: DataConnectDecodable, DataConnectEncodable {
  /// Throws `DataConnectCodecError` with `.decodingFailed` for a value that is no string.
  public init(dataConnectValue value: DataValue) throws {
    guard case .string(let text) = value else { throw value.mismatch(Self.self) }
    self = text
  }

  /// A string.
  public var dataConnectValue: DataValue { .string(self) }
}

extension Bool: DataConnectDecodable, DataConnectEncodable {
  /// Throws `DataConnectCodecError` with `.decodingFailed` for a value that is no boolean.
  public init(dataConnectValue value: DataValue) throws {
    guard case .bool(let flag) = value else { throw value.mismatch(Self.self) }
    self = flag
  }

  /// A boolean.
  public var dataConnectValue: DataValue { .bool(self) }
}

extension Int: DataConnectDecodable, DataConnectEncodable {
  /// Reads an integer as `Int64` does.
  public init(dataConnectValue value: DataValue) throws {
    self.init(try Int64(dataConnectValue: value))
  }

  /// An integer of 64 bits. A variable of type `Int` must fit in 32.
  public var dataConnectValue: DataValue { .int(Int64(self)) }
}

extension Int64: DataConnectDecodable, DataConnectEncodable {
  /// Reads an integer, a number without a fraction, or a decimal text, as Firebase sends an
  /// `Int64`. Throws `DataConnectCodecError` with `.decodingFailed` for any other value.
  public init(dataConnectValue value: DataValue) throws {
    guard let found: Int64 = value.integer() else { throw value.mismatch(Self.self) }
    self = found
  }

  /// An integer of 64 bits.
  public var dataConnectValue: DataValue { .int(self) }
}

extension Double: DataConnectDecodable, DataConnectEncodable {
  /// Reads a number, or `inf`, `-inf` or `nan` as text. Throws `DataConnectCodecError` with
  /// `.decodingFailed` for any other value.
  public init(dataConnectValue value: DataValue) throws {
    guard let found = value.number else { throw value.mismatch(Self.self) }
    self = found
  }

  /// A double, also if it is not finite.
  public var dataConnectValue: DataValue { .double(self) }
}

extension UUID: DataConnectDecodable, DataConnectEncodable {
  /// Reads a text with or without dashes. Throws `DataConnectCodecError` with `.invalidUUID` for a
  /// text of another form, and with `.decodingFailed` for a value that is no string.
  public init(dataConnectValue value: DataValue) throws {
    guard case .string(let text) = value else { throw value.mismatch(Self.self) }
    try self.init(dataConnectText: text)
  }

  /// 32 hexadecimal digits in lowercase, without dashes.
  public var dataConnectValue: DataValue { .string(dataConnectText) }
}

extension LocalDate: DataConnectDecodable, DataConnectEncodable {
  /// Reads `YYYY-MM-DD`. Throws `DataConnectCodecError` with `.invalidLocalDateFormat` for another
  /// text, and with `.decodingFailed` for a value that is no string.
  public init(dataConnectValue value: DataValue) throws {
    guard case .string(let text) = value else { throw value.mismatch(Self.self) }
    try self.init(localDateString: text)
  }

  /// The date as `YYYY-MM-DD`.
  public var dataConnectValue: DataValue { .string(description) }
}

extension Timestamp: DataConnectDecodable, DataConnectEncodable {
  /// Reads a timestamp, or a text as in RFC 3339. Throws `DataConnectCodecError` with
  /// `.invalidTimestampFormat` for another text, and with `.decodingFailed` for any other value.
  public convenience init(dataConnectValue value: DataValue) throws {
    switch value {
    case .timestamp(let time): self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
    case .string(let text): try self.init(rfc3339: text)
    default: throw value.mismatch(Self.self)
    }
  }

  /// The timestamp itself. An operation rounds it down to microseconds.
  public var dataConnectValue: DataValue { .timestamp(self) }
}

extension AnyValue: DataConnectDecodable, DataConnectEncodable {
  /// Wraps any value, also null.
  public init(dataConnectValue value: DataValue) { self.init(value) }

  /// The value that was wrapped.
  public var dataConnectValue: DataValue { dataValue }
}

/// The direction of an order. `OrderDirection` in GraphQL.
public enum OrderDirection: String, Codable, Sendable, Hashable, CaseIterable {
  /// The least value first. Null comes before all values.
  case ASC
  /// The greatest value first. Null comes after all values.
  case DESC
}

/// The form of the text of a search. `SearchQueryFormat` in GraphQL.
public enum SearchQueryFormat: String, Codable, Sendable, Hashable, CaseIterable {
  /// Rows with all words, as a web search reads them: `"a phrase"` finds words one after another,
  /// `-word` rows without the word, `or` between words either of them, `begin*` words that begin so.
  case QUERY
  /// Rows with all words. Punctuation has no meaning.
  case PLAIN
  /// Rows with the words one after another.
  case PHRASE
  /// An expression of words with `&`, `|`, `!`, parentheses, `'a phrase'`, `begin:*`, and `<->` between
  /// words one after another. Operations throw `DataConnectOperationError` for a text that is none.
  case ADVANCED
}

extension DataConnectDecodable where Self: RawRepresentable, RawValue == String {
  /// Reads the name of a case. Throws `DataConnectCodecError` with `.decodingFailed` for a name
  /// that the enum does not have, and for a value that is no string.
  public init(dataConnectValue value: DataValue) throws {
    guard case .string(let text) = value, let found = Self(rawValue: text) else {
      throw value.mismatch(Self.self)
    }
    self = found
  }
}

extension DataConnectEncodable where Self: RawRepresentable, RawValue == String {
  /// The raw value as a string.
  public var dataConnectValue: DataValue { .string(rawValue) }
}

extension OrderDirection: DataConnectDecodable, DataConnectEncodable {}
extension SearchQueryFormat: DataConnectDecodable, DataConnectEncodable {}
