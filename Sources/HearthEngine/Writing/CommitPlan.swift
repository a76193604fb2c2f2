/// A group of requests planned on one state of a store, before anything is put.
///
///     request ─▶ staged documents ─▶ all allowed? ─▶ versions, log, counts
///                                      └─ no: the request and its staged documents are dropped
///
/// Each request is planned on top of those before it and joins the group only if all of it can be
/// done: a refused request leaves no trace. The state is that of a file, or of a server as far as it was
/// read. All puts and deletes of the group are known before the first put, because LMDB moves pages
/// then.
struct CommitPlan {
  /// A document that the group has read.
  struct Document {
    let name: DocumentName
    /// The key it is stored under, or will be.
    var key: [UInt8]
    /// The record in a file. Borrowed: nothing is put while requests are planned.
    let stored: UnsafeRawBufferPointer?
    /// The sequence of its deletion, in the file and after the group; 0 if there is none.
    let storedTombstone: UInt64
    var tombstone: UInt64
    /// The version that the group leaves; nil if the document does not exist.
    var version: StoredDocument?
    var isChanged = false
    /// Index of the staged document in the request being planned, if that request touches it.
    var staging: Int?
  }

  /// A document while a request is planned: the result of the request's writes so far.
  struct StagedDocument {
    let document: Int
    var exists: Bool
    var body: DocumentBody
    /// Applied on top of `body`, once a field was changed.
    var edits: FieldEdits?
    /// Deleted within the request: a later write creates a new document.
    var isRenewed = false
    /// A write of the request, or a rule, has deleted it when it existed.
    var wasDeleted = false
    /// A reference rule has deleted it, and no write has created it again.
    var isDeletedByRule = false
    /// Its references are in `Request.constrained`, or not needed there.
    var hasNotedReferences = true
    var isChange = false
    /// Its times in another database, which it keeps.
    var copied: CopiedTimes?

    /// Its fields, ready to be edited.
    var fields: FieldEdits { edits ?? FieldEdits(of: exists ? body : .empty) }
  }

  let store: any PlanState
  let now: Instant
  private let latestTime: Instant
  var state: StoreState
  let base: StoreState
  let catalogue: IndexCatalogue
  private(set) var documents: [Document] = []
  /// Positions in `documents`.
  private(set) var indexes: [DocumentName: Int] = [:]
  private var plannedKeys: Set<[UInt8]> = []
  private(set) var counts = CollectionCounts()
  /// The values of changed documents in indexes with constraints.
  private(set) var constrained = ConstrainedValues()

  /// - Parameters:
  ///   - state: Of the store. The next sequence and the next time are later.
  ///   - latestTime: Changes with a later time are refused.
  init(
    _ store: any PlanState, _ state: StoreState, now: Instant, notAfter latestTime: Instant,
    documentCount: Int
  ) {
    self.store = store
    self.now = now
    self.latestTime = latestTime
    self.state = state
    base = state
    catalogue = store.catalogue
    documents.reserveCapacity(documentCount)
    indexes.reserveCapacity(documentCount)
  }

  /// No request has changed a document.
  var isEmpty: Bool { state.lastSequence == base.lastSequence }
  /// The time of the newest request, if one has got a time.
  var newestTime: Instant? {
    state.lastCommitTime > base.lastCommitTime ? state.lastCommitTime : nil
  }
  /// Approximate size of what will be put, in bytes.
  private(set) var byteCount = 0

  // MARK: A request

  /// A request being planned: the effect of its writes so far on the documents they touch.
  struct Request {
    let time: Instant
    var staged: [StagedDocument] = []
    /// Documents that reference rules have changed, in addition to those of the writes.
    var cascaded: [ResourcePath] = []
    /// The bytes of the bodies of these before the request.
    var cascadedBytes = 0
    /// Positions in `staged` of documents whose references are not noted.
    var unnoted: [Int] = []
    /// The rules of a deletion change too many documents: the request cannot be taken.
    var failure: Status?
    /// The values of its documents in indexes with constraints: until it is complete, of those that
    /// refer to others, as of the last deletion that followed rules.
    var constrained = ConstrainedValues()
    /// The writes that a closure has made so far, their size in bytes, and what the closure has read. Empty for a
    /// request that came with its mutations.
    var mutations: [Mutation] = []
    var byteCount = 0
    var reads = ReadSet()
    /// The storage has failed while the closure ran. The request fails, even if the closure catches the error.
    var fault: Status?
    /// It has copied documents: constraints do not apply.
    fileprivate(set) var isCopy = false
    /// It does more than verify.
    fileprivate var hasWrites = false
    fileprivate var stagedOfMutation: [Int] = []
    fileprivate var results: [MutationResult] = []

