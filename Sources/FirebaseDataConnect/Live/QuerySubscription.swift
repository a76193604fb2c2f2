import Dispatch
import Foundation
import Synchronization

/// The results of a query over time: iterate it, or call `sink`.
///
///     for await result in try await movies.subscribe() {
///       print(try result.get().data.movies.count)
///     }
///
/// Delivers the current result first, or before it a cached one, however old. Holds one result: the
/// next one replaces a result that was not taken. An error of the query is an element, and the
/// subscription goes on. Ends when the iterating task is cancelled, or when the subscription and
/// its iterators are released.
public struct QuerySubscription<ResultData: Sendable>: AsyncSequence, Sendable {
  /// A result of the query, or the error of an execution, which does not end the subscription.
  public typealias Element = Result<OperationResult<ResultData>, AnyDataConnectError>
  /// Iteration never throws: errors of the query are elements.
  public typealias Failure = Never

  /// Runs a closure where `sink` calls its own. Nil for any thread.
  private typealias Schedule = @Sendable (@escaping @Sendable () -> Void) -> Void

  private let stream: AsyncStream<Element>
  private var schedule: Schedule?

  init(_ stream: AsyncStream<Element>) { self.stream = stream }

  /// The position in a subscription.
  public struct AsyncIterator: AsyncIteratorProtocol {
    var iterator: AsyncStream<Element>.Iterator

    /// The next element. Nil at the end.
    public mutating func next() async -> Element? { await next(isolation: #isolation) }

    /// The next element, on the actor. Nil at the end.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await iterator.next(isolation: actor)
    }
  }

  /// Begins to iterate. Several iterators share the elements: each element goes to one of them.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(iterator: stream.makeAsyncIterator())
  }

  /// The same subscription, whose `sink` calls its closure on a queue. Iteration is where it was.
  ///
  ///     let queue = DispatchQueue(label: "views")
  ///     let subscription = try await reference.subscribe().receive(on: queue).sink { result in
  ///       print((try? result.get().data) as Any)
  ///     }
  ///
  /// A service on Linux has no main run loop: `.main` runs nothing there, unless the program calls
  /// `dispatchMain()`. Prefer `for await` in a task of the main actor.
  public func receive(on queue: DispatchQueue) -> QuerySubscription {
    scheduled { body in queue.async(execute: body) }
  }

  /// Same as `receive(on:)` for a dispatch queue.
  public func receive(on queue: OperationQueue) -> QuerySubscription {
    scheduled { body in queue.addOperation(body) }
  }

  private func scheduled(_ schedule: @escaping Schedule) -> QuerySubscription {
    var copy = self
    copy.schedule = schedule
    return copy
  }

  /// Calls `receiveValue` with each element, until the returned object is cancelled or released.
  /// Calls come one after another, on any thread unless `receive(on:)` has named a queue.
  ///
  ///     let subscription = try await reference.subscribe().sink { result in
  ///       print((try? result.get().data) as Any)
  ///     }
  public func sink(
    receiveValue: @escaping @Sendable (Element) -> Void
  ) -> AnyCancellable {
    let task = Task { [stream, schedule] in
      for await value in stream {
        if Task.isCancelled { return }
        guard let schedule else {
          receiveValue(value)
          continue
        }
        // While the result waits for its queue.
        let isCancelled = Flag()
        await withTaskCancellationHandler {
          await withCheckedContinuation { continuation in
            schedule {
              if !isCancelled.isSet { receiveValue(value) }
              continuation.resume()
            }
          }
        } onCancel: {
          isCancelled.set()
        }
      }
    }
    return AnyCancellable { task.cancel() }
  }
}

/// Something that happens once.
final class Flag: Sendable {
  private let state = Mutex(false)

  var isSet: Bool { state.withLock(\.self) }

  /// Returns whether it was set before.
  @discardableResult
  func set() -> Bool {
    state.withLock { isSet in
      defer { isSet = true }
      return isSet
    }
  }
}

/// Something that can be cancelled, as in Combine. Releasing the last reference cancels it, too.
public final class AnyCancellable: Hashable, Sendable {
  private let action: Mutex<(@Sendable () -> Void)?>

  /// Creates an object that calls `cancel` once: when it is cancelled, or released.
  public init(_ cancel: @escaping @Sendable () -> Void) { action = Mutex(cancel) }

  deinit { cancel() }

  /// Cancels. A second call has no effect.
  public func cancel() {
    let action = action.withLock { action in
      defer { action = nil }
      return action
    }
    action?()
  }

  /// Keeps the object in a set, so that it lives as long as the set.
  public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }

  /// Keeps the object in an array or another collection, so that it lives as long as the
  /// collection.
  public func store(in collection: inout some RangeReplaceableCollection<AnyCancellable>) {
    collection.append(self)
  }

  /// Compares identities.
  public static func == (lhs: AnyCancellable, rhs: AnyCancellable) -> Bool { lhs === rhs }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
