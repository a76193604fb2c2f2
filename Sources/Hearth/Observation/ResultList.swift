/// What one change did to a result. Indexes are as in Firestore: of the list with the changes before
/// this one applied and this one not yet (old), or just applied (new).
struct ResultChange: Sendable {
  enum Kind: Sendable { case added, modified, removed }

  var kind: Kind
  var document: StoredDocument
  /// Nil for an added document.
  var oldIndex: Int?
  /// Nil for a removed document.
  var newIndex: Int?
}

/// The ordered result of a watched target. A value: taking it in a snapshot costs a reference.
///
/// Documents stand in the order of their paths, which is the order of a collection without a query.
struct ResultList: Sendable {
  private(set) var documents: [StoredDocument] = []

  /// For documents in the order of their paths.
  init(sorted documents: [StoredDocument] = []) { self.documents = documents }

  /// Takes in the newest versions of some documents, nil for those that are gone. What that changed:
  /// the removed in old order, the added in new order, the modified in new order.
  mutating func apply(_ updates: [ResourcePath: StoredDocument?]) -> [ResultChange] {
    var removed: [StoredDocument] = []
    var added: [StoredDocument] = []
    var modified: [StoredDocument] = []
    for (path, version) in updates {
      let (index, found) = position(of: path)
      switch (found, version) {
      case (true, nil): removed.append(documents[index])
      case (true, let version?):
        if documents[index].updateTime != version.updateTime { modified.append(version) }
      case (false, let version?): added.append(version)
      case (false, nil): break
      }
    }
    var changes: [ResultChange] = []
    changes.reserveCapacity(removed.count + added.count + modified.count)
    for document in Self.sorted(removed) {
      let index = position(of: document.path).index
      documents.remove(at: index)
      changes.append(ResultChange(kind: .removed, document: document, oldIndex: index))
    }
    for document in Self.sorted(added) {
      let index = position(of: document.path).index
      documents.insert(document, at: index)
      changes.append(ResultChange(kind: .added, document: document, newIndex: index))
    }
    for document in Self.sorted(modified) {
      let index = position(of: document.path).index
      documents[index] = document
      changes.append(
        ResultChange(kind: .modified, document: document, oldIndex: index, newIndex: index))
    }
    return changes
  }

  /// The changes that lead from this list to a later one.
  func changes(to later: ResultList) -> [ResultChange] {
    var updates: [ResourcePath: StoredDocument?] = [:]
    var mine = documents.makeIterator()
    var theirs = later.documents.makeIterator()
    var old = mine.next()
    var new = theirs.next()
    while old != nil || new != nil {
      let order =
        switch (old, new) {
        case (let old?, let new?): ResourcePath.compare(old.path, new.path)
        case (nil, _): 1
        case (_, nil): -1
        }
      if order < 0, let document = old {
        updates[document.path] = .some(nil)
      } else if let document = new, order > 0 || document !== old {
        updates[document.path] = document
      }
      if order <= 0 { old = mine.next() }
      if order >= 0 { new = theirs.next() }
    }
    var copy = self
    return copy.apply(updates)
  }

  private static func sorted(_ documents: [StoredDocument]) -> [StoredDocument] {
    documents.sorted { ResourcePath.compare($0.path, $1.path) < 0 }
  }

  /// Where a document is, or where it would be inserted.
  private func position(of path: ResourcePath) -> (index: Int, found: Bool) {
    var low = 0
    var high = documents.count
    while low < high {
      let middle = (low + high) / 2
      let order = ResourcePath.compare(documents[middle].path, path)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }
}
