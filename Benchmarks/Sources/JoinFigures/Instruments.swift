import Foundation
import Synchronization

/// Lets one task wait until something has happened often enough.
final class Bell: Sendable {
  private struct State {
    var count = 0
    var expected = 0
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.count } }

  func ring() {
    let waiting = state.withLock { state in
      state.count += 1
      guard state.count >= state.expected else { return nil as CheckedContinuation<Void, Never>? }
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }

  func wait(for count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        guard state.count < count else { return true }
        state.expected = count
        state.waiting = continuation
        return false
      }
      if isThere { continuation.resume() }
    }
  }
}

/// The name that a listener waits for, and the bell it then rings.
final class Expected: Sendable {
  private let state = Mutex<(name: String, bell: Bell)?>(nil)

  func set(_ name: String, _ bell: Bell) { state.withLock { $0 = (name, bell) } }

  func see(_ names: some Sequence<String>) {
    guard let (name, bell) = state.withLock({ $0 }), names.contains(name) else { return }
    state.withLock { $0 = nil }
    bell.ring()
  }
}

enum Machine {
  /// The processor time of all threads.
  static var cpuNanoseconds: Double { time(CLOCK_PROCESS_CPUTIME_ID) }
  static var nanoseconds: Double { time(CLOCK_MONOTONIC) }

  private static func time(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}

/// At once, also into a file.
func print(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

extension [Double] {
  var median: Double { isEmpty ? .nan : sorted()[count / 2] }
}
