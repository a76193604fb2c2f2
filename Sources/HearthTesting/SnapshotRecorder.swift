import Foundation
import Hearth

/// A listener that keeps its snapshots in order, for a test to read.
///
///     let recorder = SnapshotRecorder(db.collection("books"))
///     #expect(try await recorder.next().isEmpty)
///     try await db.document("books/dune").setData(["title": "Dune"])
///     #expect(try await recorder.next().documents.map(\.documentID) == ["dune"])
///
/// Stops when it is released, or with `stop()`. Returns each snapshot once. If more than 16 commits
/// wait for it, the later ones are combined, as for every listener.
public final class SnapshotRecorder<Snapshot: Sendable>: Sendable {
  private let inbox: Inbox
  private let registration: any ListenerRegistration

  private init(
    _ listen: (@escaping @Sendable (Snapshot?, (any Error)?) -> Void) -> any ListenerRegistration
  ) {
    let inbox = Inbox()
    self.inbox = inbox
    registration = listen { snapshot, error in
      if let snapshot { inbox.put(.success(snapshot)) }
      if let error { inbox.put(.failure(error)) }
    }
  }

  deinit { stop() }

  /// Listens to a query or a collection.
  public convenience init(_ query: Query) where Snapshot == QuerySnapshot {
    self.init { callback in query.addSnapshotListener(isolation: nil) { callback($0, $1) } }
  }

  /// Listens to a document.
  public convenience init(_ document: DocumentReference) where Snapshot == DocumentSnapshot {
    self.init { callback in document.addSnapshotListener(isolation: nil) { callback($0, $1) } }
  }

  /// Returns the next snapshot: the oldest one not returned yet, or else the next to arrive.
  ///
  /// Throws `SnapshotTimeout` if none arrives in time, the listener's error if it failed, and
  /// `CancellationError`. If several tasks wait, their order is not defined.
  public func next(timeout: Duration = .seconds(5)) async throws -> Snapshot {
    try await snapshots(count: 1, timeout: timeout)[0]
  }

  /// Returns the next `count` snapshots, all within `timeout`.
  ///
  /// Throws the errors of `next(timeout:)`. If too few arrive, those that did stay for later.
  public func snapshots(count: Int, timeout: Duration = .seconds(5)) async throws -> [Snapshot] {
    let count = max(0, count)
    let deadline = ContinuousClock.now + timeout
    while true {
      try Task.checkCancellation()
      if let snapshots = try inbox.take(count) { return snapshots }
      guard ContinuousClock.now < deadline else {
        throw SnapshotTimeout(expected: count, received: inbox.count, timeout: timeout)
      }
      await inbox.wait(for: count, until: deadline)
    }
  }

  /// Ends the listener. Snapshots that arrived before can still be read.
  public func stop() { registration.remove() }

  /// The snapshots that were not returned yet, and the tasks that wait for more.
  private final class Inbox: Sendable {
    private struct State {
      var snapshots: [Snapshot] = []
      var failure: (any Error)?
      var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
      var lastWaiter = 0
    }

    private let state = Guarded(State())

    var count: Int { state.withLock(\.snapshots.count) }

    func put(_ result: Result<Snapshot, any Error>) {
      let waiting = state.withLock { state in
        switch result {
        case .success(let snapshot): state.snapshots.append(snapshot)
        case .failure(let error): state.failure = error
        }
        defer { state.waiting = [:] }
        return state.waiting.values
      }
      for waiter in waiting { waiter.resume() }
    }

    /// Nil if there are too few.
    func take(_ count: Int) throws -> [Snapshot]? {
      try state.withLock { state in
        guard state.snapshots.count >= count else {
          if let failure = state.failure { throw failure }
          return nil
        }
        defer { state.snapshots.removeFirst(count) }
        return Array(state.snapshots.prefix(count))
      }
    }

    /// Waits while there are fewer than `count`, until one arrives, time is over, or the task is
    /// cancelled.
    func wait(for count: Int, until deadline: ContinuousClock.Instant) async {
      let waiter = state.withLock { state in
        state.lastWaiter += 1
        return state.lastWaiter
      }
      let alarm = Task {
        try? await Task.sleep(until: deadline)
        self.wake(waiter)
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          // An alarm that has fired does not fire again.
          let mustWait = state.withLock { state in
            guard state.snapshots.count < count, state.failure == nil, !alarm.isCancelled,
              ContinuousClock.now < deadline
            else { return false }
            state.waiting[waiter] = continuation
            return true
          }
          if !mustWait { continuation.resume() }
        }
      } onCancel: {
        alarm.cancel()
      }
      alarm.cancel()
    }

    private func wake(_ waiter: Int) {
      state.withLock { $0.waiting.removeValue(forKey: waiter) }?.resume()
    }
  }
}

/// The error of `SnapshotRecorder`: too few snapshots arrived in time.
public struct SnapshotTimeout: Error, CustomStringConvertible {
  /// The number of snapshots that the test waited for.
  public let expected: Int
  /// The number that arrived.
  public let received: Int
  /// The time limit.
  public let timeout: Duration

  /// A sentence with the counts and the time limit.
  public var description: String {
    "\(received) of \(expected) expected snapshots came within \(timeout)."
  }
}
