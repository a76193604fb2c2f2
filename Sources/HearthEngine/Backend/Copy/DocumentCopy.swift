/// Copies all documents of a backend to another one, while the first is written.
///
///     token ─▶ pages of the source, each in one commit of the target with the position after it
///           ─▶ the changes since the token, whole commits, each with the token after them
///           ─▶ at a token: the target is the source's state after it
///
/// A page is read after the token that is stored when it is written, and a change that is in it
/// already is applied once more: on the way the target is no state that the source had, at the end it is. The position and the token are
/// stored in the same commits as the documents, so a copy goes on where it was interrupted.
///
/// One call at a time.
package final class DocumentCopy: Sendable {
  let source: any StoreBackend
  let target: any StoreBackend
  private let current: Guarded<CopyState>
  /// How long the changes may wait while documents are copied.
  private let changeInterval: Duration

  /// Pages, and commits of the target.
  private static let pageCount = 512
  private static let pageBytes = 2 << 20
  private static let commitBytes = 4 << 20

  var state: CopyState { current.withLock(\.self) }

  private init(
    _ source: any StoreBackend, _ target: any StoreBackend, _ state: CopyState,
    _ changeInterval: Duration
  ) {
    self.source = source
    self.target = target
    self.changeInterval = changeInterval
    current = Guarded(state)
  }

  // MARK: Beginning

  /// Begins a copy, or goes on with one that was interrupted. Throws `failedPrecondition` if the
  /// target has documents, and the errors of `copyDocuments`.
  package static func begin(
    from source: any Backend, to target: any Backend, changeInterval: Duration = .seconds(2)
  ) async throws -> DocumentCopy {
    guard source !== target else {
      throw Status.invalidArgument("A database cannot be copied to itself.")
    }
    guard let source = source as? any StoreBackend, let target = target as? any StoreBackend else {
      throw Status(
        .unimplemented, "A database without a log of its changes or indexes is not copied.")
    }
    guard try await source.document(at: CopyState.path) == nil else {
      throw Status(
        .failedPrecondition, "The source is an unfinished copy. Finish it before you copy it.")
    }
    let token = try await source.newestToken()
    if let stored = try await target.document(at: CopyState.path) {
      let state = try CopyState(stored)
      guard state.token.database == token.database else {
        throw Status(
          .failedPrecondition,
          "The target has an unfinished copy of another database. Use an empty database.")
      }
      // Changes of a source that was restored from a backup would be those of another history.
      guard state.token.sequence <= token.sequence else { throw Status.tokenOfTheFuture }
      let copy = DocumentCopy(source, target, state, changeInterval)
      _ = try await copy.changes(since: state.token)
      return copy
    }
    let limits = PageLimits(count: 1, byteCount: 1)
    let first = try await target.read(.page(after: nil, limits)).page
    guard first.documents.isEmpty else {
      throw Status(
        .failedPrecondition,
        "The target has documents: it is in use, or a finished copy. Use an empty one.")
    }
    let copy = DocumentCopy(source, target, CopyState(from: token), changeInterval)
    try await copy.commit([], copy.state)
    return copy
  }

  // MARK: Documents

  /// Whether the target was a state of the source when the last call ended.
  package var hasDocuments: Bool { state.phase == .changes }

  /// The number of documents copied so far, and the number that the source has now.
  package typealias Count = (done: Int, total: Int)

  /// Copies what is missing: documents, and changes. Then the target is the source's state at a
  /// moment of this call.
  ///
  /// Throws `outOfRange` if the source's change log does not reach back to the token,
  /// `failedPrecondition` if another copy goes on with the same target, and `CancellationError`.
  package func copyDocuments(_ progress: @Sendable (Count) -> Void = { _ in }) async throws {
    if state.phase == .documents {
      let total = try await source.read(.documentCount).count
      progress((state.documents, max(total, state.documents)))
      try await copyPages { progress(($0, max(total, $0))) }
    }
    try await catchUp()
  }

  private func copyPages(_ progress: (Int) -> Void) async throws {
    var limits = PageLimits(count: 64, byteCount: Self.pageBytes)
    var page = try await page(after: state.position, limits)
    let clock = ContinuousClock()
    var changed = clock.now
    while true {
      try Task.checkCancellation()
      // Some backends count only documents: their sizes are guessed from those of the last page.
      let bytes = page.documents.reduce(1) { $0 + $1.body.bytes.count }
      let count = page.documents.count * Self.pageBytes / bytes
      limits.count = min(max(count, 1), limits.count * 2, Self.pageCount)
      let (read, size) = (page, limits)
      guard clock.now - changed > changeInterval else {
        async let following = self.page(following: read, size)
        try await copy(read)
        progress(state.documents)
        page = try await following
        if read.next == nil { return }
        continue
      }
      try await copy(read)
      progress(state.documents)
      if read.next == nil { return }
      try await catchUp()
      changed = clock.now
      // Not earlier: a page from before the changes would undo them.
      page = try await self.page(following: read, size)
    }
  }

  private func page(
    after position: [UInt8]?, _ limits: PageLimits
  ) async throws -> DocumentPage {
    let source = source
    return try await source.read(.page(after: position, limits)).page
  }

  /// Empty at the end.
  private func page(
    following page: DocumentPage, _ limits: PageLimits
  ) async throws -> DocumentPage {
    guard let next = page.next else { return DocumentPage() }
    return try await self.page(after: next, limits)
  }

  private func copy(_ page: DocumentPage) async throws {
    var mutations: [Mutation] = []
    var bytes = 0
    for document in page.documents where !document.path.isOfCopy {
      if bytes >= Self.commitBytes {
        try await commit(mutations, state)
        (mutations, bytes) = ([], 0)
      }
      mutations.append(.copying(document))
      bytes += document.body.bytes.count
    }
    var state = state
    state.position = page.next
    state.documents += page.documents.count
    if page.next == nil { state.phase = .changes }
    try await commit(mutations, state)
  }

  // MARK: Changes

  /// Applies the changes up to the newest one of this moment.
  package func catchUp() async throws {
    let newest = try await source.newestToken()
    while state.token.sequence < newest.sequence { try await applyChanges() }
  }

  /// The changes that are missing.
  package struct Lag: Sendable {
    /// The number of changes that the source has and the target does not.
    package var changes: Int
    /// From the commit of the last applied change to the source's newest commit.
    package var time: Duration
  }

  /// Applies every change soon after it is made, until `progress` returns false or the task is
  /// cancelled, which throws `CancellationError`.
  package func follow(_ progress: @Sendable (Lag) -> Bool) async throws {
    let (news, signal) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let observation = source.observeChanges { signal.yield() }
    defer { observation.end() }
    var changes = news.makeAsyncIterator()
    var applied = try await source.newestVersion().time
    while true {
      try Task.checkCancellation()
      let last = try await applyChanges()
      if let last { applied = Timestamp(last) }
      let newest = try await source.newestVersion()
      let missing = Int(clamping: newest.sequence - min(newest.sequence, state.token.sequence))
      var lag = Lag(changes: missing, time: .zero)
      if missing > 0 {
        let microseconds = Instant(newest.time).microseconds - Instant(applied).microseconds
        lag.time = .microseconds(max(microseconds, 0))
      }
      guard progress(lag) else { return }
      if last == nil, missing == 0 { await changes.next() }
    }
  }

  /// One page of the log.
  func changes(since token: ChangeToken) async throws -> [LoggedChange] {
    do {
      return try await source.awaiting { source.changes(since: token, $0, $1) }
    } catch let status as Status where status.code == .outOfRange {
      throw Status(
        .outOfRange,
        "The source's change log does not reach back to where the copy is. Keep changes for longer "
          + "there, and copy again into an empty database.", cause: status)
    }
  }

  /// Applies some changes, and the rest of the last one's commit. Returns that commit's time, or nil
  /// if there is no change.
  @discardableResult
  private func applyChanges() async throws -> Instant? {
    // The newest version of each document.
    var versions: [ResourcePath: StoredDocument?] = [:]
    var bytes = 0
    var token = state.token
    var last: Instant?
    var isWhole = true
    repeat {
      let page = try await changes(since: token)
      guard !page.isEmpty else {
        if isWhole { return last }
        throw Status.dataLoss("The source's change log ends within a commit.")
      }
      for change in page {
        token = source.token(after: change.sequence)
        isWhole = change.endsCommit
        last = change.commitTime
        if !change.path.isOfCopy {
          versions[change.path] = .some(change.after)
          bytes += change.after?.body.bytes.count ?? 0
        }
        // A commit that is larger than one of the target's is applied in parts.
        let isLarge = versions.count >= Self.pageCount || bytes >= Self.commitBytes
        if bytes >= 2 * Self.commitBytes || isWhole && isLarge {
          var next = state
          if isWhole { next.token = token }
          try await commit(Self.mutations(versions), next)
          (versions, bytes) = ([:], 0)
        }
      }
    } while !isWhole
    guard token != state.token else { return last }
    var next = state
    next.token = token
    try await commit(Self.mutations(versions), next)
    return last
  }

  private static func mutations(_ versions: [ResourcePath: StoredDocument?]) -> [Mutation] {
    versions.map { path, version in
      version.map { .copying($0) } ?? .copyingDeletion(of: path)
    }
  }

  // MARK: The end

  /// Whether the source has changed since what was applied last.
  package func hasMissingChanges() async throws -> Bool {
    try await source.newestToken() != state.token
  }

  /// Removes what the copy has stored about itself: the target is a database as any other. Throws
  /// `failedPrecondition` if documents are missing.
  ///
  /// Sets the source's TTL policies: from now on, the target's documents expire there.
  package func finish() async throws {
    let state = state
    guard state.phase == .changes else {
      throw Status(.failedPrecondition, "Not all documents are copied.")
    }
    if let source = source as? any ExpiringBackend, let target = target as? any ExpiringBackend {
      for rule in try await source.ttlPolicies() {
        if let field = rule.field { try await target.setTTL(rule.collectionID, field) }
      }
    }
    _ = try await commit(CommitRequest([state.removal], areChecked: true))
  }

  private func commit(_ mutations: [Mutation], _ state: CopyState) async throws {
    let result = try await commit(
      CommitRequest(
        mutations + [try state.mutation], areChecked: true, completesAfterListeners: false))
    var state = state
    state.updateTime = result.results.last?.updateTime
    current.withLock { $0 = state }
  }

  private func commit(_ request: CommitRequest) async throws -> CommitResult {
    do {
      return try await target.commit(request)
    } catch let refusal {
      var isOther = false
      do {
        let stored = try await target.document(at: CopyState.path)
        isOther = stored?.updateTime != state.updateTime
      } catch {
        throw refusal
      }
      guard isOther else { throw refusal }
      throw Status(
        .failedPrecondition, "Another copy goes on with this target, or has ended.",
        cause: refusal)
    }
  }
}
