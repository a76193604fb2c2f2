import LMDB

/// For meters: what the database is doing.
extension Firestore {
  /// Calls `onGroup` after every group of writes and `onLostFailure` with every failure that nobody awaits,
  /// both on the writer's thread; and `onSample` once a second, whatever the writer does, on a thread that must
  /// not be blocked. Throws as opening does.
  package func observeWrites(
    onGroup: @escaping @Sendable (WriterReport) -> Void,
    onSample: @escaping @Sendable (WriterSample) -> Void,
    onLostFailure: @escaping @Sendable () -> Void
  ) throws {
    do {
      let writer = try database().writer
      writer.observe(onGroup)
      writer.sample(onSample)
      observeFailures(onLostFailure)
    } catch let status as Status {
      throw status.nsError
    }
  }

  /// The file at this moment; nil if the database is not open.
  package var storageUse: StorageUse? {
    guard let info = try? database().store.environment.info else { return nil }
    return StorageUse(
      fileBytes: info.fileSizeBytes, usedBytes: (info.lastPage + 1) * info.pageSizeBytes,
      mapBytes: info.mapSizeBytes, readers: info.readersInUse,
      oldestReaderLag: info.oldestReaderLag)
  }

  package struct StorageUse: Sendable {
    package var fileBytes: Int
    /// Up to the last page that was ever used.
    package var usedBytes: Int
    package var mapBytes: Int
    package var readers: Int
    /// How many commits the oldest running read is behind.
    package var oldestReaderLag: Int
  }
}
