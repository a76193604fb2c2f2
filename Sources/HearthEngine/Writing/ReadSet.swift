/// What a request has read, and rests on: it is refused as `aborted` if that is not so any more when it
/// is planned.
struct ReadSet: Sendable {
  /// The versions seen; nil for a document that was not there.
  var documents: [ResourcePath: Instant?] = [:]
  var results: [ObservedQuery] = []
  /// The time that was told as the commit's.
  var time: Instant?
  /// Nothing at all may have been written since.
  var state: StoreState?

  static let isGone = {
    var status = Status(
      .aborted, "What was read has changed before the write could be done. Nothing was applied.")
    status.isContention = true
    return status
  }()
}

/// What a query found.
struct ObservedQuery: Sendable {
  let query: EffectiveQuery
  /// Of the snapshot it was found in, if that was a commit's.
  let sequence: UInt64?
  private let documents: [(path: ResourcePath, updateTime: Instant)]

  init(_ query: EffectiveQuery, _ found: [StoredDocument], at sequence: UInt64? = nil) {
    self.query = query
    self.sequence = sequence
    documents = found.map { ($0.path, $0.updateTime) }
  }

  /// The query finds the same: no phantoms, and no version that was not seen.
  func holds(for found: [StoredDocument]) -> Bool {
    found.count == documents.count
      && zip(found, documents).allSatisfy { $0.path == $1.path && $0.updateTime == $1.updateTime }
  }
}
