/// A consistent view that lasts until `end()` or the end of its scope.
///
/// Keep it short: while it lasts, the pages that later commits free cannot be reused, and the file
/// grows.
public struct ReadTransaction: ~Copyable {
  @usableFromInline let environment: Environment
  /// The state that the transaction sees.
  public let snapshot: Snapshot

  @inlinable
  init(environment: Environment, snapshot: Snapshot) {
    self.environment = environment
    self.snapshot = snapshot
  }

  /// Ends the transaction.
  @inlinable
  public consuming func end() {}

  @inlinable
  deinit { environment.endSnapshot(snapshot) }
}
