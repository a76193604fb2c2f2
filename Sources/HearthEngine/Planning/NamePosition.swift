/// Where names stand in the keys of an index's entries: ids in one collection, paths in a group.
///
///     collection books    books/dune ─▶ dune 00       films/x ─▶ behind all ids of books
///     group               books/dune ─▶ books 00 dune 00 00
///
/// A place lies between names. The lowest is empty bytes, nil is behind all.
struct NamePosition {
  let scope: StructuredQuery.Scope

  /// Before the name, or behind it; names below other documents and elsewhere have places, too.
  func place(of path: ResourcePath, isBefore: Bool) -> [UInt8]? {
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
    // What lies below a document is behind it.
    let isOwn = path.segments.count == depth + 1
    return isBefore && isOwn ? buffer.bytes : KeyRange.end(buffer.bytes)
  }

  /// Which names pass a comparison of the name.
  func ranges(_ comparison: StructuredQuery.Comparison) -> KeyRanges {
    let points = comparison.comparedPaths.map { path in
      KeyRange(
        lower: place(of: path, isBefore: true) ?? KeyRange.behindAll,
        upper: place(of: path, isBefore: false))
    }
    func range(_ build: (KeyRange) -> KeyRange) -> KeyRanges {
      points.first.map { KeyRanges(build($0)) } ?? .nothing
    }
    switch comparison.operator {
    case .equal, .in: return KeyRanges(points: points)
    case .notEqual, .notIn: return KeyRanges(allBut: points)
    case .lessThan: return range { KeyRange(lower: [], upper: $0.lower) }
    case .lessThanOrEqual: return range { KeyRange(lower: [], upper: $0.upper) }
    case .greaterThan: return range { KeyRange(lower: $0.upper ?? KeyRange.behindAll, upper: nil) }
    case .greaterThanOrEqual: return range { KeyRange(lower: $0.lower, upper: nil) }
    default: return .everything
    }
  }
}

extension KeyRange {
  /// Behind every name: none begins so.
  static let behindAll: [UInt8] = [0xFF]
}
