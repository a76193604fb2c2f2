import ParseSwift

extension SubscriptionCallback {
  /// Begins the live query, and returns when its first results are known. Add callbacks for events
  /// afterwards: only later writes are events.
  func begun() async {
    await withCheckedContinuation { begun in
      handleSubscribe { _, _ in begun.resume() }
    }
  }

  /// Begins the live query. The events are those of all writes from now on.
  func events() async -> AsyncStream<LiveQueryEvent<T>> {
    await begun()
    let (events, event) = AsyncStream<LiveQueryEvent<T>>.makeStream()
    handleEvent { _, next in event.yield(next) }
    return events
  }
}
