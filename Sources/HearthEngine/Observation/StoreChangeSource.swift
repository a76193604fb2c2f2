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
  /// Protected by the queue that `watch` is called on.
  private nonisolated(unsafe) var watching: (commits: Int, others: CommitWatcher)?

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
    let commits = store.commits.observe { _ in
      guard !scheduled.isSet.exchange(true, ordering: .acquiringAndReleasing) else { return }
      queue.async {
        scheduled.isSet.store(false, ordering: .releasing)
        signal(nil)
      }
    }
    let others = CommitWatcher(of: store, on: queue) { [store] in
      // Listeners of a file that is no longer at its path would get no more events, and would keep
      // others from opening the new file.
      signal(store.environment.isInPlace ? nil : Status(reading: .fileReplaced))
    }
    watching = (commits, others)
  }

  func stopWatching() {
    guard let (commits, others) = watching.take() else { return }
    store.commits.remove(commits)
    others.stop()
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
    _ request: ResultRequest, asOf sequence: UInt64?, isFirst: Bool,
    _ done: @escaping Completion<FetchedResult>
  ) {
    done(
      Result {
        guard let sequence else { return try result(of: request, isFirst: isFirst) }
        return try result(of: request, asOf: sequence)
      }.mapError(Status.init(observing:)))
  }

  private func result(of request: ResultRequest, isFirst: Bool) throws -> FetchedResult {
    try snapshot.result(of: request, isStrict: isFirst && source.isStrict, note: source.note)
  }

  private func result(of request: ResultRequest, asOf sequence: UInt64) throws -> FetchedResult {
    try snapshot.result(of: request, asOf: sequence)
  }
}

extension StoreSnapshot {
  /// The answer to a request.
  ///
  /// - Parameters:
  ///   - isStrict: Refuses a query that no index serves.
  ///   - note: Called with the trace of each query that ran; with one for all queries of a relation.
  func result(
    of request: ResultRequest, isStrict: Bool, note: (QueryTrace) -> Void
  ) throws -> FetchedResult {
    let trace = QueryTrace(isStrict: isStrict)
    switch request {
    case .document(let path): return .document(try document(at: path))
    case .documentsAt(let paths):
      return .documentsAt(
        try paths.map { path in
          try deadline?.check()
          return try document(at: path)
        })
    case .documents(let query, let fields):
      let found = try run(query, requiring: fields, trace: trace).documents()
      trace.found = found.count
      note(trace)
      return .documents(found)
    case .totals(let query, let aggregations):
      let totals = try totals(of: aggregations, over: query, trace: trace)
      note(trace)
      return .totals(totals)
    case .groups(let grouped):
      let totals = try groupTotals(grouped, isLive: true, trace: trace)
      note(trace)
      return .groups(totals)
    case .search(let query):
      let (documents, statistics) = try matches(query, trace: trace)
      note(trace)
      return .search(documents, statistics)
    case .several(let requests):
      return .several(
        try requests.map { try result(of: $0, isStrict: isStrict, note: note) })
    case .documentsReferring(let relation, let paths):
      var queries = ReferringQueries(relation, in: self, trace)
      let results = try paths.compactMap { path in
        try queries.documents(referringTo: path).map(FetchedResult.documents)
      }
      note(trace)
      return .several(results)
    }
  }

  /// The answer to a request in the state after the change with this sequence.
  func result(of request: ResultRequest, asOf sequence: UInt64) throws -> FetchedResult {
    switch request {
    case .document(let path): return .document(try document(at: path, asOf: sequence))
    case .documentsAt(let paths):
      return .documentsAt(try paths.map { try document(at: $0, asOf: sequence) })
    case .documents(let query, _):
      return .documents(try documents(matching: query, asOf: sequence))
    case .documentsReferring(let relation, let paths):
      return .several(
        try paths.compactMap(relation.query).map { query in
          .documents(try documents(matching: EffectiveQuery(query), asOf: sequence))
        })
    case .totals, .groups, .search:
      throw Status(.internal, "Totals of an earlier state are not kept.")
    case .several(let requests):
      return .several(try requests.map { try result(of: $0, asOf: sequence) })
    }
  }
}
