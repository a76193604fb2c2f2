#if Server
  import GRPCCore
  import HearthEngine
  import Logging

  /// Checks the key of every call, limits how many run, and logs each one.
  ///
  /// A call has an id: the client's header `x-request-id` if that is printable ASCII of at most 128
  /// bytes, otherwise a random one. It is in every log message of the call, and in the answer's
  /// metadata.
  struct CallGate: ServerInterceptor {
    private static let header = "x-request-id"

    let keys: ServiceKeys
    let limit: Int
    let logger: Logger
    private let running = RunningCalls()

    init(keys: ServiceKeys, limit: Int, logger: Logger) {
      self.keys = keys
      self.limit = limit
      self.logger = logger
    }

    /// Calls that run now.
    var runningCalls: Int { running.count.withLock { $0 } }

    func intercept<Input: Sendable, Output: Sendable>(
      request: StreamingServerRequest<Input>, context: ServerContext,
      next:
        @Sendable (
          _ request: StreamingServerRequest<Input>, _ context: ServerContext
        ) async throws -> StreamingServerResponse<Output>
    ) async throws -> StreamingServerResponse<Output> {
      let id = Self.id(request.metadata)
      let call = Call(id: id, context: context, logger: logger)
      do {
        // Health is asked by machines that have no key.
        if context.descriptor.service != HealthService.descriptor {
          var tokens = request.metadata[stringValues: "authorization"].makeIterator()
          try keys.check(authorization: tokens.next())
        }
        guard running.begin(limit: limit) else {
          throw Status(.resourceExhausted, "The server has too many calls. Try again later.")
        }
      } catch {
        throw call.end(error)
      }
      // Ends with this function, or with the producer of the answer.
      let answer: StreamingServerResponse<Output>
      do {
        answer = try await next(request, context)
      } catch {
        running.end()
        throw call.end(error)
      }
      switch answer.accepted {
      case .failure(let error):
        running.end()
        return StreamingServerResponse(accepted: .failure(call.end(error)))
      case .success(var contents):
        let produce = contents.producer
        contents.metadata.replaceOrAddString(id, forKey: Self.header)
        contents.producer = { [running] writer in
          defer { running.end() }
          do {
            let metadata = try await produce(writer)
            call.end()
            return metadata
          } catch {
            throw call.end(error)
          }
        }
        return StreamingServerResponse(accepted: .success(contents))
      }
    }

    private static func id(_ metadata: Metadata) -> String {
      var given = metadata[stringValues: header].makeIterator()
      if let id = given.next(), (1...128).contains(id.utf8.count),
        id.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      {
        return id
      }
      return String(UInt64.random(in: .min ... .max), radix: 16)
    }

    /// A call that runs.
    private struct Call: Sendable {
      let id: String
      let context: ServerContext
      let logger: Logger
      let began = ContinuousClock.now

      func end() { log(.debug, "ok", nil) }

      /// Returns the error for the client, which has the id of the call.
      func end(_ error: any Error) -> any Error {
        guard error is RPCError || error is any RPCErrorConvertible else {
          log(.error, "unknown", error)
          return error
        }
        return end((error as? RPCError) ?? RPCError((error as? Status) ?? Status(.unknown, "")))
      }

      func end(_ error: RPCError) -> RPCError {
        let isOurs = [.internalError, .unknown, .dataLoss].contains(error.code)
        log(isOurs ? .error : .debug, "\(error.code)", error)
        var error = error
        error.metadata.replaceOrAddString(id, forKey: CallGate.header)
        return error
      }

      private func log(_ level: Logger.Level, _ code: String, _ error: (any Error)?) {
        var metadata: Logger.Metadata = [
          "request-id": "\(id)", "method": "\(context.descriptor.method)", "code": "\(code)",
          "peer": "\(context.remotePeer)", "duration": "\(ContinuousClock.now - began)",
        ]
        if let error { metadata["error"] = "\(error)" }
        logger.log(level: level, "A call has ended.", metadata: metadata)
      }
    }
  }

  /// The number of calls that run.
  private final class RunningCalls: Sendable {
    let count = Guarded(0)

    /// False if as many run as may.
    func begin(limit: Int) -> Bool {
      count.withLock { count in
        guard count < limit else { return false }
        count += 1
        return true
      }
    }

    func end() { count.withLock { $0 -= 1 } }
  }
#endif
