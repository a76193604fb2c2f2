import Dispatch

/// What `ListenerRegistry` reads: the states of a database, and the changes that lead from one
/// state to the next.
///
///     watch ─▶ signal ─▶ read ─▶ a state ─▶ changes, commit by commit ─▶ materialized queries
///                                      └──▶ results of queries that changes alone cannot update
///
/// Each request completes once, on any thread: later, or before it returns. The registry makes one
/// request at a time for what is committed, and one for each first result. A source limits how many
/// it works on at once, and how long one may take.
///
/// Law: a state is at least as new as every state that was read before, every commit that was
/// signalled, and every write that was acknowledged before the request.
protocol ChangeSource: AnyObject, Sendable {
  /// For logs.
  var name: String { get }

  /// Every request completes before it returns. The registry then makes requests for first results,
  /// which may take long, on a queue of their own.
  var completesInline: Bool { get }

  /// The present, for conditions on relative times.
  var now: Instant { get }

  /// Reads the newest state.
  ///
  /// - Parameter deadline: When the state's requests may end with an error. For a source that completes
  ///   inline: others need not wait for requests before they are closed.
  func read(until deadline: ReadDeadline?, _ done: @escaping Completion<any SourceState>)

  /// Calls `body` once the writes that were submitted before and that touch `scope` are done.
  func whenWritesAreDone(touching scope: ReadScope, _ body: @escaping @Sendable () -> Void)

  /// Calls `signal` on `queue` after commits, until `stopWatching`; with an error if there will be
  /// no newer states. Called on `queue`, as is `stopWatching`.
  func watch(on queue: DispatchQueue, _ signal: @escaping @Sendable (Status?) -> Void)
  func stopWatching()

  /// When to try again after a request that failed: nil if its listeners end with the error.
  ///
  /// - Parameter attempt: How many attempts have failed before this one.
  func retryDelay(after error: Status, attempt: Int) -> Duration?
}

extension ChangeSource {
  func retryDelay(after error: Status, attempt: Int) -> Duration? { nil }
}

/// One state of a `ChangeSource`. It can be read as long as it is referenced, or, if the source
/// completes inline, until the completion of `ChangeSource.read` returns.
protocol SourceState: Sendable {
  /// The sequence of the newest change.
  var sequence: UInt64 { get }

  /// Adds the changes from `sequence` to this state to `steps`.
  ///
  /// Fails with `outOfRange` if the source no longer has them, and with `dataLoss` if they are
  /// damaged: all results are then fetched.
  func changes(
    after sequence: UInt64, into steps: ChangeSteps, _ done: @escaping Completion<ChangeSteps>)

  /// The result of a query, or what is kept of it.
  ///
  /// - Parameters:
  ///   - sequence: That of an earlier state, which is read instead of this one. Fails with
  ///     `outOfRange` if the source no longer has it.
  ///   - isFirst: It is for a new listener, whose query may be refused.
  func fetch(
    _ request: ReadRequest, asOf sequence: UInt64?, isFirst: Bool,
    _ done: @escaping Completion<ReadAnswer>)
}

extension Status {
  /// The source does not have the changes any more, or they are damaged.
  var isOfTheLog: Bool { code == .outOfRange || code == .dataLoss }
}
