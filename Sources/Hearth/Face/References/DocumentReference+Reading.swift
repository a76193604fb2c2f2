import Foundation

/// Reads see every write of this process whose call has returned before, awaited or not, and every
/// commit of other processes. There is no server: all sources read the database.
extension DocumentReference {
  /// Returns the document as it is now. If it is missing, the snapshot's `exists` is false.
  ///
  /// Throws `invalidArgument` for an invalid path, and `dataLoss` for a damaged document.
  @discardableResult
  public func getDocument() async throws -> DocumentSnapshot {
    try await reporting {
      DocumentSnapshot(self, try await resolved().backend.document(at: resourcePath))
    }
  }

  /// Same as `getDocument()`. `source` has no effect.
  @discardableResult
  public func getDocument(source: FirestoreSource) async throws -> DocumentSnapshot {
    try await getDocument()
  }

  /// Calls `completion` with the document as it is now, or with an error; see `getDocument()`.
  public func getDocument(
    isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (DocumentSnapshot?, Error?) -> Void
  ) {
    let callbackTarget = firestore.callbackTarget(isolation)
    let callback = Callback(splitting: completion)
    do {
      try resolved().call({
        $0.read(.documents(at: [resourcePath]), .brief, { try $0.documents }, $1)
      }) { [self] result in
        let shown = result.map { DocumentSnapshot(self, $0[0]) }.mapError(\.nsError)
        callbackTarget.carry(shown, to: callback)
      }
    } catch {
      callbackTarget.carry(.failure(Status(readingFailed: error).nsError), to: callback)
    }
  }

  /// Same as `getDocument(completion:)`. `source` has no effect.
  public func getDocument(
    source: FirestoreSource, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (DocumentSnapshot?, Error?) -> Void
  ) {
    getDocument(completion: completion)
  }

  /// Returns the document, decoded directly from the file.
  ///
  ///     let book = try await dune.getDocument(as: Book.self)
  ///     let perhaps = try await dune.getDocument(as: Book?.self)
  ///
  /// Throws `DecodingError` if the document does not match the type. If the document does not
  /// exist, throws `DecodingError.valueNotFound` with its path in the description; an optional type
  /// gives nil instead. `behavior` and `source` have no effect.
  public func getDocument<T: Decodable>(
    as type: T.Type, with behavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = .standard, source: FirestoreSource = .default
  ) async throws -> T {
    try await reporting {
      try await resolved().backend.withBody(at: resourcePath, .lent) { body in
        try decoder.decodeDocument(type, from: body, named: .path(resourcePath), of: firestore)
      }
    }
  }

  /// Calls `completion` with the decoded document or an error; see `getDocument(as:)`.
  public func getDocument<T: Decodable>(
    as type: T.Type, with behavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = .standard, source: FirestoreSource = .default,
    isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (Result<T, Error>) -> Void
  ) {
    getDocument { snapshot, error in
      guard let snapshot else { return completion(.failure(error ?? Status.terminated.nsError)) }
      completion(Result { try snapshot.data(as: type, with: behavior, decoder: decoder) })
    }
  }
}
