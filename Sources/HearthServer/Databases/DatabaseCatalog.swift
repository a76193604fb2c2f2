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
  ///
  /// A catalog that creates databases does so for writes. Reads of one that does not exist get the
  /// placeholder: an empty database in memory, one for all.
  package final class DatabaseCatalog: Sendable {
    private enum Place {
      case one(ServedDatabase)
      case folder(String)
    }

    /// The use that a call makes of a database.
    enum Purpose: Sendable {
      case reading
      /// Reads, and is called if it got the placeholder and the database is created later.
      case listening(CreationWatch)
      case writing

      var writes: Bool { if case .writing = self { true } else { false } }
    }

    /// Called once when a database is created, until it is removed.
    final class CreationWatch: Sendable {
      fileprivate let onCreation: @Sendable () -> Void

      init(_ onCreation: @escaping @Sendable () -> Void) { self.onCreation = onCreation }
    }

    /// A database that is open.
    private struct Entry {
      let database: ServedDatabase
      /// Calls that use it now.
      var uses = 0
      /// The number of its last use.
      var lastUse: UInt64 = 0
    }

    /// A database, or nil if the caller tries again.
    private typealias Outcome = Result<ServedDatabase?, Status>

    /// A call that waits for a file.
    private struct Waiter {
      let purpose: Purpose
      let continuation: CheckedContinuation<Outcome, Never>
    }

    /// A file is opened and closed by one thread at a time, and no other file waits for it.
    private enum Slot {
      /// Next: `open`, or none.
      case opening
      /// Next: `closing`.
      case open(Entry)
      /// Next: none.
      case closing
    }

    private struct State {
      var slots: [DatabaseName: Slot] = [:]
      /// Calls that wait for a file that is being opened or closed.
      var waiters: [DatabaseName: [Waiter]] = [:]
      var uses: UInt64 = 0
      /// Files that are being created.
      var creations = 0
      /// Listeners of the placeholder.
      var watches: [DatabaseName: [ObjectIdentifier: CreationWatch]] = [:]
      /// Nil until the first read of a database that does not exist.
      var placeholder: ServedDatabase?
      var indexes: ServedIndexes
      var isClosed = false

      var open: [ServedDatabase] {
        slots.values.compactMap { if case .open(let entry) = $0 { entry.database } else { nil } }
      }

      /// Nil for a database that is not open. Throws `unavailable` if the catalog is closed.
      mutating func use(_ name: DatabaseName, times: Int = 1) throws(Status) -> ServedDatabase? {
        if isClosed { throw Status.shuttingDown }
        guard case .open(var entry)? = slots[name] else { return nil }
        uses += 1
        entry.uses += times
        entry.lastUse = uses
        slots[name] = .open(entry)
        return entry.database
      }

      /// Adds a waiter for a file that is being opened or closed. False for another one.
      mutating func wait(_ waiter: Waiter, for name: DatabaseName) -> Bool {
        switch slots[name] {
        case .opening?, .closing?:
          waiters[name, default: []].append(waiter)
          return true
        case .open?, nil: return false
        }
      }

      /// Begins to close the databases that nobody uses, the longest unused first, until no more than
      /// `limit` are open.
      mutating func removeUnused(limit: Int) -> [(name: DatabaseName, backend: any StoreBackend)] {
        var open: [(name: DatabaseName, entry: Entry)] = []
        var count = 0
        for (name, slot) in slots {
          switch slot {
          case .open(let entry):
            count += 1
            open.append((name, entry))
          case .opening: count += 1
          case .closing: break
          }
        }
        guard count > limit else { return [] }
        let unused = open.filter { $0.entry.uses == 0 && $0.entry.database.transactions.open == 0 }
          .sorted { $0.entry.lastUse < $1.entry.lastUse }.prefix(count - limit)
        for (name, _) in unused { slots[name] = .closing }
        return unused.map { ($0.name, $0.entry.database.backend) }
      }

      /// Ends the opening or closing of a file. Returns those that wait for it.
      mutating func end(_ name: DatabaseName) -> [Waiter] {
        slots[name] = nil
        return waiters.removeValue(forKey: name) ?? []
      }
    }

    /// The path of the file or folder, or the URL without its password.
    let description: String
    private let place: Place
    private let creates: Bool
    private let settings: EmbeddedBackend.Settings
    private let openLimit: Int
    private let databaseLimit: Int
    private let logger: Logger
    private let state: Guarded<State>
    /// Files that are being opened or closed, on threads of their own: calls run on event loops.
    private let work = DispatchGroup()

    /// Serves one backend.
    init(
      _ backend: any StoreBackend, _ indexes: ServedIndexes = ServedIndexes(),
      logger: Logger = Logger(label: "hearth.server")
    ) {
      place = .one(ServedDatabase(backend, indexes))
      state = Guarded(State(indexes: indexes))
      description = (backend as? any FileBackend)?.path ?? "a database"
      creates = false
      settings = EmbeddedBackend.Settings()
      openLimit = 1
      databaseLimit = 1
      self.logger = logger
    }

    /// Serves a file, a folder, or the database of a PostgreSQL server.
    ///
    /// - Parameters:
    ///   - creates: Files that do not exist are created.
    ///   - openLimit: Of more open databases of a folder, unused ones are closed.
    ///   - databaseLimit: In a folder with so many databases, none is created.
    init(
      at path: String, creates: Bool, _ settings: EmbeddedBackend.Settings,
      _ indexes: ServedIndexes, openLimit: Int = 128,
      databaseLimit: Int = FirestoreServer.Limits().databases, logger: Logger
    ) throws {
      state = Guarded(State(indexes: indexes))
      self.openLimit = openLimit
      self.databaseLimit = databaseLimit
      self.creates = creates
      self.settings = settings
      self.logger = logger
      if path.hasPrefix("postgresql://") || path.hasPrefix("postgres://") {
        let (backend, name) = try Self.openServer(path, settings, logger)
        description = name
        place = .one(ServedDatabase(backend, indexes))
        return
      }
      description = path
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
    ) throws -> (any StoreBackend, name: String) {
      #if Postgres
        let retention = settings.retention ?? FirestoreServer.defaultRetention
        let store = try PostgresStore(
          url, retention: retention, isReadOnly: settings.store.isReadOnly, logger: logger)
        return (try RemoteBackend(store, settings, logger: logger), store.name)
      #else
        throw Status(
          .unimplemented, "Databases on a PostgreSQL server need Hearth with the trait Postgres.")
      #endif
    }

    // MARK: Use

    /// The database with this name, which stays open until `endUse`. Throws `notFound` for one that
    /// does not exist, unless the catalog creates databases.
    func use(_ name: DatabaseName, for purpose: Purpose) async throws(Status) -> ServedDatabase {
      if case .one(let database) = place {
        guard name.database == "(default)" else { throw Self.missing(name) }
        return database
      }
      while true {
        if let database = try state.withLock({ state throws(Status) in try state.use(name) }) {
          return database
        }
        let outcome: Outcome = await withCheckedContinuation { continuation in
          open(name, Waiter(purpose: purpose, continuation: continuation))
        }
        if let database = try outcome.get() { return database }
      }
    }

    func endUse(of name: DatabaseName, _ database: ServedDatabase) {
      state.withLock { state in
        guard case .open(var entry)? = state.slots[name], entry.database === database else {
          return
        }
        entry.uses -= 1
        state.slots[name] = .open(entry)
      }
    }

    func remove(_ watch: CreationWatch, of name: DatabaseName) {
      state.withLock { state in
        state.watches[name]?[ObjectIdentifier(watch)] = nil
        if state.watches[name]?.isEmpty ?? false { state.watches[name] = nil }
      }
    }

    /// Opens a file, unless it is being opened or closed. Returns at once.
    private func open(_ name: DatabaseName, _ waiter: Waiter) {
      let (outcome, unused): (Outcome?, [(name: DatabaseName, backend: any StoreBackend)]?) =
        state.withLock { state in
          if state.isClosed { return (.failure(.shuttingDown), nil) }
          if state.wait(waiter, for: name) { return (nil, nil) }
          // Another call has opened it meanwhile.
          if state.slots[name] != nil { return (.success(nil), nil) }
          state.slots[name] = .opening
          state.waiters[name] = [waiter]
          work.enter()
          return (nil, state.removeUnused(limit: openLimit))
        }
      if let outcome { waiter.continuation.resume(returning: outcome) }
      guard let unused else { return }
      BlockingThreads.shared.run { [self] in
        for (name, backend) in unused {
          backend.close()
          for waiter in state.withLock({ $0.end(name) }) {
            waiter.continuation.resume(returning: .success(nil))
          }
        }
        do throws(Status) {
          if let backend = try openFile(name, creates: waiter.purpose.writes) {
            add(backend, name)
          } else {
            usePlaceholder(try makePlaceholder(), for: name)
          }
        } catch {
          // A file that cannot be created may be one that need not be.
          for other in state.withLock({ $0.end(name) }) {
            let isSame = other.purpose.writes == waiter.purpose.writes
            other.continuation.resume(returning: isSame ? .failure(error) : .success(nil))
          }
        }
        work.leave()
      }
    }

    /// The database is open.
    private func add(_ backend: any StoreBackend, _ name: DatabaseName) {
      let (waiters, watches, database) = state.withLock { state in
        let waiters = state.end(name)
        guard !state.isClosed else { return (waiters, [CreationWatch](), ServedDatabase?.none) }
        let database = ServedDatabase(backend, state.indexes)
        state.slots[name] = .open(Entry(database: database))
        _ = try? state.use(name, times: waiters.count)
        let watches = state.watches.removeValue(forKey: name) ?? [:]
        return (waiters, Array(watches.values), database)
      }
      if database == nil { backend.close() }
      for watch in watches { watch.onCreation() }
      for waiter in waiters {
        waiter.continuation.resume(
          returning: database.map { .success($0) } ?? .failure(.shuttingDown))
      }
    }

    /// The database does not exist, and is not created by the call that looked for it.
    private func usePlaceholder(_ placeholder: ServedDatabase, for name: DatabaseName) {
      let waiters = state.withLock { state in
        let waiters = state.end(name)
        for case .listening(let watch) in waiters.map(\.purpose) {
          state.watches[name, default: [:]][ObjectIdentifier(watch)] = watch
        }
        return waiters
      }
      for waiter in waiters {
        waiter.continuation.resume(returning: .success(waiter.purpose.writes ? nil : placeholder))
      }
    }

    private func makePlaceholder() throws(Status) -> ServedDatabase {
      if let known = state.withLock(\.placeholder) { return known }
      let backend: EmbeddedBackend
      do {
        backend = try EmbeddedBackend(inMemory: settings, logger: logger)
      } catch {
        throw error as? Status ?? Status(.unavailable, "The database cannot be opened.")
      }
      let placeholder: ServedDatabase? = state.withLock { state in
        guard !state.isClosed, state.placeholder == nil else { return state.placeholder }
        state.placeholder = ServedDatabase(backend, state.indexes, isPlaceholder: true)
        return state.placeholder
      }
      if placeholder?.backend !== backend { backend.close() }
      guard let placeholder else { throw Status.shuttingDown }
      return placeholder
    }

    /// Opens a file. Nil for one that does not exist.
    ///
    /// - Parameter creates: It is created then.
    private func openFile(
      _ name: DatabaseName, creates: Bool
    ) throws(Status) -> (any StoreBackend)? {
      guard case .folder(let root) = place else { throw Self.missing(name) }
      let folder = root + "/" + name.project
      let path = folder + "/" + name.database + ".hearth"
      if FileManager.default.fileExists(atPath: path) { return try openFile(at: path) }
      guard self.creates else { throw Self.missing(name) }
      guard creates else { return nil }
      // Counted before the files are: one that is created meanwhile is one of them, or both.
      let creations = state.withLock { state in
        state.creations += 1
        return state.creations
      }
      defer { state.withLock { $0.creations -= 1 } }
      guard Self.databaseCount(in: root, upTo: databaseLimit) + creations <= databaseLimit else {
        throw Status(
          .resourceExhausted,
          "The server has \(databaseLimit) databases, and creates no more. Raise its limit "
            + "(hearth serve --max-databases), or stop it and remove files.")
      }
      do {
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: true,
          attributes: [.posixPermissions: 0o700])
      } catch {
        throw refused(path, error)
      }
      return try openFile(at: path)
    }

    private func openFile(at path: String) throws(Status) -> any StoreBackend {
      do {
        return try EmbeddedBackend(at: path, named: path, settings, logger: logger)
      } catch {
        throw refused(path, error)
      }
    }

    private func refused(_ path: String, _ error: any Error) -> Status {
      logger.error(
        "A database is not opened.", metadata: ["path": "\(path)", "error": "\(error)"])
      return error as? Status ?? Status(.unavailable, "The database cannot be opened.")
    }

    /// The number of databases in a folder, or `limit` if there are more.
    private static func databaseCount(in root: String, upTo limit: Int) -> Int {
      let files = FileManager.default
      var count = 0
      for project in (try? files.contentsOfDirectory(atPath: root)) ?? [] {
        let names = (try? files.contentsOfDirectory(atPath: root + "/" + project)) ?? []
        count += names.count { $0.hasSuffix(".hearth") }
        if count >= limit { return limit }
      }
      return count
    }

    private static func missing(_ name: DatabaseName) -> Status {
      Status(
        .notFound,
        "The database \(name.database) does not exist for project \(name.project).")
    }

    // MARK: All databases

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
      for database in allDatabases { database.replaceIndexes(indexes, logger: logger) }
    }

    /// Ends transactions that have been idle or open for too long.
    func expireTransactions() {
      for database in allDatabases { database.transactions.expire() }
    }

    /// Ends the transactions of a client whose connection is closed.
    func endTransactions(of client: String) {
      for database in allDatabases { database.transactions.endTransactions(of: client) }
    }

    /// Transactions that have not ended, of all databases.
    var openTransactions: Int { allDatabases.reduce(0) { $0 + $1.transactions.open } }

    /// The databases that are open and have a file.
    var openFiles: [any FileBackend] { openDatabases.compactMap { $0.backend as? any FileBackend } }

    private var openDatabases: [ServedDatabase] {
      if case .one(let database) = place { return [database] }
      return state.withLock(\.open)
    }

    private var allDatabases: [ServedDatabase] {
      openDatabases + (state.withLock(\.placeholder).map { [$0] } ?? [])
    }

    /// Completes all writes, and closes what the catalog has opened.
    package func close() {
      let open = state.withLock { state in
        state.isClosed = true
        defer {
          for (name, slot) in state.slots { if case .open = slot { state.slots[name] = nil } }
          state.placeholder = nil
        }
        return state.open + (state.placeholder.map { [$0] } ?? [])
      }
      // Some may be being opened or closed.
      work.wait()
      for database in open { database.backend.close() }
      if case .one(let database) = place { database.backend.close() }
    }
  }
#endif
