#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import HearthEngine
  import Logging

  @testable import HearthServer

  /// A server over a new database in memory, on a port of its own, and a client of it.
  struct TestServer {
    typealias Client = ProtoFirestore.Client<HTTP2ClientTransport.Posix>

    let port: Int
    let client: Client
    let connection: GRPCClient<HTTP2ClientTransport.Posix>
    let backend: any StoreBackend
    let catalog: DatabaseCatalog
    let shutDown: @Sendable () -> Void

    static let database = "projects/test/databases/(default)"
    static let root = database + "/documents"

    /// Runs `body` with a server that ends with it.
    ///
    /// - Parameters:
    ///   - backend: Closed by the server; nil for a new one in memory.
    ///   - folder: Served with the databases that clients create, in place of the backend.
    static func run<Answer: Sendable>(
      _ configure: @Sendable (inout FirestoreServer.Options) -> Void = { _ in },
      indexes: ServedIndexes = ServedIndexes(), over backend: (any StoreBackend)? = nil,
      folder: String? = nil, logger: Logger = Logger(label: "hearth.server"),
      _ body: @Sendable (TestServer) async throws -> Answer
    ) async throws -> Answer {
      var settings = EmbeddedBackend.Settings()
      settings.transactionPatience = FirestoreServer.transactionPatience
      let backend =
        try backend ?? EmbeddedBackend(inMemory: settings, logger: Logger(label: "test"))
      var options = FirestoreServer.Options()
      options.port = 0
      // On a busy machine, a client may read nothing for more than a minute.
      options.limits.requestTime = .seconds(600)
      options.limits.writeTime = .seconds(600)
      configure(&options)
      let catalog =
        try folder.map {
          try DatabaseCatalog(at: $0, creates: true, settings, indexes, logger: logger)
        } ?? DatabaseCatalog(backend, indexes)
      let server = try FirestoreServer(catalog, options, logger: logger)
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await server.run() }
        let port = try await server.port
        let client = GRPCClient(
          transport: try .http2NIOPosix(
            target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext))
        group.addTask { try await client.runConnections() }
        let answer = try await body(
          TestServer(
            port: port, client: .init(wrapping: client), connection: client, backend: backend,
            catalog: catalog, shutDown: { server.shutDown() }))
        client.beginGracefulShutdown()
        server.shutDown()
        return answer
      }
    }
  }
#endif
