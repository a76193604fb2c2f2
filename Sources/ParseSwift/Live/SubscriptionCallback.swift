import Synchronization

/// A live query with callbacks.
///
///     let subscription = Book.query("publishingYear" > 1960).subscribeCallback
///     subscription?.handleEvent { query, event in print(event) }
///     subscription?.unsubscribe()
///
/// Begins with its first callback. Continues until `unsubscribe()` or an error, also if nobody
/// holds it. Callbacks are called one after another, on any thread.
public final class SubscriptionCallback<T: ParseObject>: Sendable {
  /// The kinds of events that `handle(_:_:)` distinguishes.
  public enum Event: Sendable {
    /// An object that existed before is a result now.
    case entered
    /// An object is no longer a result, and still exists.
    case left
    /// A new object is a result.
    case created
    /// A result, or an object that it includes, changed.
    case updated
    /// A result was deleted.
    case deleted
  }

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
  /// Those of the call that made it.
  private let context: QueryContext
  private let state = Mutex(State())

  init(_ query: Query<T>, _ context: QueryContext) {
    self.query = query
    self.context = context
  }

  /// Sets a callback that is called once, when the first results are known: every later write that
  /// changes them is an event. Set it before other callbacks: the first one begins the live query.
  /// Not called if the query fails at once. `isNew` is always true.
  @preconcurrency
  public func handleSubscribe(
    _ handler: @escaping @Sendable (_ query: Query<T>, _ isNew: Bool) -> Void
  ) {
    begin { $0.subscribe = handler }
  }

  /// Adds a callback for every event.
  @preconcurrency
  public func handleEvent(
    _ handler: @escaping @Sendable (_ query: Query<T>, _ event: LiveQueryEvent<T>) -> Void
  ) {
    begin { $0.events.append(handler) }
  }

  /// Adds a callback for the events of one kind.
  @preconcurrency
  public func handle(
    _ kind: Event, _ handler: @escaping @Sendable (_ query: Query<T>, _ object: T) -> Void
  ) {
    handleEvent { query, event in
      if event.kind == kind { handler(query, event.object) }
    }
  }

  /// Sets a callback that is called once, when the live query is over.
  @preconcurrency
  public func handleUnsubscribe(_ handler: @escaping @Sendable (_ query: Query<T>) -> Void) {
    begin { $0.unsubscribe = handler }
  }

  /// Sets a callback for errors: that of an object that cannot be read, with its `objectId`, after which
  /// the live query goes on without it; and the error that ends the live query, before the callback of
  /// `handleUnsubscribe`. Without a callback, the error of an object is logged.
  @preconcurrency
  public func handleError(
    _ handler: @escaping @Sendable (_ query: Query<T>, _ error: ParseError) -> Void
  ) {
    begin { $0.failure = handler }
  }

  /// Ends the live query. After it returns, no callback of an event begins, except for the event
  /// that is being reported.
  public func unsubscribe() {
    let task = state.withLock { state in
      state.isOver = true
      return state.task
    }
    task?.cancel()
  }

  private func begin(_ change: (inout State) -> Void) {
    // A callback that is replaced is released outside of the lock: it may hold an object whose
    // `deinit` uses this subscription.
    _ = state.withLock { state in
      let former = state
      change(&state)
      if state.task == nil, !state.isOver { state.task = Task { await run() } }
      return former
    }
  }

  private func run() async {
    let begun: @Sendable () -> Void = { [self] in
      let subscribed = state.withLock { $0.isOver ? nil : $0.subscribe }
      subscribed?(query, true)
    }
    let unreadable: @Sendable (ParseError) -> Void = { [self] failure in
      let (failed, isOver) = state.withLock { ($0.failure, $0.isOver) }
      guard !isOver else { return }
      if let failed { failed(query, failure) } else { failure.log() }
    }
    let events = query.subscribe(in: .success(context), unreadable: unreadable, begun: begun)
    do {
      for try await event in events {
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
  /// A new live query with callbacks, which begins with its first callback. Keeps the database and
  /// the identity of this call. Nil before `ParseSwift.initialize`.
  public var subscribeCallback: SubscriptionCallback<T>? {
    (try? ParseSwift.context).map { SubscriptionCallback(self, $0) }
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
