/// One state, for a user's closure.
class MemoryReader: LocalReader {
  fileprivate var staged: MemoryState.StagedRequest

  init(_ staged: MemoryState.StagedRequest) { self.staged = staged }

  func document(at path: ResourcePath) throws -> StoredDocument? { try staged.read(path) }

  func documents(matching query: StructuredQuery) throws -> [StoredDocument] {
    try staged.results(of: query)
  }

  func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery
  ) throws -> [Value] {
    try staged.aggregate(aggregations, over: query)
  }

  func groups(_ query: GroupedQuery) throws -> [QueryGroup] { try staged.groups(query) }
}

/// A request that is made while a user's closure runs.
final class MemoryWriter: MemoryReader, LocalWriter {
  private var mutations: [Mutation] = []
  private var byteCount = 0

  static func run(
    _ body: (any LocalWriter) throws -> Void, on state: inout MemoryState, _ now: Instant,
    notAfter latest: Instant = .latest
  ) throws -> CommitResult {
    let writer = MemoryWriter(MemoryState.StagedRequest(state, at: state.time(now)))
    try body(writer)
    try Mutation.checkTotals(writer.mutations)
    return try writer.staged.end(in: &state, notAfter: latest)
  }

  func write(_ mutation: Mutation) throws {
    try mutation.check()
    byteCount += mutation.contentByteCount
    try Limits.check(requestOf: byteCount)
    try staged.write(mutation)
    mutations.append(mutation)
  }
}

extension MemoryState.StagedRequest {
  /// The document after the writes so far.
  fileprivate mutating func read(_ path: ResourcePath) throws(Status) -> StoredDocument? {
    try document(path)
  }

  /// The query's answer after the writes so far.
  private mutating func answer(_ query: EffectiveQuery) throws(Status) -> MemoryAnswer {
    MemoryAnswer(query.resolved(at: time, inSemiJoins: true))
  }

  fileprivate mutating func results(of query: StructuredQuery) throws -> [StoredDocument] {
    let answer = try answer(EffectiveQuery(query))
    return try answer.documents(documents())
  }

  fileprivate mutating func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery
  ) throws -> [Value] {
    let answer = try answer(EffectiveQuery(query, aggregating: aggregations))
    return try answer.aggregate(aggregations, documents())
  }

  fileprivate mutating func groups(_ query: GroupedQuery) throws -> [QueryGroup] {
    try documents().groups(query, at: time)
  }
}
