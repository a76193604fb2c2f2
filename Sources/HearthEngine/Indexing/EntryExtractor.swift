/// Makes the entries of documents in one index: full keys, not cut.
///
/// Keep one for many documents: it learns where the fields are.
///
/// Law: all entries of one document in one index differ, and tell the document.
final class EntryExtractor {
  let index: StoredIndex
  @exclusivity(unchecked) private var lookups: [FieldLookup]
  private let kinds: [IndexDefinition.Component.Kind]
  private let containsIndex: Int?
  @exclusivity(unchecked) private var key = KeyBuffer()
  /// The elements of the array, one after the other, and where each is.
  @exclusivity(unchecked) private var elements = KeyBuffer()
  @exclusivity(unchecked) private var elementRanges: [Range<Int>] = []
  @exclusivity(unchecked) private var values: [ValueView] = []

  init(_ index: StoredIndex) {
    self.index = index
    lookups = index.definition.components.map { FieldLookup($0.field) }
    kinds = index.definition.components.map(\.kind)
    containsIndex = index.definition.containsIndex
  }

  /// Calls `body` with every entry of the document, in the order of the index. The key is borrowed, until
  /// `body` returns.
  func forEachEntry(
    of path: ResourcePath, _ fields: MapView,
    _ body: (UnsafeRawBufferPointer, EntryIdentities) throws -> Void
  ) throws {
    guard try find(in: fields) else { return }
    key.removeAll()
    key.append(entryPrefix: index.number, of: path, isGroup: index.isGroup)
    var identities = EntryIdentities()
    let first = containsIndex ?? kinds.count
    for component in 0..<first { try append(component, &identities) }
    guard let containsIndex else {
      key.append(entryName: path, isGroup: index.isGroup)
      try body(key.buffer, identities)
      return
    }
    let start = key.count
    for range in try distinctElements(of: values[containsIndex]) {
      key.truncate(to: start)
      key.append(raw: UnsafeRawBufferPointer(rebasing: elements.buffer[range]))
      for component in (containsIndex + 1)..<kinds.count { try append(component, &identities) }
      key.append(entryName: path, isGroup: index.isGroup)
      try body(key.buffer, identities)
    }
  }

  /// Whether two versions of a document have the same entries, as far as their bytes tell at once.
  func isSame(_ one: MapView, _ other: MapView) throws -> Bool {
    for component in lookups.indices {
      let left = try lookups[component].find(in: one)
      let right = try lookups[component].find(in: other)
      guard let left, let right else {
        // A field that neither has keeps both out.
        if left == nil, right == nil { return true }
        return false
      }
      guard left.isIdentical(to: right) else { return false }
    }
    return true
  }

  /// Finds the fields. False if the document is not in the index.
  private func find(in fields: MapView) throws -> Bool {
    values.removeAll(keepingCapacity: true)
    for component in lookups.indices {
      guard let value = try lookups[component].find(in: fields) else { return false }
      if kinds[component] == .contains, value.tag != DocumentFormat.Tag.array { return false }
      values.append(value)
    }
    return true
  }

  private func append(_ component: Int, _ identities: inout EntryIdentities) throws {
    identities[component] = try key.append(
      values[component], descending: kinds[component] == .descending)
  }

  /// Sorted, each once: 1 and 1.0 are one.
  private func distinctElements(of value: ValueView) throws -> [Range<Int>] {
    elements.removeAll()
    elementRanges.removeAll(keepingCapacity: true)
    guard var array = try value.array() else { return [] }
    for _ in 0..<array.count {
      let start = elements.count
      try elements.append(array.next(), descending: false)
      elementRanges.append(start..<elements.count)
    }
    let bytes = elements.buffer
    func compare(_ one: Range<Int>, _ other: Range<Int>) -> Int {
      UTF8Order.compare(
        UnsafeRawBufferPointer(rebasing: bytes[one]),
        UnsafeRawBufferPointer(rebasing: bytes[other]))
    }
    elementRanges.sort { compare($0, $1) < 0 }
    var distinct: [Range<Int>] = []
    for range in elementRanges {
      if let last = distinct.last, compare(last, range) == 0 { continue }
      distinct.append(range)
    }
    return distinct
  }
}

/// What an entry's components are beyond what its key gives back: two bits each, `KeyIdentity`.
///
/// An entry's value, in the fewest bytes, little-endian; none if the key gives back all. Of components
/// after the thirty-second only the document knows. The element of an array is not told.
struct EntryIdentities: Hashable, Sendable {
  private(set) var bits: UInt64 = 0

  init() {}

  /// Throws `dataLoss` for a value that no entry has.
  init(_ value: UnsafeRawBufferPointer) throws(Status) {
    guard value.count <= 8, value.last != 0 else {
      throw .dataLoss("An index entry has a value that no entry has.")
    }
    for byte in value.reversed() { bits = bits << 8 | UInt64(byte) }
  }

  subscript(component: Int) -> KeyIdentity {
    get {
      guard component < 32 else { return .untold }
      return KeyIdentity(rawValue: UInt8(bits >> UInt64(2 * component) & 3)) ?? .untold
    }
    set {
      guard component < 32 else { return }
      let shift = UInt64(2 * component)
      bits = bits & ~(3 << shift) | UInt64(newValue.rawValue) << shift
    }
  }

  /// How many bytes the value has.
  var byteCount: Int { 8 - bits.leadingZeroBitCount / 8 }

  func append(to buffer: inout KeyBuffer) {
    for index in 0..<byteCount {
      buffer.append(byte: UInt8(truncatingIfNeeded: bits >> UInt64(8 * index)))
    }
  }
}
