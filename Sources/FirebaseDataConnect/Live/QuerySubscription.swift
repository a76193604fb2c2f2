import Synchronization

/// The results of a query over time: iterate it, or call `sink`.
///
///     for await result in try await movies.subscribe() {
///       print(try result.get().data.movies.count)
///     }
///
/// Delivers the newest result; one that nobody has taken is replaced by the next. Ends when the task is
/// cancelled, or when nobody has the subscription any more.
public struct QuerySubscription<ResultData: Sendable>: AsyncSequence, Sendable {
  public typealias Element = Result<OperationResult<ResultData>, AnyDataConnectError>
  public typealias Failure = Never

  private let stream: AsyncStream<Element>

  init(_ stream: AsyncStream<Element>) { self.stream = stream }

  public struct AsyncIterator: AsyncIteratorProtocol {
    var iterator: AsyncStream<Element>.Iterator

    public mutating func next() async -> Element? { await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await iterator.next(isolation: actor)
    }
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(iterator: stream.makeAsyncIterator())
  }

  /// Calls `receiveValue` with each result, until the returned object is cancelled or released.
  public func sink(
    receiveValue: @escaping @Sendable (Element) -> Void
  ) -> AnyCancellable {
    let task = Task { [stream] in
      for await value in stream {
        if Task.isCancelled { return }
        receiveValue(value)
      }
    }
    return AnyCancellable { task.cancel() }
  }
}

/// Something that can be cancelled, as in Combine. Releasing it cancels it, too.
public final class AnyCancellable: Hashable, Sendable {
  private let action: Mutex<(@Sendable () -> Void)?>

  public init(_ cancel: @escaping @Sendable () -> Void) { action = Mutex(cancel) }

  deinit { cancel() }

  /// The second call has no effect.
  public func cancel() {
    let action = action.withLock { action in
      defer { action = nil }
      return action
    }
    action?()
  }

  public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }

  public func store(in collection: inout some RangeReplaceableCollection<AnyCancellable>) {
    collection.append(self)
  }

  public static func == (lhs: AnyCancellable, rhs: AnyCancellable) -> Bool { lhs === rhs }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
