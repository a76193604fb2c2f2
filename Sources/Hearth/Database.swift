import Foundation
import Logging
import Synchronization

/// An open database: the file, its writer and its listeners. Made when a `Firestore` is first used.
final class Database: Sendable {
  let store: Store
  let writer: Writer
  let registry: Registry
  let indexes: IndexKeeper
  /// Nil if nothing may be written.
  let sweeper: ExpirySweeper?
  let logger: Logger
  /// What a token of another database, or from before a restore, is told by.
  let history: History
  /// Removed with the database: for one that lives in memory, as far as users see.
  private let memoryFolder: MemoryFolder?
  private let activities = Activities()
  /// Transactions' blocks that run.
  let blocks: TransactionBlocks
  let lines = DocumentLines()

  /// - Parameter namedPath: The path by which a person named the file, if it is not `path`.
  init(
    path: String, named namedPath: String? = nil, configuration: StoreConfiguration,
    queueLimitBytes: Int, indexPolicy: IndexingPolicy = .declared, logger: Logger,
    memoryFolder: MemoryFolder? = nil
  ) throws {
    store = try Store(path: path, named: namedPath, configuration: configuration)
    self.logger = logger
    blocks = TransactionBlocks(store.path, logger)
    self.memoryFolder = memoryFolder
    history = try store.read { try History.read($0) }
    writer = Writer(store, queueLimitBytes: queueLimitBytes, logger: logger)
    let indexes = IndexKeeper(store, policy: indexPolicy, logger: logger)
    self.indexes = indexes
    registry = Registry(store, writer, logger: logger, isStrict: indexPolicy == .strict) {
      if indexes.advisor.isLearning { indexes.note($0) }
    }
    indexes.start()
    sweeper = configuration.isReadOnly ? nil : ExpirySweeper(store, writer, logger: logger)
    if let interval = configuration.expirySweepInterval { sweeper?.start(interval: interval) }
  }

  /// Runs work of several steps, which `close` waits for. Throws `terminated` once that has been called.
  func active<Result>(
    _ body: () async throws -> Result
  ) async throws -> Result {
    try begin()
    defer { end() }
    return try await body()
  }

  /// As `active`, for work that begins in one place and ends in another: `end` follows.
  func begin() throws(Status) {
    guard activities.begin() else { throw .terminated }
  }

  func end() { activities.end() }

  /// Does what was handed over before, ends the listeners, and closes the file. Blocks until then,
  /// also when it is called again.
  func close() {
    activities.close()
    blocks.close()
    indexes.close()
    sweeper?.close()
    writer.close()
    registry.close()
    store.close()
    memoryFolder?.remove()
  }

  func name(_ path: ResourcePath) -> DocumentName { DocumentName(path, limit: store.keyLimit) }

  /// A document as of the newest commit and every write handed over before. Nil if there is none.
  func document(at path: ResourcePath) async throws -> StoredDocument? {
    await writer.settle(.document(path))
    return try store.read { try $0.document(name(path)) }
  }
}
