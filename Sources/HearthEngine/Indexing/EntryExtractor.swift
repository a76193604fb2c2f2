internal import HearthGeometry

/// Makes the entries of documents in one index, with full, untruncated keys.
///
/// Reuse one for many documents: it remembers the positions of the fields.
///
/// Law: all entries of one document in one index differ, and each identifies the document.
final class EntryExtractor {
  let index: StoredIndex
  // Exclusivity is unchecked: one thread uses this, and no property is accessed again while it is
  // modified.
  @exclusivity(unchecked) private var lookups: [FieldLookup]
  private let kinds: [IndexDefinition.Component.Kind]
  private let containsIndex: Int?
  @exclusivity(unchecked) private var key = KeyBuffer()
  /// The distinct elements of the array, sorted: 1 and 1.0 are equal.
  private lazy var elements = EntryList()
  @exclusivity(unchecked) private var values: [ValueView] = []
  /// The length of the current entry's key without the document's name.
  @exclusivity(unchecked) private var valuesEnd = 0

  init(_ index: StoredIndex) {
    self.index = index
    lookups = index.definition.components.map { FieldLookup($0.field) }
    kinds = index.definition.components.map(\.kind)
    containsIndex = index.definition.containsIndex
  }

  /// Calls `body` with every entry of the document, in index order. The key is borrowed until
  /// `body` returns.
  func forEachEntry(
    of path: ResourcePath, _ fields: MapView,
    _ body: (UnsafeRawBufferPointer, EntryIdentities) throws -> Void
  ) throws {
    if let words = index.definition.words {
      return try forEachWordEntry(of: path, WordCounts(words, of: fields), body)
    }
    guard try find(in: fields) else { return }
    key.removeAll()
    key.append(entryPrefix: index.number, of: path, isGroup: index.isGroup)
    var identities = EntryIdentities()
    let first = containsIndex ?? kinds.count
    for component in 0..<first { try append(component, &identities) }
    guard let containsIndex else {
      valuesEnd = key.count
      key.append(entryName: path, isGroup: index.isGroup)
      try body(key.buffer, identities)
      return
    }
    let start = key.count
    try readElements(of: values[containsIndex])
    for element in 0..<elements.count {
      key.truncate(to: start)
      key.append(raw: elements.key(element))
      for component in (containsIndex + 1)..<kinds.count { try append(component, &identities) }
      valuesEnd = key.count
      key.append(entryName: path, isGroup: index.isGroup)
      try body(key.buffer, identities)
    }
  }

  private func forEachWordEntry(
    of path: ResourcePath, _ words: WordCounts,
    _ body: (UnsafeRawBufferPointer, EntryIdentities) throws -> Void
  ) throws {
    key.removeAll()
    key.append(entryPrefix: index.number, of: path, isGroup: index.isGroup)
    let start = key.count
    var identities = EntryIdentities()
    identities[0] = .unknown
    for term in words.counts.keys.sorted(by: { UTF8Order.compare($0, $1) < 0 }) {
      key.truncate(to: start)
      let posting = WordPosting(count: words.counts[term] ?? 0, length: words.length)
      key.append(.bytes(posting.bytes(of: term)))
      key.append(entryName: path, isGroup: index.isGroup)
      try body(key.buffer, identities)
    }
  }

  /// The changes of statistics by a document that is no longer in an index on words, or new in it.
  func forEachStatistic(
    of path: ResourcePath, _ fields: MapView, _ limit: KeyLimit,
    _ body: ([UInt8], WordStatistic) throws -> Void
  ) throws {
    guard let words = index.definition.words else { return }
    let counts = try WordCounts(words, of: fields)
    if counts.counts.isEmpty { return }
    key.removeAll()
    key.append(entryPrefix: index.number, of: path, isGroup: index.isGroup)
    let prefix = key.bytes
    var all = WordStatistic()
    (all.documents, all.length) = (1, Int64(counts.length))
    try body(WordStatistic.key(prefix, nil, limit), all)
    var one = WordStatistic()
    one.documents = 1
    for term in counts.counts.keys { try body(WordStatistic.key(prefix, term, limit), one) }
  }

