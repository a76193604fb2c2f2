/// Changing all documents that a query finds.
extension Query {
  /// The number of documents that one call changes or deletes at most, by default.
  public static let writeLimit = 10_000

  /// Changes fields of every document that the query finds, in one commit. Returns the number of
  /// these documents.
  ///
  ///     let count = try await db.collection("books")
  ///       .whereField("publisher", isEqualTo: "Chilton")
  ///       .updateAll(["inPrint": false, "checked": FieldValue.serverTimestamp()])
  ///
  /// All documents are changed, or none; each is one of the results at the moment of the commit.
  /// Limits, orders and cursors of the query apply. Keys are strings, whose dots lead into maps, or
  /// `FieldPath`s, as in `DocumentReference.updateData(_:)`.
  ///
  /// Throws `resourceExhausted`, and changes nothing, if the query finds more than `limit`
  /// documents: limit it, and repeat. Throws the errors of `updateData(_:)`, of the query, and of
  /// constraints.
  @discardableResult
  public func updateAll(_ fields: [AnyHashable: Any], limit: Int = writeLimit) async throws -> Int {
    try await reporting {
      try await writeAll(
        Mutation(updating: firestore.anyDocument, with: fields, in: firestore), limit)
    }
  }

  /// Deletes every document that the query finds, in one commit. Returns the number of these
  /// documents. Collections below them stay. See `updateAll(_:limit:)`.
  @discardableResult
  public func deleteAll(limit: Int = writeLimit) async throws -> Int {
    try await reporting {
      try await writeAll(Mutation(deleting: firestore.anyDocument, in: firestore), limit)
    }
  }

  private func writeAll(_ mutation: Mutation, _ limit: Int) async throws -> Int {
    guard limit >= 0 else {
      throw Status.invalidArgument("The limit of a write to all results is negative.")
    }
    let query = try checked()
    guard query.question.traits.contains(.written) else {
      throw Status.invalidArgument("The results of a vector search cannot be written at once.")
    }
    try mutation.check()
    let database = try firestore.database()
    return try await database.active {
      try await database.write(mutation, toAllOf: query, limit: limit)
    }
  }
}

extension Firestore {
  /// A document whose path a write to all results replaces.
  fileprivate var anyDocument: DocumentReference {
    DocumentReference(self, ResourcePath(["any", "document"]))
  }
}

extension Database {
  /// Applies `mutation` to each result of the query, in one commit. Returns their number.
  ///
  /// In the process, a closure of the writer reads and writes; otherwise a transaction, which is tried
  /// again if the results change meanwhile.
  func write(
    _ mutation: Mutation, toAllOf query: StructuredQuery, limit: Int, isLocal: Bool = true
  ) async throws -> Int {
    var query = query
    query.projection = [.documentID]
    // One more shows that there are too many.
    if limit < query.limit ?? .max { query.limit = limit == .max ? .max : limit + 1 }
    @Sendable func mutations(_ found: [StoredDocument]) throws(Status) -> [Mutation] {
      guard found.count <= limit else {
        throw Status(
          .resourceExhausted,
          "The query finds more than \(limit) documents. Nothing was written; limit the query, and "
            + "repeat.")
      }
      return found.map { document in
        var own = mutation
        own.path = document.path
        return own
      }
    }
    if isLocal, let local {
      let count = Guarded(0)
      _ = try await backend.awaiting { [query] done in
        let write = { (writer: any LocalWriter) in
          let own = try mutations(writer.answer(.results(EffectiveQuery(query))).results)
          for mutation in own { try writer.write(mutation) }
          count.withLock { $0 = own.count }
        }
        local.write(file: #fileID, line: #line, write, .lent, done)
      }
      return count.withLock(\.self)
    }
    let result = await transactions.run(attempts: 5, file: #fileID, line: #line) { [query] reader in
      let writes = Result { () throws(Status) in
        try mutations(reader.read(.results(EffectiveQuery(query))).results)
      }
      return TransactionRunner.Run(.success(try? writes.get().count), writes: writes)
    }
    if let error = result.error { throw error }
    return result.value as? Int ?? 0
  }
}
