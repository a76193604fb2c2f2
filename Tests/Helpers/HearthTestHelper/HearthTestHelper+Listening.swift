import Dispatch
import Foundation
import Hearth
import Synchronization

extension HearthTestHelper {
  /// `listen <database> database|given|own <count>`: adds listeners to one document, on the database's queue, on a given
  /// one or on queues of their own, and says the bytes that one takes and the nanoseconds of a delivery.
  ///
  /// A quarter as many listeners are there before the bytes are counted: the stacks of the pool's threads, of which a
  /// busy machine makes more, are no part of what a listener takes.
  func listen() async throws {
    let count = number(1)
    let db = try open(.unsafeWithoutFlushing)
    let document = db.document("a/hot")
    try await document.setData(["n": 0])
    let told = Told()
    let given = DispatchQueue(label: "given")
    let own = SnapshotListenOptions().withOwnQueue(true)
    var registrations: [any ListenerRegistration] = []
    let first = count / 4
    let all = first + count
    registrations.reserveCapacity(all)
    var before = 0
    for number in 0..<all {
      if number == first {
        await told.wait(for: first)
        before = residentBytes()
      }
      let listener = { @Sendable (_: DocumentSnapshot?, _: (any Error)?) in told.count() }
      let registration =
        switch arguments[0] {
        case "given": document.addSnapshotListener(on: given, listener)
        case "own": document.addSnapshotListener(options: own, listener: listener)
        default: document.addSnapshotListener(listener)
        }
      registrations.append(registration)
    }
    await told.wait(for: all)
    let bytes = (residentBytes() - before) / count
    var best = Double.infinity
    let clock = ContinuousClock()
    for round in 1...7 {
      let began = clock.now
      try await document.setData(["n": round])
      await told.wait(for: (round + 1) * all)
      best = min(best, (clock.now - began) / .nanoseconds(1) / Double(all))
    }
    Self.say("\(bytes) \(Int(best))")
    for registration in registrations { registration.remove() }
    try await db.terminate()
  }

  private func residentBytes() -> Int {
    let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(
      separator: " ")
    return (fields.flatMap { Int($0[1]) } ?? 0) * 4096
  }

  /// Counts callbacks of several threads, and wakes the task that waits for a number of them.
  private final class Told: Sendable {
    private struct State {
      var count = 0
      var waiting: (number: Int, continuation: CheckedContinuation<Void, Never>)?
    }
    private let state = Mutex(State())

    func count() {
      let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
        state.count += 1
        guard let (number, waiting) = state.waiting, state.count >= number else { return nil }
        state.waiting = nil
        return waiting
      }
      waiting?.resume()
    }

    func wait(for number: Int) async {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.count < number { state.waiting = (number, continuation) }
          return state.count >= number
        }
        if isThere { continuation.resume() }
      }
    }
  }
}
