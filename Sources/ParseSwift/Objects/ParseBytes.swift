import Foundation
import Hearth

/// Bytes of a property, as text in base 64. Stored as bytes; a property of the type `Data` needs no
/// text.
///
///     let bytes = ParseBytes(data: Data("hello".utf8))
///     print(bytes.base64, bytes.data?.count ?? 0)
public struct ParseBytes: DocumentOnlyCodable, Hashable, Sendable {
  /// The bytes in base 64.
  public let base64: String

  /// From text in base 64. Saving an object with other text throws `ParseError` with `.invalidValue`.
  public init(base64: String) { self.base64 = base64 }

  /// From bytes.
  public init(data: Data) { base64 = data.base64EncodedString() }

  /// The bytes. Nil if the text is not in base 64.
  public var data: Data? { Data(base64Encoded: base64) }

  /// Throws `ParseError` for text that is not in base 64.
  var stored: Data {
    get throws(ParseError) {
      guard let data else {
        throw ParseError(.invalidValue, "A value of ParseBytes is not in base 64.")
      }
      return data
    }
  }

  private enum Key: String, CodingKey {
    case type = "__type"
    case base64
  }

  /// Decodes the JSON of Parse. Throws `ParseError` with `.incorrectType` for other JSON.
  public init(from decoder: any Decoder) throws {
    base64 = try reporting {
      try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .base64)
    }
  }

  /// Encodes the JSON of Parse. Throws the error of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode("Bytes", forKey: .type)
    try container.encode(base64, forKey: .base64)
  }

  /// Always throws `UseCodable`: objects are written with `Codable`.
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    throw UseCodable()
  }

  /// Reads bytes. Throws `UseCodable` for another value.
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self.init(data: try Data(reading: reader))
  }
}
