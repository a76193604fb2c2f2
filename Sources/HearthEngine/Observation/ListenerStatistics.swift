/// Statistics of the listeners in this process. Counts begin when it opened the database.
public struct ListenerStatistics: Sendable, Hashable {
  /// Number of listeners that have their first result.
  public var listeners = 0
  /// Number of results that are kept. Listeners to the same query share one.
  public var views = 0
  /// Number of documents that the results hold, with their bytes. A result with a limit holds some
  /// more than it shows; counts and sums without a limit or an offset hold none.
  public var documents = 0
  /// Number of documents in the largest result.
  public var largestView = 0
  /// Commits that touched a watched collection. Commits that are applied together count as one.
  public var commits = 0
  /// How often a commit was applied to a result, because it could have changed it.
  public var visits = 0
  /// How often a result changed.
  public var updates = 0
  /// Queries that ran again because a limit had too few documents left. Should be rare.
  public var refills = 0
  /// How often all queries ran again, because the change log was trimmed in between or is damaged.
  public var reloads = 0
  /// Snapshots that were delivered to listeners.
  public var snapshotsDelivered = 0
  /// Snapshots that were replaced by newer ones before delivery, because a listener was slow.
  public var snapshotsSkipped = 0
  /// Number of listeners with a snapshot that has not been delivered.
  public var waitingListeners = 0
  /// Number of committed changes that have not been passed to listeners.
  public var changesBehind = 0

  mutating func add(_ counts: Listener.Counts) {
    snapshotsDelivered += counts.delivered
    snapshotsSkipped += counts.skipped
  }
}
