/// One change of a result. Indexes are as in Firestore: of the list with the previous changes
/// applied, without this one (old) or with it (new).
package struct ResultChange: Sendable {
  package var kind: DocumentChangeType
  package var document: StoredDocument
  /// Nil for an added document.
  package var oldIndex: Int?
  /// Nil for a removed document.
  package var newIndex: Int?
}

/// The changes of a result by a commit. One change, the usual case, needs no array.
enum ResultChanges: Sendable {
  case one(ResultChange)
  case several([ResultChange])

  static let none = ResultChanges.several([])

  var isEmpty: Bool {
    switch self {
    case .one: false
    case .several(let changes): changes.isEmpty
    }
  }

  var list: [ResultChange] {
    switch self {
    case .one(let change): [change]
    case .several(let changes): changes
    }
  }
}

/// The ordered result of a target. A value: including it in a snapshot costs a reference.
package struct ResultList: Sendable {
  private(set) var rows: ResultTree
  /// Documents are delivered in the reverse order of the rows.
  let isReversed: Bool

  init(_ rows: ResultTree = ResultTree(), isReversed: Bool = false) {
    self.rows = rows
    self.isReversed = isReversed
  }

  package var count: Int { rows.count }
  var isEmpty: Bool { rows.isEmpty }

  /// Every document, in the order of delivery.
  package var documents: [StoredDocument] {
    var documents: [StoredDocument] = []
    documents.reserveCapacity(count)
    for row in rows { documents.append(row.document) }
    if isReversed { documents.reverse() }
    return documents
  }

  /// The only document, if the target is a document.
  package var first: StoredDocument? { isEmpty ? nil : rows[isReversed ? count - 1 : 0].document }

  /// Removes and inserts rows; a document whose version changed is in both. Returns the changes:
  /// removed in old order, added in new order, modified in new order.
  mutating func apply(gone: [ResultRow], come: [ResultRow]) -> [ResultChange] {
    if gone.count + come.count <= 2 { return applyFew(gone, come) }
    var versions: [ResourcePath: ResultRow] = [:]
    versions.reserveCapacity(gone.count)
    for row in gone { versions[row.document.path] = row }
    var added: [ResultRow] = []
    var modified: [(old: ResultRow, new: ResultRow)] = []
    for row in come {
      if let old = versions.removeValue(forKey: row.document.path) {
        modified.append((old, row))
      } else {
        added.append(row)
      }
    }
    let removed = gone.filter { versions[$0.document.path] != nil }
    var changes: [ResultChange] = []
    changes.reserveCapacity(removed.count + added.count + modified.count)
    for row in inOrder(removed) { if let change = remove(row) { changes.append(change) } }
    for row in inOrder(added) { changes.append(add(row)) }
    modified.sort { isBefore($0.new, $1.new) }
    for (old, new) in modified { changes.append(modify(old, new)) }
    return changes
  }

  /// The usual case: the change of one document, nil where it is not in the result.
  mutating func apply(_ old: ResultRow?, _ new: ResultRow?) -> ResultChange? {
    switch (old, new) {
    case (let old?, let new?): modify(old, new)
    case (let old?, nil): remove(old)
    case (nil, let new?): add(new)
    case (nil, nil): nil
    }
  }

  /// Without building tables.
  private mutating func applyFew(_ gone: [ResultRow], _ come: [ResultRow]) -> [ResultChange] {
    if let old = gone.first, let new = come.first, old.document.path == new.document.path {
      return apply(old, new).map { [$0] } ?? []
    }
    var changes: [ResultChange] = []
    for row in inOrder(gone) { if let change = remove(row) { changes.append(change) } }
    for row in inOrder(come) { changes.append(add(row)) }
    return changes
  }

  private mutating func remove(_ row: ResultRow) -> ResultChange? {
    take(row).map { ResultChange(kind: .removed, document: row.document, oldIndex: $0) }
  }

  private mutating func add(_ row: ResultRow) -> ResultChange {
    ResultChange(kind: .added, document: row.document, newIndex: put(row))
  }

  private mutating func modify(_ old: ResultRow, _ new: ResultRow) -> ResultChange {
    let oldIndex: Int
    let newIndex: Int
    if old.key == new.key {
      oldIndex = put(new)
      newIndex = oldIndex
    } else {
      let (taken, index) = rows.replace(old.key, with: new)
      newIndex = delivered(index)
      guard let taken else {
        return ResultChange(kind: .added, document: new.document, newIndex: newIndex)
      }
      // The list has as many rows as before.
      oldIndex = delivered(taken)
    }
    return ResultChange(
      kind: .modified, document: new.document, oldIndex: oldIndex, newIndex: newIndex)
  }

  private mutating func take(_ row: ResultRow) -> Int? {
    let last = rows.count - 1
    return rows.remove(row.key).map { isReversed ? last - $0 : $0 }
  }

  private mutating func put(_ row: ResultRow) -> Int {
    let index = rows.insert(row)
    return delivered(index)
  }

  /// The index in the order of delivery.
  private func delivered(_ index: Int) -> Int { isReversed ? rows.count - 1 - index : index }

  private func inOrder(_ rows: [ResultRow]) -> [ResultRow] {
    rows.count < 2 ? rows : rows.sorted(by: isBefore)
  }

  private func isBefore(_ lhs: ResultRow, _ rhs: ResultRow) -> Bool {
    let order = UTF8Order.compare(lhs.key, rhs.key)
    return isReversed ? order > 0 : order < 0
  }

  /// The changes that lead from this list to another of the same query.
  func changes(to other: ResultList) -> [ResultChange] {
    let (gone, come) = rows.difference(to: other.rows)
    var copy = self
    return copy.apply(gone: gone, come: come)
  }
}

/// An event for listeners; made once for all listeners of a materialized query.
package final class ResultEvent: Sendable {
  package let list: ResultList
  /// The values, for a listener to aggregations or groups; see `LiveAggregates.values`.
  package let values: [Value]?
  /// For a listener to a join.
  package let included: IncludedDocuments?
  private let resultChanges: ResultChanges?
  /// The state that this shows: after the change with this sequence.
  package let sequence: UInt64
  /// The listener asked to resume from a state that the log does not reach back to.
  package let isFullResync: Bool

  /// Since the event delivered before; nil if all of it is new.
  package var changes: [ResultChange]? { resultChanges?.list }

  init(
    list: ResultList = ResultList(), values: [Value]? = nil,
    included: IncludedDocuments? = nil, changes: ResultChanges? = nil, sequence: UInt64 = 0,
    isFullResync: Bool = false
  ) {
    self.list = list
    self.values = values
    self.included = included
    resultChanges = changes
    self.sequence = sequence
    self.isFullResync = isFullResync
  }

  func with(_ changes: [ResultChange]?) -> ResultEvent {
    if changes == nil, resultChanges == nil { return self }
    return ResultEvent(
      list: list, values: values, included: included,
      changes: changes.map(ResultChanges.several), sequence: sequence, isFullResync: isFullResync)
  }

  var reset: ResultEvent {
    ResultEvent(
      list: list, values: values, included: included, changes: resultChanges, sequence: sequence,
      isFullResync: true)
  }
}
