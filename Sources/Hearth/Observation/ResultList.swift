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
  private(set) var documents = Documents()

  /// For documents in the order of their paths.
  init(sorted documents: [StoredDocument] = []) { self.documents = Documents(documents) }

  /// Takes in the newest versions of some documents, nil for those that are gone. What that changed:
  /// the removed in old order, the added in new order, the modified in new order.
  mutating func apply(_ updates: [ResourcePath: StoredDocument?]) -> [ResultChange] {
    var removed: [StoredDocument] = []
    var added: [StoredDocument] = []
    var modified: [StoredDocument] = []
    for (path, version) in updates {
      switch (documents.find(path).document, version) {
      case (let old?, nil): removed.append(old)
      case (let old?, let version?):
        if old.updateTime != version.updateTime { modified.append(version) }
      case (nil, let version?): added.append(version)
      case (nil, nil): break
      }
    }
    var changes: [ResultChange] = []
    changes.reserveCapacity(removed.count + added.count + modified.count)
    for document in Self.sorted(removed) {
      let place = documents.find(document.path).place
      let index = documents.number(of: place)
      documents.remove(at: place)
      changes.append(ResultChange(kind: .removed, document: document, oldIndex: index))
    }
    for document in Self.sorted(added) {
      let place = documents.find(document.path).place
      let index = documents.number(of: place)
      documents.insert(document, at: place)
      changes.append(ResultChange(kind: .added, document: document, newIndex: index))
    }
    for document in Self.sorted(modified) {
      let place = documents.find(document.path).place
      let index = documents.number(of: place)
      documents.replace(at: place, with: document)
      changes.append(
        ResultChange(kind: .modified, document: document, oldIndex: index, newIndex: index))
    }
    return changes
  }

  /// The changes that lead from this list to a later one.
  func changes(to later: ResultList) -> [ResultChange] {
    guard !documents.isEmpty else {
      return later.documents.enumerated().map { index, document in
        ResultChange(kind: .added, document: document, newIndex: index)
      }
    }
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
}

extension ResultList {
  /// A sorted list in chunks: after a snapshot took it, a change copies one chunk and the list of
  /// chunks, not every reference of a large result.
  struct Documents: Collection, Sendable {
    /// A chunk this long is cut in two.
    static let chunkLimit = 512

    struct Index: Comparable {
      var chunk: Int
      var offset: Int

      static func < (lhs: Index, rhs: Index) -> Bool {
        (lhs.chunk, lhs.offset) < (rhs.chunk, rhs.offset)
      }
    }

    /// None is empty.
    private var chunks: [[StoredDocument]] = []
    private(set) var count = 0

    init(_ documents: [StoredDocument] = []) {
      count = documents.count
      for start in stride(from: 0, to: count, by: Self.chunkLimit / 2) {
        chunks.append(Array(documents[start..<Swift.min(start + Self.chunkLimit / 2, count)]))
      }
    }

    var startIndex: Index { Index(chunk: 0, offset: 0) }
    var endIndex: Index { Index(chunk: chunks.count, offset: 0) }

    func index(after index: Index) -> Index {
      index.offset + 1 < chunks[index.chunk].count
        ? Index(chunk: index.chunk, offset: index.offset + 1)
        : Index(chunk: index.chunk + 1, offset: 0)
    }

    subscript(index: Index) -> StoredDocument { chunks[index.chunk][index.offset] }

    /// How many documents stand before the place.
    func number(of place: Index) -> Int {
      chunks[..<place.chunk].reduce(place.offset) { $0 + $1.count }
    }

    /// Where the document is, or where it would be inserted.
    func find(_ path: ResourcePath) -> (place: Index, document: StoredDocument?) {
      // The last chunk that does not begin behind the path.
      let behind = Self.firstIndex(in: chunks) { ResourcePath.compare($0[0].path, path) > 0 }
      let chunk = Swift.max(behind - 1, 0)
      guard chunk < chunks.count else { return (startIndex, nil) }
      let offset = Self.firstIndex(in: chunks[chunk]) {
        ResourcePath.compare($0.path, path) >= 0
      }
      let place = Index(chunk: chunk, offset: offset)
      guard offset < chunks[chunk].count, chunks[chunk][offset].path == path else {
        return (place, nil)
      }
      return (place, chunks[chunk][offset])
    }

    /// By halving: `isBehind` is false for some first elements and true for the rest.
    private static func firstIndex<Element>(
      in array: [Element], where isBehind: (Element) -> Bool
    ) -> Int {
      var low = 0
      var high = array.count
      while low < high {
        let middle = (low + high) / 2
        if isBehind(array[middle]) { high = middle } else { low = middle + 1 }
      }
      return low
    }

    mutating func insert(_ document: StoredDocument, at place: Index) {
      count += 1
      guard place.chunk < chunks.count else { return chunks.append([document]) }
      chunks[place.chunk].insert(document, at: place.offset)
      let length = chunks[place.chunk].count
      guard length >= Self.chunkLimit else { return }
      let rest = Array(chunks[place.chunk][(length / 2)...])
      chunks[place.chunk].removeSubrange((length / 2)...)
      chunks.insert(rest, at: place.chunk + 1)
    }

    mutating func replace(at place: Index, with document: StoredDocument) {
      chunks[place.chunk][place.offset] = document
    }

    mutating func remove(at place: Index) {
      count -= 1
      chunks[place.chunk].remove(at: place.offset)
      if chunks[place.chunk].isEmpty { chunks.remove(at: place.chunk) }
    }
  }
}
