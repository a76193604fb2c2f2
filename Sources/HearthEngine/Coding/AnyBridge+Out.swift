import Foundation
import Logging

/// What goes out.
///
/// Numbers are `NSNumber` and null is `NSNull`: in an `Any`, only those cast as users expect it
/// (`as? Int`, `as? Int64` and `as? Double` of one and the same field).
///
/// Two names of a map may be one `String` to Swift: canonically equivalent, and of other bytes. A dictionary
/// then has the first by bytes, with its own value.
extension AnyBridge {
  /// - Parameter reference: makes the public reference for a path.
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
    // The fields are in the order of their names' bytes: the first is put last.
    for field in map.fields.reversed() {
      put(any(field.value, reference: reference), field.name, into: &dictionary)
    }
    return dictionary
  }

  /// In place of a field whose name is the same `String`. That is logged.
  static func put(_ value: Any, _ name: String, into dictionary: inout [String: Any]) {
    guard dictionary.updateValue(value, forKey: name) != nil else { return }
    // `updateValue` keeps the key that was there.
    dictionary[name] = nil
    dictionary[name] = value
    Logger(label: "hearth").error(
      "A dictionary lacks a field: the names of two are the same String, and have other bytes.",
      metadata: ["name": "\(name)"])
  }
}