    fileprivate init(at time: Instant) { self.time = time }
  }

  /// Adds a request to the group, or returns why it is refused. A closure is replaced by the mutations it has made.
  ///
  /// Throws only if the storage fails. A refusal is a result.
  mutating func outcome(of request: inout WriteRequest) throws -> Result<CommitResult, Status> {
    switch request.work {
    case .mutations(let mutations, on: let reads):
      do {
        if let reads { try check(reads) }
        return .success(try plan(mutations))
      } catch let refusal as Status {
        return .failure(refusal)
      }
    case .closure(let closure):
      let (work, outcome) = closure.run(in: &self)
      request.work = work
      return outcome
    case .failed(let status): return .failure(status)
    }
  }

  /// Plans one request and adds it to the group. If this throws `Status`, the group is unchanged.
  mutating func plan(_ mutations: [Mutation]) throws -> CommitResult {
    var request = begin(
      expecting: mutations.count, notBefore: mutations.latestCopiedTime)
    defer { drop(request) }
    for mutation in mutations { try add(mutation, to: &request) }
    return try take(&request)
  }

  /// Begins a request. Its time is later than that of all requests before it. End it with `drop`.
  func begin(expecting mutationCount: Int = 0, notBefore earliest: Instant? = nil) -> Request {
    let time = max(now, Instant(microseconds: state.lastCommitTime.microseconds &+ 1))
    var request = Request(at: earliest.map { max($0, time) } ?? time)
    request.isCopy = earliest != nil
    request.stagedOfMutation.reserveCapacity(mutationCount)
    request.results.reserveCapacity(mutationCount)
    return request
  }

  /// Plans one write on top of the request's others, with all that the reference rules do after it.
  /// If this throws, the request is unchanged, or cannot be taken any more.
  mutating func add(_ mutation: Mutation, to request: inout Request) throws {
    if let failure = request.failure { throw failure }
    let (staging, result, isDeletion) = try stage(mutation, in: &request)
    request.stagedOfMutation.append(staging)
    request.results.append(result)
    if !mutation.onlyVerifies { request.hasWrites = true }
    if catalogue.references.isEmpty || request.isCopy { return }
    try followRules(of: staging, isDeletion: isDeletion, in: &request)
  }

  /// Applies a write to its staged document, and returns that document's index.
  mutating func stage(
    _ mutation: Mutation, in request: inout Request
  ) throws -> (staging: Int, result: MutationResult, isDeletion: Bool) {
    let name = store.name(mutation.path)
    let index = indexes[name] ?? documents.count
    if index == documents.count {
      documents.append(try store.load(name, &plannedKeys))
      indexes[name] = index
    }
    let staging = documents[index].staging ?? request.staged.count
    let version = documents[index].version
    if mutation.needsStoredFields { try verify(documents[index]) }
    if staging == request.staged.count {
      documents[index].staging = staging
      request.staged.append(
        StagedDocument(document: index, exists: version != nil, body: version?.body ?? .empty))
    }
    let existed = request.staged[staging].exists
    let result = try apply(mutation, to: &request.staged[staging], of: version, at: request.time)
    if let check = mutation.documentCheck {
      let document = try self.version(of: &request.staged[staging], at: request.time)
      try check.run(document, at: mutation.path)
    }
    return (staging, result, existed && !request.staged[staging].exists)
  }

  /// Adds a request to the group. If this throws `Status`, the group is unchanged.
  mutating func take(_ request: inout Request) throws -> CommitResult {
    if let failure = request.failure { throw failure }
    for index in request.staged.indices { try finish(&request.staged[index]) }
    if !catalogue.constrained.isEmpty { try enforceConstraints(on: &request) }
    if request.time > latestTime, request.staged.contains(where: \.isChange) {
      throw Status.commitTime(request.time, after: latestTime)
    }
    // From here on only the storage can refuse the request.
    let (time, staged) = (request.time, request.staged)
    for (mutation, index) in request.stagedOfMutation.enumerated() where staged[index].exists {
      let staging = staged[index]
      request.results[mutation].updateTime =
        staging.isChange
        ? staging.copied?.updateTime ?? time : documents[staging.document].version?.updateTime
    }
    var startsCommit = true
    for staging in staged where staging.isChange {
      take(staging, at: time, startsCommit: startsCommit)
      startsCommit = false
    }
    // A time of its own, even if nothing has changed: documents keep theirs.
    if request.hasWrites, time <= latestTime { state.lastCommitTime = time }
    constrained.merge(request.constrained)
    return CommitResult(
      commitTime: state.lastCommitTime, sequence: state.lastSequence, results: request.results,
      cascaded: request.cascaded)
  }

  /// Ends a request, whether it was taken or not.
  mutating func drop(_ request: Request) {
    for staging in request.staged { documents[staging.document].staging = nil }
  }

