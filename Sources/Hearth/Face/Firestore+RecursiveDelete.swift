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
      let path = try document.path(in: self)
      return try await delete(document.descendants(), and: path, onProgress)
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
    _ query: Query, and last: ResourcePath?, _ onProgress: (@Sendable (Int) -> Void)?
  ) async throws -> Int {
    _ = try query.checked()
    let database = try database()
    return try await database.active {
      try await delete(query, and: last, in: database.backend, onProgress)
    }
  }

  private func delete(
    _ query: Query, and last: ResourcePath?, in backend: any Backend,
    _ onProgress: (@Sendable (Int) -> Void)?
  ) async throws -> Int {
    var page = query.structured
    page.orders = [StructuredQuery.Order(field: .documentID)]
    page.limit = Self.deletionBatch
    var count = 0
    while true {
      var paths = try await backend.decoded(
        matching: page, .lent, isParallel: false
      ) { name, _ in try name.path }
      if paths.count < Self.deletionBatch, let last,
        try await backend.withBody(at: last, .lent, { $0 != nil })
      {
        paths.append(last)
      }
      guard let end = paths.last else { return count }
      try await backend.commit(paths.map { Mutation(path: $0, operation: .delete) })
      count += paths.count
      onProgress?(count)
      guard paths.count >= Self.deletionBatch, end != last else { return count }
      // Never back to what was added behind.
      page.start = StructuredQuery.Bound(values: [.reference(end)], isBefore: false)
    }
  }
}
