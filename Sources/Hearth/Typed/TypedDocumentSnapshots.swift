/// A document, decoded, and its new state after each commit that changes it. Nil while it does not
/// exist.
public struct TypedDocumentSnapshots<Model: DocumentModel>: AsyncSequence, Sendable {
  public typealias Element = Model?
  public typealias Failure = Error

  let reference: DocumentReference

  public func makeAsyncIterator() -> Iterator {
    Iterator(snapshots: reference.snapshots.makeAsyncIterator())
  }

  /// Listens from its creation until it is released, or the task of its `next()` is cancelled.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var snapshots: DocumentReference.DocumentSnapshotsSequence.Iterator

    public mutating func next() async throws -> Model?? { try await next(isolation: #isolation) }

    /// Same as `next()`. `for await` calls it, and stays on the actor of its caller.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Model?? {
      guard let snapshot = try await snapshots.next(isolation: actor) else { return .none }
      return .some(snapshot.exists ? try snapshot.data(as: Model.self) : nil)
    }
  }
}
