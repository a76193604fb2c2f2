#if Server
  import Foundation
  import HearthEngine
  import Logging

  #if Postgres
    import HearthPostgres
  #endif

  /// The databases of a server, by name. Opens each at its first use. Of many that are open, it closes
  /// those that nobody uses: each has file descriptors, and reserves address space.
  ///
  ///     file     every project's default database is this file
  ///     URL      every project's default database is this one of a PostgreSQL server
  ///     folder   folder/<project>/<database>.hearth
  package final class DatabaseCatalog: Sendable {
    private enum Place {
      case one(ServedDatabase)
      case folder(String)
    }

    /// A database that is open.
    private struct Entry {
      let database: ServedDatabase
      /// Calls that use it now.
      var uses = 0
      /// The number of its last use.
      var lastUse: UInt64 = 0
    }

    private struct State {
      var open: [DatabaseName: Entry] = [:]
      var uses: UInt64 = 0
      var indexes: ServedIndexes
      var isClosed = false

      /// Nil for a database that is not open. Throws `unavailable` if the catalog is closed.
      mutating func use(_ name: DatabaseName) throws(Status) -> ServedDatabase? {
        if isClosed { throw Status(.unavailable, "The server is shutting down.") }
        guard var entry = open[name] else { return nil }
        uses += 1
        entry.uses += 1
        entry.lastUse = uses
        open[name] = entry
        return entry.database
      }

      /// The database that nobody uses for the longest time, which is no longer among the open ones.
      /// Nil if fewer are open, or all are in use.
      mutating func removeUnused(limit: Int) -> (any Backend)? {
        guard open.count >= limit else { return nil }
        let unused = open.filter { $0.value.uses == 0 && $0.value.database.transactions.open == 0 }
        guard let oldest = unused.min(by: { $0.value.lastUse < $1.value.lastUse }) else {
          return nil
        }
        open[oldest.key] = nil
        return oldest.value.database.backend
      }
    }

    private let place: Place
    private let creates: Bool
    private let settings: EmbeddedBackend.Settings
    private let openLimit: Int
    private let logger: Logger
    private let state: Guarded<State>
    /// Opens and closes files, which takes milliseconds: calls run on event loops.
    private let files = DispatchQueue(label: "hearth.server.databases")

    /// Serves one backend.
    init(
      _ backend: any Backend, _ indexes: ServedIndexes = ServedIndexes(),
      logger: Logger = Logger(label: "hearth.server")
    ) {
      place = .one(ServedDatabase(backend, indexes))
      state = Guarded(State(indexes: indexes))
      creates = false
      settings = EmbeddedBackend.Settings()
      openLimit = 1
      self.logger = logger
    }

    /// Serves a file, a folder, or the database of a PostgreSQL server.
    ///
    /// - Parameters:
    ///   - creates: Files that do not exist are created.
    ///   - openLimit: Of more open databases of a folder, unused ones are closed.
    init(
      at path: String, creates: Bool, _ settings: EmbeddedBackend.Settings,
      _ indexes: ServedIndexes, openLimit: Int = 128, logger: Logger
    ) throws {
      state = Guarded(State(indexes: indexes))
      self.openLimit = openLimit
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

    /// The database with this name, which stays open until `endUse`.
    func use(_ name: DatabaseName) async throws(Status) -> ServedDatabase {
      if case .one(let database) = place {
        guard name.database == "(default)" else { throw Self.missing(name) }
        return database
      }
      if let database = try useOpen(name) { return database }
      let opened: Result<ServedDatabase, Status> = await withCheckedContinuation { opened in
        files.async {
          opened.resume(returning: Result { () throws(Status) in try self.openForUse(name) })
        }
      }
      return try opened.get()
    }

    private func useOpen(_ name: DatabaseName) throws(Status) -> ServedDatabase? {
      try state.withLock { state throws(Status) in try state.use(name) }
    }

    /// For the queue of files.
    private func openForUse(_ name: DatabaseName) throws(Status) -> ServedDatabase {
      // Another call may have opened it while this one waited.
      if let database = try useOpen(name) { return database }
      closeUnused()
      let backend = try open(name)
      let database: ServedDatabase?
      do {
        database = try state.withLock { state throws(Status) in
          if !state.isClosed {
            state.open[name] = Entry(database: ServedDatabase(backend, state.indexes))
          }
          return try state.use(name)
        }
      } catch {
        backend.close()
        throw error
      }
      guard let database else { throw Self.missing(name) }
      return database
    }

    func endUse(of name: DatabaseName) { state.withLock { $0.open[name]?.uses -= 1 } }

    /// Makes room for one more. On the queue of files: one that is being closed cannot be opened.
    private func closeUnused() {
      while let unused = state.withLock({ $0.removeUnused(limit: openLimit) }) { unused.close() }
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
      return state.withLock { $0.open.values.map(\.database) }
    }

    /// The number of databases that are open.
    var openCount: Int { openDatabases.count }

    /// Completes all writes, and closes what the catalog has opened.
    package func close() {
      let open = state.withLock { state in
        state.isClosed = true
        defer { state.open = [:] }
        return state.open.values.map(\.database)
      }
      // One may be being opened.
      files.sync {}
      for database in open { database.backend.close() }
      if case .one(let database) = place { database.backend.close() }
    }
  }
#endif
