import Foundation
import Logging
import Synchronization

/// A database: collections of documents, kept in one file beside the process.
///
///     let db = try Firestore.open(at: "books.hearth")
///     try await db.collection("books").document("dune").setData(["title": "Dune", "pages": 412])
///     let book = try await db.document("books/dune").getDocument()
///     print(book["title"] as? String ?? "")
///
/// Opening the same file twice in a process gives the same instance. Several processes may have a file
/// open. A write that was acknowledged survives the end of the process and the loss of power, unless
/// `FirestoreSettings.durability` says otherwise.
public final class Firestore: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; all state is in `state`, a mutex, and in constants.

  /// Where the file is, or would be for a database in memory.
  let path: String
  /// Databases of different identity do not store each other's references.
  let databaseIdentity: DatabaseIdentity
  public let app: FirebaseApp
  /// Found by the app and a name, not by a path: deleting the app terminates it.
  let isOfApp: Bool

  private enum Phase {
    /// Next: open, or failed at every use until one opens it.
    case idle
    /// Next: terminated.
    case open(Database)
    /// With the database that is being closed, if it was open and is not closed yet.
    case terminated(Database?)
  }

  private struct State {
    var phase = Phase.idle
    /// The path it is opened by, absolute; a link may be a part of it.
    var namedPath: String
    var settings: OwnSettings
    var settingsFault: Status?
    var failureHandler: (@Sendable (NSError) -> Void)?
    /// Of a meter, which takes nothing away from the handler.
    var failureObserver: (@Sendable () -> Void)?
    var indexManager: PersistentCacheIndexManager?
  }

  private let state: Guarded<State>
  /// Where callbacks run that belong to no actor, unless the settings name a queue.
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
        namedPath: Self.absolute(namedPath ?? path),
        settings: OwnSettings(FirestoreSettings(), ownQueue)))
  }

  // MARK: Opening

  /// Opens a database file, and makes it, for its owner only, if it is not there.
  ///
  ///     let db = try Firestore.open(at: "books.hearth")
  ///
  /// The same file opened again gives the same instance. Without settings it is as it is; with others than those it is
  /// open with, this throws `failedPrecondition`. The first time none stand for the default ones.
  ///
  /// Throws `failedPrecondition` also if a newer Hearth wrote the file, or if another process has the file open that
  /// was at the path before; `dataLoss` if it is not a database, or its headers or the first pages of its tables
  /// are damaged (see `FirestoreSettings.validatesPagesOnOpen` for the others); `notFound` if it is not there and
  /// to be read only; `unavailable` if the system refuses; `invalidArgument` for contradicting settings.
  public static func open(
    at path: String, settings: FirestoreSettings? = nil
  ) throws -> Firestore {
    do {
      let firestore = OpenDatabases.shared.instance(at: path) {
        Firestore(path: $0, named: path, app: .hearthDefault)
      }
      let before = firestore.state.withLock { ($0.settings, $0.settingsFault) }
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
        // What could not be opened so is not opened so the next time.
        firestore.state.withLock { state in
          if case .idle = state.phase { (state.settings, state.settingsFault) = before }
        }
        throw error
      }
      // Somebody else may have opened it in between.
      if let settings, !firestore.adopt(settings) { throw mismatch() }
      return firestore
    } catch let status as Status {
      throw status.nsError
    }
  }

  /// As `open(at:settings:)` with the path of a file URL; throws `invalidArgument` for any other URL.
  public static func open(
    at url: URL, settings: FirestoreSettings? = nil
  ) throws -> Firestore {
    guard url.isFileURL else {
      throw Status.invalidArgument("A database is opened at a file URL, not at \(url).").nsError
    }
    return try open(at: url.path(percentEncoded: false), settings: settings)
  }

  /// The default database, in the file `(default).hearth` of the folder `DefaultLocation.folder`.
  public class func firestore() -> Firestore { firestore(database: "(default)") }

  public class func firestore(app: FirebaseApp) -> Firestore {
    firestore(app: app, database: "(default)")
  }

  /// A named database is its own file beside the default one.
  public class func firestore(database: String) -> Firestore {
    firestore(app: .hearthDefault, database: database)
  }

  public class func firestore(app: FirebaseApp, database: String) -> Firestore {
    let path = DefaultLocation.path(app: app, database: database)
    return OpenDatabases.shared.instance(at: path) {
      Firestore(path: $0, named: path, app: app, database: database)
    }
  }

  /// The open database; opens it the first time. Throws `Status`.
  func database() throws -> Database {
    try state.withLock { state in
      switch state.phase {
      case .open(let database):
        try database.backend.checkUsable()
        return database
      case .terminated: throw Status.terminated
      case .idle:
        if let fault = state.settingsFault { throw fault }
        let settings = state.settings.value
        let database = try open(settings, named: state.namedPath)
        if settings.isPersistent { OpenDatabases.shared.note(open: self) }
        state.phase = .open(database)
        return database
      }
    }
  }

  /// The open database, if it is in this process. Throws `Status`: `unimplemented` if it is elsewhere.
  func local() throws -> any LocalBackend {
    guard let local = try database().local else {
      throw Status(
        .unimplemented, "This is possible only with a database that is embedded in the process.")
    }
    return local
  }

  /// The open database, if it is a file. Throws `Status`: `unimplemented` if it is not.
  func file() throws -> any FileBackend {
    guard let file = try database().file else {
      throw Status(.unimplemented, "This is possible only with a database that is a file.")
    }
    return file
  }

  private func open(_ settings: FirestoreSettings, named namedPath: String) throws -> Database {
    if let fault = settings.fault { throw fault }
    let logger = Self.logger
    #if DEBUG
      if MemoryVolume.isOn {
        let backend = MemoryVolume.open(
          path, isKept: settings.isPersistent, settings.embedded, logger)
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

  // MARK: Settings

  /// A copy. Settings count from the first use on: later ones, unless equal, are refused and logged.
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

  /// False, and nothing changed, if it is in use with other settings.
  private func adopt(_ settings: FirestoreSettings) -> Bool {
    state.withLock { state in
      guard case .idle = state.phase else { return state.settings.value.isEqual(settings) }
      state.settings = OwnSettings(settings, ownQueue)
      state.settingsFault = state.settings.value.fault
      return true
    }
  }

  /// The path it was asked for last counts, until it is open.
  private func adopt(name path: String) {
    let path = Self.absolute(path)
    state.withLock { state in
      if case .idle = state.phase { state.namedPath = path }
    }
  }

  private static func absolute(_ path: String) -> String {
    path.utf8.first == UInt8(ascii: "/")
      ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  func courier(_ actor: (any Actor)?) -> CallbackTarget {
    actor.map { .actor($0) } ?? .queue(callbackQueue)
  }

  /// Where callbacks run that belong to no actor.
  var callbackQueue: DispatchQueue { state.withLock(\.settings).value.dispatchQueue }

  /// Called with the error of a write that nobody awaits and that has no completion.
  ///
  ///     db.unobservedWriteFailureHandler = { error in metrics.count(error) }
  ///
  /// By default, and when set to nil, such errors are logged. Runs on the writer's thread, or on the caller's if the
  /// write is refused when it is handed over: be quick.
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
      Self.logger.error("A write that nobody awaits failed.", metadata: ["error": "\(error)"])
    }
  }

  /// The index manager; nil for a database in memory. Every call gives the same object, also after `terminate`.
  public var persistentCacheIndexManager: PersistentCacheIndexManager? {
    state.withLock { state in
      guard state.settings.value.isPersistent else { return nil }
      if let manager = state.indexManager { return manager }
      let manager = PersistentCacheIndexManager { [weak self] command in
        // A database that nobody holds any more was terminated: until then all paths lead to it.
        guard let self else { throw Status.terminated }
        try carryOut(command)
      }
      state.indexManager = manager
      return manager
    }
  }

  // MARK: References

  /// The collection at a path with an odd number of segments: `books`, `books/dune/reviews`.
  public func collection(_ path: String) -> CollectionReference {
    CollectionReference(self, checking: path)
  }

  /// The document at a path with an even number of segments: `books/dune`.
  public func document(_ path: String) -> DocumentReference {
    DocumentReference(self, checking: path)
  }

  /// All documents of all collections with this id, at any depth.
  public func collectionGroup(_ id: String) -> Query {
    let query = StructuredQuery(.group(id, below: .root))
    do throws(Status) {
      try ResourcePath.check(collectionGroupID: id)
      return Query(self, query)
    } catch {
      return Query(self, query, fault: error)
    }
  }

  // MARK: Network

  /// Sets `settings.host`; kept for source compatibility, for there is no server to speak to.
  public func useEmulator(withHost host: String, port: Int) {
    let changed = settings
    changed.host = "\(host):\(port)"
    changed.isSSLEnabled = false
    settings = changed
  }

  /// Does nothing: there is no network to switch. Fails with `failedPrecondition` after `terminate`.
  public func enableNetwork(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) {
    switchNetwork(isolation, completion)
  }

  /// Does nothing: there is no network to switch. Throws `failedPrecondition` after `terminate`.
  public func enableNetwork() async throws {
    if let refusal { throw refusal.nsError }
  }

  /// Does nothing: there is no network to switch, reads and writes go on. Fails with `failedPrecondition` after
  /// `terminate`.
  public func disableNetwork(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) {
    switchNetwork(isolation, completion)
  }

  /// Does nothing: there is no network to switch, reads and writes go on. Throws `failedPrecondition` after
  /// `terminate`.
  public func disableNetwork() async throws {
    if let refusal { throw refusal.nsError }
  }

  private func switchNetwork(_ actor: (any Actor)?, _ completion: ((Error?) -> Void)?) {
    let refusal = refusal
    guard let completion else {
      if let refusal { report(unheard: refusal.nsError) }
      return
    }
    courier(actor).carry(refusal?.nsError, to: Callback { completion($0) })
  }

  /// What calls get that need no open database; nil before `terminate`.
  var refusal: Status? {
    state.withLock { state in
      if case .terminated = state.phase { Status.terminated } else { nil }
    }
  }

  /// Logs what refused a call that has no other way to report it.
  func report(unheard error: NSError) {
    Self.logger.error("\(error.localizedDescription)", metadata: ["code": "\(error.code)"])
  }

  /// Databases opened from now on log at the level debug.
  public class func enableLogging(_ logging: Bool) {
    isVerbose.store(logging, ordering: .relaxed)
  }

  // MARK: The end

  /// Waits for every write handed over before this call, and for no callback of a listener.
  public func waitForPendingWrites(
    isolation: isolated (any Actor)? = #isolation, completion: @escaping (Error?) -> Void
  ) {
    answer(isolation, completion) { try await $0.waitForPendingWrites() }
  }

  /// Waits for every write handed over before this call, and for no callback of a listener.
  public func waitForPendingWrites() async throws {
    try await reporting {
      let backend = try database().backend
      await withCheckedContinuation { continuation in
        backend.drain { continuation.resume() }
      }
    }
  }

  /// Does what was handed over before, ends the listeners, and closes the file. Idempotent. After it only
  /// `clearPersistence` may be called; `Firestore.firestore()` then gives a new instance.
  ///
  /// Calls no listener, also not with an error. Sequences (`snapshots`) end without an error. A listener that is
  /// added afterwards is called once, with `failedPrecondition`; a sequence then throws it.
  ///
  /// Waits for writes, write closures, transactions with their further attempts, bulk writers' queues and recursive
  /// deletes that had begun. What keeps the writer busy for more than a second is logged, and the block of a
  /// transaction that has not returned after ten.
  public func terminate(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) {
    answer(isolation, completion) { try await $0.terminate() }
  }

  /// Does what was handed over before, ends the listeners, and closes the file. Idempotent. After it only
  /// `clearPersistence` may be called; `Firestore.firestore()` then gives a new instance.
  ///
  /// Calls no listener, also not with an error. Sequences (`snapshots`) end without an error. A listener that is
  /// added afterwards is called once, with `failedPrecondition`; a sequence then throws it.
  ///
  /// Waits for writes, write closures, transactions with their further attempts, bulk writers' queues and recursive
  /// deletes that had begun. What keeps the writer busy for more than a second is logged, and the block of a
  /// transaction that has not returned after ten.
  public func terminate() async throws {
    guard let closing = retire() else { return }
    // Blocks until the writer is done, for whoever asks: not on a thread of the cooperative pool.
    try? await onBlockingThread { closing.close() }
    state.withLock { $0.phase = .terminated(nil) }
  }

  /// Begins the end: refuses every later call, and lets the path have another instance. Idempotent. Returns the
  /// database that is not closed yet, if any.
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

  /// Removes the database's file. Only before the first use or after `terminate`, and while nobody else
  /// has the file open, else `failedPrecondition`.
  public func clearPersistence(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) {
    answer(isolation, completion) { try await $0.clearPersistence() }
  }

  /// Removes the database's file. Only before the first use or after `terminate`, and while nobody else
  /// has the file open, else `failedPrecondition`.
  public func clearPersistence() async throws {
    try reporting {
      try state.withLock { state in
        if case .open = state.phase { throw Status.stillRunning }
        #if DEBUG
          MemoryVolume.remove(path)
        #endif
        // Another instance, or another process, may have opened the file since.
        guard try EmbeddedBackend.removeFile(at: path) else { throw Status.stillRunning }
      }
    }
  }

  /// Runs `body` on its own and reports the result where the caller is; without a completion, a failure is
  /// logged.
  func answer(
    _ actor: (any Actor)?, _ completion: ((Error?) -> Void)?,
    _ body: @escaping @Sendable (Firestore) async throws -> Void
  ) {
    let courier = courier(actor)
    let callback = completion.map { completion in Callback<NSError?> { completion($0) } }
    Task {
      var failure: NSError?
      do { try await body(self) } catch { failure = error as NSError }
      if let callback {
        courier.carry(failure, to: callback)
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

/// Runs `body`; what it throws of the engine becomes the `NSError` that users catch.
func reporting<Result>(
  _ body: () async throws -> Result
) async throws -> Result {
  do {
    return try await body()
  } catch let status as Status {
    throw status.nsError
  }
}

/// The same for code that does not await.
func reporting<Result>(_ body: () throws -> Result) throws -> Result {
  do { return try body() } catch let status as Status { throw status.nsError }
}

/// A copy of settings that nobody changes any more.
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
