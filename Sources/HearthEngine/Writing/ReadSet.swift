/// The documents and results that a request has read: it is refused with `aborted` if any of them
/// has changed when it is planned.
struct ReadSet: Sendable {
  /// Update times of the versions read; nil for a document that did not exist.
  var documents: [ResourcePath: Instant?] = [:]
  var results: [ObservedQuery] = []
  /// The commit time that the request was given.
  var time: Instant?
  /// If set, nothing at all may have been written since.
  var state: StoreState?

  /// Nothing was read.
  var isEmpty: Bool { documents.isEmpty && results.isEmpty }

  /// Records the versions that were read. Throws `aborted` if one of them was read before and
  /// differs.
  mutating func note(_ found: some Sequence<(ResourcePath, StoredDocument?)>) throws(Status) {
    for (path, document) in found {
      if let seen = documents[path], seen != document?.updateTime {
        throw .contention("Document version changed between two reads.")
      }
      documents[path] = .some(document?.updateTime)
    }
  }
}

/// The result of a query.
struct ObservedQuery: Sendable {
  let query: EffectiveQuery
  /// The sequence of the snapshot it was found in, if that was a committed one.
  let sequence: UInt64?
  private let documents: [(path: ResourcePath, updateTime: Instant)]

  init(_ query: EffectiveQuery, _ found: [StoredDocument], at sequence: UInt64? = nil) {
    self.query = query
    self.sequence = sequence
    documents = found.map { ($0.path, $0.updateTime) }
  }

  /// Whether the query finds the same: no phantoms, and no version that was not read.
  func holds(for found: [StoredDocument]) -> Bool {
    found.count == documents.count
      && zip(found, documents).allSatisfy { $0.path == $1.path && $0.updateTime == $1.updateTime }
  }
}