  /// Throws `dataLoss` if the stored version is damaged. Called for documents that are read, and
  /// for writes that keep fields: those fields are copied without being decoded and get a new
  /// checksum.
  func verify(_ document: Document) throws {
    guard let stored = document.stored, !document.isChanged else { return }
    try document.key.withUnsafeBytes { try DocumentRecord(parsing: stored).verifyChecksum(key: $0) }
  }

  private func apply(
    _ mutation: Mutation, to staging: inout StagedDocument, of version: StoredDocument?,
    at time: Instant
  ) throws -> MutationResult {
    // The order of deletions and verifications does not matter: a document that a rule has deleted
    // counts as present for them.
    let exists = staging.exists || staging.isDeletedByRule && mutation.storesNothing
    do throws(Status) {
      try mutation.precondition.check(
        mutation.path, exists: exists, updateTime: version?.updateTime, at: time)
    } catch {
      guard case .verify = mutation.operation else { throw error }
      var contention = error
      contention.isContention = true
      throw contention
    }
    switch mutation.operation {
    case .verify:
      return MutationResult()
    case .delete:
      staging.wasDeleted = staging.wasDeleted || staging.exists
      staging.exists = false
      staging.isRenewed = true
      staging.body = .empty
      staging.edits = nil
      return MutationResult()
    case .set(let body):
      staging.exists = true
      staging.isDeletedByRule = false
      staging.body = body
      staging.edits = nil
      staging.copied = mutation.copied
    case .patch(let body, let mask):
      staging.copied = nil
      var fields = staging.fields
      try fields.set(mask, to: body)
      staging.exists = true
      staging.isDeletedByRule = false
      staging.edits = fields
    }
    var result = MutationResult()
    guard !mutation.transforms.isEmpty else { return result }
    var fields = staging.fields
    for (field, transform) in mutation.transforms {
      let (value, returned) = transform.apply(to: try fields.value(at: field.names), at: time)
      try fields.set(value, at: field.names)
      result.transformResults.append(returned)
    }
    staging.edits = fields
    return result
  }

  /// Encodes the staged document, and determines whether it is a change.
  func finish(_ staging: inout StagedDocument) throws {
    if staging.exists, let edits = staging.edits {
      staging.body = try edits.encoded()
      staging.edits = nil
    }
    let version = documents[staging.document].version
    switch (version, staging.exists) {
    case (nil, let exists): staging.isChange = exists
    case (_?, false): staging.isChange = true
    case (let version?, true):
      staging.isChange =
        staging.isRenewed || staging.body != version.body
        || staging.copied.map { !version.has($0) } ?? false
    }
    if staging.isChange, staging.exists {
      let path = documents[staging.document].name.path
      try Limits.check(staging.body, at: path)
      try catalogue.check(staging.body, at: path)
    }
  }

  /// Adds a request's document to the group.
  private mutating func take(_ staging: StagedDocument, at time: Instant, startsCommit: Bool) {
    let index = staging.document
    let path = documents[index].name.path
    let old = documents[index].version
    state.lastSequence += 1
    let sequence = state.lastSequence
    let previous = old?.sequence ?? documents[index].tombstone
    let kind: Change.Kind = old == nil ? .created : (staging.exists ? .updated : .deleted)
    let after =
      staging.exists
      ? StoredDocument(
        path: path, sequence: sequence,
        createTime: staging.copied?.createTime
          ?? (staging.isRenewed ? time : old?.createTime ?? time),
        updateTime: staging.copied?.updateTime ?? time, body: staging.body) : nil
    store.record(
      PlannedChange(
        sequence: sequence, kind: kind, path: path, commitTime: time, startsCommit: startsCommit,
        previousSequence: previous >= state.firstLoggedSequence ? previous : 0, before: old,
        after: after),
      of: documents[index])
    documents[index].version = after
    documents[index].isChanged = true
    byteCount += 256 + staging.body.bytes.count
    documents[index].tombstone = kind == .deleted ? sequence : 0
    switch kind {
    case .created: counts.add(1, to: path)
    case .updated: break
    case .deleted: counts.add(-1, to: path)
    }
  }
}

extension CommitPlan.Document {
  /// A version as it is stored.
  func record(
    of version: StoredDocument, _ parts: (UnsafeRawBufferPointer) throws -> BodyParts
  ) rethrows -> [UInt8] {
    try version.body.withBytes { body in
      try key.withUnsafeBytes { key in
        DocumentRecord.encode(
          sequence: version.sequence, updateTime: version.updateTime,
          createTime: version.createTime,
          path: name.key.isTruncated ? version.path.text : nil,
          body: try parts(body), key: key)
      }
    }
  }
}
