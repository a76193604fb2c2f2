/// The results of a query, decoded, and their new state after each commit that changes them.
public struct TypedQuerySnapshots<Model: DocumentModel>: AsyncSequence, Sendable {
  public typealias Element = [Model]
  public typealias Failure = Error

  let query: Query

  public func makeAsyncIterator() -> Iterator {
    Iterator(snapshots: query.snapshots.makeAsyncIterator())
  }

  /// Listens from its creation until it is released, or the task of its `next()` is cancelled.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var snapshots: Query.QuerySnapshotsSequence.Iterator

    public mutating func next() async throws -> [Model]? { try await next(isolation: #isolation) }

    /// Same as `next()`. `for await` calls it, and stays on the actor of its caller.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> [Model]? {
      try await snapshots.next(isolation: actor)?.documents.map { try $0.data(as: Model.self) }
    }
  }
}
