extension Firestore {
  /// Returns counts of the listeners and of what they use.
  ///
  ///     let statistics = try await db.listenerStatistics()
  ///     print(statistics.listeners, "listeners share", statistics.views, "results")
  public func listenerStatistics() async throws -> ListenerStatistics {
    try await reporting {
      let backend = try file()
      return await withCheckedContinuation { continuation in
        backend.listenerStatistics { continuation.resume(returning: $0) }
      }
    }
  }

  /// Statistics of the listeners. Counts are of this process, since it opened the database.
  public typealias ListenerStatistics = HearthEngine.ListenerStatistics
}
