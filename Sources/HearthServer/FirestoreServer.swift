#if Server
  import CoreMetrics
  import FirestoreProtocol
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import HearthEngine
  import Logging
  import NIOCertificateReloading
  import NIOCore

  /// A server for Firestore's clients, over a database file, a folder of them, or PostgreSQL.
  ///
  ///     let server = try FirestoreServer(at: "data")
  ///     try await server.run()
  ///
  /// In a process that does more, it runs in a task:
  ///
  ///     var options = FirestoreServer.Options()
  ///     options.port = 0  // any free one
  ///     let server = try FirestoreServer(at: "data", options)
  ///     let serving = Task { try await server.run() }
  ///     print("Clients find it at 127.0.0.1:\(try await server.port)")
  ///     // …
  ///     server.shutDown()
  ///     try await serving.value
  ///
  /// Speaks `google.firestore.v1` over gRPC and, on the same port, REST over HTTP/1 and HTTP/2.
  /// Without TLS it listens on loopback only; clients find it by the environment variable
  /// `FIRESTORE_EMULATOR_HOST`. Also answers `grpc.health.v1` and `GET /health`. Other processes may
  /// have the same files open.
  ///
  /// Each call has an id, the client's header `x-request-id` or a random one, which is in the log
  /// and in the answer's metadata. A transaction is rolled back when the gRPC connection that used it
  /// last is closed, when it has been idle for 60 seconds, or is 270 seconds old. It holds nothing
  /// that others wait for.
  public final class FirestoreServer: Sendable {
    private let catalog: DatabaseCatalog
    private let streams: ListenStreams
    private let writeStreams = WriteStreams()
    private let health = HealthService()
    private let results: KeptResults
    private let answers: AnswerBudget
    private let metrics: ServerMetrics
    /// Without keys: those that were replaced must not be kept.
    private let options: Options
    /// The metadata of the message that the server listens.
    private let description: Logger.Metadata
    /// Nil without TLS.
    private let certificates: TimedCertificateReloader?
    private let transport: HTTP2ServerTransport.Posix
    private let server: GRPCServer<HTTP2ServerTransport.Posix>
    private let keys: ServiceKeys
    /// How long calls may run after `shutDown`.
    private let grace: Duration
    private let logger: Logger

    private struct Running {
      var serving: Task<Void, any Error>?
      var isShutDown = false
      /// Ends the calls that run when the time is over.
      var cut: Task<Void, any Error>?
    }

    private let running = Guarded(Running())

    /// A client that sends nothing for so long is asked whether it is there.
    private static let silentTime = Duration.seconds(60)

    /// Creates a server. Nothing listens before `run`.
    ///
    /// A path of a file that ends with `.hearth` is served as the default database of every project.
    /// Another path is a folder with a file for each database: `<project>/<database>.hearth`. With
    /// the trait `Postgres`, a URL that begins with `postgresql://` is a database on a server, also
    /// the default one of every project; any number of servers may serve it.
    ///
    /// Throws `invalidArgument` for options that contradict each other or would let in anybody, and for
    /// certificates that cannot be read; `notFound` for a file that does not exist, unless
    /// `createsDatabases`; and the errors of `Firestore.open(at:settings:)` for a file that does.
    public convenience init(at path: String, _ options: Options = Options()) throws {
      let logger = Logger(label: "hearth.server")
      var settings = EmbeddedBackend.Settings()
      settings.store.isReadOnly = options.isReadOnly
      settings.retention = options.retention ?? Self.defaultRetention
      settings.isRetentionDefault = options.retention == nil
      settings.transactionPatience = Self.transactionPatience
      do {
        try options.check()
        let catalog = try DatabaseCatalog(
          at: path, creates: options.createsDatabases && !options.isReadOnly, settings,
          ServedIndexes(
            json: options.isReadOnly ? nil : options.indexes, areRequired: options.requiresIndexes),
          databaseLimit: options.limits.databases, logger: logger)
        try self.init(catalog, options, logger: logger)
      } catch let status as Status {
        throw status.nsError
      }
    }

    /// Longer than within a process: the transaction whose turn it is may belong to a client that
    /// is slow, and clients give up after five conflicts. The turn of one that has gone ends with
    /// its connection.
    static let transactionPatience = Duration.seconds(10)

    /// One hour, as in Cloud Firestore.
    static let defaultRetention = ChangeLogRetention(age: .seconds(3600), limitBytes: 1 << 30)

    init(
      _ catalog: DatabaseCatalog, _ options: Options, grace: Duration = .seconds(10),
      logger: Logger = Logger(label: "hearth.server")
    ) throws {
      try options.check()
      self.catalog = catalog
      self.grace = grace
      self.logger = logger
      description = options.description(of: catalog)
      var withoutKeys = options
      withoutKeys.serviceKeys = []
      withoutKeys.serviceAccounts = []
      self.options = withoutKeys
      if let tls = options.tls { KeyFile.warn(ofOthersWhoMayRead: tls.keyPath, logger) }
      certificates = try options.tls.map { try $0.reloader(logger: logger) }
      let security: HTTP2ServerTransport.Posix.TransportSecurity =
        try certificates.map { try .tls(certificateReloader: $0) } ?? .plaintext
      let limits = options.limits
      let metricsText = options.servesMetrics ? MetricsText() : nil
      let metrics = ServerMetrics(
        metricsText.map { MultiplexMetricsHandler(factories: [options.metrics, $0]) }
          ?? options.metrics)
      self.metrics = metrics
      streams = ListenStreams { metrics.listeners.set($0) }
      results = KeptResults(limit: limits.answerBytes)
      let connections = Connections(limits, metrics) { client in
        // Not on the event loop: it has other connections.
        Task { catalog.endTransactions(of: client) }
      }
      keys = ServiceKeys(
        options.serviceKeys, accounts: AccountTokens(options.serviceAccounts),
        isEmulator: options.isEmulator)
      answers = connections.answers
      let unchecked = options.hasKeys ? UncheckedCalls() : nil
      let gate = CallGate(
        keys: keys, limit: limits.runningCalls, unchecked: unchecked, logger: logger,
        metrics: metrics, client: connections.client)
      let rpcs = FirestoreRPCs(
        catalog: catalog, streams: streams, writeStreams: writeStreams, results: results,
        limits: limits)
      let shutDownRequest = ShutDownRequest()
      let rest = RESTService(
        rpcs: rpcs, gate: gate, health: health, metrics: metricsText,
        guarding: BrowserGuard(
          hasKeys: options.hasKeys, isLoopback: options.isLoopback),
        emulator: options.isEmulator
          ? EmulatorEndpoints(catalog: catalog) { shutDownRequest.make() } : nil)
      var requests = HTTPConnection.Service(bodyLimit: limits.messageBytes, answer: rest.answer)
      if options.hasKeys {
        requests.check = { await rest.bodyLimit(of: $0, limits.messageBytes) }
      }
      let service = requests
      transport = HTTP2ServerTransport.Posix(
        address: options.host.contains(":")
          ? .ipv6(host: options.host, port: options.port)
          : .ipv4(
            host: options.host == "localhost" ? "127.0.0.1" : options.host, port: options.port),
        transportSecurity: security,
        config: .defaults {
          $0.rpc.maxRequestPayloadSize = limits.messageBytes
          $0.http2.maxConcurrentStreams = limits.streamsPerConnection
          $0.channelDebuggingCallbacks.onAcceptTCPConnection = {
            ProtocolChooser.add(to: $0, connections, service)
          }
          $0.channelDebuggingCallbacks.onAcceptHTTP2Stream = {
            StreamChooser.add(to: $0, connections, unchecked, service)
          }
          $0.connection.keepalive.time = Self.silentTime
        })
      server = GRPCServer(transport: transport, services: [rpcs, health], interceptors: [gate])
      shutDownRequest.handler.withLock { $0 = { [weak self] in self?.shutDown() } }
    }

    /// A client's request to shut down, for a server that is made after its parts.
    private final class ShutDownRequest: Sendable {
      let handler = Guarded<(@Sendable () -> Void)?>(nil)

      func make() { handler.withLock { $0 }?() }
    }

    /// The port, once the server listens on it.
    public var port: Int {
      get async throws {
        let address = try await transport.listeningAddress
        return address.ipv4?.port ?? address.ipv6?.port ?? 0
      }
    }

    /// Serves until `shutDown` is called or the task is cancelled. Then closes the databases: every
    /// acknowledged write is durable. Throws `unavailable` if it cannot listen at the address, for
    /// example because another program does, and `invalidArgument` for a host that is not an IP address
    /// of this machine. A server runs once.
    public func run() async throws {
      defer { catalog.close() }
      // Not cancelled with the caller: calls that run may end.
      let serving = Task(executorPreference: EventLoopExecutor.staying) { [server] in
        try await server.serve()
      }
      let isShutDown = running.withLock { running in
        running.serving = serving
        return running.isShutDown
      }
      if isShutDown { cutLater() }
      let announcing = Task { try await announce() }
      let expiring = Task { [answers, results, metrics] in
        var misplaced = MisplacedFiles(logger)
        while true {
          try await Task.sleep(for: .seconds(1))
          catalog.expireTransactions()
          answers.update()
          metrics.answers.set(results.bytes + answers.bytes)
          misplaced.update(catalog.openFiles)
          health.set(isServing: misplaced.isEmpty)
        }
      }
      let beating = Task { [streams] in try await streams.beat() }
      let reloading = Task { [certificates] in try await certificates?.run() }
      defer {
        announcing.cancel()
        expiring.cancel()
        beating.cancel()
        reloading.cancel()
        running.withLock { running in
          running.cut?.cancel()
          running.serving = nil
        }
      }
      do {
        try await withTaskCancellationHandler {
          try await serving.value
        } onCancel: {
          shutDown()
        }
      } catch {
        let requested = "\(options.host):\(options.port)"
        throw ListeningFailure.status(for: error, at: requested)?.nsError ?? error
      }
    }

    private func announce() async throws {
      let address = try await transport.listeningAddress
      let host = address.ipv4?.host ?? address.ipv6.map { "[\($0.host)]" } ?? "unknown"
      var metadata = description
      metadata["address"] = "\(host):\(try await port)"
      logger.info("The server listens.", metadata: metadata)
    }

    /// Calls that have not ended when the time is over do not keep the server.
    private func cutLater() {
      running.withLock { running in
        guard let serving = running.serving, running.cut == nil else { return }
        running.cut = Task { [grace] in
          try await Task.sleep(for: grace)
          serving.cancel()
        }
      }
    }

    /// Replaces the declared indexes of the databases by those of a `firestore.indexes.json`, see
    /// `Options.indexes`, while the server runs. Returns before they are built. An entry that cannot be
    /// declared is logged. A server that is read-only does nothing.
    ///
    /// Throws `invalidArgument` for a text that is no JSON object; then the indexes stay.
    public func replaceIndexes(json: String) throws {
      if options.isReadOnly { return }
      do { try catalog.replaceIndexes(json: json) } catch { throw error.nsError }
    }

    /// Replaces the service keys and accounts while the server runs, for calls that begin later. A
    /// stream that has begun goes on, whatever its key is.
    ///
    ///     try server.replaceKeys([newKey, oldKey])
    ///     // When all clients have the new one:
    ///     try server.replaceKeys([newKey])
    ///
    /// Throws `invalidArgument` for a key with less than 16 bytes, if there is neither a key nor an
    /// account, and for a server that was created without any. Then the former ones stay.
    public func replaceKeys(
      _ serviceKeys: [String], serviceAccounts: [ServiceAccount] = []
    ) throws {
      do {
        try keys.replace(serviceKeys, AccountTokens(serviceAccounts))
      } catch {
        throw error.nsError
      }
    }

    /// Reads the certificate and its key now, and not only after `TLS.refreshInterval`: new connections
    /// get the new certificate. Does nothing without TLS.
    ///
    /// Throws `invalidArgument` for files that are not a certificate and its key, which is also logged.
    /// Then the certificate stays.
    public func reloadCertificate() throws {
      guard let certificates, let tls = options.tls else { return }
      KeyFile.warn(ofOthersWhoMayRead: tls.keyPath, logger)
      do {
        try certificates.reload()
      } catch {
        throw tls.invalid(error).nsError
      }
    }

    /// Accepts no more calls, ends listeners and write streams with a status, and lets other calls end
    /// for up to ten seconds. Returns at once; `run` returns when they have ended. Further calls have no
    /// effect.
    public func shutDown() {
      health.shutDown()
      streams.close()
      writeStreams.close()
      server.beginGracefulShutdown()
      running.withLock { $0.isShutDown = true }
      cutLater()
    }
  }

  extension FirestoreServer.TLS {
    /// Throws `invalidArgument` for files that are not a certificate and its key.
    fileprivate func reloader(logger: Logger) throws(Status) -> TimedCertificateReloader {
      do {
        return try .makeReloaderValidatingSources(
          configuration: .init(
            refreshInterval: refreshInterval,
            certificateSource: .init(location: .file(path: certificatePath), format: .pem),
            privateKeySource: .init(location: .file(path: keyPath), format: .pem)
          ) {
            $0.onCertificateLoadFailed = { failure in
              logger.error(
                "The certificate is not read again.", metadata: ["error": "\(failure.error)"])
            }
          })
      } catch {
        throw invalid(error)
      }
    }

    fileprivate func invalid(_ error: any Error) -> Status {
      Status(
        .invalidArgument,
        "\(certificatePath) and \(keyPath) are not a certificate and its key, as PEM: \(error)")
    }
  }
#endif
