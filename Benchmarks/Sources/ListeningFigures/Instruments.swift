import Foundation
import Synchronization

/// Counts what happens, and lets one task wait until it has happened often enough.
final class Bell: Sendable {
  private struct State {
    var count = 0
    var times: [UInt64] = []
    var expected = 0
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())
  private let keepsTimes: Bool

  init(keepingTimes: Bool = false) { keepsTimes = keepingTimes }

  var count: Int { state.withLock { $0.count } }
  /// When it was rung, in nanoseconds.
  var times: [UInt64] { state.withLock { $0.times } }

  func clear() { state.withLock { $0 = State() } }

  func ring() {
    let now = keepsTimes ? Machine.monotonicNanoseconds : 0
    let waiting = state.withLock { state in
      state.count += 1
      if keepsTimes { state.times.append(now) }
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

/// When which number was told, in nanoseconds.
final class Arrivals: Sendable {
  private let state = Mutex([Int: UInt64]())

  var times: [Int: UInt64] { state.withLock { $0 } }

  func note(_ number: Int, at time: UInt64) { state.withLock { $0[number] = time } }
}

/// Holds up whoever passes until it is opened.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func pass() {
    semaphore.wait()
    semaphore.signal()
  }

  func open() { semaphore.signal() }
}

enum Machine {
  static var cpuNanoseconds: UInt64 { time(CLOCK_PROCESS_CPUTIME_ID) }
  static var monotonicNanoseconds: UInt64 { time(CLOCK_MONOTONIC) }
  static var wallSeconds: Double { Double(monotonicNanoseconds) / 1e9 }

  /// How often threads of this process gave up the processor to wait.
  static var switches: Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_nvcsw
  }

  private static func time(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// What is not the file's.
  static var anonymousBytes: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
    return (Int(line.filter(\.isNumber)) ?? 0) * 1024
  }
}

enum Text {
  static func micros(_ nanoseconds: Double) -> String {
    String(format: "%.1f µs", nanoseconds / 1000)
  }
  static func seconds(_ seconds: Double) -> String { String(format: "%.1f s", seconds) }

  /// The middle, and the 99th of a hundred.
  static func spread(_ nanoseconds: [Double]) -> String {
    let sorted = nanoseconds.sorted()
    guard let last = sorted.last else { return "-" }
    let late = sorted[min(sorted.count * 99 / 100, sorted.count - 1)]
    return "p50 \(micros(sorted[sorted.count / 2])) p99 \(micros(late)) max \(micros(last))"
  }
}

/// At once, also into a file.
func print(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
