/// Positions of names in the keys of index entries: ids in one collection, paths in a group.
///
///     collection books    books/dune ─▶ dune 00       films/x ─▶ after all ids of books
///     group               books/dune ─▶ books 00 dune 00 00
///
/// A position lies between names. Empty bytes are before all names; nil is after all.
struct NamePosition {
  let scope: StructuredQuery.Scope

  /// The position before or after the name. Names in other collections, and names below documents,
  /// also have positions.
  func position(of path: ResourcePath, isBefore: Bool) -> [UInt8]? {
    guard case .collection(let collection) = scope else {
      var buffer = KeyBuffer(minimumCapacity: 64)
      buffer.append(path: path)
      return isBefore ? buffer.bytes : KeyRange.end(buffer.bytes)
    }
    let depth = collection.segments.count
    let beginning = ResourcePath(Array(path.segments.prefix(depth)))
    let order = ResourcePath.compare(beginning, collection)
    guard order == 0, path.segments.count > depth else { return order > 0 ? nil : [] }
    var buffer = KeyBuffer(minimumCapacity: 64)
    buffer.append(id: path.segments[depth])
    // Documents below a document are after it.
    let isOwn = path.segments.count == depth + 1
    return isBefore && isOwn ? buffer.bytes : KeyRange.end(buffer.bytes)
  }

  /// Both positions of a name.
  private func keyRange(of path: ResourcePath) -> KeyRange {
    if case .collection(let collection) = scope, path.isDirectly(in: collection) {
      var buffer = KeyBuffer(minimumCapacity: 64)
      buffer.append(id: path.id)
      return KeyRange(prefix: buffer.bytes)
    }
    return KeyRange(
      lower: position(of: path, isBefore: true) ?? KeyRange.behindAll,
      upper: position(of: path, isBefore: false))
  }

  /// The names that pass a comparison of the name.
  func ranges(_ comparison: StructuredQuery.Comparison) -> KeyRanges {
    let points: [KeyRange] =
      if case .collection(let collection) = scope, let keys = comparison.foundKeys {
        ReferenceKeys(to: collection).ranges(keys)
      } else {
        comparison.comparedPaths.map(keyRange)
      }
    func range(_ build: (KeyRange) -> KeyRange) -> KeyRanges {
      points.first.map { KeyRanges(build($0)) } ?? .nothing
    }
    switch comparison.operator.traits.keys {
    case .points: return KeyRanges(points: points)
    case .exceptPoints: return KeyRanges(allBut: points)
    case .below(let isInclusive):
      return range { KeyRange(lower: [], upper: isInclusive ? $0.upper : $0.lower) }
    case .above(let isInclusive):
      return range {
        KeyRange(lower: isInclusive ? $0.lower : $0.upper ?? KeyRange.behindAll, upper: nil)
      }
    default: return .everything
    }
  }
}

/// The keys of references to the documents of a collection.
///
///     books/dune     25 books 00 │ dune 00 │ 00
///                                └ name ┘
struct ReferenceKeys {
  private let prefix: [UInt8]

  init(to collection: ResourcePath) {
    var key = KeyBuffer(minimumCapacity: 64)
    key.append(tag: .reference)
    key.appendIDs(of: collection)
    prefix = key.bytes
  }

  /// The name in the key, as in an entry of the collection; nil for any other key.
  func name(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard key.count > prefix.count + 1, key.starts(with: prefix) else { return nil }
    let rest = UnsafeRawBufferPointer(rebasing: key[prefix.count...])
    var reader = KeyReader(rest)
    guard (try? reader.skipID()) != nil, reader.offset == rest.count - 1 else { return nil }
    return UnsafeRawBufferPointer(rebasing: rest.dropLast())
  }

  /// Both positions of each document of the collection among the keys.
  func ranges(_ keys: SortedKeys) -> [KeyRange] {
    keys.map { key in name(key).map { KeyRange(prefix: [UInt8]($0)) } }.compactMap(\.self)
  }
}

extension KeyRange {
  /// After every name: no name begins with this byte.
  static let behindAll: [UInt8] = [0xFF]
}
