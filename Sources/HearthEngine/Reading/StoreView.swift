internal import LMDB

/// The state of a file that answers requests: in a read transaction, or in that of the writer.
///
///     stored documents ─┐
///     other versions    ┴▶ one answer
///
/// The other versions are those of an earlier state, which the change log has, or those that a commit has planned.
struct StoreView {
  enum Versions {
    case stored
    /// Each document has the version that it had after the change with this sequence.
    case asOf(UInt64)
    case planned([PlannedVersion])
  }

  let snapshot: StoreSnapshot
  let versions: Versions
  var tracing: QueryTracing

  init(_ snapshot: StoreSnapshot, _ versions: Versions = .stored, _ tracing: QueryTracing = .none) {
    self.snapshot = snapshot
    self.versions = versions
    self.tracing = tracing
  }

  /// The answer of a version, with the cost of its query if it is measured.
  func answer(
    _ request: ReadRequest, _ version: StateVersion, isMeasured: Bool
  ) throws -> VersionedAnswer {
    guard isMeasured else { return VersionedAnswer(try answer(request), version) }
    var view = self
    var trace = QueryTrace()
    view.tracing.note = { [tracing] in
      tracing.note?($0)
      trace = $0
    }
    let start = ContinuousClock.now
    let found = try view.answer(request)
    trace.found = found.resultCount
    return VersionedAnswer(found, version, .init(trace, ContinuousClock.now - start))
  }

  func answer(_ request: ReadRequest) throws -> ReadAnswer {
    switch request {
    case .documents(let paths):
      guard paths.count != 1 else { return .documents([try document(at: paths[0])]) }
      let touched = ReadCounters()
      return .documents(
        try paths.map { path in
          try touched.countKey(until: snapshot.deadline)
          return try document(at: path)
        })
    case .results(let query, let fields):
      let (query, overlay) = try changed(query, requiring: fields)
      return .results(
        try tracing {
          try snapshot.documents(matching: query, requiring: fields, with: overlay, trace: $0)
        })
    case .part(let query, let bytes): return try tracing { try part(of: query, bytes, $0) }
    case .values(let aggregations, let query):
      let (query, overlay) = try changed(query, requiring: aggregations.compactMap(\.field))
      return .values(
        try tracing {
          try snapshot.aggregate(aggregations, over: query, with: overlay, trace: $0)
        })
    case .groups(let grouped):
      guard case .stored = versions else { break }
      return .groups(
        try tracing { trace in
          let groups = try snapshot.groupTotals(grouped, isLive: false, trace: trace).results()
          trace.found = groups.count
          return groups
        })
    case .groupTotals(let grouped):
      guard case .stored = versions else { break }
      return .groupTotals(
        try tracing { try snapshot.groupTotals(grouped, isLive: true, trace: $0) })
    case .totals(let query, let aggregations):
      guard case .stored = versions else { throw Status.notKept }
      return .totals(try tracing { try snapshot.totals(of: aggregations, over: query, trace: $0) })
    case .matches(let search, let query):
      guard case .stored = versions else { throw Status.notKept }
      let (found, statistics) = try tracing {
        try SearchRun(search: search, query: query, snapshot: snapshot).matches($0)
      }
      return .matches(found, statistics)
    case .referring(let relation, let paths):
      guard case .stored = versions else { break }
      return .several(
        try tracing { trace in
          var queries = ReferringQueries(relation, in: snapshot, trace)
          return try paths.compactMap { path in
            try queries.documents(referringTo: path).map(ReadAnswer.results)
          }
        })
    case .several(let requests): return .several(try requests.map(answer))
    case .joined(let query): return .joined(try query.read(answer))
    case .nothing: return .nothing
    case .explanation, .collections, .documentPaths, .page, .documentCount:
      return try answerOfStored(request)
    }
    guard let answer = try request.composed(answer) else { throw Status.otherAnswer }
    return answer
  }

  /// The answer to a request that only the stored documents answer.
  private func answerOfStored(_ request: ReadRequest) throws -> ReadAnswer {
    guard case .stored = versions else { throw Status.notKept }
    switch request {
    case .explanation(let request, let analyzes):
      return .explanation(try explain(request, analyzes: analyzes))
    case .collections(let path): return .paths(try snapshot.collections(below: path))
    case .documentPaths(let path): return .paths(try snapshot.documentPaths(in: path))
    case .page(let position, let limits): return .page(try snapshot.page(after: position, limits))
    case .documentCount:
      return .count(try snapshot.lmdb.statistics(snapshot.tables.documents).entries)
    default: throw Status.otherAnswer
    }
  }

  private func document(at path: ResourcePath) throws -> StoredDocument? {
    switch versions {
    case .stored: return try snapshot.document(at: path)
    case .asOf(let sequence): return try snapshot.document(at: path, asOf: sequence)
    // A plan looks its documents up itself.
    case .planned: throw Status.notKept
    }
  }

  /// A plan that has to sort finds all results first, for each part: it has fewer parts. Where the change log does not
  /// keep the past for as long as a client may read, there is one: others could not be of the same state.
  private func part(
    of query: EffectiveQuery, _ bytes: Int, _ trace: QueryTrace
  ) throws -> ReadAnswer {
    let (query, overlay) = try changed(query, requiring: [])
    var found: [StoredDocument] = []
    let isWhole = try snapshot.retention().isShort
    var size = 0
    var isLast = true
    func add(_ document: StoredDocument) -> Bool {
      isLast = isWhole || size / (trace.plan?.isOrdered == false ? 8 : 1) < bytes
      guard isLast else { return false }
      size += document.memoryBytes
      found.append(document)
      return true
    }
    if let overlay {
      try snapshot.forEachResult(of: query, with: overlay, trace, add)
    } else {
      let run = try snapshot.run(query, trace: trace)
      try run.forEachDocument(add)
      trace.found = found.count + query.offset
    }
    return .part(found, isLast: isLast)
  }

  /// The query with the values that its semi-joins have in this state, and the versions that can be its results; nil
  /// if all are stored.
  private func changed(
    _ query: EffectiveQuery, requiring fields: [FieldSegments]
  ) throws -> (EffectiveQuery, DocumentOverlay?) {
    if case .stored = versions { return (query, nil) }
    let query =
      query.isResolved
      ? query
      : try snapshot.resolved(query) {
        try StoreView(snapshot, versions).answer(.results($0)).results
      }
    var overlay: DocumentOverlay
    switch versions {
    case .stored: return (query, nil)
    case .asOf(let sequence):
      overlay = try snapshot.overlay(backTo: sequence, for: query, requiring: fields)
    case .planned(let versions):
      overlay = DocumentOverlay(for: query, requiring: fields)
      for (path, document) in versions { try overlay.add(path, document) }
    }
    return (query, overlay.isEmpty ? nil : overlay)
  }
}

/// Follows the queries of a request.
struct QueryTracing {
  /// Refuses a query that no index serves.
  var isStrict = false
  /// Called with the trace of each query that ran; with one for all queries of a relation.
  var note: ((QueryTrace) -> Void)?

  static var none: QueryTracing { QueryTracing() }

  func callAsFunction<Answer>(_ body: (QueryTrace) throws -> Answer) throws -> Answer {
    let trace = QueryTrace(isStrict: isStrict)
    let answer = try body(trace)
    note?(trace)
    return answer
  }
}

/// A document as a plan leaves it; nil if it does not exist then.
typealias PlannedVersion = (path: ResourcePath, document: StoredDocument?)

extension Status {
  fileprivate static let notKept = Status(
    .internal, "An earlier state, or one that is planned, has no answer to this.")
}
