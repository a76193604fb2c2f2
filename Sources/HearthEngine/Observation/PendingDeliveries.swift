/// Listeners that were posted an event, and whose queues have not been notified of it yet.
///
///     posts ─▶ a batch for each queue ─▶ 64 posts, or the end ─▶ callback queues
struct PendingDeliveries {
  /// Listeners of one queue; or others, if a completion waits for all of them or for none.
  private struct Batch {
    let destination: Listener.Way.Destination
    let queue: CallbackQueue?
    let acknowledgements: [Acknowledgement]
    /// For the callbacks that some of the acknowledgements wait for.
    let group: CallbackGroup?
    /// The queue is to call them back.
    var listeners: [Listener] = []
    /// They are called back by what was scheduled before, and are awaited.
    var scheduled: [Listener] = []
    var awaitedCount = 0
  }

  private var batches: [Batch] = []
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
    addBatch(for: destination, acknowledgements, way())
    return batches.count - 1
  }

  private static func areSame(_ some: [Acknowledgement], _ others: [Acknowledgement]) -> Bool {
    guard some.count == others.count else { return false }
    for index in some.indices where some[index] !== others[index] { return false }
    return true
  }

  private mutating func addBatch(
    for destination: Listener.Way.Destination, _ acknowledgements: [Acknowledgement],
    _ way: Listener.Way
  ) {
    let queue: CallbackQueue? = if case .queue(let queue) = way { queue } else { nil }
    let awaiting = acknowledgements.filter { way.mayDelay($0.origin) }
    var batch = Batch(
      destination: destination, queue: queue, acknowledgements: acknowledgements,
      group: awaiting.isEmpty ? nil : CallbackGroup(for: awaiting))
    // The first batch is usually small, and the others are not.
    if limit > Self.firstLimit { batch.listeners.reserveCapacity(limit) }
    batches.append(batch)
  }

  func group(of batch: Int) -> CallbackGroup? { batches[batch].group }

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