  /// The document's values as a unique index compares them: its entries' keys without its name.
  /// Values with null are not constrained.
  func uniqueKeys(of path: ResourcePath, _ fields: MapView) throws -> [[UInt8]] {
    var keys: [[UInt8]] = []
    try forEachEntry(of: path, fields) { key, _ in
      let values = UnsafeRawBufferPointer(rebasing: key[..<valuesEnd])
      if try EntryValues(values, of: index).isConstrained { keys.append(Array(values)) }
    }
    return keys
  }

  /// True if identical bytes show that two versions of a document have the same entries. False does
  /// not mean that their entries differ.
  func isSame(_ one: MapView, _ other: MapView) throws -> Bool {
    if let words = index.definition.words {
      return try words.fields.allSatisfy { field in
        let (left, right) = try (one.value(at: field.field), other.value(at: field.field))
        if let left, let right { return left.isIdentical(to: right) }
        return left == nil && right == nil
      }
    }
    for component in lookups.indices {
      let left = try lookups[component].find(in: one)
      let right = try lookups[component].find(in: other)
      guard let left, let right else {
        // Neither version has the field, so neither is in the index.
        if left == nil, right == nil { return true }
        return false
      }
      guard left.isIdentical(to: right) else { return false }
    }
    return true
  }

  /// Finds the indexed fields. False if the document is not in the index.
  private func find(in fields: MapView) throws -> Bool {
    values.removeAll(keepingCapacity: true)
    for component in lookups.indices {
      guard let value = try lookups[component].find(in: fields) else { return false }
      switch kinds[component] {
      case .contains: if value.tag != DocumentFormat.Tag.array { return false }
      case .cells: if value.tag != DocumentFormat.Tag.geoPoint { return false }
      case .ascending, .descending, .words: break
      }
      values.append(value)
    }
    return true
  }

  private func append(_ component: Int, _ identities: inout EntryIdentities) throws {
    if kinds[component] == .cells {
      guard let point = try values[component].geoPoint() else { return }
      key.append(
        raw: GeoCell.key(GeoCell.leaf(latitude: point.latitude, longitude: point.longitude)))
      identities[component] = .unknown
      return
    }
    identities[component] = try key.append(
      values[component], descending: kinds[component] == .descending)
  }

  private func readElements(of value: ValueView) throws {
    elements.removeAll()
    guard var array = try value.array() else { return }
    for _ in 0..<array.count { try elements.append(array.next()) }
    elements.sort()
  }
}

/// For each component, how its value differs from the value that the key decodes to: one
/// `KeyIdentity` of two bits.
///
/// On disk, an entry's value: the fewest bytes, little-endian; empty if the key decodes to every
/// value exactly. Components after the thirty-second are always `unknown`: their values are only in
/// the document. Array elements are not recorded.
struct EntryIdentities: Hashable, Sendable {
  private(set) var bits: UInt64 = 0

  init() {}

  /// Throws `dataLoss` for a value that no entry can have.
  init(_ value: UnsafeRawBufferPointer) throws(Status) {
    guard value.count <= 8, value.last != 0 else {
      throw .dataLoss("An index entry has a value that no entry has.")
    }
    for byte in value.reversed() { bits = bits << 8 | UInt64(byte) }
  }

  subscript(component: Int) -> KeyIdentity {
    get {
      guard component < 32 else { return .unknown }
      return KeyIdentity(rawValue: UInt8(bits >> UInt64(2 * component) & 3)) ?? .unknown
    }
    set {
      guard component < 32 else { return }
      let shift = UInt64(2 * component)
      bits = bits & ~(3 << shift) | UInt64(newValue.rawValue) << shift
    }
  }

  /// The number of bytes of the stored value.
  var byteCount: Int { 8 - bits.leadingZeroBitCount / 8 }

  func append(to buffer: inout KeyBuffer) {
    for index in 0..<byteCount {
      buffer.append(byte: UInt8(truncatingIfNeeded: bits >> UInt64(8 * index)))
    }
  }
}
