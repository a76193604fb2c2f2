internal import LMDB

extension EmbeddedBackend: LocalBackend {
  // MARK: Closures

  package func read<Answer>(
    at time: Timestamp?, _ body: (any DocumentState) throws -> Answer
  ) async throws -> Answer {
    if time == nil {
      await writer.waitForWrites(touching: .everything)
    } else {
      // A write that began before may get an earlier time than `time`.
      await withCheckedContinuation { continuation in
        writer.whenDrained { continuation.resume() }
      }
    }
    return try readAfterPendingWrites(at: time, body)
  }

  package func readBlocking<Answer>(
    at time: Timestamp?, _ body: (any DocumentState) throws -> Answer
  ) throws -> Answer {
    if time == nil {
      try waitForAllWrites()
    } else {
      try waiting { done in writer.whenDrained { done(.success(())) } }
    }
    return try readAfterPendingWrites(at: time, body)
  }

  private func readAfterPendingWrites<Answer>(
    at time: Timestamp?, _ body: (any DocumentState) throws -> Answer
  ) throws -> Answer {
    try store.read { snapshot in
      let versions: StoreView.Versions =
        if let time { .asOf(try snapshot.sequence(at: Instant(time))) } else { .stored }
      return try body(FileReader(snapshot, versions, self))
    }
  }

  package func write(
    file: StaticString, line: UInt, _ body: @escaping (any LocalWriter) throws -> Void,
    _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    let closure = WriteClosure(from: CallSite(file: file, line: line), tracing: tracing, body)
    writer.perform(closure, isBlocking: context.thread == .blocked, done)
  }
}

extension EmbeddedBackend {
  /// The writer's measurements, for metrics.
  package enum WriterFigures: Sendable {
    case group(WriterReport)
    /// `storage` reads the file's use at the time of the call, and may block. Nil for a closed one.
    case sample(WriterSample, storage: @Sendable () -> StorageUse?)
  }
}

extension EmbeddedBackend: FileBackend {
  package var isInPlace: Bool { store.environment.isInPlace }

  // MARK: Maintenance

  package func check(_ progress: MaintenanceHandler?) async throws -> CheckReport {
    try await MaintenanceReporter.run(progress) { [self] progress in
      try store.check(includingPages: true, progress: progress)
    }
  }

  package func backup(
    to path: String, compacting: Bool, replacing: Bool, _ progress: MaintenanceHandler?
  ) async throws -> CheckReport {
    try await MaintenanceReporter.run(progress) { [self] progress in
      try waitForAllWrites()
      return try FileCopy.backup(
        store, to: path, compacting: compacting, replacing: replacing, progress: progress)
    }
  }

  package func export(
    to path: String, replacing: Bool, _ progress: MaintenanceHandler?
  ) async throws -> Int {
    try await MaintenanceReporter.run(progress) { [self] progress in
      try waitForAllWrites()
      return try DocumentExport.run(store, to: path, replacing: replacing, progress: progress)
    }
  }

  package func export(
    _ progress: MaintenanceHandler?, _ write: @escaping @Sendable ([UInt8]) throws -> Void
  ) async throws -> Int {
    try await MaintenanceReporter.run(progress) { [self] progress in
      try waitForAllWrites()
      return try DocumentExport.run(store, progress: progress, write)
    }
  }

  package func importDocuments(
    from path: String, skippingInvalidLines: Bool, _ progress: MaintenanceHandler?
  ) async throws -> ImportReport {
    try await MaintenanceReporter.run(progress) { [self] progress in
      let (report, definitions, _) = try DocumentImport.run(
        from: path, into: writer, skippingInvalidLines: skippingInvalidLines, progress: progress)
      try definitions.adopt(into: store, indexes)
      return report
    }
  }

  // MARK: Indexes. Calls that wait for the writer block no thread of the cooperative pool.

  package func declare(_ definitions: [IndexDefinition], _ done: @escaping Completion<Void>) {
    BlockingThreads.shared.complete(done) { [indexes] () throws(Status) in
      do { try indexes.declare(definitions) } catch {
        throw error as? Status ?? Status(.unavailable, "Indexes are not stored.", cause: error)
      }
    }
  }

  package func declare(onlyThoseIn json: String) async throws {
    try await onBlockingThread { [indexes] in
      try indexes.configure(IndexConfiguration(json: json))
    }
  }

  package func drop(_ definitions: [IndexDefinition]) async throws {
    try await onBlockingThread { [indexes] in try indexes.drop(definitions) }
  }

