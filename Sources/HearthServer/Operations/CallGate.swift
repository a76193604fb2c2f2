#if Server
  import GRPCCore
  import HearthEngine
  import Logging
  import NIOCore
  import NIOHTTP2

  /// Checks the key of every call, limits how many run, and logs each one.
  ///
  /// A call has an id: the client's header `x-request-id` if that is printable ASCII of at most 128
  /// bytes, otherwise a random one. It is in every log message of the call, and in the answer's
  /// metadata.
  struct CallGate: ServerInterceptor {
    static let header = "x-request-id"

    /// Watches of the health service that run at a time. They need no key, so they have places of
    /// their own. Checks have theirs in the service.
    static let healthLimit = 256
    /// Bytes of a call's request for the health service.
    private static let healthBytes = 1024

    let keys: ServiceKeys
    let logger: Logger
    let metrics: ServerMetrics
    /// Nil if calls need no key.
    let unchecked: UncheckedCalls?
    let client: @Sendable (_ peer: String) -> Connections.Client?
    private let running: BoundedCount
    private let watches = BoundedCount(limit: healthLimit)

    init(
      keys: ServiceKeys, limit: Int, unchecked: UncheckedCalls? = nil, logger: Logger,
      metrics: ServerMetrics, client: @escaping @Sendable (_ peer: String) -> Connections.Client?
    ) {
      self.keys = keys
      self.unchecked = unchecked
      self.logger = logger
      self.metrics = metrics
      self.client = client
      running = BoundedCount(limit: limit) { metrics.running.set($0) }
    }

    func intercept<Input: Sendable, Output: Sendable>(
      request: StreamingServerRequest<Input>, context: ServerContext,
      next:
        @Sendable (
          _ request: StreamingServerRequest<Input>, _ context: ServerContext
        ) async throws -> StreamingServerResponse<Output>
    ) async throws -> StreamingServerResponse<Output> {
      let id = Self.id(request.metadata)
      let call = Call(id: id, context: context, logger: logger, metrics: metrics)
      // Health is asked by machines that have no key.
      let isHealth = context.descriptor.service == HealthService.descriptor
      do {
        if !isHealth {
          try await keys.check(authorization: request.metadata.first("authorization"))
        }
      } catch {
        throw call.end(error)
      }
      let isCheck = isHealth && context.descriptor.method == HealthService.check
      let calls = isCheck ? nil : isHealth ? watches : running
      guard let place = RunningCall.begin(in: calls) else {
        throw call.end(
          Status(.resourceExhausted, "The server has too many calls. Try again later."))
      }
      if let unchecked, let number = Self.number(request.metadata, UncheckedCalls.header) {
        unchecked.admit(number, limit: isHealth ? Self.healthBytes : nil)
      }
      let client = client(context.remotePeer)
      let executor = client?.executor
      var context = context
      // A call over REST, whose peer is nobody's here, has the room of its request.
      let room = Self.number(request.metadata, AnswerRoom.header).flatMap {
        client?.answers.room($0)
      }
      if let room { context.transportSpecific = room }
      let ofClient = context
      let answer: StreamingServerResponse<Output>
      do {
        answer = try await withTaskExecutorPreference(executor) {
          try await next(request, ofClient)
        }
      } catch {
        throw call.end(error)
      }
      switch answer.accepted {
      case .failure(let error):
        return StreamingServerResponse(accepted: .failure(call.end(error)))
      case .success(var contents):
        let produce = contents.producer
        contents.metadata.replaceOrAddString(id, forKey: Self.header)
        // Not called if the connection ends before the answer: then it is only released.
        contents.producer = { writer in
          defer {
            place.end()
            room?.finish()
          }
          do {
            let metadata = try await withTaskExecutorPreference(executor) {
              try await produce(writer)
            }
            call.end()
            return metadata
          } catch {
            throw call.end(error)
          }
        }
        return StreamingServerResponse(accepted: .success(contents))
      }
    }

    /// A number that the stream of the call has set; nil for one over REST.
    private static func number(_ metadata: Metadata, _ header: String) -> Int? {
      metadata.first(header).flatMap { Int($0) }
    }

    private static func id(_ metadata: Metadata) -> String {
      if let id = metadata.first(header), (1...128).contains(id.utf8.count),
        id.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      {
        return id
      }
      return String(UInt64.random(in: .min ... .max), radix: 16)
    }

    /// Bytes of an error's message. Clients refuse trailers of more than 8 KiB, without the status.
    private static let messageBytes = 2000

    /// A message, with its begin and its end if it is too long.
    static func shortened(_ message: String) -> String {
      // In trailers, a byte that is not printable ASCII takes three.
      func bytes(_ scalar: Unicode.Scalar) -> Int {
        (0x20...0x7E).contains(scalar.value) && scalar != "%"
          ? 1 : 3 * Unicode.UTF8.width(scalar)
      }
      func count(_ scalars: some Sequence<Unicode.Scalar>) -> Int {
        var total = 0
        return scalars.prefix {
          total += bytes($0)
          return total <= messageBytes / 2 - 10
        }.count
      }
      let scalars = message.unicodeScalars
      guard scalars.count > messageBytes || scalars.reduce(0, { $0 + bytes($1) }) > messageBytes
      else { return message }
      let begin = scalars.prefix(count(scalars))
      let end = scalars.suffix(count(scalars.reversed()))
      return String(begin) + " … " + String(end)
    }

    /// A call that runs.
    private struct Call: Sendable {
      let id: String
      let context: ServerContext
      let logger: Logger
      let metrics: ServerMetrics
      let began = ContinuousClock.now

      private static let streamErrors: Set<String> = [
        "Empty stream.", "Too many messages.", "Failed to decode message",
      ]

      func end() { log(.debug, "ok", nil) }

      /// Returns the error for the client, which has the id of the call.
      func end(_ error: any Error) -> any Error {
        if error is NIOHTTP2Errors.StreamClosed || error is ChannelError
          || error is CancellationError
        {
          return end(RPCError(code: .cancelled, message: "The client has gone.", cause: error))
        }
        guard error is RPCError || error is any RPCErrorConvertible else {
          log(.error, "unknown", error)
          return error
        }
        return end((error as? RPCError) ?? RPCError((error as? Status) ?? Status(.unknown, "")))
      }

      func end(_ error: RPCError) -> RPCError {
        var error = error
        // gRPC's own error for a call whose client sends no message, or two, or one that is compressed
        // or too large.
        if error.code == .internalError, Self.streamErrors.contains(error.message) {
          error.code = .invalidArgument
        }
        let isOurs = [.internalError, .unknown, .dataLoss].contains(error.code)
        log(isOurs ? .error : .debug, "\(error.code)", error)
        error.metadata.replaceOrAddString(id, forKey: CallGate.header)
        error.message = CallGate.shortened(error.message)
        return error
      }

      private func log(_ level: Logger.Level, _ code: String, _ error: (any Error)?) {
        let duration = ContinuousClock.now - began
        metrics.callHasEnded(context.descriptor, code: code, after: duration)
        var metadata: Logger.Metadata = [
          "request-id": "\(id)", "method": "\(context.descriptor.method)", "code": "\(code)",
          "peer": "\(context.remotePeer)", "duration": "\(duration)",
        ]
        if let error { metadata["error"] = "\(error)" }
        logger.log(level: level, "A call has ended.", metadata: metadata)
      }
    }
  }

  extension Metadata {
    /// The text of the first header with this name.
    func first(_ name: String) -> String? {
      var texts = self[stringValues: name].makeIterator()
      return texts.next()
    }
  }

  /// A call that is counted until it ends, or until nothing has it any more.
  final class RunningCall: Sendable {
    private let calls: BoundedCount?
    private let hasEnded = Guarded(false)

    private init(_ calls: BoundedCount?) { self.calls = calls }

    deinit { end() }

    /// Nil if as many run as may. Without a count, any number may.
    static func begin(in calls: BoundedCount?) -> RunningCall? {
      calls?.add() == false ? nil : RunningCall(calls)
    }

    func end() { if !hasEnded.exchange(true) { calls?.remove() } }
  }
#endif
