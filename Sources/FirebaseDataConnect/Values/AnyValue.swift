import Foundation

/// A value of the type `Any`: anything that JSON can hold.
///
///     let settings = try AnyValue(codableValue: Settings(isDark: true))
///     let read = try settings.decodeValue(Settings.self)
///
/// A string stays a string, also if it looks like a number or a date.
public struct AnyValue: Hashable, Sendable, Codable {
  let dataValue: DataValue

  init(_ value: DataValue) { dataValue = value }

  /// Throws `DataConnectCodecError` with `.encodingFailed` for a value that cannot be encoded.
  public init<Value: Encodable>(codableValue: Value) throws {
    dataValue = try DataValueEncoder.encode(codableValue)
  }

  /// The value, decoded. Throws `DecodingError` if it is not of the type.
  public func decodeValue<Value: Decodable>(_ type: Value.Type) throws -> Value? {
    if dataValue.isNull { return nil }
    return try DataValueDecoder.decode(type, from: dataValue)
  }

  /// JSON, in UTF-8.
  public var value: Data { Data(dataValue.json.utf8) }

  public init(from decoder: any Decoder) throws {
    dataValue = try DataValue(from: decoder)
  }

  public func encode(to encoder: any Encoder) throws { try dataValue.encode(to: encoder) }
}
