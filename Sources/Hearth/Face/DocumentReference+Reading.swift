import Foundation

/// Reads see every write of this process whose call has returned before, whether or not it was awaited, and whatever
/// other processes have committed. There is no server: all sources read the database.
extension DocumentReference {
  /// The document as it is now; a missing one gives a snapshot whose `exists` is false.
  @discardableResult
  public func getDocument() async throws -> DocumentSnapshot {
    try await reporting {
      DocumentSnapshot(self, try await resolved().backend.document(at: resourcePath))
    }
  }

  @discardableResult
  public func getDocument(source: FirestoreSource) async throws -> DocumentSnapshot {
    try await getDocument()
  }

  public func getDocument(
    isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (DocumentSnapshot?, Error?) -> Void
  ) {
    let courier = firestore.courier(isolation)
    let callback = Callback<Result<DocumentSnapshot, NSError>> { result in
      switch result {
      case .success(let snapshot): completion(snapshot, nil)
      case .failure(let error): completion(nil, error)
      }
    }
    fetch { courier.carry($0, to: callback) }
  }

  public func getDocument(
    source: FirestoreSource, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (DocumentSnapshot?, Error?) -> Void
  ) {
    getDocument(completion: completion)
  }

  /// The document, decoded straight from the file.
  ///
  ///     let book = try await dune.getDocument(as: Book.self)
  ///     let perhaps = try await dune.getDocument(as: Book?.self)
  ///
  /// Throws `DecodingError` if the document does not fit, or does not exist: `valueNotFound` with the document's path
  /// in its description. An optional type gives nil for a document that does not exist.
  public func getDocument<T: Decodable>(
    as type: T.Type, with behavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder(), source: FirestoreSource = .default
  ) async throws -> T {
    try await reporting {
      try await resolved().backend.withBody(at: resourcePath, .lent) { body in
        try decoder.decodeDocument(type, from: body, named: .path(resourcePath), of: firestore)
      }
    }
  }

  public func getDocument<T: Decodable>(
    as type: T.Type, with behavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder(), source: FirestoreSource = .default,
    isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (Result<T, Error>) -> Void
  ) {
    getDocument { snapshot, error in
      guard let snapshot else { return completion(.failure(error ?? Status.terminated.nsError)) }
      completion(Result { try snapshot.data(as: type, with: behavior, decoder: decoder) })
    }
  }

  /// Reads, and calls back on whatever thread.
  private func fetch(_ done: @escaping @Sendable (Result<DocumentSnapshot, NSError>) -> Void) {
    do {
      let backend = try resolved().backend
      backend.documents(at: [resourcePath], .lent) { [self] result in
        done(result.map { DocumentSnapshot(self, $0[0]) }.mapError(\.nsError))
      }
    } catch {
      done(.failure(Status(readingFailed: error).nsError))
    }
  }
}
