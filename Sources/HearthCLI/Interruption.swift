#if Tools
  import Foundation
  import Synchronization

  /// What ^C and a request to end do.
  ///
  ///     signal ─▶ a command that makes files is under way ─▶ its task is cancelled, and removes them
  ///            └─ otherwise, and a second time            ─▶ the process ends at once
  ///
  /// The process ends with the status that a shell shows for the signal: 130, or 143.
  enum Interruption {
    private struct State {
      /// Cancels what is under way.
      var cancel: (@Sendable () -> Void)?
      var signal: Int32?
    }

    private static let state = Mutex(State())

    /// What the handler writes into, and a thread reads.
    private static let pipe: (reading: Int32, writing: Int32) = {
      var ends: [Int32] = [-1, -1]
      _ = Foundation.pipe(&ends)
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return (ends[0], ends[1])
    }()

    /// Signals that the parent ignores stay ignored.
    static func begin() {
      let reading = pipe.reading
      let thread = Thread {
        var signal: UInt8 = 0
        while true {
          if read(reading, &signal, 1) == 1 {
            take(Int32(signal))
          } else if errno != EINTR {
            return
          }
        }
      }
      thread.name = "hearth-signals"
      thread.start()
      for signal in [SIGINT, SIGTERM] {
        var old = sigaction()
        sigaction(signal, nil, &old)
        guard !old.isIgnored else { continue }
        var action = sigaction()
        // Only what is safe in a handler.
        action.__sigaction_handler.sa_handler = { signal in
          var number = UInt8(truncatingIfNeeded: signal)
          _ = write(Interruption.pipe.writing, &number, 1)
        }
        action.sa_flags = SA_RESTART
        sigaction(signal, &action, nil)
      }
    }

    private static func take(_ signal: Int32) {
      let cancel = state.withLock { state in
        let cancel = state.signal == nil ? state.cancel : nil
        state.signal = state.signal ?? signal
        return cancel
      }
      guard let cancel else { _exit(128 + signal) }
      cancel()
    }

    /// The status to end with, once a signal came.
    static var status: Int32? { state.withLock(\.signal).map { 128 + $0 } }

    /// Runs `body`, which is cancelled by the first signal and removes what it has made.
    static func cancelling<R: Sendable>(
      _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
      // What cancels it is there before it begins.
      let (begin, go) = AsyncStream.makeStream(of: Void.self)
      let task = Task {
        for await _ in begin { break }
        try Task.checkCancellation()
        return try await body()
      }
      state.withLock { $0.cancel = { task.cancel() } }
      defer { state.withLock { $0.cancel = nil } }
      go.yield()
      return try await task.value
    }
  }

  extension sigaction {
    fileprivate var isIgnored: Bool {
      unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self)
        == unsafeBitCast(SIG_IGN, to: Int.self)
    }
  }
#endif
