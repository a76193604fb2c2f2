internal import HearthGeometry

extension GeoCell {
  /// On disk, as the component of an index: the bytes of a leaf, in the order of the leaves.
  static func key(_ leaf: UInt64) -> [UInt8] {
    var key = KeyBuffer(minimumCapacity: 16)
    key.append(.bytes((0..<8).map { UInt8(truncatingIfNeeded: leaf >> (56 - 8 * $0)) }))
    return key.bytes
  }
}
