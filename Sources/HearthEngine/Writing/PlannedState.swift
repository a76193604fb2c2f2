internal import LMDB

/// The state of a store in a commit that a user's closure makes, on the writer's thread.
///
///     what is stored ─▶ the group's other requests ─▶ its own writes ─▶ what it reads
///
/// Each write is planned at once, on top of those before it; a write that throws leaves the request
/// unchanged. The request notes its mutations and what it has read: if the storage refuses the group,
/// they are applied again without running the closure.
final class PlannedState: LocalWriter {
  /// The group's plan, borrowed while the closure runs.
  private let plan: UnsafeMutablePointer<CommitPlan>
  private(set) var request: CommitPlan.Request
  private let tracing: QueryTracing

  /// - Parameter isAlone: No other request is in the group. The closure's caller may read the
  ///   committed state for it, so the request depends on all of that state.
  init(
    _ plan: UnsafeMutablePointer<CommitPlan>, isAlone: Bool = false, tracing: QueryTracing = .none
  ) {
    self.plan = plan
    self.tracing = tracing
    request = plan.pointee.begin()
    request.reads.time = request.time
    if isAlone { request.reads.state = plan.pointee.state }
  }

  /// The answer with what the request has written so far.
  func answer(_ read: ReadRequest) throws -> ReadAnswer {
    if let answer = try read.composed({ try answer($0) }) { return answer }
    return try noting {
      switch read {
      case .documents(let paths):
        return .documents(
          try paths.map { path in
            let name = plan.pointee.store.name(path)
            try see(name)
            return try plan.pointee.document(name, in: &request)
          })
      case .results(let query, _):
        let answer = try plan.pointee.answer(read, in: &request, tracing)
        if !query.isResolved || plan.pointee.hasStagedDocuments(in: query.scope) {
          request.reads.state = plan.pointee.state
        } else {
          request.reads.results.append(ObservedAnswer(read, answer))
        }
        return answer
      default:
        request.reads.state = plan.pointee.state
        return try plan.pointee.answer(read, in: &request, tracing)
      }
    }
  }

  /// Calls `body` with the document's body, valid only during the call; nil if there is no
  /// document.
  ///
  /// `body` runs user code, which may read and write through this request: no access to the plan or
  /// the request is in progress during the call.
  func withBody<Result>(
    at path: ResourcePath, _ body: (StoredBody?) throws -> Result
  ) throws -> Result {
    try noting {
      let name = plan.pointee.store.name(path)
      try see(name)
      switch try plan.pointee.body(of: name, in: &request) {
      case .stored(let stored): return try body(stored)
      case .planned(let planned): return try planned.withBytes { try body(StoredBody($0)) }
      }
    }
  }

  /// Plans a write. If this throws `Status`, the request is unchanged, or can no longer be committed.
  func write(_ mutation: Mutation) throws {
    try mutation.check()
    try Limits.check(requestOf: request.byteCount + mutation.contentByteCount)
    try noting { try plan.pointee.add(mutation, to: &request) }
    request.mutations.append(mutation)
    request.byteCount += mutation.contentByteCount
  }

  /// Adds the request to the group. If this throws, the group is unchanged.
  func take() throws -> CommitResult {
    if let fault = request.fault { throw fault }
    try Mutation.checkTotals(request.mutations)
    return try plan.pointee.take(&request)
  }

  func drop() { plan.pointee.drop(request) }

  private func see(_ name: DocumentName) throws {
    guard request.reads.documents[name.path] == nil else { return }
    request.reads.documents[name.path] = .some(try plan.pointee.updateTime(of: name))
  }

  /// Remembers failures of the storage. Refusals of the user's own writes are not remembered.
  private func noting<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as LMDBError {
      request.fault = Status(reading: error)
      throw Status(reading: error)
    } catch let error as Status {
      if error.code == .dataLoss { request.fault = error }
      throw error
    }
  }
}
