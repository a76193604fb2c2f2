/// Results as the user's types, decoded straight from the file.
extension Query {
  /// All documents the query finds, decoded.
  ///
  ///     let books = try await db.collection("books").order(by: "title").getDocuments(as: Book.self)
  ///
  /// Throws `DecodingError` if one of them does not fit. Decodes where the caller runs, one document after
  /// another. Many results of a `Sendable` type are decoded by several threads at once; see
  /// `FirestoreSettings.queryThreads`.
  public func getDocuments<T: Decodable>(
    as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder()
  ) async throws -> [T] {
    try await decoded(as: type, decoder, isParallel: false)
  }

  /// All documents the query finds, decoded; many of them by several threads at once.
  ///
  /// The type may be decoded on any thread: its `init(from:)` belongs to no actor. Throws `DecodingError` if
  /// one of them does not fit.
  public func getDocuments<T: Decodable & Sendable & SendableMetatype>(
    as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder()
  ) async throws -> [T] {
    try await decoded(as: type, decoder, isParallel: decoder.isFreeOfUserCode)
  }

  private func decoded<T: Decodable>(
    as type: T.Type, _ decoder: Firestore.Decoder, isParallel: Bool
  ) async throws -> [T] {
    try await reporting {
      let backend = try firestore.database().backend
      return try await backend.decoded(matching: checked(), .lent, isParallel: isParallel) {
        [firestore] name, bytes in
        try decoder.decodeDocument(type, from: bytes, named: name, of: firestore)
      }
    }
  }
}
