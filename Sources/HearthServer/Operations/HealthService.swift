#if Server
  import GRPCCore
  import HearthEngine

  /// The service `grpc.health.v1.Health`, for the server as a whole ("") and for Firestore.
  ///
  /// Its two messages have one field each, and are read and written here.
  final class HealthService: RegistrableRPCService {
    static let descriptor = ServiceDescriptor(fullyQualifiedService: "grpc.health.v1.Health")
    private static let services = ["", "google.firestore.v1.Firestore"]

    /// On the wire.
    enum Health: UInt8, Sendable {
      case serving = 1
      case notServing = 2
      case serviceUnknown = 3
    }

    private struct State {
      var health = Health.serving
      var watchers: [Int: AsyncStream<Health>.Continuation] = [:]
      var lastWatcher = 0
    }

    private let state = Guarded(State())

    var isServing: Bool { state.withLock(\.health) == .serving }

    /// Answers "not serving" from now on, and ends those that watch.
    func shutDown() {
      let watchers = state.withLock { state in
        state.health = .notServing
        defer { state.watchers = [:] }
        return Array(state.watchers.values)
      }
      for watcher in watchers {
        watcher.yield(.notServing)
        watcher.finish()
      }
    }

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
      router.registerHandler(
        forMethod: MethodDescriptor(service: Self.descriptor, method: "Check"),
        deserializer: RequestCoder(), serializer: ResponseCoder()
      ) { [self] request, _ in
        let service = try await Self.service(request)
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
          defer { state.withLock { $0.watchers[watcher] = nil } }
          for await health in updates {
            try await writer.write(isKnown ? health : .serviceUnknown)
          }
          return [:]
        }
      }
    }

    /// The health now, and each change of it.
    private func watch() -> (AsyncStream<Health>, Int) {
      let (stream, continuation) = AsyncStream.makeStream(of: Health.self)
      return state.withLock { state in
        state.lastWatcher += 1
        continuation.yield(state.health)
        if state.health == .serving {
          state.watchers[state.lastWatcher] = continuation
        } else {
          continuation.finish()
        }
        return (stream, state.lastWatcher)
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
#endif
