/// The parts of an untruncated entry's key that a unique index compares.
///
///     number ‖ [parent] ‖ component … ‖ name
///     └────────── values ───────────┘
struct EntryValues {
  /// The length of the key without the document's name.
  let count: Int
  /// No component is null.
  let isConstrained: Bool
  /// The document; nil if the bytes end before its name.
  let path: ResourcePath?

  init(_ key: UnsafeRawBufferPointer, of index: StoredIndex) throws(Status) {
    var reader = KeyReader(key)
    _ = try reader.readIndex()
    var parent: ResourcePath?
    if !index.isGroup { parent = try reader.readPath() }
    var hasNull = false
    for component in index.definition.components {
      hasNull = hasNull || reader.isAtNull(descending: component.isDescending)
      try reader.skipValue(descending: component.isDescending)
    }
    count = reader.offset
    isConstrained = !hasNull
    if reader.isAtEnd {
      path = nil
    } else if let parent {
      path = parent.appending(index.definition.collectionID).appending(try reader.readID())
    } else {
      path = try reader.readPath()
    }
  }
}

/// Finds documents with equal values in a unique index whose entries are complete.
///
///     entries, in order ──▶ same values as the entry before? ──▶ duplicates
///
/// Entries with equal values are neighbours, even if some of their keys are truncated: the scan returns
/// them by their full keys.
enum UniqueCheck {
  static func duplicates(
    in index: StoredIndex, _ snapshot: StoreSnapshot
  ) throws -> IndexViolations {
    var found = IndexViolations()
    var last: (values: [UInt8], path: ResourcePath, isCounted: Bool)?
    let scan = try EntryScan(EntryRange(allOf: index), in: snapshot)
    while let entry = try scan.next() {
      let parts = try EntryValues(entry.key, of: index)
      guard parts.isConstrained, let path = parts.path else { continue }
      let values = UnsafeRawBufferPointer(rebasing: entry.key[..<parts.count])
      if let one = last, one.values.elementsEqual(values) {
        if !one.isCounted { found.add(one.path, path) }
        last?.isCounted = true
      } else {
        last = (Array(values), path, false)
      }
    }
    return found
  }
}
