/// States before the newest commit, as far as the change log goes.
extension StoreSnapshot {
  /// The last change that was committed at or before `time`; 0 if none was.
  ///
  /// Throws `invalidArgument` for a time in the future, and `outOfRange` if the log does not reach back that far. Costs
  /// the logarithm of the log's length.
  func sequence(at time: Instant) throws -> UInt64 {
    let state = try state()
    if state.lastCommitTime <= time {
      guard time <= max(store.configuration.now(), state.lastCommitTime) else {
        throw Status.invalidArgument("The read time cannot be in the future.")
      }
      return state.lastSequence
    }
    // Below `low` everything was committed in time, from `high` on nothing was.
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
        .outOfRange, "The change log does not reach back to the read time.")
    }
    return low - 1
  }

  /// The document after the change with this sequence; nil if it was not there. Costs the document's own versions
  /// since then.
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

  /// The document as it was before this change; nil if it did not exist. Throws `dataLoss` if it was damaged
  /// when the change was made: the log's own checksum is younger than that.
  func version(before change: Change) throws -> StoredDocument? {
    guard let before = change.before else { return nil }
    let record = try DocumentRecord(parsing: before)
    var key = KeyBuffer()
    key.append(documentKey: change.path)
    // The record does not say which ordinal a cut key had.
    if key.count <= keyLimit.cutCount { try record.verifyChecksum(key: key.buffer) }
    return try StoredDocument(path: change.path, copying: record, try body(record.storedBody))
  }

  /// What a query is to find instead of documents that have changed since.
  ///
  /// Throws `outOfRange` if the log does not reach back that far. Of the documents that have changed it holds only the
  /// versions that can be results.
  func patch(
    backTo sequence: UInt64, for query: EffectiveQuery, requiring fields: [FieldSegments] = []
  ) throws -> DocumentOverlay {
    var patch = DocumentOverlay(for: query, requiring: fields, backTo: sequence)
    try changes(after: sequence, in: query.scope) { change in
      // The first change of a document since then.
      if change.previousSequence <= sequence {
        try patch.add(change.path, version(before: change))
      }
      return true
    }
    return patch
  }

  /// The query's results after the change with this sequence, copied out.
  func documents(
    matching query: EffectiveQuery, asOf sequence: UInt64, trace: QueryTrace = QueryTrace()
  ) throws -> [StoredDocument] {
    try documents(matching: query, with: patch(backTo: sequence, for: query), trace: trace)
  }

  /// The aggregations' results after the change with this sequence.
  func aggregate(
    _ aggregations: [Aggregation], over query: EffectiveQuery, asOf sequence: UInt64,
    trace: QueryTrace = QueryTrace()
  ) throws -> [Value] {
    let patch = try patch(
      backTo: sequence, for: query, requiring: aggregations.compactMap(\.field))
    return try aggregate(aggregations, over: query, with: patch, trace: trace)
  }

  /// The sequence that deleted a document; 0 if the log holds none that did.
  func tombstone(of name: DocumentName) throws -> UInt64 {
    guard let (key, value) = try tables.tombstonesByName.entry(name.cut, of: name.path, in: lmdb)
    else { return 0 }
    return try key.withUnsafeBytes { try NumberRecord.decode(value, key: $0) }
  }
}
