import LMDB

/// For meters: what the database is doing.
extension Firestore {
  /// Tells `onGroup` of every group of writes and `onLostFailure` of every failure that nobody awaits,
  /// both on the writer's thread. Throws as opening does.
  package func observeWrites(
    onGroup: @escaping @Sendable (WriterReport) -> Void,
    onLostFailure: @escaping @Sendable () -> Void
  ) throws {
    do {
      try database().writer.observe(onGroup)
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
