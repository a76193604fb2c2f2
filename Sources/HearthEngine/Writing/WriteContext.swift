internal import LMDB

/// A request that a user's closure makes while it is planned, on the writer's thread.
///
///     what is stored ─▶ the group's other requests ─▶ its own writes ─▶ what it reads
///
/// Each write is planned at once, on top of those before it; a write that throws leaves the request
/// unchanged. The closure yields mutations and their read set: if the storage refuses the group,
/// they are applied again without running the closure.
final class WriteContext {
  /// The group's plan, borrowed while the closure runs.
  private let plan: UnsafeMutablePointer<CommitPlan>
  private var request: CommitPlan.Request
  private var byteCount = 0
  private(set) var mutations: [Mutation] = []
  private(set) var readSet = ReadSet()
  /// The storage failed during the closure. The request fails, even if the closure catches the
  /// error.
  private(set) var fault: Status?

  /// - Parameter isAlone: No other request is in the group. The closure's caller may read the
  ///   committed state for it, so the request depends on all of that state.
  init(in plan: UnsafeMutablePointer<CommitPlan>, isAlone: Bool = false) {
    self.plan = plan
    request = plan.pointee.begin()
    readSet.time = request.time
    if isAlone { readSet.state = plan.pointee.state }
  }

  /// Runs a user's closure, and adds its request to the group. If that fails, the group is unchanged.
  ///
  /// - Parameter done: Takes from the request whatever its caller keeps.
  static func run<Answer>(
    in plan: inout CommitPlan, isAlone: Bool = false, _ body: (WriteContext) throws -> Void,
    whenDone done: (WriteContext, Result<CommitResult, Status>) -> Answer
  ) -> Answer {
    withUnsafeMutablePointer(to: &plan) { plan in
      let request = WriteContext(in: plan, isAlone: isAlone)
      defer { request.drop() }
      do {
        try body(request)
        return done(request, .success(try request.take()))
      } catch {
        let status =
          request.fault ?? error as? Status
          ?? Status(.cancelled, "A write closure threw an error.", cause: error)
        return done(request, .failure(status))
      }
    }
  }

  /// The answer with what the request has written so far.
  func answer(_ read: ReadRequest, _ tracing: QueryTracing = .none) throws -> ReadAnswer {
    if let answer = try read.composed({ try answer($0, tracing) }) { return answer }
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
          readSet.state = plan.pointee.state
        } else {
          readSet.results.append(ObservedAnswer(read, answer))
        }
        return answer
      default:
        readSet.state = plan.pointee.state
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
    try Limits.check(requestOf: byteCount + mutation.contentByteCount)
    try noting { try plan.pointee.add(mutation, to: &request) }
    mutations.append(mutation)
    byteCount += mutation.contentByteCount
  }

  /// Adds the request to the group. If this throws, the group is unchanged.
  func take() throws -> CommitResult {
    if let fault { throw fault }
    try Mutation.checkTotals(mutations)
    return try plan.pointee.take(&request)
  }

  func drop() { plan.pointee.drop(request) }

  private func see(_ name: DocumentName) throws {
    guard readSet.documents[name.path] == nil else { return }
    readSet.documents[name.path] = .some(try plan.pointee.updateTime(of: name))
  }

  /// Remembers failures of the storage. Refusals of the user's own writes are not remembered.
  private func noting<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as LMDBError {
      fault = Status(reading: error)
      throw Status(reading: error)
    } catch let error as Status {
      if error.code == .dataLoss { fault = error }
      throw error
    }
  }
}
