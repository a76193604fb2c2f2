/// A range of an index: the entries whose first components are fixed, and whose next components are
/// bounded.
///
///     var range = EntryRange(books, in: collection)     // index on author ↑, year ↑
///     range.fix(.string("Herbert"))
///     range.keep(.greaterThan, .integer(1960))
///     range.keep(.number)                               // years that are numbers
///
/// Bounds are positions between full keys. `EntryScan` handles stored keys that are truncated.
struct EntryRange: Sendable {
  enum Bound: Sendable {
    case lessThan, lessThanOrEqual, greaterThan, greaterThanOrEqual
  }

  /// A position before or after all entries that begin with some values.
  enum Side: Sendable {
    case before, behind
  }

  let index: StoredIndex
  /// Nil for an index of group scope.
  let collection: ResourcePath?
  /// The prefix of all keys.
  private(set) var prefix: [UInt8]
  /// The number of components fixed to one value.
  private(set) var fixedCount = 0
  /// The inclusive lower bound.
  private(set) var lower: [UInt8]
  /// The exclusive upper bound.
  private(set) var upper: [UInt8]

  /// All entries of the collection, for an index of collection scope; otherwise all of the index.
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

  /// The entries with these values in all components, as `EntryExtractor.uniqueKeys` gives them.
  init(_ index: StoredIndex, in collection: ResourcePath?, values: [UInt8]) {
    self.init(index, in: collection)
    fix(values, count: index.definition.components.count)
  }

  /// All entries of the index, in all collections. For a scan that reads no documents.
  init(allOf index: StoredIndex) {
    self.index = index
    collection = nil
    prefix = KeyLayout.indexKey(index.number)
    lower = prefix
    upper = EntryRange.end(prefix)
  }

  /// The range contains no key.
  var isEmpty: Bool { UTF8Order.compare(lower, upper) >= 0 }

  /// Fixes the next component to the value; for an array, one element equals it. Call before any
  /// other bound.
  mutating func fix(_ value: Value) {
    fix(key: Array(key([value])[prefix.count...]))
  }

  /// Same as `fix(_:)`, for a component as encoded in entries.
  mutating func fix(key: [UInt8]) { fix(prefix + key, count: fixedCount + 1) }

  /// The part with these components, as encoded in entries. Call before any other bound.
  func fixed(_ keys: [[UInt8]]) -> EntryRange {
    var range = self
    range.fix(prefix + keys.flatMap(\.self), count: fixedCount + keys.count)
    return range
  }

  private mutating func fix(_ prefix: [UInt8], count: Int) {
    self.prefix = prefix
    fixedCount = count
    lower = prefix
    upper = EntryRange.end(prefix)
  }

  /// Bounds the component after the fixed ones, in the order of all values.
  mutating func keep(_ bound: Bound, _ value: Value) {
    let isTurned = isDescending(fixedCount)
    switch bound {
    case .greaterThan: isTurned ? end(.before, [value]) : begin(.behind, [value])
    case .greaterThanOrEqual: isTurned ? end(.behind, [value]) : begin(.before, [value])
    case .lessThan: isTurned ? begin(.behind, [value]) : end(.before, [value])
    case .lessThanOrEqual: isTurned ? begin(.before, [value]) : end(.behind, [value])
    }
  }

  /// Limits the component after the fixed ones to one type class.
  mutating func keep(_ typeClass: Value.TypeClass) {
    let tag = typeClass.rawValue
    let key = prefix + [isDescending(fixedCount) ? ~tag : tag]
    raise(to: key)
    lower(to: EntryRange.end(key))
  }

  /// Starts the range before or after the entries with these values of the components after the
  /// fixed ones, and with this name. A name requires values for all components.
  mutating func begin(_ side: Side, _ values: [Value], name: ResourcePath? = nil) {
    raise(to: position(side, values, name))
  }

  /// Same as `begin`, for the end of the range: in index order, `begin` comes first.
  mutating func end(_ side: Side, _ values: [Value], name: ResourcePath? = nil) {
    lower(to: position(side, values, name))
  }

  // MARK: Bytes

  mutating func raise(to key: [UInt8]) { if UTF8Order.compare(lower, key) < 0 { lower = key } }

  mutating func lower(to key: [UInt8]) { if UTF8Order.compare(key, upper) < 0 { upper = key } }

  /// An end always exists: a key begins with the number of an index, which does not begin with FF.
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

  private func position(_ side: Side, _ values: [Value], _ name: ResourcePath?) -> [UInt8] {
    let key = key(values)
    guard let name else { return side == .before ? key : EntryRange.end(key) }
    guard let collection else {
      var buffer = KeyBuffer()
      buffer.append(raw: key)
      buffer.append(path: name)
      return side == .before ? buffer.bytes : EntryRange.end(buffer.bytes)
    }
    return position(side, key, name, in: collection)
  }

  /// A name outside the collection lies before, after or between the names of the collection.
  private func position(
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
