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
      if seen.query.isResolved, let sequence = seen.sequence,
        try isUntouched(seen.query.scope, since: sequence)
      {
        continue
      }
      guard try seen.holds(for: documents(matching: seen.query, in: &request)) else {
        throw Status.readsHaveChanged
      }
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
