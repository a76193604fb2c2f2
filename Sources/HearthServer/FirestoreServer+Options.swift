#if Server
  public import CoreMetrics
  public import HearthEngine
  import Logging

  extension FirestoreServer {
    /// How a server listens, whom it lets in, and what it keeps.
    ///
    ///     var options = FirestoreServer.Options()
    ///     options.host = "0.0.0.0"
    ///     options.tls = .init(certificatePath: "chain.pem", keyPath: "key.pem")
    ///     options.serviceKeys = [key]
    ///     let server = try FirestoreServer(at: "data", options)
    public struct Options: Sendable {
      /// The address to listen on. Default: the loopback interface, 127.0.0.1. Another address needs
      /// `tls`, and `serviceKeys` or `serviceAccounts`, unless `isInsecure`.
      public var host = "127.0.0.1"
      /// The port; 0 for any free one, see `FirestoreServer.port`. Default: 8080.
      public var port = 8080
      /// Whether files that do not exist are created: one that is served when the server is created,
      /// those of a folder when a client writes to them or begins a transaction that may. Until then,
      /// reads find such a database empty, and listeners go on when it is created. Default: false, so
      /// that calls for such a database fail with `notFound`.
      public var createsDatabases = false
      /// Refuses writes. Not possible for a database on a PostgreSQL server. Default: false.
      public var isReadOnly = false
      /// Behaves like Google's emulator: accepts every bearer token, on loopback only. Default:
      /// false.
      public var isEmulator = false
      /// The certificate and key for TLS. Default: nil, without TLS.
      public var tls: TLS?
      /// The keys that give access to everything. A client sends one as its bearer token. If there
      /// are any, calls without one fail with `unauthenticated`, over REST with status 401. A key has
      /// at least 16 bytes: creating a server with a shorter one throws `invalidArgument`. See
      /// `FirestoreServer.replaceKeys` for a server that runs. Default: none.
      public var serviceKeys: [String] = []
      /// The accounts whose clients sign tokens, which give access to everything, as `serviceKeys`
      /// do. Default: none.
      public var serviceAccounts: [ServiceAccount] = []
      /// Allows an address other than loopback without TLS or without keys: everybody who reaches it
      /// can read and write everything. Default: false.
      public var isInsecure = false
      /// How long past changes are kept. Stored in the files, so that it holds for every process
      /// that writes them; on a PostgreSQL server, this process keeps them so long, of any size. With
      /// nil, the default, a file that has none gets one hour and at most 1 GiB.
      public var retention: ChangeLogRetention?
      /// The content of a `firestore.indexes.json`: replaces the declared indexes of each database
      /// when the server opens it, unless it `isReadOnly`. They are built in the background. Creating a
      /// server with a text that is no JSON object throws `invalidArgument`. Default: nil, which leaves
      /// them.
      public var indexes: String?
      /// Refuses a query that needs an index in Cloud Firestore and has none here, with
      /// `failedPrecondition` and the entry for `firestore.indexes.json`. For development: each query
      /// is planned twice. Default: false.
      public var requiresIndexes = false
      /// Limits on what clients may use.
      public var limits = Limits()
      /// Creates the server's metrics. Default: the system's, see swift-metrics.
      ///
      /// | Label | Kind | Value |
      /// |---|---|---|
      /// | `hearth_server_calls` | counter | calls that have ended, by `method` and `code` |
      /// | `hearth_server_call_time` | timer | time of a call, by `method` |
      /// | `hearth_server_calls_running` | meter | calls that run |
      /// | `hearth_server_listeners` | meter | open `Listen` streams |
      /// | `hearth_server_connections` | meter | open connections |
      /// | `hearth_server_unread_answer_bytes` | meter | bytes of results and answers that are kept until their clients read them, every second |
      /// | `hearth_server_connections_refused` | counter | connections beyond a limit |
      public var metrics: any MetricsFactory = MetricsSystem.factory
      /// Also answers `GET /metrics` with these metrics, in the text format of Prometheus: counters end
      /// in `_total`, and the time of calls is a histogram in seconds. As every call, it needs a key if
      /// the server has keys. Default: false.
      public var servesMetrics = false

      /// Creates the default options.
      public init() {}
    }

    /// Where the certificate of a server and its key are. The files are read again every ten minutes:
    /// new connections get a new certificate without a restart. Files that are not valid are logged,
    /// and the certificate stays as it was.
    public struct TLS: Sendable, Hashable {
      /// A PEM file: the server's certificate first, then those that sign it.
      public var certificatePath: String
      /// A PEM file with the private key of the certificate.
      public var keyPath: String

      /// How often the files are read again. Default: ten minutes.
      public var refreshInterval = Duration.seconds(600)

      /// Creates a description of files, which are read when the server is created: this then throws
      /// `invalidArgument` if they are missing, or are not a certificate and its key.
      public init(certificatePath: String, keyPath: String) {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
      }
    }

    /// Limits on what clients may use. A call beyond `runningCalls`, `targetsPerStream` or `databases`
    /// fails with `resourceExhausted`. A larger message ends its call with a reset of its stream, which clients
    /// report as `unavailable`. Calls beyond `streamsPerConnection` wait in the client.
    public struct Limits: Sendable, Hashable {
      /// The size of a request's message, in bytes; over REST, of its body. Default: twice Firestore's 10 MiB for a commit,
      /// because names make the message larger.
      public var messageBytes = 20_971_520
      /// Open connections. One more is closed at once. Default: 10,000.
      public var connections = 10_000
      /// Open connections of one address; of IPv6, of one network (/64). One more is closed at once.
      /// Default: 2,500, so that a proxy on the same machine has room.
      public var connectionsPerAddress = 2500
      /// Calls that one connection may have running. Default: 1,000.
      public var streamsPerConnection = 1000
      /// Calls that may run at a time, listeners included. Default: 20,000.
      public var runningCalls = 20_000
      /// Targets of one `Listen` stream. Default: 1,000.
      public var targetsPerStream = 1000
      /// Bytes of the results of queries and batches that are kept in memory because clients read them
      /// slowly, of all connections. Beyond it, the results that were read first are dropped, all but the
      /// last one, and what is not sent of them is read again when the client is ready for it, in the state of the
      /// read time. The call fails with `aborted` if the change log no longer reaches back to that; see
      /// `Options.retention`.
      ///
      /// A quarter as many more are for answers that are encoded, and not sent yet. Beyond that, answers of connections
      /// that have more than 1 MiB of their kind wait, and fail with `resourceExhausted` when the client has
      /// read nothing for two minutes. Default: 32 MiB.
      public var answerBytes = 32 << 20
      /// Databases of a folder: with so many, `Options.createsDatabases` creates no more, and the write
      /// that needs one fails with `resourceExhausted`. Those that exist are served, however many they
      /// are. Default: 1,000.
      public var databases = 1000

      /// Queries and single documents that one `Listen` stream watches.
      var membersPerStream = 10_000
      /// Bytes of requests that may be in memory at a time, bodies over REST and messages over gRPC; at
      /// least one message.
      var requestBytes = 256 << 20
      /// Time for a request's body over REST, and for a message over gRPC.
      var requestTime = Duration.seconds(120)
      /// Time in which a client reads a part of an answer.
      var writeTime = Duration.seconds(60)
      /// How long a connection over HTTP/2 may have no call. Clients connect again with the next one.
      var idleTime = Duration.seconds(600)

      /// Streams of HTTP/2 that may be open: calls that run, and those that have no place yet.
      var openStreams: Int {
        let others = UncheckedCalls.limit + CallGate.healthLimit
        return runningCalls < .max - others ? runningCalls + others : .max
      }

      /// Creates the default limits.
      public init() {}
    }
  }

  extension FirestoreServer.Options {
    /// Throws `invalidArgument` for options that let in who should not be.
    func check() throws(Status) {
      guard (0...65_535).contains(port) else {
        throw .invalidArgument("A port is a number from 0 to 65535.")
      }
      guard limits.messageBytes > 0, limits.connections > 0, limits.connectionsPerAddress > 0,
        limits.streamsPerConnection > 0, limits.runningCalls > 0, limits.targetsPerStream > 0,
        limits.answerBytes > 0, limits.databases > 0
      else { throw .invalidArgument("A server's limits are greater than zero.") }
      try ServiceKeys.check(serviceKeys)
      try retention?.check()
      try ServedIndexes(json: indexes).check()
      if isLoopback { return }
      guard !isEmulator else {
        throw .invalidArgument("An emulator listens on loopback only: 127.0.0.1 or ::1.")
      }
      guard isInsecure || tls != nil && hasKeys else {
        throw .invalidArgument(
          "Without TLS and service keys, a server listens on loopback only: 127.0.0.1 or ::1.")
      }
    }

    /// Whether calls need a key.
    var hasKeys: Bool { !serviceKeys.isEmpty || !serviceAccounts.isEmpty }

    var isLoopback: Bool { ["127.0.0.1", "::1", "localhost"].contains(host) }

    /// The metadata of the first log message of a server with these options. Has no secrets.
    func description(of catalog: DatabaseCatalog) -> Logger.Metadata {
      let access =
        if hasKeys {
          "\(serviceKeys.count) keys, \(serviceAccounts.count) accounts"
        } else if isLoopback {
          isEmulator ? "this machine, any token" : "this machine, no keys"
        } else {
          "everybody, no keys"
        }
      var mode: [String] = []
      if isReadOnly { mode.append("read-only") }
      if createsDatabases && !isReadOnly { mode.append("creates databases") }
      if isEmulator { mode.append("emulator") }
      return [
        "database": "\(catalog.description)", "tls": tls == nil ? "no" : "yes",
        "access": "\(access)", "mode": "\(mode.isEmpty ? "plain" : mode.joined(separator: ", "))",
      ]
    }
  }
#endif
