import Dispatch
import Foundation
import Testing

@testable import Hearth

/// What the kernel tells of commits, without the timer that would hide what it did not tell.
@Suite struct FileNewsTests {
  @Test func `no commit is missed, however commits and looks meet`() throws {
    let fixture = try StoreFixture()
    let queue = DispatchQueue(label: "news")
    let seen = Guarded<UInt64>(0)
    let arrived = DispatchSemaphore(value: 0)
    let store = fixture.store
    let news = FileNews(of: store, on: queue, heartbeat: .seconds(3600)) {
      guard let newest = try? store.read({ try $0.state().lastSequence }) else { return }
      seen.withLock { $0 = newest }
      arrived.signal()
    }
    defer { news.stop() }
    var random = SeededGenerator(seed: 7)
    for round in 1...(Soak.isOn ? 100_000 : 2000) {
      // Some commits come while the ones before are being looked at, some after.
      if random.below(3) == 0 { usleep(UInt32(random.below(300))) }
      let mutation = try fixture.set("a/\(round % 7)", ("n", .integer(Int64(round))))
      for outcome in fixture.commitTogether([[mutation]]) { _ = try outcome.get() }
      guard random.below(4) == 0 else { continue }
      while seen.withLock({ $0 }) < UInt64(round) {
        guard arrived.wait(timeout: .now() + 10) == .success else {
          Issue.record("commit \(round) was not told; the last was \(seen.withLock { $0 })")
          return
        }
      }
    }
  }

  @Test func `what is stopped tells no more`() throws {
    let fixture = try StoreFixture()
    let queue = DispatchQueue(label: "news")
    let calls = Guarded(0)
    let news = FileNews(of: fixture.store, on: queue) { calls.withLock { $0 += 1 } }
    queue.sync { news.stop() }
    let before = calls.withLock { $0 }
    for outcome in fixture.commitTogether([[try fixture.set("a/1", ("n", .null))]]) {
      _ = try outcome.get()
    }
    queue.sync {}
    #expect(calls.withLock { $0 } == before)
  }
}
