import LMDB

/// Fills a file that nobody else knows of yet.
///
/// In transactions of bounded size and without flushing: `finish` flushes once, at the end.
final class StoreBuilder {
  let store: Store
  private var transaction: WriteTransaction?
  private var openBytes = 0
  private static let transactionLimitBytes = 16 << 20

  /// - Parameter expectedBytes: About how large the file will be.
  init(path: String, expectedBytes: Int, _ configuration: StoreConfiguration) throws {
    var configuration = configuration
    configuration.isReadOnly = false
    configuration.durability = .unsafeNoSync
    configuration.mapSizeBytes = max(
      configuration.mapSizeBytes, 2 * min(expectedBytes, 1 << 44) + (256 << 20))
    store = try Store(path: path, configuration: configuration)
  }

  deinit { close() }

  /// What was not committed is dropped.
  func close() {
    transaction = nil
    store.close()
  }

  /// With `append`, keys of a table must come in their order.
  func put(
    _ table: Table, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    append: Bool = false
  ) throws {
    try begin()
    _ = try transaction?.put(table, key, value, append: append)
    openBytes += key.count + value.count + 16
    if openBytes >= Self.transactionLimitBytes { try commit() }
  }

  func put(_ table: Table, _ key: [UInt8], _ value: [UInt8]) throws {
    try key.withUnsafeBytes { key in try value.withUnsafeBytes { try put(table, key, $0) } }
  }

  /// The state with what was put so far; ends with the next put.
  func snapshot() throws -> StoreSnapshot {
    try begin()
    guard let snapshot = transaction?.snapshot else {
      throw Status(.internal, "A builder has no transaction.")
    }
    return StoreSnapshot(snapshot, store)
  }

  private func begin() throws {
    guard transaction == nil else { return }
    transaction = try store.environment.beginWrite()
  }

  private func commit() throws {
    openBytes = 0
    try transaction.take()?.commit()
  }

  /// Commits and flushes the last of it.
  func finish() throws {
    try commit()
    try store.environment.sync()
  }
}
