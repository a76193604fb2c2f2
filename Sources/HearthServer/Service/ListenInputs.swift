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
        return state.waiting > Self.limit
      }
      guard !isFull else {
        return end(Status(.resourceExhausted, "The stream is read too slowly."))
      }
      continuation.yield(input)
    }

    /// Ends the stream after the inputs that wait.
    ///
    /// - Parameter status: The reason, unless the client ended it. The first reason is kept.
    func end(_ status: Status? = nil) {
      state.withLock { if $0.status == nil { $0.status = status } }
      continuation.finish()
    }
  }
#endif
