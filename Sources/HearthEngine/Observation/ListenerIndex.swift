/// Finds the materialized queries that a changed document can affect, without visiting the others.
///
///     document ─▶ by its path
///              ─▶ its collection, its group, its ancestors: scopes
///                   ├─ for each field by which queries of the scope are found
///                   │    ├─ by value      hash of the bytes ─▶ queries
///                   │    ├─ by element    hash of the bytes ─▶ queries
///                   │    └─ by range      tree of intervals ─▶ queries
///                   └─ queries that cannot be found by a field
///
/// Costs two look-ups for each field by which any query of the scope is found, for the old version
/// and the new, regardless of the number of queries; plus the queries found. Queries that no field
/// selects (no filter, `!=`, `not-in`, an `or` of such) are visited at every change of the scope:
/// their cost grows with the number of distinct ones.
final class ListenerIndex {
  fileprivate final class Field {
    var lookup: FieldLookup?
    var byValue: [UInt64: [MaterializedQuery]] = [:]
    var byElement: [UInt64: [MaterializedQuery]] = [:]
    var byRange = IntervalTree<MaterializedQuery>()

    init(_ field: FieldSegments) { lookup = field.isDocumentID ? nil : FieldLookup(field) }

    var isEmpty: Bool { byValue.isEmpty && byElement.isEmpty && byRange.isEmpty }
  }

  fileprivate final class Scope {
    /// With the number of their conditions: a join may have several.
    var unrouted: [ObjectIdentifier: (view: MaterializedQuery, count: Int)] = [:]
    var fields: [FieldSegments: Field] = [:]

    var isEmpty: Bool { unrouted.isEmpty && fields.isEmpty }
  }

  private var documents: [ResourcePath: MaterializedQuery] = [:]
  /// By documents that are in the results of joins.
  private var included: [ResourcePath: [MaterializedQuery]] = [:]
  private var collections: [ResourcePath: Scope] = [:]
  private var groups: [Value: Scope] = [:]
  private var subtrees: [ResourcePath: Scope] = [:]
  private var buffer = KeyBuffer(minimumCapacity: 64)
  private var other = KeyBuffer(minimumCapacity: 64)

  // MARK: Materialized queries

  func add(_ view: MaterializedQuery, toDocument path: ResourcePath) { documents[path] = view }

  func remove(_ view: MaterializedQuery, fromDocument path: ResourcePath) {
    if documents[path] === view { documents[path] = nil }
  }

  func add(_ view: MaterializedQuery, including path: ResourcePath) {
    included[path, default: []].append(view)
  }

  func remove(_ view: MaterializedQuery, including path: ResourcePath) {
    Self.remove(view, at: path, from: &included)
  }

  /// Adds `view` by the conditions of `query`. Remove it with the conditions that this returns.
  func add(_ view: MaterializedQuery, to query: EffectiveQuery, upperBound: ResultRow?)
    -> [ListenerCondition]
  {
    let scope = self.scope(query.scope, makingIt: true) ?? Scope()
    let routes = ListenerCondition.routes(to: query, upperBound: upperBound) { route in
      switch route {
      case .all: scope.unrouted.count
      case .value(let field, let hash): scope.fields[field]?.byValue[hash]?.count ?? 0
      case .element(let field, let hash): scope.fields[field]?.byElement[hash]?.count ?? 0
      case .range(let field, _, _): scope.fields[field]?.byRange.count ?? 0
      }
    }
    for route in routes {
      switch route {
      case .all: scope.unrouted[ObjectIdentifier(view), default: (view, 0)].count += 1
      case .value(let field, let hash): scope.field(field).byValue[hash, default: []].append(view)
      case .element(let field, let hash):
        scope.field(field).byElement[hash, default: []].append(view)
      case .range(let field, let lower, let upper):
        scope.field(field).byRange.insert(.init(lower: lower, upper: upper), view)
      }
    }
    return routes
  }

  func remove(_ view: MaterializedQuery, from query: EffectiveQuery, _ routes: [ListenerCondition])
  {
    guard let scope = self.scope(query.scope, makingIt: false) else { return }
    for route in routes {
      switch route {
      case .all:
        let count = (scope.unrouted[ObjectIdentifier(view)]?.count ?? 0) - 1
        scope.unrouted[ObjectIdentifier(view)] = count > 0 ? (view, count) : nil
      case .value(let field, let hash):
        scope.change(field) { Self.remove(view, at: hash, from: &$0.byValue) }
      case .element(let field, let hash):
        scope.change(field) { Self.remove(view, at: hash, from: &$0.byElement) }
      case .range(let field, let lower, let upper):
        scope.change(field) { $0.byRange.remove(.init(lower: lower, upper: upper), view) }
      }
    }
    guard scope.isEmpty else { return }
    switch query.scope {
    case .collection(let path): collections[path] = nil
    case .group(let id, _): groups[.string(id)] = nil
    case .subtree(let below): subtrees[below] = nil
    }
  }

  private static func remove<Key>(
    _ view: MaterializedQuery, at key: Key, from table: inout [Key: [MaterializedQuery]]
  ) {
    guard let index = table[key]?.firstIndex(where: { $0 === view }) else { return }
    table[key]?.remove(at: index)
    if table[key]?.isEmpty == true { table[key] = nil }
  }

