/// Reads of earlier states, as far back as the change log goes.
extension StoreSnapshot {
  /// The sequence of the last change committed at or before `time`; 0 if there is none.
  ///
  /// Throws `invalidArgument` for a time in the future, and `outOfRange` if the log does not reach
  /// back to `time`. The cost is logarithmic in the length of the log.
  func sequence(at time: Instant) throws -> UInt64 {
    let state = try state()
    if state.lastCommitTime <= time {
      guard time <= max(store.configuration.now(), state.lastCommitTime) else {
        throw Status.invalidArgument("The read time cannot be in the future.")
      }
      return state.lastSequence
    }
    // Changes before `low` were committed in time; changes from `high` on were not.
    var low = state.firstLoggedSequence
    var high = state.lastSequence
    while low < high {
      let middle = low + (high - low) / 2
      guard let change = try change(middle) else {
        throw Status.dataLoss("The change log lacks sequence \(middle).")
      }
      if change.commitTime <= time { low = middle + 1 } else { high = middle }
    }
    guard low > state.firstLoggedSequence || low == 1 else {
      throw Status(
        .outOfRange,
        "The change log does not reach back to the read time. "
          + "The oldest readable time is \(try oldestReadableTime()?.text ?? "unknown").")
    }
    return low - 1
  }

  /// The oldest time at which states can be read; nil if the log has every change since the file
  /// was created, so that every past time is readable.
  func oldestReadableTime() throws -> Instant? {
    let state = try state()
    guard state.firstLoggedSequence > 1 else { return nil }
    guard state.firstLoggedSequence <= state.lastSequence else { return state.lastCommitTime }
    // The state before the first change that is left lasted for an unknown time.
    guard let first = try change(state.firstLoggedSequence) else {
      throw Status.dataLoss("The change log lacks sequence \(state.firstLoggedSequence).")
    }
    return first.commitTime
  }

  /// The document after the change with this sequence; nil if it did not exist. Reads the versions
  /// of this document since then.
  func document(at path: ResourcePath, asOf sequence: UInt64) throws -> StoredDocument? {
    try checkLog(reachesBackTo: sequence)
    let name = name(path)
    var version = try document(name)
    var latest = try version?.sequence ?? tombstone(of: name)
    while latest > sequence {
      guard let change = try change(latest), change.path == path else {
        throw Status.dataLoss("The change log lacks sequence \(latest).")
      }
      version = try self.version(before: change)
      latest = change.previousSequence
    }
    return version
  }

  /// The earlier versions of the documents that have changed since `sequence`, as an overlay for a
  /// query. Holds only the versions that can be results.
  ///
  /// Throws `outOfRange` if the log does not reach back that far.
  func overlay(
    backTo sequence: UInt64, for query: EffectiveQuery, requiring fields: [FieldSegments] = []
  ) throws -> DocumentOverlay {
    var overlay = DocumentOverlay(for: query, requiring: fields, backTo: sequence)
    try changes(after: sequence, in: query.scope) { change in
      // The first change of a document since then.
      if change.previousSequence <= sequence {
        try overlay.add(change.path, version(before: change))
      }
      return true
    }
    return overlay
  }

  /// The sequence of a document's deletion; 0 if no tombstone is stored.
  func tombstone(of name: DocumentName) throws -> UInt64 {
    try tables.tombstonesByName.number(name.key, of: name.path, in: lmdb)?.number ?? 0
  }
}
