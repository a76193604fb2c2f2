extension Firestore {
  /// What the file holds, counted: reads every document once.
  ///
  ///     let statistics = try await db.statistics()
  ///     print(statistics.documents, "documents in", statistics.fileBytes, "bytes")
  ///
  /// One consistent state, with every write whose call has returned before. Throws like any read.
  public func statistics() async throws -> Statistics {
    try await reporting {
      try await file().statistics()
    }
  }

  /// A database in figures. All sizes are in bytes.
  public typealias Statistics = DatabaseStatistics
}
