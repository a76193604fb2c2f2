import Synchronization

/// Callbacks that the same completions wait for. Each acknowledgement is held once for all of them.
///
///     made ─▶ closed, with the number of callbacks ─▶ all returned ─▶ acknowledgements released
///                └─ after the timeout ─▶ callbacks that have not begun are late
///
/// With a hold for each listener, the registry's thread and the callbacks' thread would write one
/// word in turns, a hundred thousand times for a commit with as many listeners.
final class CallbackGroup: Sendable {
  private let acknowledgements: [Acknowledgement]
  /// Callbacks that have not returned. Can be negative until the group is closed: some may return
  /// before.
  private let callbackCount = Atomic(0)
  /// The listeners that were posted to and may be awaited.
  // Unsafe: set once, before `close` makes the group known to an acknowledgement, and read only
  // through one.
  private nonisolated(unsafe) var listeners: [[Listener]] = []

  init(for acknowledgements: [Acknowledgement]) {
    self.acknowledgements = acknowledgements
    for acknowledgement in acknowledgements { acknowledgement.hold() }
  }

  /// Call once. There are `callbackCount` callbacks, each of one of `listeners`.
  func close(_ listeners: [[Listener]], callbackCount count: Int) {
    if count > 0 {
      self.listeners = listeners
      for acknowledgement in acknowledgements { acknowledgement.note(self) }
    }
    if callbackCount.wrappingAdd(count, ordering: .acquiringAndReleasing).newValue == 0 { end() }
  }

  /// A callback has returned, or will not be called.
  func leave() {
    let count = callbackCount.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
    if count == 0 { end() }
  }

  private func end() {
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
