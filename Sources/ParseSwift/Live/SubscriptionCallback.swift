import Synchronization

/// A live query with callbacks.
///
///     let subscription = Book.query("publishingYear" > 1960).subscribeCallback
///     subscription?.handleEvent { query, event in print(event) }
///     subscription?.unsubscribe()
///
/// It begins with its first callback, and lives until `unsubscribe()`, whether somebody keeps it or not.
/// Callbacks are called one after the other, on any thread.
public final class SubscriptionCallback<T: ParseObject>: Sendable {
  /// The kinds of events that `handle(_:_:)` distinguishes.
  public enum Event: Sendable { case entered, left, created, updated, deleted }

  private struct State {
    var events: [@Sendable (Query<T>, LiveQueryEvent<T>) -> Void] = []
    var subscribe: (@Sendable (Query<T>, Bool) -> Void)?
    var unsubscribe: (@Sendable (Query<T>) -> Void)?
    var failure: (@Sendable (Query<T>, ParseError) -> Void)?
    var task: Task<Void, Never>?
    var isOver = false
  }

  /// The query whose results are followed.
  public let query: Query<T>
  private let state = Mutex(State())

  init(_ query: Query<T>) { self.query = query }

  /// Called once when the changes are followed: the flag is true.
  public func handleSubscribe(
    _ handler: @escaping @Sendable (_ query: Query<T>, _ isNew: Bool) -> Void
  ) {
    begin { $0.subscribe = handler }
  }

  /// Called for every event.
  public func handleEvent(
    _ handler: @escaping @Sendable (_ query: Query<T>, _ event: LiveQueryEvent<T>) -> Void
  ) {
    begin { $0.events.append(handler) }
  }

  /// Called for the events of one kind.
  public func handle(
    _ kind: Event, _ handler: @escaping @Sendable (_ query: Query<T>, _ object: T) -> Void
  ) {
    handleEvent { query, event in
      if event.kind == kind { handler(query, event.object) }
    }
  }

  /// Called once when the live query is over.
  public func handleUnsubscribe(_ handler: @escaping @Sendable (_ query: Query<T>) -> Void) {
    begin { $0.unsubscribe = handler }
  }

  /// Called if the live query fails, before `handleUnsubscribe`.
  public func handleError(
    _ handler: @escaping @Sendable (_ query: Query<T>, _ error: ParseError) -> Void
  ) {
    begin { $0.failure = handler }
  }

  /// Ends the live query. No event is reported after it returns, except for one that is being reported.
  public func unsubscribe() {
    let task = state.withLock { state in
      state.isOver = true
      return state.task
    }
    task?.cancel()
  }

  private func begin(_ change: (inout sending State) -> Void) {
    state.withLock { state in
      change(&state)
      guard state.task == nil, !state.isOver else { return }
      state.task = Task { await run() }
    }
  }

  private func run() async {
    let subscribed = state.withLock(\.subscribe)
    subscribed?(query, true)
    do {
      for try await event in query.subscribe() {
        let handlers = state.withLock { $0.isOver ? [] : $0.events }
        for handler in handlers { handler(query, event) }
      }
    } catch {
      let failed = state.withLock(\.failure)
      failed?(query, ParseError(error))
    }
    let ended = state.withLock { state in
      state.isOver = true
      return state.unsubscribe
    }
    ended?(query)
  }
}

extension Query {
  /// A live query with callbacks. Nil before `ParseSwift.initialize`.
  public var subscribeCallback: SubscriptionCallback<T>? {
    (try? ParseSwift.firestore).map { _ in SubscriptionCallback(self) }
  }
}

extension LiveQueryEvent {
  fileprivate var kind: SubscriptionCallback<T>.Event {
    switch self {
    case .entered: .entered
    case .left: .left
    case .created: .created
    case .updated: .updated
    case .deleted: .deleted
    }
  }

  /// The object that changed.
  public var object: T {
    switch self {
    case .entered(let object), .left(let object), .created(let object), .updated(let object),
      .deleted(let object):
      object
    }
  }
}
