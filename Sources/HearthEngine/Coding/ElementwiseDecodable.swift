/// Types that are decoded element by element, without an unkeyed container: arrays.
///
/// The standard library grows the array element by element, and looks up the types of its storage
/// for every array, in tables that all threads share.
protocol ElementwiseDecodable {
  /// `type` is `Self`.
  static func decode<T>(
    _ array: ArrayView, at decoder: DocumentDecoder, as type: T.Type
  ) throws -> T
}

extension Array: ElementwiseDecodable where Element: Decodable {
  static func decode<T>(
    _ array: ArrayView, at decoder: DocumentDecoder, as type: T.Type
  ) throws -> T {
    try decoder.checkDepth()
    // Damaged bytes may claim more elements than fit into memory.
    let atOnce = Swift.min(array.count, (1 << 20) / Swift.max(1, MemoryLayout<Element>.stride))
    var rest = array
    // `Array(unsafeUninitializedCapacity:)` would look up one more type.
    var elements: [Element] = []
    elements.reserveCapacity(atOnce)
    for index in 0..<array.count {
      let element = try rest.next()
      elements.append(try decoder.decode(Element.self, element, key: AnyCodingKey.index(index)))
    }
    return identity(elements, as: type)
  }
}
