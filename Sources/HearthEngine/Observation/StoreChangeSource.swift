import Dispatch
internal import LMDB
import Synchronization

/// The embedded store as the source of changes. All requests to one state are answered before they
/// return, in one read transaction.
final class StoreChangeSource: ChangeSource {
  private let store: Store
  private let writer: Writer
  fileprivate let isStrict: Bool
  fileprivate let note: @Sendable (QueryTrace) -> Void
  /// Commits of other processes. Protected by the queue that `watch` is called on.
  private nonisolated(unsafe) var others: CommitWatcher?

  /// - Parameters:
  ///   - isStrict: Refuses a query that no index serves.
  ///   - note: Called with the trace of each query that ran.
  init(
    _ store: Store, _ writer: Writer, isStrict: Bool, note: @escaping @Sendable (QueryTrace) -> Void
  ) {
    self.store = store
    self.writer = writer
    self.isStrict = isStrict
    self.note = note
  }

  var name: String { store.path }
  var completesInline: Bool { true }
  var now: Instant { store.configuration.now() }

  func read(until deadline: ReadDeadline?, _ done: @escaping Completion<any SourceState>) {
    var isDone = false
    do {
      try store.read(until: deadline) { snapshot in
        let state = StoreSourceState(
          snapshot: snapshot, source: self, sequence: try snapshot.state().lastSequence)
        isDone = true
        done(.success(state))
      }
    } catch {
      if !isDone { done(.failure(Status(observing: error))) }
    }
  }

  func whenWritesAreDone(touching scope: ReadScope, _ body: @escaping @Sendable () -> Void) {
    writer.whenWritesAreDone(touching: scope, body)
  }

  // MARK: Signals

  func watch(on queue: DispatchQueue, _ signal: @escaping @Sendable (Status?) -> Void) {
    // On the writer's thread: schedules the signal and returns.
    let scheduled = ScheduledSignal()
    store.commitObserver.withLock { observer in
      assert(observer == nil, "A store has one source of changes that is watched.")
      observer = {
        guard !scheduled.isSet.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.async {
          scheduled.isSet.store(false, ordering: .releasing)
          signal(nil)
        }
      }
    }
    others = CommitWatcher(of: store, on: queue) { [store] in
      // Listeners of a file that is no longer at its path would get no more events, and would keep
      // others from opening the new file.
      signal(store.environment.isInPlace ? nil : Status(reading: .fileReplaced))
    }
  }

  func stopWatching() {
    store.commitObserver.withLock { $0 = nil }
    others.take()?.stop()
  }
}

/// Whether a signal is scheduled that has not been given.
private final class ScheduledSignal: Sendable {
  let isSet = Atomic<Bool>(false)
}

private struct StoreSourceState: SourceState, @unchecked Sendable {
  // Unchecked: used before the completion that it is passed to returns, on the same thread.

  let snapshot: StoreSnapshot
  let source: StoreChangeSource
  let sequence: UInt64

  func changes(
    after sequence: UInt64, into steps: ChangeSteps, _ done: @escaping Completion<ChangeSteps>
  ) {
    done(
      Result {
        var steps = steps
        try snapshot.changes(after: sequence) { change in
          try steps.add(
            change.path, change.sequence, startsCommit: change.startsCommit,
            byteCount: change.before?.count ?? 0
          ) { try snapshot.version(before: change) }
          return true
        }
        try steps.end { try snapshot.document(at: $0) }
        return steps
      }.mapError(Status.init(observing:)))
  }

  func fetch(
    _ request: ReadRequest, asOf sequence: UInt64?, isFirst: Bool,
    _ done: @escaping Completion<ReadAnswer>
  ) {
    done(
      Result {
        try StoreView(
          snapshot, sequence.map { .asOf($0) } ?? .stored,
          QueryTracing(isStrict: isFirst && source.isStrict, note: source.note)
        ).answer(request)
      }.mapError(Status.init(observing:)))
  }
}
