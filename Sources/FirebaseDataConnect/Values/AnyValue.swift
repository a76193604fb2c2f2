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

  /// Encodes a value. Throws `DataConnectCodecError` with `.encodingFailed` if it cannot be
  /// encoded.
  public init<Value: Encodable>(codableValue: Value) throws {
    dataValue = try DataValueEncoder.encode(codableValue)
  }

  /// Decodes the value. Nil for JSON's null. Throws `DecodingError` if it is not of the type, and
  /// `DataConnectCodecError` for a UUID, date or timestamp of another form.
  public func decodeValue<Value: Decodable>(_ type: Value.Type) throws -> Value? {
    if dataValue.isNull { return nil }
    return try DataValueDecoder.decode(type, from: dataValue)
  }

  /// The value as JSON, in UTF-8.
  public var value: Data { Data(dataValue.json.utf8) }

  /// Decodes any JSON. Throws the error of the decoder.
  public init(from decoder: any Decoder) throws {
    dataValue = try DataValue(from: decoder)
  }

  /// Encodes the value as JSON. Throws the error of the encoder.
  public func encode(to encoder: any Encoder) throws { try dataValue.encode(to: encoder) }
}
