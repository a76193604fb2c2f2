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
  /// When the database was made: what a token of another one is told by.
  let creation: Instant
  /// A folder that is removed with the database: for one that lives in memory, as far as users see.
  private let temporaryFolder: String?

  init(
    path: String, configuration: StoreConfiguration, queueLimitBytes: Int,
    indexPolicy: IndexingPolicy = .declared, logger: Logger, temporaryFolder: String? = nil
  ) throws {
    store = try Store(path: path, configuration: configuration)
    self.logger = logger
    self.temporaryFolder = temporaryFolder
    creation = try store.read { try $0.creation() }
    writer = Writer(store, queueLimitBytes: queueLimitBytes, logger: logger)
    let indexes = IndexKeeper(store, policy: indexPolicy, logger: logger)
    self.indexes = indexes
    registry = Registry(store, writer, logger: logger, isStrict: indexPolicy == .strict) {
      if indexes.advisor.isLearning { indexes.note($0) }
    }
    indexes.start()
    sweeper = configuration.isReadOnly ? nil : ExpirySweeper(store, writer, logger: logger)
    sweeper?.start(interval: configuration.expirySweepInterval)
  }

  /// Does what waits to be written, ends the listeners, and closes the file. Blocks until then,
  /// also when it is called again.
  func close() {
    indexes.close()
    sweeper?.close()
    writer.close()
    registry.close(.terminated)
    store.close()
    if let temporaryFolder { try? FileManager.default.removeItem(atPath: temporaryFolder) }
  }

  func name(_ path: ResourcePath) -> DocumentName { DocumentName(path, limit: store.keyLimit) }

  /// A document as of the newest commit and every write handed over before. Nil if there is none.
  func document(at path: ResourcePath) async throws -> StoredDocument? {
    await writer.settle(.document(path))
    return try store.read { try $0.document(name(path)) }
  }
}
