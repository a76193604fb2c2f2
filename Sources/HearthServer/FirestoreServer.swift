#if Server
  import FirestoreProtocol
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import HearthEngine
  import Logging

  /// A server for Firestore's clients, over a database file or a folder of them.
  ///
  ///     let server = try FirestoreServer(at: "data", port: 8080)
  ///     try await server.run()
  ///
  /// Speaks `google.firestore.v1` over gRPC, without TLS, so it listens on loopback only. Clients
  /// find it by the environment variable `FIRESTORE_EMULATOR_HOST`. Other processes may have the
  /// same files open.
  public final class FirestoreServer: Sendable {
    private let catalog: DatabaseCatalog
    private let streams = ListenStreams()
    private let transport: HTTP2ServerTransport.Posix
    private let server: GRPCServer<HTTP2ServerTransport.Posix>

    /// How long calls may run after `shutDown`.
    private static let grace = Duration.seconds(10)

    /// Creates a server. Nothing listens before `run`.
    ///
    /// A path of a file that ends with `.hearth` is served as the default database of every project.
    /// Another path is a folder with a file for each database: `<project>/<database>.hearth`.
    ///
    /// - Parameters:
    ///   - host: An address of the loopback interface.
    ///   - port: 0 for any free port; see `port`.
    ///   - createsDatabases: Whether files that do not exist are created when a client names them.
    ///   - isReadOnly: Refuses writes.
    public convenience init(
      at path: String, host: String = "127.0.0.1", port: Int = 8080,
      createsDatabases: Bool = false, isReadOnly: Bool = false
    ) throws {
      var settings = EmbeddedBackend.Settings()
      settings.isReadOnly = isReadOnly
      do {
        let catalog = try DatabaseCatalog(
          at: path, creates: createsDatabases && !isReadOnly, settings,
          logger: Logger(label: "hearth.server"))
        try self.init(catalog, host: host, port: port)
      } catch let status as Status {
        throw status.nsError
      }
    }

    package init(_ catalog: DatabaseCatalog, host: String, port: Int) throws {
      guard ["127.0.0.1", "::1", "localhost"].contains(host) else {
        throw Status.invalidArgument(
          "Without TLS, a server listens on loopback only: 127.0.0.1 or ::1.")
      }
      self.catalog = catalog
      transport = HTTP2ServerTransport.Posix(
        address: host == "::1"
          ? .ipv6(host: host, port: port) : .ipv4(host: "127.0.0.1", port: port),
        transportSecurity: .plaintext,
        config: .defaults {
          // A commit of the largest size, and its names.
          $0.rpc.maxRequestPayloadSize = 2 * Limits.request
        })
      server = GRPCServer(
        transport: transport, services: [FirestoreRPCs(catalog: catalog, streams: streams)])
    }

    /// The port, once the server listens on it.
    public var port: Int {
      get async throws {
        let address = try await transport.listeningAddress
        return address.ipv4?.port ?? address.ipv6?.port ?? 0
      }
    }

    /// Serves until `shutDown` is called or the task is cancelled. Then closes the databases: every
    /// acknowledged write is durable.
    public func run() async throws {
      defer { catalog.close() }
      // Not cancelled with the caller: calls that run may end.
      let serving = Task { try await server.serve() }
      let expiring = Task {
        while true {
          try await Task.sleep(for: .seconds(1))
          catalog.expireTransactions()
        }
      }
      defer { expiring.cancel() }
      try await withTaskCancellationHandler {
        try await serving.value
      } onCancel: {
        shutDown()
        Task {
          try await Task.sleep(for: Self.grace)
          serving.cancel()
        }
      }
    }

    /// Accepts no more calls, ends listeners with a status, and lets other calls end.
    public func shutDown() {
      streams.close()
      server.beginGracefulShutdown()
    }
  }
#endif
