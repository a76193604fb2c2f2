import Foundation

/// What goes out, straight from stored bytes.
extension AnyBridge {
  /// - Parameter reference: makes the public reference for a path.
  static func dictionary(
    _ map: MapView, depthLeft: Int = DocumentFormat.maximumDepth,
    reference: (ResourcePath) -> Any
  ) throws(Status) -> [String: Any] {
    var dictionary: [String: Any] = [:]
    dictionary.reserveCapacity(map.count)
    // The fields are in the order of their names' bytes: the first is put last.
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
