/// Deleting a document or a collection with all that lies below it.
extension Firestore {
  /// Deletes the document and every document below it, and returns how many were there.
  ///
  ///     let count = try await db.recursiveDelete(author) { print("\($0) deleted") }
  ///
  /// In batches, each of them durable before the next: should it be interrupted, part is deleted, and
  /// calling it again deletes the rest. What others add meanwhile may stay.
  @discardableResult
  public func recursiveDelete(
    _ document: DocumentReference, onProgress: (@Sendable (Int) -> Void)? = nil
  ) async throws -> Int {
    try await reporting {
      let name = try document.name(in: self)
      return try await delete(document.descendants(), and: name, onProgress)
    }
  }

  /// Deletes the collection's documents and every document below them, and returns how many there were.
  @discardableResult
  public func recursiveDelete(
    _ collection: CollectionReference, onProgress: (@Sendable (Int) -> Void)? = nil
  ) async throws -> Int {
    try await reporting {
      guard collection.firestore === self else {
        throw Status.invalidArgument(
          "Provided collection reference is from a different Cloud Firestore instance.")
      }
      return try await delete(collection.recursive(), and: nil, onProgress)
    }
  }

  /// How many documents are deleted at once.
  private static let deletionBatch = 500

  /// - Parameter last: Deleted when nothing is left below it.
  private func delete(
    _ query: Query, and last: DocumentName?, _ onProgress: (@Sendable (Int) -> Void)?
  ) async throws -> Int {
    _ = try query.effective()
    let database = try database()
    return try await database.active {
      try await delete(query, and: last, in: database, onProgress)
    }
  }

  private func delete(
    _ query: Query, and last: DocumentName?, in database: Database,
    _ onProgress: (@Sendable (Int) -> Void)?
  ) async throws -> Int {
    var page = query.structured
    page.orders = [QueryOrder(field: .documentID)]
    page.limit = Self.deletionBatch
    await database.writer.settle(.everything)
    var count = 0
    while true {
      let names = try database.store.read { snapshot in
        var names: [DocumentName] = []
        try snapshot.forEachBody(matching: EffectiveQuery(page)) { name, _ in
          names.append(database.name(try name.path))
        }
        if names.count < Self.deletionBatch, let last, try snapshot.record(of: last) != nil {
          names.append(last)
        }
        return names
      }
      guard let end = names.last else { return count }
      _ = try await database.writer.commit(
        names.map { Mutation(name: $0, operation: .delete) })
      count += names.count
      onProgress?(count)
      guard names.count >= Self.deletionBatch, end != last else { return count }
      // Never back to what was added behind.
      page.start = QueryBound(values: [.reference(end.path)], isBefore: false)
    }
  }
}
