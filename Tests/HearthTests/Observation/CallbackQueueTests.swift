import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite(.ownThreads) struct CallbackQueueTests {
  private func listener(on queue: DispatchQueue, _ told: @escaping @Sendable () -> Void) -> Listener
  {
    Listener(.queue(.of(queue))) { _ in told() }
  }

  @Test func `what is put on a serial queue after listeners were told runs after their callbacks`()
  {
    let queue = DispatchQueue(label: "serial")
    let late = Guarded(0)
    // Several threads, so that one adds while a turn is being arranged or is under way.
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for round in 0..<500 {
        let untold = Guarded(1 + round % 5)
        let listeners = (0...(round % 5)).map { _ in
          listener(on: queue) { untold.withLock { $0 -= 1 } }
        }
        var outbox = CallbackOutbox()
        for listener in listeners { listener.post(ResultEvent(), &outbox) }
        outbox.send()
        queue.async {
          if untold.withLock({ $0 }) > 0 { late.withLock { $0 += 1 } }
        }
      }
    }
    queue.sync {}
    #expect(late.withLock { $0 } == 0)
  }

  @Test func `on a concurrent queue a callback that lingers holds up no other listener`() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let gate = DispatchSemaphore(value: 0)
    let told = DispatchSemaphore(value: 0)
    let slow = [listener(on: queue) { gate.wait() }, listener(on: queue) { gate.wait() }]
    let others = (0..<200).map { _ in listener(on: queue) { told.signal() } }
    var outbox = CallbackOutbox()
    for listener in slow + others { listener.post(ResultEvent(), &outbox) }
    outbox.send()
    for _ in others where told.wait(timeout: .now() + 120) == .timedOut {
      Issue.record("A listener waits for others.")
      break
    }
    for _ in slow { gate.signal() }
  }

  @Test(arguments: [false, true])
  func `a listener that always has more leaves room for others on its queue`(
    isConcurrent: Bool
  ) {
    let queue = DispatchQueue(label: "shared", attributes: isConcurrent ? [.concurrent] : [])
    let isEnough = Guarded(false)
    let ended = DispatchSemaphore(value: 0)
    let running = Guarded(0)
    let most = Guarded(0)
    let itself = Guarded<Listener?>(nil)
    let busy = listener(on: queue) {
      let now = running.withLock { count in
        count += 1
        return count
      }
      most.withLock { $0 = max($0, now) }
      sched_yield()
      // More, before this callback has ended.
      if isEnough.withLock({ $0 }) {
        ended.signal()
      } else {
        var outbox = CallbackOutbox()
        itself.withLock { $0 }?.post(ResultEvent(), &outbox)
        outbox.send()
      }
      running.withLock { $0 -= 1 }
    }
    itself.withLock { $0 = busy }
    let told = DispatchSemaphore(value: 0)
    let others = (0..<3).map { _ in listener(on: queue) { told.signal() } }
    var outbox = CallbackOutbox()
    for listener in [busy] + others { listener.post(ResultEvent(), &outbox) }
    outbox.send()
    for _ in others where told.wait(timeout: .now() + 120) == .timedOut {
      Issue.record("A listener waits for one that always has more.")
      break
    }
    isEnough.withLock { $0 = true }
    ended.wait()
    // Never two callbacks of one listener at once.
    #expect(most.withLock { $0 } == 1)
    itself.withLock { $0 = nil }
  }

  @Test func `listeners that are told without end leave room for others on their queue`() {
    let queue = DispatchQueue(label: "busy")
    let isEnough = Guarded(false)
    let calls = Guarded<Int64>(0)
    let pair = Guarded([Listener]())
    for index in 0..<2 {
      let listener = listener(on: queue) {
        guard !isEnough.withLock({ $0 }) else { return }
        // The other one has news whenever this one was told.
        let other = pair.withLock { $0[1 - index] }
        let call = calls.withLock { calls in
          calls += 1
          return calls
        }
        other.begin(ResultEvent(values: [.integer(call)]))
      }
      pair.withLock { $0.append(listener) }
    }
    pair.withLock { $0[0] }.begin(ResultEvent())
    let passed = DispatchSemaphore(value: 0)
    queue.async { passed.signal() }
    #expect(passed.wait(timeout: .now() + 120) == .success)
    isEnough.withLock { $0 = true }
    queue.sync {}
    pair.withLock { $0 = [] }
  }

  @Test func `a thousand listeners take few turns of their queue`() {
    let queue = DispatchQueue(label: "counted")
    let others = Guarded(0)
    let told = Guarded(0)
    let gate = DispatchSemaphore(value: 0)
    queue.async { gate.wait() }
    let listeners = (0..<1000).map { index in
      listener(on: queue) { told.withLock { $0 += 1 } }
    }
    var outbox = CallbackOutbox()
    for listener in listeners { listener.post(ResultEvent(), &outbox) }
    outbox.send()
    // Stands behind one turn, which serves them all.
    queue.async { others.withLock { $0 = told.withLock { $0 } } }
    gate.signal()
    queue.sync {}
    #expect(others.withLock { $0 } == 1000)
  }

  @Test func `a queue has one callback queue as long as somebody listens there`() {
    let queue = DispatchQueue(label: "shared")
    weak var gone: CallbackQueue?
    do {
      let shared = CallbackQueue.of(queue)
      gone = shared
      #expect(CallbackQueue.of(queue) === shared)
      #expect(CallbackQueue.of(DispatchQueue(label: "other")) !== shared)
    }
    #expect(gone == nil)
  }
}
