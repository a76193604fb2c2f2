#if Server
  import FirestoreProtocol
  import HearthEngine

  /// The inputs of a `Listen` stream, in order: requests of its client and events of its targets.
  ///
  /// Bounded: a stream whose client reads too slowly ends with `resourceExhausted`.
  final class ListenInputs: Sendable {
    enum Input: Sendable {
      case request(ProtoListenRequest)
      case events([TargetSet.Event])
      case heartbeat
    }

    private struct State {
      var waiting = 0
      var status: Status?
    }

    /// Inputs that may wait. Each commit that changes a result is one.
    private static let limit = 4096

    private let continuation: AsyncStream<Input>.Continuation
    private let state = Guarded(State())
    let inputs: AsyncStream<Input>

    init() {
      (inputs, continuation) = AsyncStream.makeStream()
    }

    /// Why the stream ends; nil if the client ended it.
    var status: Status? { state.withLock(\.status) }

    /// The inputs, for one consumer.
    var stream: some AsyncSequence<Input, Never> {
      inputs.map { [self] input in
        state.withLock { $0.waiting -= 1 }
        return input
      }
    }

    func add(_ input: Input) {
      let isFull = state.withLock { state in
        state.waiting += 1
        guard state.waiting > Self.limit, state.status == nil else { return false }
        state.status = Status(.resourceExhausted, "The stream is read too slowly.")
        return true
      }
      if isFull { end() } else { continuation.yield(input) }
    }

    func end() { continuation.finish() }
  }
#endif
