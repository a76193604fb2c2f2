import Foundation
import Logging

/// Converts engine values to `Any`.
///
/// Numbers become `NSNumber` and null becomes `NSNull`: in an `Any`, only these support the casts
/// that users expect (`as? Int`, `as? Int64` and `as? Double` of the same field).
///
/// Two names of a map may be the same `String` (canonically equivalent) and differ in bytes. The
/// dictionary then has the first name by bytes, with its own value.
extension AnyBridge {
  /// - Parameter reference: Makes the public reference for a path.
  package static func any(_ value: Value, reference: (ResourcePath) -> Any) -> Any {
    switch value {
    case .null: NSNull()
    case .boolean(let flag): NSNumber(value: flag)
    case .integer(let number): NSNumber(value: number)
    case .double(let number): NSNumber(value: number)
    case .timestamp(let instant): Timestamp(instant)
    case .string(let string): string
    case .bytes(let bytes): Data(bytes)
    case .reference(let path): reference(path)
    case .geoPoint(let coordinate): GeoPoint(coordinate)
    case .array(let elements): elements.map { any($0, reference: reference) }
    case .vector(let components): VectorValue(components)
    case .map(let map): dictionary(map, reference: reference)
    }
  }

  static func dictionary(
    _ map: MapValue, reference: (ResourcePath) -> Any
  ) -> [String: Any] {
    var dictionary: [String: Any] = [:]
    dictionary.reserveCapacity(map.count)
    // Fields are sorted by their names' bytes. The first one is put last, so that it wins.
    for field in map.fields.reversed() {
      put(any(field.value, reference: reference), field.name, into: &dictionary)
    }
    return dictionary
  }

  /// Replaces a field whose name is the same `String`, and logs an error.
  static func put(_ value: Any, _ name: String, into dictionary: inout [String: Any]) {
    guard dictionary.updateValue(value, forKey: name) != nil else { return }
    // `updateValue` keeps the old key.
    dictionary[name] = nil
    dictionary[name] = value
    Logger(label: "hearth").error(
      "A dictionary lacks a field: the names of two are the same String, and have other bytes.",
      metadata: ["name": "\(name)"])
  }
}
