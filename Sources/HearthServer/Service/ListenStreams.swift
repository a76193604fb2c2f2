#if Server
  import HearthEngine

  /// The open `Listen` streams of a server, which would not end by themselves, and their heartbeats.
  final class ListenStreams: Sendable {
    /// Clients take a stream without messages for dead after two minutes.
    private static let heartbeatSeconds = 30

    private struct State {
      var open: [ObjectIdentifier: (inputs: ListenInputs, second: Int)] = [:]
      /// Of every 30. Streams that open in it get their heartbeats in it.
      var second = 0
      var isClosed = false
    }

    private let state = Guarded(State())
    private let onChange: @Sendable (Int) -> Void

    /// - Parameter onChange: Called with the number of open streams.
    init(onChange: @escaping @Sendable (Int) -> Void) { self.onChange = onChange }

    func add(_ inputs: ListenInputs) {
      let isClosed = state.withLock { state in
        state.open[ObjectIdentifier(inputs)] = (inputs, state.second)
        onChange(state.open.count)
        return state.isClosed
      }
      if isClosed { inputs.end(.shuttingDown) }
    }

    func remove(_ inputs: ListenInputs) {
      state.withLock { state in
        state.open[ObjectIdentifier(inputs)] = nil
        onChange(state.open.count)
      }
    }

    /// Gives each stream a heartbeat every 30 seconds, until the task is cancelled. One timer for all:
    /// a task that sleeps has more than 2 KiB.
    func beat() async throws {
      while true {
        try await Task.sleep(for: .seconds(1))
        let due = state.withLock { state in
          let second = (state.second + 1) % Self.heartbeatSeconds
          state.second = second
          return state.open.values.filter { $0.second == second }.map(\.inputs)
        }
        for inputs in due { inputs.add(.heartbeat) }
      }
    }

    /// Ends all streams, and those that begin later. Clients connect again.
    func close() {
      let open = state.withLock { state in
        state.isClosed = true
        return state.open.values.map(\.inputs)
      }
      for inputs in open { inputs.end(.shuttingDown) }
    }
  }
#endif
