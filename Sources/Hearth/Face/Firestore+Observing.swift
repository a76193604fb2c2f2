/// For meters: what the database is doing.
extension Firestore {
  /// Calls `observer` after every group of writes, and `onLostFailure` with every failure that nobody awaits, both
  /// on the writer's thread; `observer` also once a second, whatever the writer does, on a thread that must not be
  /// blocked. Throws as opening does.
  package func observeWrites(
    _ observer: @escaping @Sendable (EmbeddedBackend.WriterFigures) -> Void,
    onLostFailure: @escaping @Sendable () -> Void
  ) throws {
    do {
      try file().observeWriter(observer)
      observeFailures(onLostFailure)
    } catch let status as Status {
      throw status.nsError
    }
  }
}
