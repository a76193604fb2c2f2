/// Results as documents or decoded values.
extension QueryExecutor {
  /// The results, copied, in the query's order and projection.
  func documents() throws -> [StoredDocument] {
    let projection = Projection(query.projection)
    var documents: [StoredDocument] = []
    try forEachResult { found, _ in
      documents.append(try document(found.entry, projection))
      return true
    }
    return documents
  }

  /// Calls `body` with every result, copied and without projection, in the query's order, until it
  /// returns false.
  func forEachDocument(_ body: (StoredDocument) throws -> Bool) throws {
    try forEachResult { found, _ in try body(document(found.entry, nil)) }
  }

  func document(_ entry: StoredEntry, _ projection: Projection?) throws -> StoredDocument {
    let path = try name(of: entry).path
    let document = try snapshot.copy(entry.record, key: entry.key, path: path)
    return try projection?.applied(to: document) ?? document
  }

  /// The results, decoded from the file, in the query's order and without projection.
  ///
  /// - Parameter isParallel: Several threads call `decode` if there are many results.
  func decoded<Model>(
    isParallel: Bool, _ decode: @escaping (StoredName, StoredBody) throws -> Model
  ) throws -> [Model] {
    typealias Found = (entry: StoredEntry, body: StoredBody)
    defer { withExtendedLifetime(self) {} }
    let configuration = snapshot.store.configuration
    let model = { [self] (found: Found) throws -> Model in
      if configuration.verifiesChecksumsOnRead {
        try DocumentRecord(parsing: found.entry.record).verifyChecksum(key: found.entry.key)
      }
      return try decode(name(of: found.entry), found.body)
    }
    var models: [Model] = []
    if isParallel, configuration.scanThreads > 1, snapshot.deadline?.isSoon != true {
      // Chunks start at 256 results, about a millisecond of work: a woken thread may have to wait.
      // The names of every body are known: no other thread uses the transaction.
      try ParallelChunks<Found, [Model]>.run(
        threads: configuration.scanThreads, sizes: 256...512, work: { try $0.map(model) },
        emit: { chunk in
          // Most results fit in one chunk, which is not copied.
          if models.isEmpty { models = chunk } else { models += chunk }
          return true
        },
        walk: { add in
          try forEachResult { found, _ in try add((found.entry, found.body)) }
        })
    } else {
      try forEachResult { found, _ in
        try snapshot.deadline?.check(copying: found.entry.record.count)
        models.append(try model((found.entry, found.body)))
        return true
      }
    }
    return models
  }

  func name(of entry: StoredEntry) throws -> StoredName {
    guard let collectionKeys, !snapshot.keyLimit.isTruncated(entry.key) else {
      return .path(try snapshot.path(of: entry))
    }
    return .key(entry.key, of: Unmanaged.passUnretained(collectionKeys))
  }
}
