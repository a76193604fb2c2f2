import Foundation

/// How Foundation types are decoded, from a document or a structure.
enum DecodingRules {
  /// Reads the value to decode, which is not null.
  struct Found {
    let string: () throws -> String
    let double: () throws -> Double
    let decoder: () -> any Decoder
    let failure: (DecodingFailure) -> DecodingError
  }

  static func date(
    _ strategy: FirebaseDataDecoder.DateDecodingStrategy, from found: Found
  ) throws -> Date {
    switch strategy {
    case .deferredToDate: return try Date(from: found.decoder())
    case .secondsSince1970: return Date(timeIntervalSince1970: try found.double())
    case .millisecondsSince1970: return Date(timeIntervalSince1970: try found.double() / 1000)
    case .iso8601:
      guard let date = try? Date(try found.string(), strategy: .iso8601) else {
        throw found.failure(.corrupted("Expected date string to be ISO8601-formatted."))
      }
      return date
    case .formatted(let formatter):
      guard let date = formatter.date(from: try found.string()) else {
        throw found.failure(
          .corrupted("Date string does not match format expected by formatter."))
      }
      return date
    case .custom(let closure): return try closure(found.decoder())
    case .timestamp: return try Timestamp(from: found.decoder()).dateValue()
    }
  }

  static func data(
    _ strategy: FirebaseDataDecoder.DataDecodingStrategy, from found: Found
  ) throws -> Data {
    switch strategy {
    case .deferredToData: return try Data(from: found.decoder())
    case .custom(let closure): return try closure(found.decoder())
    case .base64, .blob:
      guard let data = Data(base64Encoded: try found.string()) else {
        throw found.failure(.corrupted("Encountered Data is not valid Base64."))
      }
      return data
    }
  }

  static func nonConforming(
    _ string: String, _ strategy: FirebaseDataDecoder.NonConformingFloatDecodingStrategy
  ) -> Double? {
    guard case .convertFromString(let positiveInfinity, let negativeInfinity, let nan) = strategy
    else { return nil }
    if UTF8Order.areEqual(string, positiveInfinity) { return .infinity }
    if UTF8Order.areEqual(string, negativeInfinity) { return -.infinity }
    if UTF8Order.areEqual(string, nan) { return .nan }
    return nil
  }

  /// The key for a field's name. `codingPath` is that of the map.
  static func key(
    of name: String, _ strategy: FirebaseDataDecoder.KeyDecodingStrategy,
    codingPath: () -> [any CodingKey]
  ) -> String {
    switch strategy {
    case .useDefaultKeys: name
    case .convertFromSnakeCase: SnakeCase.toCamelCase(name)
    case .custom(let convert): convert(codingPath() + [AnyCodingKey.name(name)]).stringValue
    }
  }
}
