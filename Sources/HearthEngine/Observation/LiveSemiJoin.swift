/// The values of a semi-join, updated from changes alone: a multiset, because several results may
/// have one value.
final class LiveSemiJoin {
  let join: SemiJoin
  let values = ValueSet()
  let window: LimitWindow
  /// The results whose values are in `values`.
  private var rows = ResultTree()
  /// The keys that each result added.
  private var keys: [ResourcePath: [[UInt8]]] = [:]

  init(_ join: SemiJoin, _ tuning: MaterializedQueryTuning, at time: ReadTime) {
    self.join = join
    window = LimitWindow(
      join.effectiveQuery, requiring: join.required, tuning: tuning, isPart: true, at: time)
  }

  var request: ReadRequest? { window.request }

  func reset() {
    window.reset()
    values.removeAll()
    rows = ResultTree()
    keys = [:]
  }

  /// Takes the answer to `request`. Returns the values that appeared or disappeared.
  func hold(_ fetched: ReadAnswer) throws -> Set<[UInt8]> {
    try window.hold(fetched)
    return try follow()
  }

  /// Returns the values that appeared or disappeared; nil if the query has to run again.
  func apply(_ updates: [DocumentUpdate]) throws -> Set<[UInt8]>? {
    guard case .changed = try window.apply(updates) else { return nil }
    return try follow()
  }

  private func follow() throws -> Set<[UInt8]> {
    let (gone, come) = rows.difference(to: window.list.rows)
    rows = window.list.rows
    var toggled: Set<[UInt8]> = []
    for row in gone { remove(row.document.path, &toggled) }
    for row in come { try add(row.document, &toggled) }
    return toggled
  }

  private func remove(_ path: ResourcePath, _ toggled: inout Set<[UInt8]>) {
    for key in keys.removeValue(forKey: path) ?? [] where values.remove(key) {
      toggle(key, &toggled)
    }
  }

  private func add(_ document: StoredDocument, _ toggled: inout Set<[UInt8]>) throws {
    var added: [[UInt8]] = []
    try document.body.withBytes { bytes in
      try join.forEachKey(of: MapView(body: bytes), at: { document.path }) { added.append($0) }
    }
    keys[document.path] = added
    for key in added where values.add(key) { toggle(key, &toggled) }
  }

  /// A value that disappears and appears again has not changed.
  private func toggle(_ key: [UInt8], _ toggled: inout Set<[UInt8]>) {
    if toggled.remove(key) == nil { toggled.insert(key) }
  }
}
