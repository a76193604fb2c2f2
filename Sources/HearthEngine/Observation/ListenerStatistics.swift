/// Listening in figures. Counts are of this process, since it opened the database.
public struct ListenerStatistics: Sendable, Hashable {
  public var listeners = 0
  /// Results that are kept. Listeners to the same query share one.
  public var views = 0
  /// Documents that the results hold, and the most that one holds, each with its bytes. Limits hold some
  /// spare ones; counts and sums hold none.
  public var documents = 0
  public var largestView = 0
  /// Commits that touched a watched collection.
  public var commits = 0
  /// Results that commits were shown to, because they could have changed them; and that they changed.
  public var visits = 0
  public var updates = 0
  /// Queries that were run again because a limit's spare results were used up: should be rare.
  public var refills = 0
  /// Times that all queries were run again because the change log had been trimmed in between.
  public var reloads = 0
  /// Snapshots that listeners were told, and that gave way to newer ones because a listener was slow.
  public var snapshotsTold = 0
  public var snapshotsSkipped = 0
  /// Listeners that have not been told the newest yet.
  public var waitingListeners = 0
  /// Changes that are committed and that no listener has been told of yet.
  public var changesBehind = 0
}
