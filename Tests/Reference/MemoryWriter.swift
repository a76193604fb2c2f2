#if DEBUG
  @testable import HearthEngine

  /// One state, for a user's closure.
  class MemoryReader: DocumentState {
    fileprivate var staged: MemoryState.StagedRequest

    init(_ staged: MemoryState.StagedRequest) { self.staged = staged }

    func answer(_ request: ReadRequest) throws -> ReadAnswer { try staged.answer(request) }
  }

  /// A request that is made while a user's closure runs.
  final class MemoryWriter: MemoryReader, LocalWriter {
    private var mutations: [Mutation] = []
    private var byteCount = 0

    static func run(
      _ body: (any LocalWriter) throws -> Void, on state: inout MemoryState, _ now: Instant
    ) throws -> CommitResult {
      let writer = MemoryWriter(MemoryState.StagedRequest(state, at: state.time(now)))
      try body(writer)
      try Mutation.checkTotals(writer.mutations)
      return try writer.staged.end(in: &state)
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
    /// The answer after the writes so far.
    fileprivate mutating func answer(_ request: ReadRequest) throws -> ReadAnswer {
      if case .documents(let paths) = request {
        return .documents(try paths.map { path throws(Status) in try document(path) })
      }
      var state = base
      for document in try documents() { state.documents[document.path] = document }
      for path in order where fields[path] == .some(nil) { state.documents[path] = nil }
      return try state.answer(request, at: time)
    }
  }
#endif
