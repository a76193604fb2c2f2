import Foundation
import HearthText

@testable import Hearth
@testable import HearthEngine

/// Reads the standard proto3 JSON of `google.firestore.v1`, as the recorded cases have it.
enum ProtoJSON {
  struct ReadError: Error {
    var message: String
  }

  /// `{"integerValue":"5"}`. A map marked as a vector becomes one.
  static func value(_ json: JSON) throws -> Value {
    guard let members = json.object, let member = members.first, members.count == 1 else {
      throw ReadError(message: "not a value: \(json)")
    }
    let content = member.value
    switch member.name {
    case "nullValue": return .null
    case "booleanValue": return .boolean(try require(content.boolean))
    case "integerValue": return .integer(try require(content.string.flatMap { Int64($0) }))
    case "doubleValue": return .double(try double(content))
    case "timestampValue": return .timestamp(try instant(try require(content.string)))
    case "stringValue": return .string(repeated(try require(content.string)))
    case "bytesValue":
      return .bytes([UInt8](try require(Data(base64Encoded: try require(content.string)))))
    case "referenceValue": return .reference(ResourcePath(relative: try require(content.string)))
    case "geoPointValue":
      return .geoPoint(
        Coordinate(
          latitude: try content["latitude"].map(double) ?? 0,
          longitude: try content["longitude"].map(double) ?? 0))
    case "arrayValue": return .array(try (content["values"]?.array ?? []).map(value))
    case "mapValue":
      let map = try fields(content["fields"] ?? .object([]))
      if map.count == 2, case .string("__vector__") = map["__type__"],
        case .array(let elements) = map["value"]
      {
        return .vector(
          try elements.map {
            guard case .double(let element) = $0 else { throw ReadError(message: "not a vector") }
            return element
          })
      }
      return .map(map)
    default: throw ReadError(message: "no such type: \(member.name)")
    }
  }

  /// `{"name": value, …}`
  static func fields(_ json: JSON) throws -> MapValue {
    MapValue(try require(json.object).map { ($0.name, try value($0.value)) })
  }

  private static func double(_ json: JSON) throws -> Double {
    if let number = json.number { return number }
    switch json {
    case .string("NaN"): return .nan
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    default: throw ReadError(message: "not a double: \(json)")
    }
  }

  /// `2020-02-29T12:00:00.001Z`
  static func instant(_ text: String) throws -> Instant {
    let parts = text.split { "-T:.Z".contains($0) }
    let numbers = parts.compactMap { Int64($0) }
    guard text.hasSuffix("Z"), parts.count == numbers.count, (6...7).contains(parts.count) else {
      throw ReadError(message: "not a time: \(text)")
    }
    // Days since 1970-03-01, in years that begin in March.
    let month = (numbers[1] + 9) % 12
    let year = numbers[0] - (numbers[1] <= 2 ? 1 : 0)
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (month * 306 + 5) / 10
    let seconds =
      (days + numbers[2] - 1 - 719_468) * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
    var nanoseconds: Int32 = 0
    if parts.count == 7 {
      nanoseconds = try require(Int32((parts[6] + "000000000").prefix(9)))
    }
    return try require(Instant(seconds: seconds, nanoseconds: nanoseconds))
  }

  /// `<<repeat:x:1048487>>` stands for that many x.
  private static func repeated(_ text: String) -> String {
    guard text.hasPrefix("<<repeat:"), text.hasSuffix(">>") else { return text }
    let parts = text.dropFirst(9).dropLast(2).split(separator: ":")
    guard parts.count == 2, let count = Int(parts[1]) else { return text }
    return String(repeating: String(parts[0]), count: count)
  }

  private static func require<T>(_ value: T?) throws -> T {
    guard let value else { throw ReadError(message: "not a \(T.self)") }
    return value
  }
}
