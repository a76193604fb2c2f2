#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// Firestore's REST API: the same calls as over gRPC, with messages in JSON.
  ///
  ///     request ─▶ browsers' guard ─▶ key ─▶ route, message ─▶ CallGate ─▶ FirestoreRPCs
  ///
  /// Also answers whether the server is there, and as an emulator, a few requests for tests.
  struct RESTService: Sendable {
    let rpcs: FirestoreRPCs
    let gate: CallGate
    let health: HealthService
    /// Nil unless the server answers with its metrics.
    let metrics: MetricsText?
    let guarding: BrowserGuard
    /// Nil unless the server is an emulator.
    let emulator: EmulatorEndpoints?

    /// How many bytes the body of a request may have, by its head; nil for one that is refused, or
    /// needs no body.
    func bodyLimit(of request: HTTPRequest, _ limit: Int) async -> Int? {
      do {
        _ = try guarding.check(request.headers)
        switch try Self.route(of: request).route {
        case .ready, .health, .webChannel: return Self.keylessBytes
        default: break
        }
        try await gate.keys.check(authorization: request.headers.first(name: "authorization"))
        return limit
      } catch {
        return nil
      }
    }

    /// Bytes of the body of a request that needs no key.
    private static let keylessBytes = 1024

    private static func route(
      of request: HTTPRequest
    ) throws(Status) -> (route: RESTRoute, parts: [Substring]) {
      let parts = request.target.split(
        separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      return (try RESTRoute(request.method, path: parts[0]), parts)
    }

    func answer(_ request: HTTPRequest, _ writer: HTTPResponseWriter) async {
      var writer = writer
      do {
        writer.headers = try guarding.check(request.headers)
        if request.method == .OPTIONS {
          return try await writer.send(204, BrowserGuard.preflight, body: [])
        }
        try await respond(to: request, writer)
      } catch let error as any RPCErrorConvertible {
        // Does nothing if an answer has begun.
        try? await writer.fail(RPCError(error))
      } catch {
        writer.abandon()
      }
    }

    private func respond(
      to request: HTTPRequest, _ response: HTTPResponseWriter
    ) async throws {
      let (route, parts) = try Self.route(of: request)
      switch route {
      case .ready: return try await response.send(text: "Ok\n")
      case .health: return try await response.send(isServing: health.isServing)
      case .webChannel:
        throw Status(
          .unimplemented,
          "Browsers' streams (WebChannel) are not served. Use REST, or a client with gRPC.")
      default: break
      }
      // Before the message is parsed, which is work.
      try await gate.keys.check(authorization: request.headers.first(name: "authorization"))
      switch route {
      case .metrics:
        guard let metrics else {
          throw Status(.notFound, "This server does not serve its metrics.")
        }
        try await response.send(text: metrics.text, type: MetricsText.type)
      case .clear, .export, .load, .shutDown:
        guard let emulator else {
          throw Status(.notFound, "Only an emulator has \(request.method.rawValue) \(parts[0]).")
        }
        try await emulator.answer(route, request.body)
        try await response.send(body: Array("{}\n".utf8))
        if route == .shutDown { emulator.shutDown() }
      default:
        let call = RESTCall(
          rpcs: rpcs, gate: gate, request: request,
          parameters: try RESTParameters(parts.count > 1 ? parts[1] : ""), response: response)
        try await call.run(route)
      }
    }
  }
#endif
