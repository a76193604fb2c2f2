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
    let backend: any Backend

    static let database = "projects/test/databases/(default)"
    static let root = database + "/documents"

    /// Runs `body` with a server that ends with it.
    static func run<Answer: Sendable>(
      _ body: @Sendable (TestServer) async throws -> Answer
    ) async throws -> Answer {
      let backend = try EmbeddedBackend(
        inMemory: EmbeddedBackend.Settings(), logger: Logger(label: "test"))
      let server = try FirestoreServer(DatabaseCatalog(backend), host: "127.0.0.1", port: 0)
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await server.run() }
        let port = try await server.port
        let client = GRPCClient(
          transport: try .http2NIOPosix(
            target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext))
        group.addTask { try await client.runConnections() }
        let answer = try await body(
          TestServer(port: port, client: .init(wrapping: client), backend: backend))
        client.beginGracefulShutdown()
        server.shutDown()
        return answer
      }
    }
  }
#endif
