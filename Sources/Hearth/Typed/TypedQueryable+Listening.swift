import Dispatch

/// Callbacks for typed results.
extension TypedQueryable {
  /// Calls `listener` with the results, and again after each commit that changes them; with
  /// `DecodingError` if one does not match the model. See `Query.addSnapshotListener`.
  ///
  ///     let registration = books.where(\.pages > 400).addSnapshotListener { result in
  ///       guard let books = try? result.get() else { return }
  ///       print(books.map(\.title))
  ///     }
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (Result<[Model], any Error>) -> Void
  ) -> ListenerRegistration {
    untyped.addSnapshotListener(isolation: isolation) { snapshot, error in
      listener(Self.decoded(snapshot, error))
    }
  }

  /// Calls `listener` on `queue`; see `addSnapshotListener(_:)`.
  @discardableResult
  public func addSnapshotListener(
    on queue: DispatchQueue, _ listener: @escaping @Sendable (Result<[Model], any Error>) -> Void
  ) -> ListenerRegistration where Model: SendableMetatype {
    untyped.addSnapshotListener(on: queue) { snapshot, error in
      listener(Self.decoded(snapshot, error))
    }
  }

  private static func decoded(
    _ snapshot: QuerySnapshot?, _ error: (any Error)?
  ) -> Result<[Model], any Error> {
    Result {
      if let error { throw error }
      return try snapshot?.documents.map { try $0.data(as: Model.self) } ?? []
    }
  }
}

extension TypedDocument {
  /// Calls `listener` with the document, and again after each commit that changes it; nil while it
  /// does not exist. See `DocumentReference.addSnapshotListener`.
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (Result<Model?, any Error>) -> Void
  ) -> ListenerRegistration {
    reference.addSnapshotListener(isolation: isolation) { snapshot, error in
      listener(Self.decoded(snapshot, error))
    }
  }

  /// Calls `listener` on `queue`; see `addSnapshotListener(_:)`.
  @discardableResult
  public func addSnapshotListener(
    on queue: DispatchQueue, _ listener: @escaping @Sendable (Result<Model?, any Error>) -> Void
  ) -> ListenerRegistration where Model: SendableMetatype {
    reference.addSnapshotListener(on: queue) { snapshot, error in
      listener(Self.decoded(snapshot, error))
    }
  }

  private static func decoded(
    _ snapshot: DocumentSnapshot?, _ error: (any Error)?
  ) -> Result<Model?, any Error> {
    Result {
      if let error { throw error }
      guard let snapshot, snapshot.exists else { return nil }
      return try snapshot.data(as: Model.self)
    }
  }
}
