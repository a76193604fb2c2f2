import Synchronization

/// Listeners that were posted an event, and whose queues have not been notified of it yet.
///
///     posts ─▶ a batch for each queue ─▶ 64 posts, or the end ─▶ callback queues
struct CallbackOutbox {
  /// Listeners of one queue; or others, if a completion waits for all of them or for none.
  struct Batch {
    fileprivate let destination: Listener.Way.Destination
    fileprivate let queue: CallbackQueue?
    fileprivate let acknowledgements: [Acknowledgement]
    /// For the callbacks that some of the acknowledgements wait for.
    let group: CallbackGroup?
    /// The queue is to call them back.
    fileprivate var listeners: [Listener] = []
    /// They are called back by what was scheduled before, and are awaited.
    fileprivate var scheduled: [Listener] = []
    fileprivate var awaitedCount = 0
  }

  private(set) var batches: [Batch] = []
  private var count = 0
  /// After this many posts the queues are notified: they call the first listeners back while others
  /// are posted to.
  private var limit = firstLimit
  private static let firstLimit = 64
  /// An idle queue is woken for a batch. To wake it rarely, each batch is larger than the one
  /// before, up to this size.
  private static let largestLimit = 1024

  /// The batch for a listener that is posted an event. Nil if its callback is scheduled directly
  /// and no completion waits for it.
  mutating func batch(
    for destination: Listener.Way.Destination, _ acknowledgements: [Acknowledgement],
    _ way: @autoclosure () -> Listener.Way
  ) -> Int? {
    guard destination.isSharedQueue || !acknowledgements.isEmpty, destination != .consumer else {
      return nil
    }
    var index = batches.count - 1
    while index >= 0 {
      if batches[index].destination == destination,
        Self.areSame(batches[index].acknowledgements, acknowledgements)
      {
        return index
      }
      index -= 1
    }
    let way = way()
    let queue: CallbackQueue? = if case .queue(let queue) = way { queue } else { nil }
    var batch = Batch(
      destination: destination, queue: queue, acknowledgements: acknowledgements,
      group: acknowledgements.isEmpty ? nil : CallbackGroup(for: acknowledgements, on: way))
    // The first batch is usually small, and the others are not.
    if limit > Self.firstLimit { batch.listeners.reserveCapacity(limit) }
    batches.append(batch)
    return batches.count - 1
  }

  private static func areSame(_ some: [Acknowledgement], _ others: [Acknowledgement]) -> Bool {
    guard some.count == others.count else { return false }
    for index in some.indices where some[index] !== others[index] { return false }
    return true
  }

  /// - Parameters:
  ///   - mustCall: Its callback is not scheduled yet.
  ///   - isAwaited: It is in the batch's group.
  mutating func add(_ listener: Listener, to batch: Int, mustCall: Bool, isAwaited: Bool) {
    if isAwaited { batches[batch].awaitedCount += 1 }
    if mustCall {
      batches[batch].listeners.append(listener)
    } else if isAwaited {
      batches[batch].scheduled.append(listener)
    }
    count += 1
    guard count == limit else { return }
    send()
    limit = min(2 * limit, Self.largestLimit)
  }

  mutating func send() {
    for batch in batches {
      batch.queue?.add(batch.listeners)
      batch.group?.close(
        batch.scheduled.isEmpty ? [batch.listeners] : [batch.listeners, batch.scheduled],
        callbackCount: batch.awaitedCount)
    }
    batches.removeAll(keepingCapacity: true)
    count = 0
  }
}

/// Writes that wait for callbacks, and the callbacks that they wait for. It holds the writes' acknowledgements
/// from the post of an event until its delivery.
///
///     made ─▶ closed, with the number of callbacks ─▶ all returned ─▶ acknowledgements released
///                └─ after the timeout ─▶ callbacks that have not begun are late
///
/// Law: a write that an event shows waits for its callback, unless the callback may need what waits for the write
/// (`init`), or runs already or is late when the event is posted (`Listener.post`).
///
/// With a hold for each listener, instead of one for the group, the registry's thread and the callbacks'
/// thread would write one word in turns, a hundred thousand times for a commit with as many listeners.
final class CallbackGroup: Sendable {
  private let acknowledgements: [Acknowledgement]
  /// Callbacks that have not returned. Can be negative until the group is closed: some may return
  /// before.
  private let callbackCount = Atomic(0)
  /// The listeners that were posted to and may be awaited.
  // Unsafe: set once, before `close` makes the group known to an acknowledgement, and read only
  // through one.
  private nonisolated(unsafe) var listeners: [[Listener]] = []

  /// Nil if none of the writes may wait for callbacks on this way.
  init?(for acknowledgements: [Acknowledgement], on way: Listener.Way) {
    self.acknowledgements = acknowledgements.filter { acknowledgement in
      let origin = acknowledgement.origin
      return switch way {
      case .queue(let queue): origin.queue != queue.mark
      // A blocked thread may be the one the callback needs. A write from a listener's own queue comes
      // from its running callback, which is not awaited.
      case .schedule: !origin.isBlocking
      case .ownQueue: true
      case .ask: false
      }
    }
    if self.acknowledgements.isEmpty { return nil }
    for acknowledgement in self.acknowledgements { acknowledgement.hold() }
  }

  /// Call once. There are `callbackCount` callbacks, each of one of `listeners`.
  func close(_ listeners: [[Listener]], callbackCount count: Int) {
    if count > 0 {
      self.listeners = listeners
      for acknowledgement in acknowledgements { acknowledgement.note(self) }
    }
    leave(-count)
  }

  /// This many callbacks have returned, or will not be called.
  func leave(_ count: Int = 1) {
    guard
      callbackCount.wrappingSubtract(count, ordering: .acquiringAndReleasing).newValue == 0
    else { return }
    for acknowledgement in acknowledgements { acknowledgement.release(self) }
  }

  func delays(_ acknowledgement: Acknowledgement) -> Bool {
    acknowledgements.contains { $0 === acknowledgement }
  }
}

extension CallbackGroup: Callbacks {
  func becomeLate(for acknowledgement: Acknowledgement) -> [any Recipient] {
    listeners.joined().compactMap { $0.becomeLate(for: acknowledgement) }
  }
}
