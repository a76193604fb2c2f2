/// One state of a store's documents, as a closure reads it.
///
///     a read transaction ─┐
///     an earlier state    ┼▶ answer ─▶ documents, results, values, groups, joined documents
///     a planned commit   ─┘
package protocol DocumentState {
  /// The answer to a request of `documents`, `results`, `values`, `groups` or `joined`.
  func answer(_ request: ReadRequest) throws -> ReadAnswer

  /// Calls `body` with the body of a document, which is valid until it returns; with nil if the document does not
  /// exist.
  func withBody<Answer>(
    at path: ResourcePath, _ body: (StoredBody?) throws -> Answer
  ) throws -> Answer

  /// Returns the output of `decode` for each result, in the query's order. Calls it on any threads if `isParallel`.
  func decoded<Answer>(
    matching query: StructuredQuery, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) throws -> [Answer]
}

/// Defaults for states that lend no bytes: they read copies.
extension DocumentState {
  package func withBody<Answer>(
    at path: ResourcePath, _ body: (StoredBody?) throws -> Answer
  ) throws -> Answer {
    try withCopiedBody(at: path, body)
  }

  package func decoded<Answer>(
    matching query: StructuredQuery, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) throws -> [Answer] {
    try decodedCopies(matching: query, decode)
  }

  func withCopiedBody<Answer>(
    at path: ResourcePath, _ body: (StoredBody?) throws -> Answer
  ) throws -> Answer {
    guard let document = try answer(.documents(at: [path])).documents[0] else {
      return try body(nil)
    }
    return try document.body.withBytes { try body(StoredBody($0)) }
  }

  func decodedCopies<Answer>(
    matching query: StructuredQuery, _ decode: (StoredName, StoredBody) throws -> Answer
  ) throws -> [Answer] {
    try answer(.results(EffectiveQuery(query))).results.map { document in
      try document.body.withBytes { try decode(.path(document.path), StoredBody($0)) }
    }
  }
}