  private func scope(_ scope: StructuredQuery.Scope, makingIt: Bool) -> Scope? {
    func find<Key>(_ table: inout [Key: Scope], _ key: Key) -> Scope? {
      if let found = table[key] { return found }
      guard makingIt else { return nil }
      let made = Scope()
      table[key] = made
      return made
    }
    switch scope {
    case .collection(let path): return find(&collections, path)
    // Canonically equivalent ids are different groups.
    case .group(let id, _): return find(&groups, .string(id))
    case .subtree(let below): return find(&subtrees, below)
    }
  }

  // MARK: Changes

  /// Whether any materialized query could depend on the document, regardless of its content.
  func isWatched(_ path: ResourcePath) -> Bool {
    if !collections.isEmpty || !groups.isEmpty {
      let collection = path.parent
      if collections[collection] != nil || groups[.string(collection.id)] != nil { return true }
    }
    if documents[path] != nil { return true }
    if !included.isEmpty, included[path] != nil { return true }
    return !subtrees.isEmpty && hasSubtree(above: path)
  }

  private func hasSubtree(above path: ResourcePath) -> Bool {
    (0..<path.segments.count).contains {
      subtrees[ResourcePath(Array(path.segments[..<$0]))] != nil
    }
  }

  /// Calls `body` with the materialized query of every condition that the change meets; several
  /// times if it meets several conditions of one query.
  func forEach(touchedBy update: DocumentUpdate, _ body: (MaterializedQuery) -> Void) throws {
    if let view = documents[update.path] { body(view) }
    if !included.isEmpty { for view in included[update.path] ?? [] { body(view) } }
    let collection = update.path.parent
    if let scope = collections[collection] { try visit(scope, update, body) }
    if !groups.isEmpty, let scope = groups[.string(collection.id)] {
      try visit(scope, update, body)
    }
    guard !subtrees.isEmpty else { return }
    for length in 0..<update.path.segments.count {
      let above = ResourcePath(Array(update.path.segments[..<length]))
      if let scope = subtrees[above] { try visit(scope, update, body) }
    }
  }

  private func visit(_ scope: Scope, _ update: DocumentUpdate, _ body: (MaterializedQuery) -> Void)
    throws
  {
    for (view, _) in scope.unrouted.values { body(view) }
    for field in scope.fields.values {
      let old = try update.old.map { try field.bytes(of: $0, in: &buffer) } ?? false
      if old { try visit(field, buffer.buffer, update.old, body) }
      let new = try update.new.map { try field.bytes(of: $0, in: &other) } ?? false
      guard new else { continue }
      // Most changes leave most fields unchanged.
      if old, UTF8Order.compare(buffer.buffer, other.buffer) == 0 { continue }
      try visit(field, other.buffer, update.new, body)
    }
  }

  private func visit(
    _ field: Field, _ bytes: UnsafeRawBufferPointer, _ document: StoredDocument?,
    _ body: (MaterializedQuery) -> Void
  ) throws {
    if !field.byValue.isEmpty {
      for view in field.byValue[ListenerConditionKey.hash(bytes)] ?? [] { body(view) }
    }
    if !field.byRange.isEmpty {
      let point = UnsafeRawBufferPointer(rebasing: bytes.prefix(ListenerConditionKey.rangeLimit))
      field.byRange.forEach(holding: point, body)
    }
    if !field.byElement.isEmpty, let document {
      try field.forEachElementHash(of: document) { hash in
        for view in field.byElement[hash] ?? [] { body(view) }
      }
    }
  }
}

extension ListenerIndex.Scope {
  fileprivate func field(_ name: FieldSegments) -> ListenerIndex.Field {
    if let found = fields[name] { return found }
    let made = ListenerIndex.Field(name)
    fields[name] = made
    return made
  }

  fileprivate func change(_ name: FieldSegments, _ body: (ListenerIndex.Field) -> Void) {
    guard let field = fields[name] else { return }
    body(field)
    if field.isEmpty { fields[name] = nil }
  }
}

extension ListenerIndex.Field {
  /// Puts the bytes of the document's value into the buffer. False if it has none.
  fileprivate func bytes(
    of document: StoredDocument, in buffer: inout KeyBuffer
  ) throws -> Bool {
    buffer.removeAll()
    guard lookup != nil else {
      buffer.append(tag: .reference)
      buffer.append(path: document.path)
      return true
    }
    return try document.body.withBytes { bytes in
      guard let value = try lookup?.find(in: MapView(body: bytes)) else { return false }
      try buffer.append(value, descending: false)
      return true
    }
  }

  fileprivate func forEachElementHash(
    of document: StoredDocument, _ body: (UInt64) -> Void
  ) throws {
    var buffer = KeyBuffer(minimumCapacity: 64)
    try document.body.withBytes { bytes in
      guard var elements = try lookup?.find(in: MapView(body: bytes))?.array() else { return }
      for _ in 0..<elements.count {
        buffer.removeAll()
        try buffer.append(elements.next(), descending: false)
        body(ListenerConditionKey.hash(buffer.buffer))
      }
    }
  }
}
