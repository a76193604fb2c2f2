import Foundation

/// What a listener is told.
struct ResultEvent: Sendable {
  var list: ResultList
  var changes: [ResultChange]
}

/// One listener's mailbox: what it was told last, and what it has not been told yet.
///
/// Holds at most one untold result, however slow its consumer: a newer one takes the place of the
/// one that waits, and the changes are then worked out from what was told. Memory is bounded by two
/// results, which share all documents that did not change.
final class Listener: Sendable {
  private enum Untold {
    /// The commit right after what was told, with its changes.
    case next(ResultEvent)
    /// Several commits later.
    case latest(ResultList)
    case failure(Status)
  }

  private struct State {
    var told: ResultList?
    var untold: Untold?
    var isRemoved = false
    var isScheduled = false
  }

  private let state = Guarded(State())
  /// Held while the callback runs, so that `remove` returns after it; recursive, so that the
  /// callback may remove its own listener.
  private let running = NSRecursiveLock()
  private let callback: @Sendable (Result<ResultEvent, Status>) -> Void
  /// Arranges that `deliver` is called soon, where the callback belongs. Never while it is arranged.
  private let schedule: @Sendable (Listener) -> Void

  init(
    schedule: @escaping @Sendable (Listener) -> Void,
    callback: @escaping @Sendable (Result<ResultEvent, Status>) -> Void
  ) {
    self.schedule = schedule
    self.callback = callback
  }

  var isRemoved: Bool { state.withLock(\.isRemoved) }

  /// No callback begins after this returned, and none is running unless this is called from one: two
  /// callbacks that remove each other's listeners would wait for ever.
  func remove() {
    state.withLock { state in
      state.isRemoved = true
      state.untold = nil
      state.told = nil
    }
    if Delivery.isOnThisThread { return }
    running.lock()
    running.unlock()
  }

  // MARK: The registry's side

  /// The first result: all of it is new.
  func begin(_ list: ResultList) {
    post { _ in .latest(list) }
  }

  /// A commit changed the result the listener was told, or will be told before.
  func post(_ event: ResultEvent) {
    post { untold in untold == nil ? .next(event) : .latest(event.list) }
  }

  /// The listener ends with an error.
  func fail(_ status: Status) {
    post { _ in .failure(status) }
  }

  private func post(_ make: (Untold?) -> Untold) {
    let mustSchedule = state.withLock { state in
      guard !state.isRemoved else { return false }
      state.untold = make(state.untold)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if mustSchedule { schedule(self) }
  }

  // MARK: The consumer's side

  /// Calls back with what is untold, until nothing is.
  func deliver() {
    running.lock()
    defer { running.unlock() }
    Delivery.onThisThread {
      while let event = take() { callback(event) }
    }
  }

  /// The next untold event. Once it is nil, `schedule` is called when there is one again.
  func take() -> Result<ResultEvent, Status>? {
    while true {
      // Working out changes can be long: not under the lock.
      let (untold, told): (Untold?, ResultList?) = state.withLock { state in
        guard !state.isRemoved, let untold = state.untold else {
          state.isScheduled = false
          return (nil, nil)
        }
        state.untold = nil
        defer {
          switch untold {
          case .next(let event): state.told = event.list
          case .latest(let list): state.told = list
          case .failure: state.isRemoved = true
          }
        }
        return (untold, state.told)
      }
      switch untold {
      case nil: return nil
      case .next(let event): return .success(event)
      case .failure(let status): return .failure(status)
      case .latest(let list):
        let changes = (told ?? ResultList()).changes(to: list)
        // Changes that cancelled each other are no news; a first result is, even if empty.
        if changes.isEmpty, told != nil { continue }
        return .success(ResultEvent(list: list, changes: changes))
      }
    }
  }
}

/// Whether a thread runs some listener's callback.
private enum Delivery {
  private static let key = "hearth.delivery"

  static var isOnThisThread: Bool { Thread.current.threadDictionary[key] != nil }

  static func onThisThread(_ body: () -> Void) {
    let isOutermost = !isOnThisThread
    if isOutermost { Thread.current.threadDictionary[key] = true }
    defer { if isOutermost { Thread.current.threadDictionary[key] = nil } }
    body()
  }
}
