#if Tools
  import Foundation
  import Hearth
  import HearthTerminal

  /// Handles ^C (SIGINT), SIGTERM, and for commands that ask for it SIGHUP.
  ///
  ///     signal ─▶ while a command creates files      ─▶ its task is cancelled, and removes them
  ///            └─ otherwise, and for a second signal ─▶ the process ends immediately
  ///
  /// The process ends with the status that a shell shows for the signal: 130, or 143.
  enum Interruption {
    private struct State {
      /// Cancels the running command.
      var cancel: (@Sendable () -> Void)?
      var signal: Int32?
      var hangups: AsyncStream<Void>.Continuation?
    }

    private static let state = Guarded(State())

    /// The signal handler writes into it, and a thread reads from it.
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
        handle(signal)
      }
    }

    private static func handle(_ signal: Int32) {
      var action = sigaction()
      // Only async-signal-safe calls.
      action.__sigaction_handler.sa_handler = { signal in
        var number = UInt8(truncatingIfNeeded: signal)
        _ = write(Interruption.pipe.writing, &number, 1)
      }
      action.sa_flags = SA_RESTART
      sigaction(signal, &action, nil)
    }

    /// An element after each SIGHUP from now on, which no longer ends the process. Several that come
    /// together may be one element. For one caller.
    static func hangups() -> AsyncStream<Void> {
      let (stream, continuation) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      state.withLock { $0.hangups = continuation }
      handle(SIGHUP)
      return stream
    }

    private static func take(_ signal: Int32) {
      if signal == SIGHUP {
        state.withLock(\.hangups)?.yield()
        return
      }
      let cancel = state.withLock { state in
        let cancel = state.signal == nil ? state.cancel : nil
        state.signal = state.signal ?? signal
        return cancel
      }
      guard let cancel else { _exit(128 + signal) }
      cancel()
    }

    /// The exit status, after a signal came.
    static var status: Int32? { state.withLock(\.signal).map { 128 + $0 } }

    /// Runs `body`. The first signal cancels it, and `body` removes the files it has created.
    static func cancelling<R: Sendable>(
      _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
      // `cancel` is set before the task begins.
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

  /// Runs `body` and shows a progress bar on standard error.
  func withProgress<R: Sendable>(
    _ body: @escaping @Sendable (@escaping FirestoreMaintenance.ProgressHandler) async throws -> R
  ) async throws -> R {
    let bar = ProgressBar()
    defer { bar.finish() }
    return try await Interruption.cancelling {
      try await body { bar.show($0.step.rawValue, $0.done, of: $0.total) }
    }
  }

  extension sigaction {
    fileprivate var isIgnored: Bool {
      unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self)
        == unsafeBitCast(SIG_IGN, to: Int.self)
    }
  }
#endif
