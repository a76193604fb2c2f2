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

/// Remembers which types are `ElementwiseDecodable`: the cast costs more than decoding a small
/// value, and its cost grows with the number of types in the program.
struct ElementTypes {
  private static let entryCount = 128

  private let types = UnsafeMutablePointer<UInt>.allocate(capacity: entryCount)
  private let answers = UnsafeMutablePointer<(any ElementwiseDecodable.Type)?>
    .allocate(capacity: entryCount)

  init() {
    types.initialize(repeating: 0, count: ElementTypes.entryCount)
    answers.initialize(repeating: nil, count: ElementTypes.entryCount)
  }

  @inline(__always)
  subscript<T>(type: T.Type) -> (any ElementwiseDecodable.Type)? {
    let bits = UInt(bitPattern: ObjectIdentifier(type))
    let home = Int((bits &* 0x9E37_79B9_7F4A_7C15) >> 57)
    return types[home] == bits ? answers[home] : probe(type, bits, from: home)
  }

  /// Probes the entries from `home` on. If 8 are taken, the new type replaces the first.
  @inline(never)
  private func probe<T>(
    _ type: T.Type, _ bits: UInt, from home: Int
  ) -> (any ElementwiseDecodable.Type)? {
    var taken = home
    for step in 0..<8 {
      let entry = (home + step) & (ElementTypes.entryCount - 1)
      if types[entry] == bits { return answers[entry] }
      if types[entry] == 0 {
        taken = entry
        break
      }
    }
    types[taken] = bits
    answers[taken] = type as? any ElementwiseDecodable.Type
    return answers[taken]
  }
}
