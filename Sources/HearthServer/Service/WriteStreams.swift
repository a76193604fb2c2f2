#if Server
  import HearthEngine

  /// The open `Write` streams of a server, which would not end by themselves.
  ///
  ///     waiting ─ message ─▶ committing ─ answered ─▶ waiting
  ///        └─ shut down ─▶ ended ◀─ answered, shut down ─┘
  final class WriteStreams: Sendable {
    final class Stream: Sendable {
      private struct State {
        var isCommitting = false
        var isClosed = false
        var task: Task<Void, any Error>?
      }

      private let state = Guarded(State())

      fileprivate var isClosed: Bool { state.withLock(\.isClosed) }

      /// A message has come. Throws `unavailable` if the server shuts down.
      func begin() throws(Status) {
        let isClosed = state.withLock { state in
          state.isCommitting = !state.isClosed
          return state.isClosed
        }
        if isClosed { throw Status.shuttingDown }
      }

      /// The message is answered.
      func end() { change { $0.isCommitting = false } }

      fileprivate func start(_ task: Task<Void, any Error>) { change { $0.task = task } }

      fileprivate func close() { change { $0.isClosed = true } }

      /// Changes the state, and cancels the task of a closed stream. A commit that runs is answered first.
      private func change(_ body: (inout State) -> Void) {
        let ended = state.withLock { state in
          body(&state)
          return state.isClosed && !state.isCommitting ? state.task : nil
        }
        ended?.cancel()
      }
    }

    private struct State {
      var open: [ObjectIdentifier: Stream] = [:]
      var isClosed = false
    }

    private let state = Guarded(State())

    /// Runs a stream until it ends. Throws `unavailable` if the server shuts down.
    func run(_ body: @escaping @Sendable (Stream) async throws -> Void) async throws {
      let stream = Stream()
      let isClosed = state.withLock { state in
        state.open[ObjectIdentifier(stream)] = stream
        return state.isClosed
      }
      defer { state.withLock { $0.open[ObjectIdentifier(stream)] = nil } }
      if isClosed { throw Status.shuttingDown }
      let task = Task(executorPreference: EventLoopExecutor.current) { try await body(stream) }
      stream.start(task)
      let result = await withTaskCancellationHandler {
        await task.result
      } onCancel: {
        task.cancel()
      }
      if stream.isClosed { throw Status.shuttingDown }
      try result.get()
    }

    /// Ends all streams, and those that begin later. Clients connect again.
    func close() {
      let open = state.withLock { state in
        state.isClosed = true
        return Array(state.open.values)
      }
      for stream in open { stream.close() }
    }
  }
#endif
