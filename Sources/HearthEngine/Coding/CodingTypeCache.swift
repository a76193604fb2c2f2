/// Remembers how types are coded: the casts that find it out cost more than coding a small value, and
/// their cost grows with the number of types in the program.
// Not generic over the protocol: looking up the cache's own type would cost as much as a cast.
struct CodingTypeCache {
  struct Entry {
    /// Nil if the type is coded through `Codable`.
    var direct: (any DocumentValueCodable.Type)?
    /// For arrays.
    var elements: (any ElementwiseDecodable.Type)?
  }

  private static let entryCount = 128

  private let types = UnsafeMutablePointer<UInt>.allocate(capacity: entryCount)
  private let entries = UnsafeMutablePointer<Entry>.allocate(capacity: entryCount)

  init() {
    types.initialize(repeating: 0, count: CodingTypeCache.entryCount)
    entries.initialize(repeating: Entry(), count: CodingTypeCache.entryCount)
  }

  /// Valid until the next lookup.
  @inline(__always)
  subscript<T>(type: T.Type) -> UnsafePointer<Entry> {
    let bits = UInt(bitPattern: ObjectIdentifier(type))
    let home = Int((bits &* 0x9E37_79B9_7F4A_7C15) >> 57)
    return UnsafePointer(types[home] == bits ? entries + home : probe(type, bits, from: home))
  }

  /// Probes the entries from `home` on. If 8 are taken, the new type replaces the first.
  @inline(never)
  private func probe<T>(
    _ type: T.Type, _ bits: UInt, from home: Int
  ) -> UnsafeMutablePointer<Entry> {
    var taken = home
    for step in 0..<8 {
      let index = (home + step) & (CodingTypeCache.entryCount - 1)
      if types[index] == bits { return entries + index }
      if types[index] == 0 {
        taken = index
        break
      }
    }
    types[taken] = bits
    entries[taken] = Entry(
      direct: type as? any DocumentValueCodable.Type,
      elements: type as? any ElementwiseDecodable.Type)
    return entries + taken
  }
}
