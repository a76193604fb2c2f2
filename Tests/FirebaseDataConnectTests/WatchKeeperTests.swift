import Foundation
import Hearth
import Synchronization
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// Listeners of a subscription that end with an error.
@Suite(.timeLimit(patience)) struct WatchKeeperTests {
  private struct Failure: Error {}

  private struct Begun {
    var failed: [@Sendable (any Error) -> Void] = []
    var stopped = 0
    var changes = 0
    /// The number of beginnings that throw.
    var failures = 0
    var attempts = 0
  }

  private let begun = Count()

  private final class Count: Sendable {
    let value = Mutex(Begun())

    subscript<Value>(_ path: KeyPath<Begun, Value> & Sendable) -> Value {
      value.withLock { $0[keyPath: path] }
    }
  }

  private func keeper() -> WatchKeeper {
    WatchKeeper(pause: .milliseconds(1)) { [begun] _, failed in
      try begun.value.withLock { begun in
        begun.attempts += 1
        if begun.failures > 0 {
          begun.failures -= 1
          throw Failure()
        }
        begun.failed.append(failed)
      }
      return [{ begun.value.withLock { $0.stopped += 1 } }]
    } changed: { [begun] in
      begun.value.withLock { $0.changes += 1 }
    }
  }

  private func wait(for condition: (borrowing Begun) -> Bool) async throws {
    try await eventually { begun.value.withLock { condition($0) } }
  }

  @Test func `after an error of a listener, all are stopped and begun again, with a signal`()
    async throws
  {
    let keeper = keeper()
    await keeper.begin()
    #expect(begun[\.changes] == 0)
    let failed = begun[\.failed][0]
    failed(Failure())
    // Another listener of the same round.
    failed(Failure())
    try await wait { $0.failed.count == 2 && $0.changes == 2 }
    #expect(begun[\.stopped] == 1)
    begun[\.failed][1](Failure())
    try await wait { $0.failed.count == 3 && $0.changes == 4 }
    // Late news of the first round. An error that counts stops the listeners, and is a signal, before the
    // call returns.
    failed(Failure())
    #expect(begun[\.stopped] == 2 && begun[\.changes] == 4)
    keeper.stop()
    #expect(begun[\.stopped] == 3)
    begun[\.failed][2](Failure())
    #expect(begun[\.attempts] == 3 && begun[\.stopped] == 3 && begun[\.changes] == 4)
  }

  @Test func `listeners that cannot begin are begun later, without a signal before`() async throws {
    begun.value.withLock { $0.failures = 3 }
    let keeper = keeper()
    await keeper.begin()
    try await wait { $0.changes == 1 }
    #expect(begun[\.attempts] == 4)
    keeper.stop()
  }

  @Test func `an error after the first event of a listener is an error, and no change`()
    async throws
  {
    final class Registration: NSObject, ListenerRegistration {
      func remove() {}
    }
    let events = Mutex<[String]>([])
    let send = Mutex<(@Sendable ((any Error)?) -> Void)?>(nil)
    _ = try await ResultWatch.listen {
      events.withLock { $0.append("changed") }
    } _: { _ in
      events.withLock { $0.append("failed") }
    } to: { event in
      send.withLock { $0 = { @Sendable error in event(error) } }
      event(nil)
      return Registration()
    }
    send.withLock(\.self)?(nil)
    send.withLock(\.self)?(Failure())
    #expect(events.withLock(\.self) == ["changed", "failed"])
  }
}
