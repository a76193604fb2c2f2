/// The source of an executor's documents, in ascending or descending order of names.
enum DocumentSource {
  case scan(CollectionScan)
  case group(GroupScan, below: ResourcePath)
  case subtree(SubtreeScan)
  /// Documents that the query names, in reverse: the next one is last.
  case picked([StoredEntry], keys: [PinnedBytes])

  /// All documents of the scope that conditions on the name do not exclude. In descending order of
  /// names if the results are and the source supports it.
  init(
    _ query: EffectiveQuery, in snapshot: StoreSnapshot, touched: ReadCounters
  ) throws {
    let names = NameRange(query)
    if let picked = names.picked {
      if case .keys(let keys, _) = picked, case .collection(let path) = query.scope,
        let source = try DocumentSource.picked(keys, in: path, of: query, in: snapshot, touched)
      {
        self = source
      } else {
        self = try .picked(picked.paths, of: query, in: snapshot, touched)
      }
      return
    }
    switch query.scope {
    case .collection(let path):
      let lowest = IDBound(lower: names.lowest, in: path)
      let highest = IDBound(upper: names.highest, in: path)
      if lowest == .nothing || highest == .nothing {
        self = .picked([], keys: [])
        return
      }
      self = .scan(
        try CollectionScan(
          path, in: snapshot, from: lowest.id, to: highest.id,
          isDescending: query.isDescendingByName, touched: touched))
    case .group(let id, let below):
      self = .group(
        try GroupScan(
          id, in: snapshot, from: names.lowest, to: names.highest, touched: touched), below: below)
    case .subtree(let below):
      self = .subtree(
        try SubtreeScan(
          below: below, in: snapshot, from: names.lowest, to: names.highest, touched: touched))
    }
  }

  private static func picked(
    _ paths: [ResourcePath], of query: EffectiveQuery, in snapshot: StoreSnapshot,
    _ touched: ReadCounters
  ) throws -> DocumentSource {
    var entries: [StoredEntry] = []
    var keys: [PinnedBytes] = []
    let isDescending = query.isDescendingByName
    var names = paths.filter(query.scope.contains).map {
      DocumentName($0, limit: snapshot.keyLimit)
    }
    // The keys of one collection sort as its names do, unless they are truncated.
    if case .collection = query.scope, !names.contains(where: \.key.isTruncated) {
      names.sort {
        let order = UTF8Order.compare($0.key.bytes, $1.key.bytes)
        return isDescending ? order < 0 : order > 0
      }
    } else {
      names.sort {
        let order = ResourcePath.compare($0.path, $1.path)
        return isDescending ? order < 0 : order > 0
      }
    }
    for name in names {
      try touched.countKey(until: snapshot.deadline)
      guard let (key, record) = try snapshot.storedEntry(of: name) else { continue }
      let pinned = key.withUnsafeBytes { PinnedBytes(copying: $0) }
      keys.append(pinned)
      entries.append(StoredEntry(key: pinned.buffer, record: record))
    }
    return .picked(entries, keys: keys)
  }

  /// Same as above, for documents that keys of references name: the order of those keys is that of
  /// the names. Nil if a document's key is truncated.
  private static func picked(
    _ keys: SortedKeys, in collection: ResourcePath, of query: EffectiveQuery,
    in snapshot: StoreSnapshot, _ touched: ReadCounters
  ) throws -> DocumentSource? {
    var entries: [StoredEntry] = []
    entries.reserveCapacity(keys.count)
    let references = ReferenceKeys(to: collection)
    let prefix = KeyLayout.collectionPrefix(collection)
    var documents = try snapshot.lmdb.cursor(snapshot.tables.documents)
    var documentKey = KeyBuffer()
    var isTruncated = false
    try keys.forEach { key in
      guard let name = references.name(key) else { return }
      documentKey.removeAll()
      documentKey.append(raw: prefix)
      documentKey.append(raw: name)
      if documentKey.count > snapshot.keyLimit.truncatedCount { isTruncated = true }
      if isTruncated { return }
      try touched.countKey(until: snapshot.deadline)
      guard try documents.seek(exactly: documentKey.buffer) else { return }
      entries.append(StoredEntry(key: documents.key, record: documents.value))
    }
    if isTruncated { return nil }
    if !query.isDescendingByName { entries.reverse() }
    return .picked(entries, keys: [])
  }

