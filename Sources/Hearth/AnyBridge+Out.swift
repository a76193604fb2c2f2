import Foundation

/// What goes out.
///
/// Numbers are `NSNumber` and null is `NSNull`: in an `Any`, only those cast as users expect it
/// (`as? Int`, `as? Int64` and `as? Double` of one and the same field).
extension AnyBridge {
  /// - Parameter reference: makes the public reference for a path.
  static func any(_ value: Value, reference: (ResourcePath) -> Any) -> Any {
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
    for field in map.fields { dictionary[field.name] = any(field.value, reference: reference) }
    return dictionary
  }
}
