#if Server
  import Foundation
  import HearthEngine
  import Logging

  #if Postgres
    import HearthPostgres
  #endif

  /// The databases of a server, by name. Opens each at its first use.
  ///
  ///     file     every project's default database is this file
  ///     URL      every project's default database is this one of a PostgreSQL server
  ///     folder   folder/<project>/<database>.hearth
  package final class DatabaseCatalog: Sendable {
    private enum Place {
      case one(ServedDatabase)
      case folder(String)
    }

    private struct State {
      var open: [DatabaseName: ServedDatabase] = [:]
      var indexes: ServedIndexes
      var isClosed = false
    }

    private let place: Place
    private let creates: Bool
    private let settings: EmbeddedBackend.Settings
    private let logger: Logger
    private let state: Guarded<State>

    /// Serves one backend.
    init(
      _ backend: any Backend, _ indexes: ServedIndexes = ServedIndexes(),
      logger: Logger = Logger(label: "hearth.server")
    ) {
      place = .one(ServedDatabase(backend, indexes))
      state = Guarded(State(indexes: indexes))
      creates = false
      settings = EmbeddedBackend.Settings()
      self.logger = logger
    }

    /// Serves a file, a folder, or the database of a PostgreSQL server.
    ///
    /// - Parameter creates: Files that do not exist are created.
    init(
      at path: String, creates: Bool, _ settings: EmbeddedBackend.Settings,
      _ indexes: ServedIndexes, logger: Logger
    ) throws {
      state = Guarded(State(indexes: indexes))
      self.creates = creates
      self.settings = settings
      self.logger = logger
      if path.hasPrefix("postgresql://") || path.hasPrefix("postgres://") {
        place = .one(ServedDatabase(try Self.openServer(path, settings, logger), indexes))
        return
      }
      var isFolder: ObjCBool = false
      let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
      if exists ? isFolder.boolValue : !path.hasSuffix(".hearth") {
        place = .folder(path)
        return
      }
      guard exists || creates else {
        throw Status(.notFound, "There is no database at \(path).")
      }
      place = .one(
        ServedDatabase(
          try EmbeddedBackend(at: path, named: path, settings, logger: logger), indexes))
    }

    private static func openServer(
      _ url: String, _ settings: EmbeddedBackend.Settings, _ logger: Logger
    ) throws -> any Backend {
      guard !settings.isReadOnly else {
        throw Status.invalidArgument(
          "Refusing writes is possible for files only. Give the server's user no right to write.")
      }
      #if Postgres
        let retention = settings.retention ?? FirestoreServer.defaultRetention
        let store = try PostgresStore(url, retention: retention, logger: logger)
        return try RemoteBackend(store, settings, logger: logger)
      #else
        throw Status(
          .unimplemented, "Databases on a PostgreSQL server need Hearth with the trait Postgres.")
      #endif
    }

    func database(_ name: DatabaseName) throws(Status) -> ServedDatabase {
      if case .one(let database) = place {
        guard name.database == "(default)" else { throw Self.missing(name) }
        return database
      }
      return try state.withLock { state throws(Status) in
        if let database = state.open[name] { return database }
        if state.isClosed { throw Status(.unavailable, "The server is shutting down.") }
        let database = ServedDatabase(try open(name), state.indexes)
        state.open[name] = database
        return database
      }
    }

    private func open(_ name: DatabaseName) throws(Status) -> any Backend {
      guard case .folder(let root) = place else { throw Self.missing(name) }
      let folder = root + "/" + name.project
      let path = folder + "/" + name.database + ".hearth"
      guard creates || FileManager.default.fileExists(atPath: path) else {
        throw Self.missing(name)
      }
      do {
        if creates {
          try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        }
        return try EmbeddedBackend(at: path, named: path, settings, logger: logger)
      } catch {
        logger.error(
          "A database is not opened.", metadata: ["path": "\(path)", "error": "\(error)"])
        throw error as? Status ?? Status(.unavailable, "The database cannot be opened.")
      }
    }

    private static func missing(_ name: DatabaseName) -> Status {
      Status(
        .notFound,
        "The database \(name.database) does not exist for project \(name.project).")
    }

    /// Replaces the declared indexes of the databases, also of those that are opened later. Throws
    /// `invalidArgument` for a text that is no JSON object.
    func replaceIndexes(json: String) throws(Status) {
      let indexes = try state.withLock { state throws(Status) in
        var indexes = state.indexes
        indexes.json = json
        try indexes.check()
        state.indexes = indexes
        return indexes
      }
      for database in openDatabases { database.replaceIndexes(indexes, logger: logger) }
    }

    /// Ends transactions that have been idle or open for too long.
    func expireTransactions() {
      for database in openDatabases { database.transactions.expire() }
    }

    /// Ends the transactions of a client whose connection is closed.
    func endTransactions(of client: String) {
      for database in openDatabases { database.transactions.endTransactions(of: client) }
    }

    /// Transactions that have not ended, of all databases.
    var openTransactions: Int { openDatabases.reduce(0) { $0 + $1.transactions.open } }

    private var openDatabases: [ServedDatabase] {
      if case .one(let database) = place { return [database] }
      return state.withLock { Array($0.open.values) }
    }

    /// Completes all writes, and closes what the catalog has opened.
    package func close() {
      let open = state.withLock { state in
        state.isClosed = true
        defer { state.open = [:] }
        return Array(state.open.values)
      }
      for database in open { database.backend.close() }
      if case .one(let database) = place { database.backend.close() }
    }
  }
#endif
