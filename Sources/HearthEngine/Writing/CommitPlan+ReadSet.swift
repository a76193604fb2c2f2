extension CommitPlan {
  /// Throws `aborted` if what a request has read is no longer current.
  mutating func check(_ readSet: ReadSet) throws {
    var request = begin()
    if let time = readSet.time, time != request.time { throw ReadSet.isGone }
    if let state = readSet.state, state != self.state { throw ReadSet.isGone }
    for (path, updateTime) in readSet.documents {
      guard try self.updateTime(of: store.name(path)) == updateTime else { throw ReadSet.isGone }
    }
    for seen in readSet.results {
      if seen.query.isResolved, let sequence = seen.sequence,
        try isUntouched(seen.query.scope, since: sequence)
      {
        continue
      }
      guard try seen.holds(for: documents(matching: seen.query, in: &request)) else {
        throw ReadSet.isGone
      }
    }
  }

  /// Whether no document of the scope was written since; false if that cannot be determined
  /// quickly.
  private func isUntouched(
    _ scope: StructuredQuery.Scope, since sequence: UInt64
  ) throws -> Bool {
    if documents.contains(where: { $0.isChanged && scope.contains($0.name.path) }) { return false }
    guard sequence < base.lastSequence else { return true }
    guard sequence &+ 1 >= base.firstLoggedSequence else { return false }
    var isUntouched = true
    try store.changes(after: sequence, in: scope) { _ in
      isUntouched = false
      return false
    }
    return isUntouched
  }
}
