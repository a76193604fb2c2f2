import Dispatch

/// The states of a `MemoryBackend`, for its listeners.
final class MemoryChangeSource: ChangeSource {
  private struct Shared {
    var newest: MemoryState
    var signal: (@Sendable () -> Void)?
  }

  private let shared: Guarded<Shared>
  private let writes: DispatchQueue
  private let present: @Sendable () -> Instant

  /// - Parameter writes: The queue that writes are done on, one after another.
  init(
    _ newest: MemoryState, writes: DispatchQueue, now: @escaping @Sendable () -> Instant
  ) {
    present = now
    shared = Guarded(Shared(newest: newest))
    self.writes = writes
  }

  /// The state after a commit.
  func commit(_ newest: MemoryState) {
    let signal = shared.withLock { shared in
      shared.newest = newest
      return shared.signal
    }
    signal?()
  }

  let name = "memory"
  let completesInline = true
  var now: Instant { present() }

  func read(until deadline: ReadDeadline?, _ done: @escaping Completion<any SourceState>) {
    done(.success(MemorySourceState(state: shared.withLock(\.newest))))
  }

  func whenWritesAreDone(touching scope: ReadScope, _ body: @escaping @Sendable () -> Void) {
    writes.async(execute: body)
  }

  func watch(on queue: DispatchQueue, _ signal: @escaping @Sendable (Status?) -> Void) {
    shared.withLock { $0.signal = { queue.async { signal(nil) } } }
  }

  func stopWatching() { shared.withLock { $0.signal = nil } }
}

private struct MemorySourceState: SourceState {
  let state: MemoryState

  var sequence: UInt64 { state.sequence }

  func changes(
    after sequence: UInt64, into steps: ChangeSteps, _ done: @escaping Completion<ChangeSteps>
  ) {
    var steps = steps
    steps.add(state.log[Int(sequence)...])
    done(.success(steps))
  }

  func fetch(
    _ request: ResultRequest, asOf sequence: UInt64?, isFirst: Bool,
    _ done: @escaping Completion<FetchedResult>
  ) {
    let state = sequence.map(state.asOf) ?? state
    done(
      Result { () throws(Status) in
        do { return try state.result(of: request) } catch { throw Status(readingFailed: error) }
      })
  }
}

extension MemoryState {
  func result(of request: ResultRequest) throws -> FetchedResult {
    switch request {
    case .document(let path): return .document(documents[path])
    case .documentsAt(let paths): return .documentsAt(paths.map { documents[$0] })
    case .search(let query):
      var all = query
      all.limit = nil
      all.offset = 0
      let answer = MemoryAnswer(all)
      let (found, statistics) = try answer.matches(documents.values)
      return .search(found.map(\.document), statistics)
    case .several(let requests): return .several(try requests.map(result))
    case .documentsReferring(let relation, let paths):
      return .several(
        try paths.compactMap(relation.query).map { query in
          .documents(try MemoryAnswer(EffectiveQuery(query)).whole(documents.values))
        })
    case .groups(let grouped):
      var query = EffectiveQuery(grouped.query)
      query.projection = []
      var totals = GroupTotals(grouped, isLive: true)
      for document in try MemoryAnswer(query).whole(documents.values) {
        try document.body.withBytes { try totals.add(MapView(body: $0)) }
      }
      return .groups(totals)
    case .documents(let query, let fields):
      return .documents(try MemoryAnswer(query).whole(having(fields)))
    case .totals(let query, let aggregations):
      var totals = AggregationTotals(aggregations, isLive: true)
      for document in try MemoryAnswer(query).whole(having(totals.fields)) {
        try document.body.withBytes { try totals.add(MapView(body: $0)) }
      }
      return .totals(totals)
    }
  }

  private func having(_ fields: [FieldSegments]) throws -> [StoredDocument] {
    if fields.isEmpty { return Array(documents.values) }
    return try documents.values.filter { document in
      let map = try document.body.map()
      return fields.allSatisfy { map.value(at: $0.names) != nil }
    }
  }
}
