#if Server
  import HearthEngine

  /// The open `Listen` streams of a server, which would not end by themselves.
  final class ListenStreams: Sendable {
    private struct State {
      var open: [ObjectIdentifier: ListenInputs] = [:]
      var isClosed = false
    }

    private let state = Guarded(State())
    private let onChange: @Sendable (Int) -> Void

    /// - Parameter onChange: Called with the number of open streams.
    init(onChange: @escaping @Sendable (Int) -> Void) { self.onChange = onChange }

    func add(_ inputs: ListenInputs) {
      let isClosed = state.withLock { state in
        state.open[ObjectIdentifier(inputs)] = inputs
        onChange(state.open.count)
        return state.isClosed
      }
      if isClosed { inputs.end(Self.shutDown) }
    }

    func remove(_ inputs: ListenInputs) {
      state.withLock { state in
        state.open[ObjectIdentifier(inputs)] = nil
        onChange(state.open.count)
      }
    }

    /// Ends all streams, and those that begin later. Clients connect again.
    func close() {
      let open = state.withLock { state in
        state.isClosed = true
        return Array(state.open.values)
      }
      for inputs in open { inputs.end(Self.shutDown) }
    }

    private static let shutDown = Status(.unavailable, "The server is shutting down.")
  }
#endif
