import Foundation
import Hearth

/// Lines of text in both directions of a socket.
///
///     socket ─▶ reading thread ─▶ onLine, one line after another
///     send   ─▶ queue ─▶ writing thread ─▶ socket
///
/// The bytes that wait for a slow reader are limited: beyond the limit the connection ends.
final class LineConnection: Sendable {
  /// How reading goes on after a line.
  enum Next {
    case reads
    /// Reads no more; ends when the queue is written.
    case finishes
  }

  static let maximumLineBytes = 16 << 20
  private static let maximumQueuedBytes = 64 << 20
  private static let stalledSeconds = 30

  private struct State {
    var queue: [[UInt8]] = []
    var queuedBytes = 0
    /// Ends when the queue is written.
    var isFinishing = false
    var isEnded = false
    /// Those that use the socket. The last one closes it.
    var threadCount = 2
  }

  private let socket: LoopbackSocket
  private let state = Guarded(State())
  private let wake = DispatchSemaphore(value: 0)

  init(_ socket: LoopbackSocket) {
    self.socket = socket
    socket.limitWriting(stalledSeconds: Self.stalledSeconds)
  }

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - onLine: Called with each line, without its end; with nil for one that is longer than
  ///     `maximumLineBytes`. May block: nothing is read meanwhile.
  ///   - onEnd: Called once, on the reading thread, when nothing is read any more. Lines that it
  ///     sends are still written, if the other side reads.
  func start(
    onLine: @escaping @Sendable ([UInt8]?) -> Next, onEnd: @escaping @Sendable () -> Void
  ) {
    let reading = Thread { [self] in
      read(onLine)
      onEnd()
      finish()
      leave()
    }
    let writing = Thread { [self] in
      write()
      leave()
    }
    for thread in [reading, writing] {
      thread.name = "hearth-emulator"
      thread.start()
    }
  }

  /// Sends a line, soon. Has no effect after the end.
  func send(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    let isSlow = state.withLock { state in
      if state.isEnded || state.isFinishing { return false }
      guard state.queue.isEmpty || state.queuedBytes + bytes.count <= Self.maximumQueuedBytes else {
        return true
      }
      state.queue.append(bytes)
      state.queuedBytes += bytes.count
      return false
    }
    if isSlow { end() }
    wake.signal()
  }

  /// Ends when the lines of now are written.
  func finish() {
    state.withLock { $0.isFinishing = true }
    wake.signal()
  }

  /// Ends at once.
  func end() {
    state.withLock { state in
      // The socket is open as long as a thread uses it.
      if state.threadCount > 0 { socket.end() }
      state.isEnded = true
    }
    wake.signal()
  }

  private func leave() {
    state.withLock { state in
      state.threadCount -= 1
      if state.threadCount == 0 { socket.close() }
    }
  }

  // MARK: Threads

  private func read(_ onLine: ([UInt8]?) -> Next) {
    var line: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = socket.read(into: &buffer)
      guard count > 0 else { return }
      var rest = buffer[..<count]
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        line += rest[..<end]
        rest = rest[(end + 1)...]
        guard line.count <= Self.maximumLineBytes else { break }
        guard case .reads = onLine(line) else { return drain() }
        line = []
      }
      if line.count + rest.count > Self.maximumLineBytes {
        _ = onLine(nil)
        return drain()
      }
      line += rest
    }
  }

  /// Bytes that nobody has read would make the system discard the last line that was sent.
  private func drain() {
    finish()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let end = ContinuousClock.now + .seconds(1)
    while ContinuousClock.now < end {
      guard socket.wait(for: Int32(POLLIN), 1000), socket.read(into: &buffer) > 0 else { return }
    }
  }

  private func write() {
    while true {
      let (lines, isDone) = state.withLock { state in
        defer {
          state.queue = []
          state.queuedBytes = 0
        }
        return (state.queue, state.isEnded || state.isFinishing && state.queue.isEmpty)
      }
      if isDone { break }
      if lines.isEmpty {
        wake.wait()
        continue
      }
      guard socket.write(Array(lines.joined())) else { break }
    }
    state.withLock { state in
      if state.isEnded || !state.isFinishing { socket.end() } else { socket.endWriting() }
      state.isEnded = true
    }
  }
}
