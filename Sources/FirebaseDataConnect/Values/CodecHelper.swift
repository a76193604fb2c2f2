import Foundation
import Hearth

/// Codes values of generated structures in the form in which Data Connect sends them: a UUID as 32 hex
/// digits, an `Int64` as a string, a timestamp as in RFC 3339. For generated code.
public struct CodecHelper<Key: CodingKey> {
  /// Creates a helper. It has no state.
  public init() {}

  /// Encodes a member in the form in which Data Connect sends it. Lists of `UUID`, `Int64` and
  /// `Timestamp` are encoded in this form, too. Throws the error of the container.
  public func encode<Value: Encodable>(
    _ value: Value, forKey key: Key, container: inout KeyedEncodingContainer<Key>
  ) throws {
    switch value {
    case let value as UUID: try container.encode(value.dataConnectText, forKey: key)
    case let value as Int64: try container.encode(String(value), forKey: key)
    case let value as Timestamp: try container.encode(value.rfc3339, forKey: key)
    case let values as [UUID]: try container.encode(values.map(\.dataConnectText), forKey: key)
    case let values as [Int64]: try container.encode(values.map { String($0) }, forKey: key)
    case let values as [Timestamp]: try container.encode(values.map(\.rfc3339), forKey: key)
    default: try container.encode(value, forKey: key)
    }
  }

  /// Decodes a member. An optional type gives nil for null and for a member that is missing.
  ///
  /// Throws `DataConnectCodecError` for a UUID, `Int64` or timestamp of another form, and
  /// `DecodingError` for other values that are missing or not of the type.
  public func decode<Value: Decodable>(
    _ type: Value.Type, forKey key: Key, container: KeyedDecodingContainer<Key>
  ) throws -> Value {
    func cast(_ value: some Any) throws -> Value {
      guard let value = value as? Value else {
        throw DataConnectCodecError(.decodingFailed, "A value is not of the type \(type).")
      }
      return value
    }
    func text() throws -> String { try container.decode(String.self, forKey: key) }
    if type != UUID.self, type != Int64.self, type != Timestamp.self,
      let type = type as? any OptionalType.Type,
      try !container.contains(key) || container.decodeNil(forKey: key)
    {
      return try cast(type.absent)
    }
    switch type {
    case is UUID.Type, is UUID?.Type: return try cast(UUID(dataConnectText: text()))
    case is Int64.Type, is Int64?.Type: return try cast(Self.int64(key, container))
    case is Timestamp.Type, is Timestamp?.Type: return try cast(Timestamp(rfc3339: text()))
    case is [UUID].Type, is [UUID]?.Type:
      return try cast(Self.texts(key, container).map(UUID.init(dataConnectText:)))
    case is [Int64].Type, is [Int64]?.Type: return try cast(Self.int64s(key, container))
    case is [Timestamp].Type, is [Timestamp]?.Type:
      return try cast(Self.texts(key, container).map(Timestamp.init(rfc3339:)))
    default: return try container.decode(type, forKey: key)
    }
  }

  private static func texts(_ key: Key, _ container: KeyedDecodingContainer<Key>) throws -> [String]
  {
    try container.decode([String].self, forKey: key)
  }

  private static func int64(
    _ key: Key, _ container: KeyedDecodingContainer<Key>
  ) throws -> Int64 {
    if let number = try? container.decode(Int64.self, forKey: key) { return number }
    return try int64(container.decode(String.self, forKey: key))
  }

  private static func int64s(
    _ key: Key, _ container: KeyedDecodingContainer<Key>
  ) throws -> [Int64] {
    if let numbers = try? container.decode([Int64].self, forKey: key) { return numbers }
    return try texts(key, container).map(int64)
  }

  private static func int64(_ text: String) throws(DataConnectCodecError) -> Int64 {
    guard let number = Int64(text) else {
      throw DataConnectCodecError(.decodingFailed, "'\(text)' is no Int64.")
    }
    return number
  }
}

private protocol OptionalType {
  static var absent: Self { get }
}

extension Optional: OptionalType {
  fileprivate static var absent: Self { nil }
}

extension UUID {
  /// 32 hex digits.
  var dataConnectText: String {
    uuidString.lowercased().replacing("-", with: "")
  }

  /// With dashes or without, in braces or after `urn:uuid:`, in any case.
  ///
  /// Throws `DataConnectCodecError` with `.invalidUUID` for any other text.
  init(dataConnectText text: String) throws(DataConnectCodecError) {
    var digits = text.lowercased()
    if digits.hasPrefix("urn:uuid:") { digits.removeFirst(9) }
    if digits.hasPrefix("{"), digits.hasSuffix("}") {
      digits = String(digits.dropFirst().dropLast())
    }
    if digits.utf8.count == 36, let uuid = UUID(uuidString: digits) {
      self = uuid
      return
    }
    let bytes = Array(digits.utf8)
    guard bytes.count == 32 else { throw .invalidUUID(text) }
    var dashed = ""
    for (index, byte) in bytes.enumerated() {
      if [8, 12, 16, 20].contains(index) { dashed += "-" }
      dashed.unicodeScalars.append(Unicode.Scalar(byte))
    }
    guard let uuid = UUID(uuidString: dashed) else { throw .invalidUUID(text) }
    self = uuid
  }
}

extension DataConnectCodecError {
  fileprivate static func invalidUUID(_ text: String) -> DataConnectCodecError {
    DataConnectCodecError(.invalidUUID, "'\(text)' is no UUID.")
  }
}