  package func dropLearnedIndexes() throws { try indexes.dropLearned() }
  package func learnIndexes(_ isLearning: Bool) { indexes.advisor.isLearning = isLearning }
  package func indexList() throws -> [IndexInfo] { try indexes.list().map(IndexInfo.init) }
  package func indexConfiguration() throws -> String { try indexes.exported() }
  package func waitForIndexes() async throws { try await indexes.waitUntilReady() }

  /// Waits for every write that was submitted before and that its caller does not await. Blocks.
  private func waitForAllWrites() throws(Status) {
    try TransactionThread.refuse(in: self)
    // Usually there are none, and nothing to wait with is made.
    let isIdle = try blocking { () throws(Status) in
      writer.hasNoPendingWrites(touching: .everything)
    }
    if isIdle { return }
    try waiting { done in writer.whenWritesAreDone(touching: .everything) { done(.success(())) } }
  }

  // MARK: TTL

  package func setTTL(_ collectionID: String, _ field: FieldSegments?) async throws {
    try await onBlockingThread { [store] in try store.setTTL(collectionID, field) }
  }

  package func ttlPolicies() throws -> [TTLPolicies.Rule] {
    try store.read { try TTLPolicies.read($0.lmdb, store.tables).rules }
  }

  package func deleteExpiredDocuments() async throws -> Int {
    try await MaintenanceReporter.run(nil) { [self] _ in
      try waitForAllWrites()
      guard let sweeper else { throw Status.openForReading }
      return try sweeper.sweep()
    }
  }

  // MARK: Retention

  package func setRetention(_ retention: ChangeLogRetention?, isDefault: Bool) async throws {
    try await onBlockingThread { [store] in
      try store.setRetention(retention, isDefault: isDefault)
    }
  }

  package func storedRetention() throws -> ChangeLogRetention? {
    try store.read { try ChangeLogRetention.read($0.lmdb, store.tables) }
  }

  // MARK: Figures

  package func statistics() async throws -> DatabaseStatistics {
    await writer.waitForWrites(touching: .everything)
    return try store.read { try DatabaseStatistics($0) }
  }

  package func listenerStatistics(_ done: @escaping @Sendable (ListenerStatistics) -> Void) {
    registry.statistics(done)
  }

  package func observeWriter(_ body: @escaping @Sendable (EmbeddedBackend.WriterFigures) -> Void) {
    writer.observe { body(.group($0)) }
    let storage = { @Sendable [weak self] in try? self?.storageUse }
    writer.sample { body(.sample($0, storage: storage)) }
  }

  private var storageUse: StorageUse {
    get throws {
      let info = try store.environment.info
      return StorageUse(
        fileBytes: info.fileSizeBytes, usedBytes: (info.lastPage + 1) * info.pageSizeBytes,
        mapBytes: info.mapSizeBytes, readers: info.readersInUse,
        oldestReaderLag: info.oldestReaderLag)
    }
  }
}

/// A state of the file, for a user's closure. A class: a value of this size would be in a box each time it is passed on.
private final class FileReader: DocumentState {
  private let snapshot: StoreSnapshot
  private let versions: StoreView.Versions
  private let backend: EmbeddedBackend

  init(
    _ snapshot: StoreSnapshot, _ versions: StoreView.Versions, _ backend: EmbeddedBackend
  ) {
    self.snapshot = snapshot
    self.versions = versions
    self.backend = backend
  }

  func answer(_ request: ReadRequest) throws -> ReadAnswer {
    try failing { try backend.view(snapshot, versions).answer(request) }
  }

  func withBody<Answer>(
    at path: ResourcePath, _ body: (StoredBody?) throws -> Answer
  ) throws -> Answer {
    guard case .stored = versions else { return try withCopiedBody(at: path, body) }
    return try failing { try body(snapshot.body(at: path)) }
  }

  func decoded<Answer>(
    matching query: StructuredQuery, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) throws -> [Answer] {
    guard case .stored = versions else { return try decodedCopies(matching: query, decode) }
    return try failing {
      try backend.tracing {
        try snapshot.decoded(
          matching: EffectiveQuery(query), trace: $0, isParallel: isParallel, decode)
      }
    }
  }
}

/// Converts LMDB's errors to a `Status`.
private func failing<Answer>(_ body: () throws -> Answer) throws -> Answer {
  do { return try body() } catch let error as LMDBError { throw Status(reading: error) }
}
