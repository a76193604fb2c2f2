#if Server
  import FirestoreProtocol
  import HearthEngine
  import NIOCore

  /// The inputs of a `Listen` stream, in order: requests of its client and events of its targets.
  ///
  /// Bounded by their number and by the bytes of documents: a stream whose client reads too slowly ends
  /// with `resourceExhausted`, and one that sends too quickly waits in `requestsAreTaken`.
  final class ListenInputs: Sendable {
    enum Input: Sendable {
      case request(ProtoListenRequest)
      /// The events of a target set, with its number.
      case events([TargetSet.Event], of: Int)
      /// The database, which did not exist, is created.
      case creation
      case heartbeat

      /// The size of the documents that are to be sent, each once: several targets may have it.
      fileprivate var documentBytes: Int {
        guard case .events(let events, _) = self else { return 0 }
        var counted: Set<ObjectIdentifier> = []
        var bytes = 0
        for case .result(_, let event) in events {
          for change in event.changes ?? [] where change.kind != .removed {
            if counted.insert(ObjectIdentifier(change.document)).inserted {
              bytes += change.document.answerBytes
            }
          }
        }
        return bytes
      }
    }

    private struct State {
      /// Nil while none waits: an empty buffer would have memory.
      var waiting: CircularBuffer<(input: Input, bytes: Int)>?
      var waitingBytes = 0
      var waitingRequests = 0
      var reader: UnsafeContinuation<Void, Never>?
      var hasEnded = false
      var status: Status?
    }

    /// Inputs that may wait. Each commit that changes a result is one.
    private static let limit = 4096
    /// Bytes of changed documents that may wait.
    static let byteLimit = 32 << 20

    private let arrival: AsyncStream<Void>.Continuation
    private let state = Guarded(State())
    /// Has an element when inputs may wait, and ends after the last ones. For one consumer.
    let arrivals: AsyncStream<Void>

    init() {
      (arrivals, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Why the stream ends; nil if the client ended it.
    var status: Status? { state.withLock(\.status) }

    /// Takes the first input that waits.
    func next() -> Input? {
      let (input, reader): (Input?, UnsafeContinuation<Void, Never>?) = state.withLock { state in
        let (input, bytes) = state.waiting?.popFirst() ?? (nil, 0)
        if state.waiting?.isEmpty ?? false { state.waiting = nil }
        state.waitingBytes -= bytes
        guard case .request? = input else { return (input, nil) }
        state.waitingRequests -= 1
        return (input, state.waitingRequests == 0 ? state.reader.take() : nil)
      }
      reader?.resume()
      return input
    }

    /// Returns when no request waits, or the stream has ended. For one caller at a time, which then
    /// reads the next request: a request may be large.
    func requestsAreTaken() async {
      // Not checked: that has another frame, which the task would keep.
      await withUnsafeContinuation { continuation in
        let mustWait = state.withLock { state in
          guard state.waitingRequests > 0, !state.hasEnded else { return false }
          state.reader = continuation
          return true
        }
        if !mustWait { continuation.resume() }
      }
    }

    // Not inlined: the task that reads requests would keep room for the copies while it waits.
    /// False for nil.
    @inline(never)
    func add(_ request: ProtoListenRequest?) -> Bool {
      guard let request else { return false }
      add(.request(request))
      return true
    }

    func add(_ input: Input) {
      let isFull = state.withLock { state in
        if state.hasEnded { return false }
        var waiting = state.waiting.take() ?? CircularBuffer(initialCapacity: 1)
        // Those behind others: the first is written now.
        let bytes = waiting.isEmpty ? 0 : input.documentBytes
        state.waitingBytes += bytes
        waiting.append((input, bytes))
        state.waiting = waiting
        if case .request = input { state.waitingRequests += 1 }
        return waiting.count > Self.limit || state.waitingBytes > Self.byteLimit
      }
      arrival.yield()
      if isFull { end(Status(.resourceExhausted, "The stream is read too slowly.")) }
    }

    /// Ends the stream after the inputs that wait.
    ///
    /// - Parameter status: The reason, unless the client ended it. The first reason is kept.
    func end(_ status: Status? = nil) {
      let reader = state.withLock { state in
        if state.status == nil { state.status = status }
        state.hasEnded = true
        return state.reader.take()
      }
      reader?.resume()
      arrival.finish()
    }
  }
#endif
