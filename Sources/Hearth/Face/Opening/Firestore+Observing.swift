/// For metrics: the activity of the database.
extension Firestore {
  /// Calls `observer` after every group commit, and `onLostFailure` for every write failure that is
  /// not awaited, both on the writer's thread. Also calls `observer` once a second, even if the
  /// writer is idle, on a thread that must not be blocked. Throws the errors of opening.
  package func observeWrites(
    _ observer: @escaping @Sendable (EmbeddedBackend.WriterFigures) -> Void,
    onLostFailure: @escaping @Sendable () -> Void
  ) throws {
    try reporting {
      try file().observeWriter(observer)
      observeFailures(onLostFailure)
    }
  }
}
