internal import LMDB

/// A request that is made while it is planned: by a user's closure, on the writer's thread.
///
///     what is stored ─▶ the group's other requests ─▶ its own writes ─▶ what it reads
///
/// Each write is planned at once, on top of those before it; one that throws leaves the request as it
/// was. What comes of the closure are mutations and what they rest on, so that they can be applied again
/// without it should the storage refuse a group.
final class WriteContext {
  /// The group's, lent for as long as the closure runs.
  private let plan: UnsafeMutablePointer<CommitPlan>
  private var request: CommitPlan.Request
  private var byteCount = 0
  private(set) var mutations: [Mutation] = []
  private(set) var premises = ReadSet()
  /// The storage failed beneath the closure. Whatever it makes of that, the request fails.
  private(set) var fault: Status?

  init(in plan: UnsafeMutablePointer<CommitPlan>) {
    self.plan = plan
    request = plan.pointee.begin()
    premises.time = request.time
  }

  func document(at path: ResourcePath) throws -> StoredDocument? {
    try noting {
      let name = plan.pointee.name(path)
      try see(name)
      return try plan.pointee.document(name, in: &request)
    }
  }

  /// The document's body for the length of `body`; nil if there is no document.
  ///
  /// `body` runs user code, which may read and write through this request: neither the plan nor the request
  /// is being accessed meanwhile.
  func withBody<Result>(
    at path: ResourcePath, _ body: (StoredBody?) throws -> Result
  ) throws -> Result {
    try noting {
      let name = plan.pointee.name(path)
      try see(name)
      switch try plan.pointee.body(of: name, in: &request) {
      case .stored(let stored): return try body(stored)
      case .planned(let planned): return try planned.withBytes { try body(StoredBody($0)) }
      }
    }
  }

  func documents(
    matching query: EffectiveQuery, trace: QueryTrace = QueryTrace()
  ) throws -> [StoredDocument] {
    try noting {
      let patch = try plan.pointee.patch(for: query, in: &request)
      let found = try plan.pointee.store.documents(matching: query, with: patch, trace: trace)
      if plan.pointee.hasDrafts(in: query.scope) {
        premises.state = plan.pointee.state
      } else {
        premises.results.append(ObservedQuery(query, found))
      }
      return found
    }
  }

  /// Calls `body` with the name and the fields of every result, in the query's order.
  func forEachBody(
    matching query: EffectiveQuery, trace: QueryTrace = QueryTrace(),
    _ body: (StoredName, StoredBody) throws -> Void
  ) throws {
    // What is stored may be borrowed; it is copied where the request keeps it anyway.
    for document in try documents(matching: query, trace: trace) {
      try document.body.withBytes { try body(.path(document.path), StoredBody($0)) }
    }
  }

  func aggregate(
    _ aggregations: [Aggregation], over query: EffectiveQuery,
    trace: QueryTrace = QueryTrace()
  ) throws -> [Value] {
    try noting {
      premises.state = plan.pointee.state
      let patch = try plan.pointee.patch(
        for: query, requiring: aggregations.compactMap(\.field), in: &request)
      return try plan.pointee.store.aggregate(aggregations, over: query, with: patch, trace: trace)
    }
  }

  /// Plans a write. Throws `Status`, and the request is as before.
  func write(_ mutation: Mutation) throws {
    try mutation.check()
    try Limits.check(requestOf: byteCount + mutation.contentByteCount)
    try noting { try plan.pointee.add(mutation, to: &request) }
    mutations.append(mutation)
    byteCount += mutation.contentByteCount
  }

  /// Takes the request into the group; throws, and the group is as before.
  func take() throws -> CommitResult {
    if let fault { throw fault }
    try Mutation.checkTotals(mutations)
    return try plan.pointee.take(&request)
  }

  func drop() { plan.pointee.drop(request) }

  private func see(_ name: DocumentName) throws {
    guard premises.documents[name.path] == nil else { return }
    premises.documents[name.path] = .some(try plan.pointee.updateTime(of: name))
  }

  /// The user's own refusals aside, what fails here is remembered.
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
