/// Listeners that have been posted something, and whose queues have yet to hear of it.
///
///     posts ─▶ a batch for each queue ─▶ 64 posts, or the end ─▶ mailrooms
struct PendingDeliveries {
  /// Listeners of one queue; or others, of which a completion waits for all or for none.
  private struct Batch {
    let destination: Listener.Way.Destination
    let room: CallbackQueue?
    let acknowledgements: [Acknowledgement]
    /// Of the callbacks that some of the acknowledgements wait for.
    let group: CallbackGroup?
    /// The queue is to call them back.
    var listeners: [Listener] = []
    /// They are called back by what was arranged before, and are awaited.
    var scheduled: [Listener] = []
    var awaitedCount = 0

    func send() {
      room?.add(listeners)
      group?.close(
        scheduled.isEmpty ? [listeners] : [listeners, scheduled], callbackCount: awaitedCount)
    }
  }

  private var batches: [Batch] = []
  private var count = 0
  /// With so many the queues are told: they call the first ones back while others are posted to.
  private var limit = firstLimit
  private static let firstLimit = 64
  /// A queue that is done is woken for more. So that it is not woken often, each batch is larger than the
  /// one before, up to this many.
  private static let largestLimit = 1024

  /// The batch for a listener that is posted something. Nil if it is arranged for at once and nobody waits for it.
  mutating func batch(
    for destination: Listener.Way.Destination, _ acknowledgements: [Acknowledgement],
    _ way: @autoclosure () -> Listener.Way
  ) -> Int? {
    guard destination.isRoom || !acknowledgements.isEmpty, destination != .consumer else {
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
    let room: CallbackQueue? = if case .room(let room) = way { room } else { nil }
    let awaiting = acknowledgements.filter { way.mayDelay($0.origin) }
    var batch = Batch(
      destination: destination, room: room, acknowledgements: acknowledgements,
      group: awaiting.isEmpty ? nil : CallbackGroup(for: awaiting))
    // The first one is mostly small, and the others are not.
    if limit > Self.firstLimit { batch.listeners.reserveCapacity(limit) }
    batches.append(batch)
  }

  func group(of batch: Int) -> CallbackGroup? { batches[batch].group }

  /// - Parameters:
  ///   - mustCall: Nobody has arranged for it to be called back.
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
    for batch in batches { batch.send() }
    batches.removeAll(keepingCapacity: true)
    count = 0
  }
}
