import Foundation
import Logging
import Synchronization

#if Postgres
  internal import HearthPostgres
#endif

/// A document database in one file, embedded in this process.
///
///     let db = try Firestore.open(at: "books.hearth")
///     try await db.collection("books").document("dune").setData(["title": "Dune", "pages": 412])
///     let book = try await db.document("books/dune").getDocument()
///     print(book["title"] as? String ?? "")
///
/// Opening the same file twice in a process returns the same instance. Several processes can have a
/// file open. An acknowledged write survives the end of the process and a power failure, unless
/// `FirestoreSettings.durability` says otherwise.
public final class Firestore: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; all state is in `state`, a mutex, and in constants.

  /// The file's path; for a database in memory, the path that its file would have.
  public let path: String
  /// A database does not store references to databases of another identity.
  let databaseIdentity: DatabaseIdentity
  /// The app that the database belongs to.
  public let app: FirebaseApp
  /// Whether it was opened by app and name, not by path. Deleting the app then terminates it.
  let isOfApp: Bool

  private enum Phase {
    /// Next: `open`, or `terminated`. Stays `idle` if opening fails.
    case idle
    /// Next: `terminated`.
    case open(Database)
    /// Final. Holds the database until it is closed, if it was open.
    case terminated(Database?)
  }

  private struct State {
    var phase = Phase.idle
    /// The absolute path that it is opened by; may contain symbolic links.
    var namedPath: String
    var settings: OwnSettings
    var settingsError: Status?
    var failureHandler: (@Sendable (NSError) -> Void)?
    /// For metrics. Called in addition to the handler.
    var failureObserver: (@Sendable () -> Void)?
    var indexManager: PersistentCacheIndexManager?
  }

  private let state: Guarded<State>
  /// Runs callbacks that belong to no actor, unless the settings name a queue.
  private let ownQueue = LazyCallbackQueue()
  private static let isVerbose = Atomic<Bool>(false)

  static var logger: Logger {
    var logger = Logger(label: "hearth")
    if isVerbose.load(ordering: .relaxed) { logger.logLevel = .debug }
    return logger
  }

  init(
    path: String, named namedPath: String? = nil, app: FirebaseApp, database: String? = nil
  ) {
    self.path = path
    self.app = app
    isOfApp = database != nil
    databaseIdentity =
      database.map {
        DatabaseIdentity(project: app.options.projectID ?? app.name, database: $0)
      } ?? DatabaseIdentity(file: path)
    state = Guarded(
      State(
        namedPath: OpenDatabases.absolute(namedPath ?? path),
        settings: OwnSettings(FirestoreSettings(), ownQueue)))
  }

  // MARK: Opening

  /// Opens a database file. Creates it, and its folder, accessible to their owner only, if they do not
  /// exist.
  ///
  ///     let db = try Firestore.open(at: "books.hearth")
  ///
  /// Opening the same file again returns the same instance. Nil `settings` keep the settings of
  /// that instance; different ones throw `failedPrecondition`. At the first opening, nil means the
  /// default settings.
  ///
  /// Also throws `failedPrecondition` if a newer Hearth wrote the file, or if another process has a
  /// file open that was at the path before, or if the file is on a network file system (see
  /// `FirestoreSettings.allowsRemoteFileSystem`); `dataLoss` if the file is not a database, or if
  /// its headers or the first pages of its tables are damaged (see
  /// `FirestoreSettings.validatesPagesOnOpen` for the other pages); `notFound` if it is missing and
  /// the settings are read-only; `unavailable` if the system refuses access; `invalidArgument` for
  /// contradictory settings.
  public static func open(
    at path: String, settings: FirestoreSettings? = nil
  ) throws -> Firestore {
    return try reporting {
      let firestore = OpenDatabases.shared.instance(at: path) {
        Firestore(path: $0, named: path, app: .hearthDefault)
      }
      return try open(firestore, named: path, settings)
    }
  }

  /// Opens a database on a PostgreSQL server. Makes its tables if there are none.
  ///
  ///     let db = try Firestore.open("postgresql://books@db.internal:5432/books?sslmode=require")
  ///
  /// The URL is libpq's: with several hosts, the one that accepts writes is used, also after a
  /// failover. The tables are in the first schema of the search path. Any number of processes may
  /// have the same database open. Of the settings, the change log's retention, the limit on writes
  /// that wait, `maximumClockLead` and `isReadOnly` have an effect. With `isReadOnly` the user needs
  /// no right but `SELECT` on the tables, which must be there:
  ///
  ///     let settings = FirestoreSettings()
  ///     settings.isReadOnly = true
  ///     let db = try Firestore.open("postgresql://reader@db.internal/books", settings: settings)
  ///
  /// The page <doc:PostgreSQL> lists the differences from a file.
  ///
  /// Needs the trait `Postgres`. Throws `unimplemented` without it, `invalidArgument` for another
  /// URL, `unavailable` if the server cannot be reached, `permissionDenied` if it refuses the user,
  /// and `failedPrecondition` if a newer Hearth made the tables, or if the database is open with
  /// other settings. Blocks until it is connected.
  public static func open(
    _ url: String, settings: FirestoreSettings? = nil
  ) throws -> Firestore {
    try reporting {
      guard isServer(url) else {
        throw Status.invalidArgument(
          "A database on a server has a URL that begins with postgresql://. A file is opened with open(at:)."
        )
      }
      let firestore = OpenDatabases.shared.server(at: url) {
        Firestore(path: url, named: url, app: .hearthDefault)
      }
      return try open(firestore, named: url, settings)
    }
  }

  private static func isServer(_ url: String) -> Bool {
    url.hasPrefix("postgresql://") || url.hasPrefix("postgres://")
  }

  private static func open(
    _ firestore: Firestore, named path: String, _ settings: FirestoreSettings?
  ) throws -> Firestore {
    let before = firestore.state.withLock { ($0.settings, $0.settingsError) }
    func mismatch() -> Status {
      Status(
        .failedPrecondition,
        "\(path) is open with other settings. Open it with the same, or without settings.")
    }
    if let settings, !firestore.adopt(settings) { throw mismatch() }
    firestore.adopt(name: path)
    do {
      _ = try firestore.database()
    } catch {
      // Restores the settings, so that a failed opening has no effect on the next one.
      firestore.state.withLock { state in
        if case .idle = state.phase { (state.settings, state.settingsError) = before }
      }
      throw error
    }
    // Another thread may have opened it in between.
    if let settings, !firestore.adopt(settings) { throw mismatch() }
    return firestore
  }

  /// Same as `open(at:settings:)` with the path of a file URL. Throws `invalidArgument` for any
  /// other URL.
  public static func open(
    at url: URL, settings: FirestoreSettings? = nil
  ) throws -> Firestore {
    guard url.isFileURL else {
      throw Status.invalidArgument("A database is opened at a file URL, not at \(url).").nsError
    }
    return try open(at: url.path(percentEncoded: false), settings: settings)
  }

  /// The default database.
  ///
  /// Its file is `(default).hearth` in the folder that the environment variable `HEARTH_HOME`
  /// names, else in `$XDG_DATA_HOME/hearth`, else in `~/.local/share/hearth`. The file is opened at
  /// the first use, which reports the errors of `open(at:settings:)`.
  public class func firestore() -> Firestore { firestore(database: "(default)") }

  /// The default database of an app. Every named app has its own folder, below the default one's.
  public class func firestore(app: FirebaseApp) -> Firestore {
    firestore(app: app, database: "(default)")
  }

  /// A named database of the default app. Its file is beside the default database's.
  public class func firestore(database: String) -> Firestore {
    firestore(app: .hearthDefault, database: database)
  }

  /// A named database of an app.
  public class func firestore(app: FirebaseApp, database: String) -> Firestore {
    let path = DefaultLocation.path(app: app, database: database)
    return OpenDatabases.shared.instance(at: path) {
      Firestore(path: $0, named: path, app: app, database: database)
    }
  }

  /// The open database. Opens it at the first use. Throws `Status`.
  func database() throws -> Database {
    try state.withLock { state in
      switch state.phase {
      case .open(let database):
        try database.backend.checkUsable()
        return database
      case .terminated: throw Status.terminated
      case .idle:
        if let validationError = state.settingsError { throw validationError }
        let settings = state.settings.value
        let database = try open(settings, named: state.namedPath)
        if settings.isPersistent { OpenDatabases.shared.note(open: self) }
        state.phase = .open(database)
        return database
      }
    }
  }

  /// The open database, if it is in this process; else throws `Status`: `unimplemented`.
  func local() throws -> any LocalBackend { try database().checkedLocal() }

  /// The open database, if it is a file; else throws `Status`: `unimplemented`.
  func file() throws -> any FileBackend { try database().checkedFile() }

  /// The open database, if its documents can expire; else throws `Status`: `unimplemented`.
  func expiring() throws -> any ExpiringBackend {
    guard let expiring = try database().backend as? any ExpiringBackend else {
      throw Status(.unimplemented, "The documents of this database do not expire.")
    }
    return expiring
  }

  private func open(_ settings: FirestoreSettings, named namedPath: String) throws -> Database {
    if let validationError = settings.validationError { throw validationError }
    let logger = Self.logger
    if Self.isServer(path) { return try openServer(settings, logger) }
    #if DEBUG
      if let substitute = BackendSubstitute.inUse {
        let backend = try substitute.open(path, settings.isPersistent, settings.embedded, logger)
        return Database(backend, named: path, logger: logger)
      }
    #endif
    if settings.isPersistent { try DefaultLocation.prepare(forFileAt: path) }
    let backend =
      try settings.isPersistent
      ? EmbeddedBackend(at: path, named: namedPath, settings.embedded, logger: logger)
      : EmbeddedBackend(inMemory: settings.embedded, logger: logger)
    return Database(backend, named: backend.path, logger: logger)
  }

  private func openServer(_ settings: FirestoreSettings, _ logger: Logger) throws -> Database {
    #if Postgres
      let store = try PostgresStore(
        path, retention: settings.embedded.changeLog,
        isReadOnly: settings.embedded.store.isReadOnly,
        logger: logger)
      let backend = try RemoteBackend(store, settings.embedded, logger: logger)
      return Database(backend, named: store.name, logger: logger)
    #else
      throw Status(
        .unimplemented, "Databases on a PostgreSQL server need Hearth with the trait Postgres.")
    #endif
  }

  // MARK: Settings

  /// A copy of the settings. Set them before the first use: later, different settings are ignored,
  /// and that is logged as an error.
  public var settings: FirestoreSettings {
    get { state.withLock(\.settings).value.copied() }
    set {
      guard !adopt(newValue) else { return }
      Self.logger.error(
        """
        Firestore instance has already been started and its settings can no longer be changed. You \
        can only set settings before calling any other methods on a Firestore instance.
        """)
    }
  }

  /// Returns false, and changes nothing, if it is in use with other settings.
  private func adopt(_ settings: FirestoreSettings) -> Bool {
    state.withLock { state in
      guard case .idle = state.phase else { return state.settings.value.isEqual(settings) }
      state.settings = OwnSettings(settings, ownQueue)
      state.settingsError = state.settings.value.validationError
      return true
    }
  }

  /// Until it is open, the path of the last `open` is used.
  private func adopt(name path: String) {
    let path = OpenDatabases.absolute(path)
    state.withLock { state in
      if case .idle = state.phase { state.namedPath = path }
    }
  }

  func callbackTarget(_ actor: (any Actor)?) -> CallbackTarget {
    actor.map { .actor($0) } ?? .queue(callbackQueue)
  }

  /// Runs callbacks that belong to no actor.
  var callbackQueue: DispatchQueue { state.withLock(\.settings).value.dispatchQueue }

  /// Called with the error of a failed write that is not awaited and has no completion handler.
  ///
  ///     db.unobservedWriteFailureHandler = { error in print("A write failed: \(error)") }
  ///
  /// If it is nil, the default, such errors are logged. Called on the writer's thread, or on the
  /// caller's if the write is refused at once; it must return quickly.
  public var unobservedWriteFailureHandler: (@Sendable (NSError) -> Void)? {
    get { state.withLock(\.failureHandler) }
    set { state.withLock { $0.failureHandler = newValue } }
  }

  func observeFailures(_ observer: @escaping @Sendable () -> Void) {
    state.withLock { $0.failureObserver = observer }
  }

  func reportUnobserved(_ status: Status) { reportUnobserved(status.nsError) }

  func reportUnobserved(_ error: NSError) {
    state.withLock(\.failureObserver)?()
    if let handler = unobservedWriteFailureHandler {
      handler(error)
    } else {
      Self.logger.error("An unawaited write failed.", metadata: ["error": "\(error)"])
    }
  }

  /// The index manager. Nil for a database in memory. Always returns the same object, also after
  /// `terminate`.
  public var persistentCacheIndexManager: PersistentCacheIndexManager? {
    state.withLock { state in
      guard state.settings.value.isPersistent else { return nil }
      if let manager = state.indexManager { return manager }
      let manager = PersistentCacheIndexManager { [weak self] in
        // Only a terminated database can be deallocated: until then `OpenDatabases` holds it.
        guard let self else { throw Status.terminated }
        return try file()
      }
      state.indexManager = manager
      return manager
    }
  }

  // MARK: References

  /// The collection at a path with an odd number of segments: `books`, `books/dune/reviews`. An
  /// invalid path is reported by the first operation that uses the reference, as `invalidArgument`.
  public func collection(_ path: String) -> CollectionReference {
    CollectionReference(self, checking: path)
  }

  /// The document at a path with an even number of segments: `books/dune`. An invalid path is reported
  /// by the first operation that uses the reference, as `invalidArgument`.
  public func document(_ path: String) -> DocumentReference {
    DocumentReference(self, checking: path)
  }

  /// A query for all documents of all collections with this id, at any depth.
  public func collectionGroup(_ id: String) -> Query {
    Query(self, StructuredQuery(.group(id, below: .root))).changed { _ throws(Status) in
      try ResourcePath.check(collectionGroupID: id)
    }
  }

  // MARK: Network

  /// Sets `settings.host`. For source compatibility only: there is no server.
  public func useEmulator(withHost host: String, port: Int) {
    let changed = settings
    changed.host = "\(host):\(port)"
    changed.isSSLEnabled = false
    settings = changed
  }

  /// Does nothing: there is no network. Fails with `failedPrecondition` after `terminate`.
  public func enableNetwork(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) {
    switchNetwork(isolation, completion)
  }

  /// Does nothing: there is no network. Throws `failedPrecondition` after `terminate`.
  public func enableNetwork() async throws {
    if let refusal { throw refusal.nsError }
  }

  /// Does nothing: there is no network, and reads and writes continue. Fails with
  /// `failedPrecondition` after `terminate`.
  public func disableNetwork(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) {
    switchNetwork(isolation, completion)
  }

  /// Does nothing: there is no network, and reads and writes continue. Throws `failedPrecondition`
  /// after `terminate`.
  public func disableNetwork() async throws {
    if let refusal { throw refusal.nsError }
  }

  private func switchNetwork(_ actor: (any Actor)?, _ completion: ((Error?) -> Void)?) {
    let refusal = refusal
    guard let completion else {
      if let refusal { report(unheard: refusal.nsError) }
      return
    }
    callbackTarget(actor).carry(refusal?.nsError, to: Callback { completion($0) })
  }

  /// The error of calls that need no open database, after `terminate`; nil before.
  var refusal: Status? {
    state.withLock { state in
      if case .terminated = state.phase { Status.terminated } else { nil }
    }
  }

  /// Logs the error of a call that has no other way to report it.
  func report(unheard error: NSError) {
    Self.logger.error("\(error.localizedDescription)", metadata: ["code": "\(error.code)"])
  }

  /// Switches logging at the level debug on or off, for databases opened from now on.
  public class func enableLogging(_ logging: Bool) {
    isVerbose.store(logging, ordering: .relaxed)
  }

  // MARK: The end

  /// Calls `completion` when every write passed to the database before this call is done. Does not
  /// wait for callbacks of listeners.
  public func waitForPendingWrites(
    isolation: isolated (any Actor)? = #isolation, completion: @escaping (Error?) -> Void
  ) {
    answer(isolation, completion, begun()) { await $0.drain() }
  }

  /// Waits until every write passed to the database before this call is done. Does not wait for
  /// callbacks of listeners.
  public func waitForPendingWrites() async throws {
    try await reporting { try await database().drain() }
  }

  /// Same as ``terminate()``; calls `completion` afterwards, with nil, also if the database was
  /// terminated before.
  public func terminate(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) {
    answer(isolation, completion) { try await $0.terminate() }
  }

  /// Completes pending operations, ends the listeners, and closes the file. Idempotent.
  ///
  /// Afterwards only `clearPersistence` may be called; `Firestore.firestore()` returns a new
  /// instance.
  ///
  /// Calls no listener, not even with an error. Open sequences (`snapshots`) end without an error.
  /// A listener that is added afterwards is called once, with `failedPrecondition`; a sequence
  /// throws it.
  ///
  /// Waits for what has begun: writes, write closures, transactions with all their attempts, the queues
  /// of bulk writers, recursive deletes, calls with a completion handler, and reads that have the file
  /// open. Other calls that are under way end with their result, or with `failedPrecondition`. Does not
  /// wait for the first results of listeners. Logs what keeps the writer busy for more than one second,
  /// and a transaction's block that has not returned after ten seconds.
  public func terminate() async throws {
    guard let closing = retire() else { return }
    // Blocks until the writer is done, so it must not run on a thread of the cooperative pool.
    try? await onBlockingThread { closing.close() }
    state.withLock { $0.phase = .terminated(nil) }
  }

  /// Begins termination: refuses every later call, and lets the path have a new instance.
  /// Idempotent. Returns the database if it is not closed yet.
  @discardableResult
  func retire() -> Database? {
    let closing: Database? = state.withLock { state in
      switch state.phase {
      case .idle: state.phase = .terminated(nil)
      case .open(let database): state.phase = .terminated(database)
      case .terminated: break
      }
      if case .terminated(let database) = state.phase { return database }
      return nil
    }
    OpenDatabases.shared.forget(self)
    return closing
  }

  /// Removes the database's file. Call it before the first use, or after `terminate`.
  ///
  /// Fails with `failedPrecondition` if the database is open, or if another instance or process has
  /// the file open.
  public func clearPersistence(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) {
    answer(isolation, completion) { try await $0.clearPersistence() }
  }

  /// Removes the database's file. Call it before the first use, or after `terminate`.
  ///
  /// Throws `failedPrecondition` if the database is open, or if another instance or process has the
  /// file open.
  public func clearPersistence() async throws {
    try reporting {
      try state.withLock { state in
        if case .open = state.phase { throw Status.stillRunning }
        #if DEBUG
          BackendSubstitute.inUse?.remove(path)
        #endif
        guard !Self.isServer(path) else {
          throw Status(.unimplemented, "The tables of a server are not removed from here.")
        }
        // Another instance, or another process, may have opened the file since.
        guard try EmbeddedBackend.removeFile(at: path) else { throw Status.stillRunning }
      }
    }
  }

  /// The open database, which is not closed before its `end` is called: for an operation that begins
  /// here, and not when its task runs.
  func begun() -> Result<Database, any Error> {
    Result {
      let database = try database()
      try database.begin()
      return database
    }
  }

  /// Same as `answer` without a database, which has begun and is ended here.
  func answer(
    _ actor: (any Actor)?, _ completion: ((Error?) -> Void)?,
    _ begun: Result<Database, any Error>,
    _ body: @escaping @Sendable (Database) async throws -> Void
  ) {
    answer(actor, completion) { _ in
      try await reporting {
        let database = try begun.get()
        defer { database.end() }
        try await body(database)
      }
    }
  }

  /// Runs `body` in a task, and calls `completion` on the caller's actor or queue. Without a
  /// completion, a failure is logged.
  func answer(
    _ actor: (any Actor)?, _ completion: ((Error?) -> Void)?,
    _ body: @escaping @Sendable (Firestore) async throws -> Void
  ) {
    let callbackTarget = callbackTarget(actor)
    let callback = completion.map { completion in Callback<NSError?> { completion($0) } }
    Task {
      var failure: NSError?
      do { try await body(self) } catch { failure = error as NSError }
      if let callback {
        callbackTarget.carry(failure, to: callback)
      } else if let failure {
        report(unheard: failure)
      }
    }
  }
}

extension Status {
  fileprivate static let stillRunning = Status(
    .failedPrecondition, "Persistence cannot be cleared while the client is running.")
}

/// A private copy of settings, which never changes.
private struct OwnSettings: @unchecked Sendable {
  // Unchecked: made from a copy, and only read.
  let value: FirestoreSettings

  init(_ settings: FirestoreSettings, _ ownQueue: LazyCallbackQueue) {
    value = settings.copied()
    value.ownQueue = ownQueue
  }
}

extension FirebaseApp {
  /// The default app, configured or not: a database needs no configuration.
  static var hearthDefault: FirebaseApp { app() ?? unconfigured }
}