  mutating func next() throws -> StoredEntry? {
    switch self {
    case .scan(let scan): return try scan.nextEntry()
    case .group(let scan, let below):
      while let found = try scan.next() {
        guard found.path.segments.count > below.segments.count, found.path.hasPrefix(below) else {
          continue
        }
        return StoredEntry(key: found.key, record: found.record)
      }
      return nil
    case .subtree(let scan):
      return try scan.next().map { StoredEntry(key: $0.key, record: $0.record) }
    case .picked(var entries, let keys):
      let next = entries.popLast()
      self = .picked(entries, keys: keys)
      return next
    }
  }
}

extension EffectiveQuery {
  /// Results are in descending order of names.
  var isDescendingByName: Bool { isOrderedByName && orders[0].isDescending }

  /// A scan of the scope reads the results in their order.
  var isFoundInOrder: Bool {
    if case .collection = scope { return isOrderedByName }
    return isOrderedByName && (!isDescendingByName || picksNames)
  }

  /// The query names each document that may be a result.
  var picksNames: Bool { filters.contains(where: \.picksNames) }
}

extension StructuredQuery.Filter {
  /// Names each document that passes it.
  fileprivate var picksNames: Bool {
    guard case .comparison(let comparison) = self else { return false }
    return comparison.field.isDocumentID && comparison.isPoint
  }
}

extension StructuredQuery.Scope {
  package func contains(_ path: ResourcePath) -> Bool {
    switch self {
    case .collection(let collection): path.isDocument && path.parent == collection
    case .group(let id, let below):
      path.isDocument && path.segments.count > below.segments.count && path.hasPrefix(below)
        && UTF8Order.areEqual(path.parent.id, id)
    case .subtree(let below):
      path.isDocument && path.segments.count > below.segments.count && path.hasPrefix(below)
    }
  }
}

/// A query's conditions on names, known before any document is read. Never excludes a match.
private struct NameRange {
  /// Excludes names before this one.
  var lowest: ResourcePath?
  /// Excludes names after this one.
  var highest: ResourcePath?
  /// If set, excludes all other names.
  var picked: Names?

  /// Each is there once.
  enum Names {
    case paths([ResourcePath])
    case keys(SortedKeys, of: StructuredQuery.Comparison)

    var paths: [ResourcePath] {
      switch self {
      case .paths(let paths): paths
      case .keys(_, let comparison): comparison.comparedPaths
      }
    }
  }

  init(_ query: EffectiveQuery) {
    for case .comparison(let comparison) in query.filters
    where comparison.field.isDocumentID && !comparison.isNegated {
      if picked == nil, let keys = comparison.foundKeys {
        picked = .keys(keys, of: comparison)
        continue
      }
      let paths = comparison.comparedPaths
      switch comparison.operator.traits.keys {
      case .points:
        var unique = Set(paths)
        if let picked { unique.formIntersection(picked.paths) }
        picked = .paths(Array(unique))
      case .below: lower(to: paths.first)
      case .above: raise(to: paths.first)
      default: break
      }
    }
    guard query.isOrderedByName else { return }
    let start = CursorPosition.name(of: query.start)
    let end = CursorPosition.name(of: query.end)
    raise(to: query.isDescendingByName ? end : start)
    lower(to: query.isDescendingByName ? start : end)
  }

  private mutating func raise(to path: ResourcePath?) {
    guard let path else { return }
    if let lowest, ResourcePath.compare(path, lowest) <= 0 { return }
    lowest = path
  }

  private mutating func lower(to path: ResourcePath?) {
    guard let path else { return }
    if let highest, ResourcePath.compare(path, highest) >= 0 { return }
    highest = path
  }
}

extension CursorPosition {
  /// The first value of the bound, if it is a name.
  fileprivate static func name(of bound: StructuredQuery.Bound?) -> ResourcePath? {
    guard case .reference(let path)? = bound?.values.first else { return nil }
    return path
  }
}
