/// Deleting a document or a collection with everything below it.
extension Firestore {
  /// Deletes the document and every document below it. Returns the number of deleted documents.
  ///
  ///     let count = try await db.recursiveDelete(author) { print("\($0) deleted") }
  ///
  /// Works in batches, each durable before the next. If it is interrupted, some documents are
  /// deleted; call it again to delete the rest. Documents that are added meanwhile may stay.
  /// `onProgress` receives the number deleted so far, after each batch.
  @discardableResult
  public func recursiveDelete(
    _ document: DocumentReference, onProgress: (@Sendable (Int) -> Void)? = nil
  ) async throws -> Int {
    try await reporting {
      let path = try document.path(in: self)
      return try await delete(document.descendants(), and: path, onProgress)
    }
  }

  /// Deletes the collection's documents and every document below them. Returns the number of
  /// deleted documents.
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

  /// The number of documents in one batch.
  private static let deletionBatch = 500

  /// - Parameter last: A document to delete when nothing is left below it.
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
        matching: page, .awaiting(), isParallel: false
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
      // Continues after the last deleted document, and never returns to documents added before it.
      page.start = StructuredQuery.Bound(values: [.reference(end)], isBefore: false)
    }
  }
}
