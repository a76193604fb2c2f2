extension Firestore {
  /// Returns counts and sizes of the file's content. Reads every document once.
  ///
  ///     let statistics = try await db.statistics()
  ///     print(statistics.documents, "documents in", statistics.fileBytes, "bytes")
  ///
  /// Describes one consistent state, including every write whose call has returned before. Throws
  /// the errors of a read: `failedPrecondition` after `terminate()`, `dataLoss` if a page is damaged,
  /// `unavailable` if the file cannot be read.
  public func statistics() async throws -> Statistics {
    try await reporting {
      try await file().statistics()
    }
  }

  /// Statistics of a database. All sizes are in bytes.
  public typealias Statistics = DatabaseStatistics
}
