extension Firestore {
  /// What the file holds, counted: reads every document once.
  ///
  ///     let statistics = try await db.statistics()
  ///     print(statistics.documents, "documents in", statistics.fileBytes, "bytes")
  ///
  /// One consistent state, with every write whose call has returned before. Throws like any read.
  public func statistics() async throws -> Statistics {
    try await reporting {
      Statistics(try await file().statistics())
    }
  }

  /// A database in figures. All sizes are in bytes.
  public struct Statistics: Sendable, Hashable {
    /// Every collection that holds documents, in the order of their paths.
    public var collections: [Collection] = []
    /// The file's size, with pages that are free to be used again.
    public var fileBytes = 0
    /// How much of the file is free to be used again, or was never used.
    public var freeBytes = 0
    /// The change log: its size in pages, and the changes it still holds.
    public var changeLogBytes = 0
    public var changesLogged = 0
    /// Changes of documents since the database was made.
    public var changes = 0
    /// Durable commits since the database was made. Writes that waited together share one.
    public var commits = 0
    /// The version of the format that this Hearth writes.
    public var formatVersion = 0

    public struct Collection: Sendable, Hashable {
      /// `books`, or `books/dune/reviews`.
      public var path: String
      public var documents: Int
      /// The documents with their keys, as they are stored.
      public var bytes: Int
    }

    public var documents: Int { collections.reduce(0) { $0 + $1.documents } }
    public var documentBytes: Int { collections.reduce(0) { $0 + $1.bytes } }
  }
}

extension Firestore.Statistics {
  init(_ statistics: StoreStatistics) {
    collections = statistics.collections.map {
      Collection(path: $0.path.text, documents: $0.documents, bytes: $0.bytes)
    }
    fileBytes = statistics.fileBytes
    freeBytes = statistics.freeBytes
    changeLogBytes = statistics.changeLogBytes
    changesLogged = statistics.changesLogged
    changes = statistics.changes
    commits = statistics.commits
    formatVersion = statistics.formatVersion
  }
}
