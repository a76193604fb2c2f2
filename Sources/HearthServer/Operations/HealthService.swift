#if Server
  import GRPCCore
  import HearthEngine

  /// The service `grpc.health.v1.Health`, for the server as a whole ("") and for Firestore.
  ///
  /// Its two messages have one field each, and are read and written here.
  final class HealthService: RegistrableRPCService {
    static let descriptor = ServiceDescriptor(fullyQualifiedService: "grpc.health.v1.Health")
    static let check = "Check"
    private static let services = ["", "google.firestore.v1.Firestore"]

    /// On the wire.
    enum Health: UInt8, Sendable {
      case serving = 1
      case notServing = 2
      case serviceUnknown = 3
    }

    private struct State {
      var health = Health.serving
      /// The health does not change any more.
      var isShutDown = false
      var watchers = Line<AsyncStream<Health>.Continuation>()
    }

    private let state = Guarded(State())
    /// Checks whose request has not come.
    private let checks = NewestCalls()

    var isServing: Bool { state.withLock(\.health) == .serving }

    /// Sets the answer, unless the server shuts down.
    func set(isServing: Bool) {
      let health: Health = isServing ? .serving : .notServing
      state.withLock { state in
        guard !state.isShutDown, state.health != health else { return }
        state.health = health
        for watcher in state.watchers.elements.values { watcher.yield(health) }
      }
    }

    /// Answers "not serving" from now on, and ends those that watch.
    func shutDown() {
      state.withLock { state in
        let isNew = state.health != .notServing
        state.health = .notServing
        state.isShutDown = true
        for watcher in state.watchers.elements.values {
          if isNew { watcher.yield(.notServing) }
          watcher.finish()
        }
        state.watchers.removeAll()
      }
    }

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
      router.registerHandler(
        forMethod: MethodDescriptor(service: Self.descriptor, method: Self.check),
        deserializer: RequestCoder(), serializer: ResponseCoder()
      ) { [self] request, _ in
        let service = try await checks.run { try await Self.service(request) }
        guard Self.services.contains(service) else {
          throw Status(.notFound, "The server has no service with this name.")
        }
        return StreamingServerResponse(
          single: ServerResponse(message: state.withLock(\.health)))
      }
      router.registerHandler(
        forMethod: MethodDescriptor(service: Self.descriptor, method: "Watch"),
        deserializer: RequestCoder(), serializer: ResponseCoder()
      ) { [self] request, _ in
        let isKnown = Self.services.contains(try await Self.service(request))
        return StreamingServerResponse { [self] writer in
          let (updates, watcher) = watch()
          defer { state.withLock { _ = $0.watchers.remove(watcher) } }
          for await health in updates {
            try await writer.write(isKnown ? health : .serviceUnknown)
          }
          return [:]
        }
      }
    }

    /// The health now, and each change of it.
    private func watch() -> (AsyncStream<Health>, Int) {
      // A client that reads slowly gets the newest one.
      let (stream, continuation) = AsyncStream.makeStream(
        of: Health.self, bufferingPolicy: .bufferingNewest(1))
      return state.withLock { state in
        continuation.yield(state.health)
        if state.isShutDown { continuation.finish() }
        return (stream, state.watchers.append(continuation))
      }
    }

    private static func service(_ request: StreamingServerRequest<String>) async throws -> String {
      for try await service in request.messages { return service }
      throw Status.invalidArgument("The call has no request.")
    }

    /// `HealthCheckRequest { string service = 1; }`
    private struct RequestCoder: MessageDeserializer {
      func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> String {
        try bytes.withUnsafeBytes { bytes in
          guard !bytes.isEmpty else { return "" }
          // No service has a name that is longer than one byte's length.
          guard bytes.count >= 2, bytes[0] == 0x0A, Int(bytes[1]) == bytes.count - 2,
            bytes[1] < 0x80
          else { throw Status.invalidArgument("The request is not a HealthCheckRequest.") }
          return String(decoding: bytes.dropFirst(2), as: UTF8.self)
        }
      }
    }

    /// `HealthCheckResponse { ServingStatus status = 1; }`
    private struct ResponseCoder: MessageSerializer {
      func serialize<Bytes: GRPCContiguousBytes>(_ health: Health) throws -> Bytes {
        Bytes([0x08, health.rawValue])
      }
    }
  }

  /// Runs calls, at most so many at a time: one more cancels the oldest.
  private final class NewestCalls: Sendable {
    private static let limit = 256
    /// How each call that runs is cancelled.
    private let running = Guarded(Line<@Sendable () -> Void>())

    /// Throws `resourceExhausted` if newer calls have taken its place.
    func run<Answer: Sendable>(
      _ call: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
      let task = Task(executorPreference: EventLoopExecutor.current) { try await call() }
      let (number, oldest): (Int, (@Sendable () -> Void)?) = running.withLock { running in
        let number = running.append { task.cancel() }
        guard running.elements.count > Self.limit, let oldest = running.first else {
          return (number, nil)
        }
        return (number, running.remove(oldest.number))
      }
      oldest?()
      let result = await withTaskCancellationHandler {
        await task.result
      } onCancel: {
        task.cancel()
      }
      let isOver = running.withLock { $0.remove(number) == nil }
      if isOver, case .failure = result {
        throw Status(.resourceExhausted, "Newer calls have taken the place of this one.")
      }
      return try result.get()
    }
  }
#endif
