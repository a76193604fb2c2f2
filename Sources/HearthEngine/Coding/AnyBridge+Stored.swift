import Foundation

/// Converts stored bytes to `Any`.
extension AnyBridge {
  /// - Parameter reference: Makes the public reference for a path.
  static func dictionary(
    _ map: MapView, depthLeft: Int = DocumentFormat.maximumDepth,
    reference: (ResourcePath) -> Any
  ) throws(Status) -> [String: Any] {
    var dictionary = [String: Any](minimumCapacity: map.count)
    // Fields are sorted by their names' bytes. The first one is put last, so that it wins.
    for index in (0..<map.count).reversed() {
      put(
        try any(try map.value(at: index), depthLeft: depthLeft, reference: reference),
        try map.nameString(at: index), into: &dictionary)
    }
    return dictionary
  }

  static func any(
    _ value: ValueView, depthLeft: Int = DocumentFormat.maximumDepth,
    reference: (ResourcePath) -> Any
  ) throws(Status) -> Any {
    if let string = try value.string() { return string }
    if let number = try value.integer() { return NSNumber(value: number) }
    if let array = try value.array() {
      guard depthLeft > 0 else { throw .tooDeep }
      var rest = array
      var elements: [Any] = []
      elements.reserveCapacity(array.count)
      for _ in 0..<array.count {
        elements.append(try any(rest.next(), depthLeft: depthLeft - 1, reference: reference))
      }
      return elements
    }
    if let map = try value.map() {
      guard depthLeft > 0 else { throw .tooDeep }
      return try dictionary(map, depthLeft: depthLeft - 1, reference: reference)
    }
    return any(try value.value(), reference: reference)
  }
}
