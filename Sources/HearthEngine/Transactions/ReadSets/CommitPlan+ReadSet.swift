extension CommitPlan {
  /// Throws `aborted` if what a request has read is no longer current.
  mutating func check(_ readSet: ReadSet) throws {
    var request = begin()
    if let time = readSet.time, time != request.time { throw Status.readsHaveChanged }
    if let state = readSet.state, state != self.state { throw Status.readsHaveChanged }
    for (path, updateTime) in readSet.documents {
      guard try self.updateTime(of: store.name(path)) == updateTime else {
        throw Status.readsHaveChanged
      }
    }
    for seen in readSet.results {
      if let query = seen.request.query, query.isResolved, let sequence = seen.sequence,
        try isUntouched(query.scope, since: sequence)
      {
        continue
      }
      let answer =
        try seen.request.composed { try self.answer($0, in: &request) }
        ?? self.answer(seen.request, in: &request)
      guard seen.holds(for: answer) else { throw Status.readsHaveChanged }
    }
  }

  /// Whether no document of the scope was written since; false if that cannot be determined
  /// quickly.
  private func isUntouched(
    _ scope: StructuredQuery.Scope, since sequence: UInt64
  ) throws -> Bool {
    if documents.contains(where: { $0.isChanged && scope.contains($0.name.path) }) { return false }
    return try store.isUntouched(scope, since: sequence, base)
  }
}
