/// A stretch of an index: the entries whose first components are fixed, and of these a range.
///
///     var range = EntryRange(books, in: collection)     // index on author ↑, year ↑
///     range.fix(.string("Herbert"))
///     range.keep(.greaterThan, .integer(1960))
///     range.keep(.number)                               // years that are numbers
///
/// Bounds are places between full keys; that stored ones may be cut is the scan's business.
struct EntryRange: Sendable {
  enum Bound: Sendable {
    case lessThan, lessThanOrEqual, greaterThan, greaterThanOrEqual
  }

  /// A place beside all entries that begin with some values.
  enum Side: Sendable {
    case before, behind
  }

  let index: StoredIndex
  /// Nil for an index of group scope.
  let collection: ResourcePath?
  /// What all keys begin with.
  private(set) var prefix: [UInt8]
  /// How many components have one value.
  private(set) var fixedCount = 0
  /// Keys below it are out.
  private(set) var lower: [UInt8]
  /// Keys from it on are out.
  private(set) var upper: [UInt8]

  /// All entries of a collection, for an index of collection scope, or of the whole index.
  init(_ index: StoredIndex, in collection: ResourcePath? = nil) {
    precondition(
      index.isGroup == (collection == nil),
      "A range of an index is within a collection if the index is.")
    self.index = index
    self.collection = collection
    var key = KeyBuffer()
    key.append(entryPrefix: index.number, parent: collection?.parent)
    prefix = key.bytes
    lower = prefix
    upper = EntryRange.end(prefix)
  }

  /// No key is within.
  var isEmpty: Bool {
    lower.withUnsafeBytes { lower in upper.withUnsafeBytes { UTF8Order.compare(lower, $0) >= 0 } }
  }

  /// The next component equals the value; of an array, an element does. Before any other bound.
  mutating func fix(_ value: Value) {
    fix(key: Array(key([value])[prefix.count...]))
  }

  /// As `fix`, for a component as entries have it.
  mutating func fix(key: [UInt8]) {
    prefix += key
    fixedCount += 1
    lower = prefix
    upper = EntryRange.end(prefix)
  }

  /// The component after the fixed ones is within the bound, in the order of all values.
  mutating func keep(_ bound: Bound, _ value: Value) {
    let isTurned = isDescending(fixedCount)
    switch bound {
    case .greaterThan: isTurned ? end(.before, [value]) : begin(.behind, [value])
    case .greaterThanOrEqual: isTurned ? end(.behind, [value]) : begin(.before, [value])
    case .lessThan: isTurned ? begin(.behind, [value]) : end(.before, [value])
    case .lessThanOrEqual: isTurned ? begin(.before, [value]) : end(.behind, [value])
    }
  }

  /// The component after the fixed ones is of this class.
  mutating func keep(_ typeClass: Value.TypeClass) {
    let tag = KeyTag(typeClass).rawValue
    let key = prefix + [isDescending(fixedCount) ? ~tag : tag]
    raise(to: key)
    lower(to: EntryRange.end(key))
  }

  /// The stretch begins beside the entries with these values, of the components after the fixed ones, and
  /// with this name, which may stand after values of all components.
  mutating func begin(_ side: Side, _ values: [Value], name: ResourcePath? = nil) {
    raise(to: place(side, values, name))
  }

  /// As `begin`, for the stretch's end: in the order of the index, `begin` comes first.
  mutating func end(_ side: Side, _ values: [Value], name: ResourcePath? = nil) {
    lower(to: place(side, values, name))
  }

  // MARK: Bytes

  mutating func raise(to key: [UInt8]) { if EntryRange.isLess(lower, key) { lower = key } }

  mutating func lower(to key: [UInt8]) { if EntryRange.isLess(key, upper) { upper = key } }

  private static func isLess(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.withUnsafeBytes { one in other.withUnsafeBytes { UTF8Order.compare(one, $0) < 0 } }
  }

  /// There is an end: a key begins with the number of an index, which does not begin with FF.
  static func end(_ prefix: [UInt8]) -> [UInt8] { KeyLayout.end(ofPrefix: prefix) ?? [0xFF] }

  private func isDescending(_ component: Int) -> Bool {
    component < index.definition.components.count
      && index.definition.components[component].isDescending
  }

  private func key(_ values: [Value]) -> [UInt8] {
    var key = KeyBuffer()
    key.append(raw: prefix)
    for (offset, value) in values.enumerated() {
      key.append(value, descending: isDescending(fixedCount + offset))
    }
    return key.bytes
  }

  private func place(_ side: Side, _ values: [Value], _ name: ResourcePath?) -> [UInt8] {
    let key = key(values)
    guard let name else { return side == .before ? key : EntryRange.end(key) }
    guard let collection else {
      var buffer = KeyBuffer()
      buffer.append(raw: key)
      buffer.append(path: name)
      return side == .before ? buffer.bytes : EntryRange.end(buffer.bytes)
    }
    return place(side, key, name, in: collection)
  }

  /// A name from elsewhere lies before or behind all of a collection's, or between two.
  private func place(
    _ side: Side, _ key: [UInt8], _ name: ResourcePath, in collection: ResourcePath
  ) -> [UInt8] {
    let count = collection.segments.count
    guard name.segments.count > count, name.hasPrefix(collection) else {
      return ResourcePath.compare(name, collection) <= 0 ? key : EntryRange.end(key)
    }
    var buffer = KeyBuffer()
    buffer.append(raw: key)
    buffer.append(id: name.segments[count])
    let isOwn = name.segments.count == count + 1
    return isOwn && side == .before ? buffer.bytes : EntryRange.end(buffer.bytes)
  }
}
