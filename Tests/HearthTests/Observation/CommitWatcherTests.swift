import Dispatch
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import LMDB

/// What the kernel tells of commits, without the timer that would hide what it did not tell.
@Suite(.ownThreads) struct CommitWatcherTests {
  /// Stands for another process.
  private func listener(beside store: Store) throws -> PresenceFile {
    let presenceFile = try PresenceFile.enter(
      at: store.environment.commitNotificationPath,
      namespace: PresenceFile.currentProcessNamespace())
    presenceFile.listen()
    return presenceFile
  }

  @Test func `no commit is missed, however commits and looks meet`() throws {
    let fixture = try StoreFixture()
    let queue = DispatchQueue(label: "news")
    let seen = Guarded<UInt64>(0)
    let arrived = DispatchSemaphore(value: 0)
    let store = fixture.store
    // For it alone the bell is rung, and ours hears it too.
    let other = try listener(beside: store)
    let news = CommitWatcher(of: store, on: queue, heartbeat: .seconds(3600)) {
      guard let newest = try? store.read({ try $0.state().lastSequence }) else { return }
      seen.withLock { $0 = newest }
      arrived.signal()
    }
    defer { news.stop() }
    var random = SeededGenerator(seed: 7)
    for round in 1...(Soak.isOn ? 100_000 : 2000) {
      // Some commits come while the ones before are being looked at, some after.
      if random.below(3) == 0 { random.pause(below: 300) }
      let mutation = try fixture.set("a/\(round % 7)", ("n", .integer(Int64(round))))
      for outcome in fixture.commitTogether([[mutation]]) { _ = try outcome.get() }
      guard random.below(4) == 0 else { continue }
      while seen.withLock({ $0 }) < UInt64(round) {
        guard arrived.wait(timeout: .now() + 120) == .success else {
          Issue.record("commit \(round) was not told; the last was \(seen.withLock { $0 })")
          return
        }
      }
    }
    _ = consume other
  }

  @Test func `a process that listens alone is not woken by its own commits`() async throws {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else {
      return print("skipped: other processes use all that the kernel has to watch files")
    }
    _ = close(descriptor)
    let fixture = try StoreFixture()
    let queue = DispatchQueue(label: "news")
    let calls = Guarded(0)
    let news = CommitWatcher(of: fixture.store, on: queue, heartbeat: .seconds(3600)) {
      calls.withLock { $0 += 1 }
    }
    defer { news.stop() }
    func commit(_ number: Int64) throws {
      let mutation = try fixture.set("a/1", ("n", .integer(number)))
      for outcome in fixture.commitTogether([[mutation]]) { _ = try outcome.get() }
    }
    for number in 0..<20 { try commit(Int64(number)) }
    try await quietTime(.milliseconds(100))
    #expect(queue.sync { calls.withLock { $0 } } == 0)
    let other = try listener(beside: fixture.store)
    try commit(20)
    try blockUntil { queue.sync { calls.withLock { $0 } } > 0 }
    _ = consume other
  }

  @Test func `what is stopped tells no more`() throws {
    let fixture = try StoreFixture()
    let queue = DispatchQueue(label: "news")
    let calls = Guarded(0)
    let other = try listener(beside: fixture.store)
    let news = CommitWatcher(of: fixture.store, on: queue) { calls.withLock { $0 += 1 } }
    queue.sync { news.stop() }
    let before = calls.withLock { $0 }
    for outcome in fixture.commitTogether([[try fixture.set("a/1", ("n", .null))]]) {
      _ = try outcome.get()
    }
    queue.sync {}
    #expect(calls.withLock { $0 } == before)
    _ = consume other
  }
}
