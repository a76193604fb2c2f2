import Foundation
import Glibc
import Testing

@testable import Hearth
@testable import HearthEngine

/// What these tests count; a pool's closures cannot hold anything.
private let made = Guarded(0)
private struct Counted: PooledState {
  var isInUse = false
  var isThreads = false
}

private let pool: SessionPool<Counted> = SessionPool(
  make: {
    made.withLock { $0 += 1 }
    return Counted()
  },
  threadEnds: { state in
    if let state { pool.share(state) }
  })

private final class Work: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

@Suite(.serialized)
struct SessionPoolTests {
  /// Returns when the thread has ended, which is a little later than its work.
  private func onNewThread(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let work = Unmanaged.passRetained(Work(body))
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    #expect(code == 0)
    if code == 0 { pthread_join(thread, nil) }
  }

  @Test func `a thread gets its own state again, and another for a run inside a run`() {
    onNewThread {
      let first = pool.borrow()
      let inner = pool.borrow()
      #expect(first != inner)
      pool.giveBack(first)
      pool.giveBack(inner)
      for _ in 0..<3 {
        let again = pool.borrow()
        #expect(again == first)
        let inside = pool.borrow()
        #expect(inside != first)
        pool.giveBack(inside)
        pool.giveBack(again)
      }
    }
  }

  @Test func `what a thread kept is for others when it has ended`() {
    let before = made.withLock { $0 }
    for _ in 0..<50 {
      onNewThread { pool.giveBack(pool.borrow()) }
    }
    let new = made.withLock { $0 } - before
    #expect(new < 25, "\(new) states for 50 threads, one after another")
  }

  @Test func `threads at the same time have different states`() {
    let seen = Guarded<Set<UInt>>([])
    let barrier = DispatchGroup()
    for _ in 0..<8 {
      barrier.enter()
      Thread {
        for _ in 0..<2_000 {
          let state = pool.borrow()
          let isNew = seen.withLock { $0.insert(UInt(bitPattern: state)).inserted }
          #expect(isNew)
          _ = seen.withLock { $0.remove(UInt(bitPattern: state)) }
          pool.giveBack(state)
        }
        barrier.leave()
      }.start()
    }
    barrier.wait()
  }
}
