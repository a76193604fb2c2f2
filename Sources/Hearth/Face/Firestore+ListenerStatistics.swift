extension Firestore {
  /// What listening costs and holds at the moment, in figures.
  ///
  ///     let statistics = try await db.listenerStatistics()
  ///     print(statistics.listeners, "listeners share", statistics.views, "results")
  public func listenerStatistics() async throws -> ListenerStatistics {
    try await reporting {
      let backend = try file()
      return await withCheckedContinuation { continuation in
        backend.listenerStatistics { continuation.resume(returning: ListenerStatistics($0)) }
      }
    }
  }

  /// Listening in figures. Counts are of this process, since it opened the database.
  public struct ListenerStatistics: Sendable, Hashable {
    public var listeners: Int
    /// Results that are kept. Listeners to the same query share one.
    public var views: Int
    /// Documents that the results hold, and the most that one holds, each with its bytes. Limits hold some
    /// spare ones; counts and sums hold none.
    public var documents: Int
    public var largestView: Int
    /// Commits that touched a watched collection.
    public var commits: Int
    /// Results that commits were shown to, because they could have changed them; and that they changed.
    public var visits: Int
    public var updates: Int
    /// Queries that were run again because a limit's spare results were used up: should be rare.
    public var refills: Int
    /// Times that all queries were run again because the change log had been trimmed in between.
    public var reloads: Int
    /// Snapshots that listeners were told, and that gave way to newer ones because a listener was slow.
    public var snapshotsTold: Int
    public var snapshotsSkipped: Int
    /// Listeners that have not been told the newest yet.
    public var waitingListeners: Int
    /// Changes that are committed and that no listener has been told of yet.
    public var changesBehind: Int
  }
}

extension Firestore.ListenerStatistics {
  init(_ statistics: ListeningStatistics) {
    listeners = statistics.listeners
    views = statistics.views
    documents = statistics.documents
    largestView = statistics.largestView
    commits = statistics.counts.commits
    visits = statistics.counts.visits
    updates = statistics.counts.updates
    refills = statistics.counts.refills
    reloads = statistics.counts.reloads
    snapshotsTold = statistics.counts.ended.told
    snapshotsSkipped = statistics.counts.ended.skipped
    waitingListeners = statistics.waiting
    changesBehind = statistics.changesBehind
  }
}
