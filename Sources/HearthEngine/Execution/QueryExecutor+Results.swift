/// Results as documents, bodies or decoded values.
extension QueryExecutor {
  /// The results, copied, in the query's order and projection.
  func documents() throws -> [StoredDocument] {
    let entries = try entries()
    let projection = Projection(query.projection)
    return try (query.isReversed ? entries.reversed() : entries).map {
      try document($0, projection)
    }
  }

  /// Calls `body` with every result, copied and without projection, in the order found, until it
  /// returns false.
  func forEachDocument(_ body: (StoredDocument) throws -> Bool) throws {
    try forEachResult { entry, _ in try body(document(entry, nil)) }
  }

  func document(_ entry: StoredEntry, _ projection: Projection?) throws -> StoredDocument {
    let document = try snapshot.copy(entry.record, key: entry.key, path: path(of: entry))
    return try projection?.applied(to: document) ?? document
  }

  /// Calls `body` with every result in the query's order, without projection. Borrowed as long as
  /// the transaction.
  func forEachBody(_ body: (StoredName, StoredBody) throws -> Void) throws {
    defer { withExtendedLifetime(self) {} }
    let entries = try entries()
    for entry in query.isReversed ? entries.reversed() : entries {
      try snapshot.deadline?.check(copying: entry.record.count)
      try body(name(of: entry), verifiedBody(of: entry))
    }
  }

  /// Decodes the results and calls `emit` with chunks of them, in the query's order. Several
  /// threads call `decode` if there are many results.
  func forEachDecoded<Model>(
    _ decode: @escaping (StoredName, StoredBody) throws -> Model,
    _ emit: ([Model]) -> Void
  ) throws {
    defer { withExtendedLifetime(self) {} }
    // Chunks start at 256 results, about a millisecond of work: a woken thread may have to wait.
    try ParallelChunks<StoredEntry, [Model]>.run(
      threads: snapshot.store.configuration.scanThreads, sizes: 256...512,
      work: { [self] in try $0.map { try decode(name(of: $0), verifiedBody(of: $0)) } },
      share: { [self] in try share() },
      emit: { models in
        emit(models)
        return true
      },
      walk: { add in
        if query.isReversed {
          for entry in try entries().reversed() { _ = try add(entry) }
        } else {
          try forEachResult { entry, _ in try add(entry) }
        }
      })
  }

  /// Other threads may read documents from now on, but must not use the transaction.
  func share() throws { snapshot = try snapshot.withKnownNameTables() }

  func verifiedBody(of entry: StoredEntry) throws -> StoredBody {
    if snapshot.store.configuration.verifiesChecksumsOnRead {
      try DocumentRecord(parsing: entry.record).verifyChecksum(key: entry.key)
    }
    let stored = try DocumentRecord.storedBody(of: entry.record)
    return try nameTables.body(stored) ?? snapshot.body(stored)
  }

  func name(of entry: StoredEntry) throws -> StoredName {
    guard let collectionKeys, !snapshot.keyLimit.isTruncated(entry.key) else {
      return .path(try snapshot.path(of: entry))
    }
    return .key(entry.key, of: Unmanaged.passUnretained(collectionKeys))
  }

  func path(of entry: StoredEntry) throws -> ResourcePath { try name(of: entry).path }
}
