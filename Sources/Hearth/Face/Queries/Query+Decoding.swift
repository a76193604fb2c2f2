/// Decodes results directly from the file into the user's types.
extension Query {
  /// Reads all documents that the query finds, and decodes them one after another.
  ///
  ///     let query = db.collection("books").order(by: "title")
  ///     let books = try await query.getDocuments(as: Book.self)
  ///
  /// Decodes where the caller runs, in portions if that is an actor. Many results of a `Sendable`
  /// type are decoded by several threads at once; see `FirestoreSettings.maxQueryThreads`. A
  /// document may be decoded twice. Throws `DecodingError` if one does not match the type.
  public func getDocuments<T: Decodable>(
    as type: T.Type, decoder: Firestore.Decoder = .standard
  ) async throws -> [T] {
    try await decoded(as: type, decoder, isParallel: false)
  }

  /// Reads all documents that the query finds, and decodes them; many of them on several threads at
  /// once.
  ///
  /// `init(from:)` of the type runs on any thread: it belongs to no actor. It may run twice for a
  /// document. Throws `DecodingError` if one does not match the type.
  public func getDocuments<T: Decodable & Sendable & SendableMetatype>(
    as type: T.Type, decoder: Firestore.Decoder = .standard
  ) async throws -> [T] {
    try await decoded(as: type, decoder, isParallel: decoder.isFreeOfUserCode)
  }

  private func decoded<T: Decodable>(
    as type: T.Type, _ decoder: Firestore.Decoder, isParallel: Bool
  ) async throws -> [T] {
    try await reporting {
      let backend = try firestore.database().backend
      let decoder = isParallel ? FirebaseDataDecoder(copying: decoder) : decoder
      return try await backend.decoded(
        matching: checked(), .awaiting(), isParallel: isParallel
      ) { [firestore] name, bytes in
        try decoder.decodeDocument(type, from: bytes, named: name, of: firestore)
      }
    }
  }
}
