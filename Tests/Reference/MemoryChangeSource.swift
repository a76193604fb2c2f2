#if DEBUG
  import Dispatch

  @testable import HearthEngine

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
      _ request: ReadRequest, asOf sequence: UInt64?, isFirst: Bool,
      _ done: @escaping Completion<ReadAnswer>
    ) {
      let state = sequence.map(state.asOf) ?? state
      done(
        Result { () throws(Status) in
          do { return try state.answer(request, at: state.lastTime) } catch {
            throw Status(readingFailed: error)
          }
        })
    }
  }

  extension MemoryState {
    /// - Parameter now: The present, for conditions on relative times.
    func answer(_ request: ReadRequest, at now: Instant) throws -> ReadAnswer {
      switch request {
      case .documents(let paths): return .documents(paths.map { documents[$0] })
      case .results(let query, let fields):
        return .results(try answer(query, at: now).documents(having(fields)))
      case .values(let aggregations, let query):
        return .values(try answer(query, at: now).aggregate(aggregations, documents.values))
      case .groups(let grouped): return .groups(try documents.values.groups(grouped, at: now))
      case .matches(let search, let query):
        let (found, statistics) = try MemoryAnswer(query).matches(of: search, documents.values)
        return .matches(found.map(\.document), statistics)
      case .totals(let query, let aggregations):
        var totals = AggregationTotals(aggregations, isLive: true)
        for document in try MemoryAnswer(query).whole(having(totals.fields)) {
          try document.body.withBytes { try totals.add(MapView(body: $0)) }
        }
        return .totals(totals)
      case .collections(let path), .documentPaths(in: let path):
        return .paths(ResourcePath.prefixes(of: Array(documents.keys), below: path))
      case .page(let position, let limits): return .page(try page(after: position, limits))
      case .documentCount: return .count(documents.count)
      case .explanation(let request, let analyzes):
        return .explanation(try explain(request.explained, analyzes, at: now))
      case .nothing: return .nothing
      case .part, .joined, .groupTotals, .referring, .several:
        guard let answer = try request.composed({ try answer($0, at: now) }) else {
          throw Status.otherAnswer
        }
        return answer
      }
    }

    private func answer(_ query: EffectiveQuery, at now: Instant) -> MemoryAnswer {
      MemoryAnswer(query.resolved(at: now, inSemiJoins: true))
    }

    private func page(after position: [UInt8]?, _ limits: PageLimits) throws
      -> DocumentPage
    {
      let last = try position.map {
        try ResourcePath(storedDocument: String(decoding: $0, as: UTF8.self))
      }
      let following = documents.values
        .filter { document in last.map { ResourcePath.compare($0, document.path) < 0 } ?? true }
        .sorted { ResourcePath.compare($0.path, $1.path) < 0 }
      var page = DocumentPage()
      page.documents = Array(following.prefix(limits.count))
      if following.count > limits.count {
        page.next = page.documents.last.map { Array($0.path.text.utf8) }
      }
      return page
    }

    private func explain(
      _ request: ReadRequest, _ analyzes: Bool, at now: Instant
    ) throws -> QueryExplanation {
      var explanation = QueryExplanation(
        plan: "Every document is looked at, in memory.", indexes: [], isServed: false,
        missingIndexes: [])
      guard analyzes else { return explanation }
      let start = ContinuousClock.now
      explanation.execution = execution(of: try answer(request, at: now), since: start)
      return explanation
    }

    func execution(
      of answer: ReadAnswer, since start: ContinuousClock.Instant
    ) -> QueryExplanation.Execution {
      QueryExplanation.Execution(
        resultsReturned: answer.resultCount, indexEntriesRead: 0, documentsRead: documents.count,
        keysRead: documents.count, duration: max(ContinuousClock.now - start, .microseconds(1)))
    }

    private func having(_ fields: [FieldSegments]) throws -> [StoredDocument] {
      if fields.isEmpty { return Array(documents.values) }
      return try documents.values.filter { document in
        let map = try document.body.map()
        return fields.allSatisfy { map.value(at: $0.names) != nil }
      }
    }
  }
#endif
