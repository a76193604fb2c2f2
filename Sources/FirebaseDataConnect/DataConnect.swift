import Foundation
import Hearth
import Logging
import Synchronization

/// A connector that runs operations on a database, in this process.
///
///     let connector = DataConnect.moviesConnector  // in a generated package
///     let result = try await connector.createMovieMutation.execute(
///       title: "Dune", releaseYear: 2021, genre: "Sci-Fi", rating: 5)
///     print(result.data.movie_insert.id)
///
/// Its rows are documents of a database: the emulator's after `useEmulator(host:port:)`, else that
/// of `init(connectorConfig:compiled:firestore:settings:)`, else that of `withFirestore(_:_:)`,
/// else that of `initialize(_:)`, else the default one, `Firestore.firestore()`. A reference keeps
/// the database with which it was made.
public final class DataConnect: Sendable {
  /// The address that `useEmulator(host:port:)` uses by default.
  public enum EmulatorDefaults {
    /// The loopback address. Only this machine reaches it.
    public static let host = "127.0.0.1"
    /// The default port of `hearth dataconnect emulator`, which is Firebase's.
    public static let port = 9399
  }

  /// The service and the name of the connector.
  public let connectorConfig: ConnectorConfig
  /// The settings with which the instance was made.
  public let settings: DataConnectSettings
  private let compiled: String
  /// Nil: the process's own.
  private let ownFirestore: Firestore?

  private struct State {
    /// Of the databases that were used last, the newest first.
    var services: [ConnectorService] = []
    /// Instead of the database.
    var emulator: ExecutionTarget?
    /// By request, and by the user who has made them. The references of both are one object.
    var queries: [BytewiseString: [User: Weak]] = [:]
    var caches: [CacheKey: ResultCache] = [:]
    var queryCount = 0
    var nextSweep = 64

    mutating func sweep() {
      queries = queries.compactMapValues { references in
        let known = references.filter { $0.value.object != nil }
        return known.isEmpty ? nil : known
      }
      queryCount = queries.values.reduce(0) { $0 + $1.count }
      nextSweep = max(64, 2 * queryCount)
    }
  }

  /// The id of a user. Nil: nobody.
  private typealias User = BytewiseString?

  private struct CacheKey: Hashable {
    let database: BytewiseString
    let user: User
  }

  private struct Weak {
    weak var object: AnyObject?
  }

  private let state = Mutex(State())

  /// Creates a connector on a database of its own, with caches of its own. The initialiser of a
  /// generated connector calls it:
  ///
  ///     let archive = try Firestore.open(at: "archive.hearth")
  ///     let movies = MoviesConnector(firestore: archive)
  ///
  /// - Parameters:
  ///   - connectorConfig: The name of the connector.
  ///   - compiled: The compiled connector, as JSON. If it is damaged, operations throw
  ///     `DataConnectInitError` with `.invalidConnector`.
  ///   - firestore: The database of the rows.
  ///   - settings: By default without a cache.
  public convenience init(
    connectorConfig: ConnectorConfig, compiled: String, firestore: Firestore,
    settings: DataConnectSettings = DataConnectSettings()
  ) {
    self.init(connectorConfig, compiled, settings, firestore)
  }

  private init(
    _ config: ConnectorConfig, _ compiled: String, _ settings: DataConnectSettings,
    _ firestore: Firestore?
  ) {
    connectorConfig = config
    self.compiled = compiled
    self.settings = settings
    ownFirestore = firestore
  }

  // MARK: Instances

  private static let instances = Mutex<[ConnectorConfig: DataConnect]>([:])
  private static let main = Mutex<Firestore?>(nil)
  @TaskLocal private static var ofTask: Firestore?
  @TaskLocal static var auth: DataConnectAuth?

  /// The instance of a connector. Calls with the same `connectorConfig` return the same object,
  /// with the compiled form and the settings of the first call. Generated code calls it.
  ///
  /// - Parameters:
  ///   - connectorConfig: The name of the connector.
  ///   - compiled: The compiled connector, as JSON. If it is damaged, operations throw
  ///     `DataConnectInitError` with `.invalidConnector`.
  ///   - settings: By default without a cache.
  ///   - callerSDKType: Has no effect.
  public static func dataConnect(
    connectorConfig: ConnectorConfig, compiled: String,
    settings: DataConnectSettings = DataConnectSettings(), callerSDKType: CallerSDKType = .base
  ) -> DataConnect {
    instances.withLock { instances in
      if let known = instances[connectorConfig] { return known }
      let instance = DataConnect(connectorConfig, compiled, settings, nil)
      instances[connectorConfig] = instance
      return instance
    }
  }

  /// Sets the database of all connectors that have none of their own, in place of
  /// `Firestore.firestore()`. References that exist keep their database.
  ///
  ///     DataConnect.initialize(try Firestore.open(at: "films.hearth"))
  public static func initialize(_ firestore: Firestore) {
    main.withLock { $0 = firestore }
  }

  /// Uses another database for the references that `body` makes, also in the tasks that it starts,
  /// except detached ones. Connectors with a database of their own, or with an emulator, ignore it.
  /// Throws the error of `body`.
  ///
  ///     let archive = try Firestore.open(at: "archive.hearth")
  ///     let old = try await DataConnect.withFirestore(archive) {
  ///       try await DataConnect.moviesConnector.listMovies.execute().data.movies
  ///     }
  public static func withFirestore<Result>(
    _ firestore: Firestore, _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await $ofTask.withValue(firestore) { try await body() }
  }

  /// Runs the operations of `body` for a user, also in the tasks that it starts, except detached
  /// ones. Nil: for nobody, as without this method. A subscription keeps the user with whom it
  /// began. Throws the error of `body`.
  ///
  ///     let ada = DataConnectAuth(
  ///       uid: "ada", token: ["firebase": ["sign_in_provider": "password"]])
  ///     let saved = try await DataConnect.withAuth(ada) {
  ///       try await connector.upsertExtendedProfileMutation.execute(status: "here")
  ///     }
  public static func withAuth<Result>(
    _ auth: DataConnectAuth?, _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await $auth.withValue(auth) { try await body() }
  }

  /// Uses the emulator that listens at the address, or, if there is none, a database in memory that
  /// belongs to this connector alone. A test or a prototype then changes no data.
  ///
  ///     $ hearth dataconnect emulator
  ///
  /// Waits at most 0.3 s for an emulator, and logs which of the two is used. Call it before the
  /// first operation: references that exist keep their database. Each call without an emulator
  /// begins with an empty database. If that cannot be opened, operations throw
  /// `DataConnectInternalError` with `.internalError`: they never use the connector's own database.
  public func useEmulator(
    host: String = EmulatorDefaults.host, port: Int = EmulatorDefaults.port
  ) {
    useEmulator(host: host, port: port) {
      let settings = FirestoreSettings()
      settings.cacheSettings = MemoryCacheSettings()
      let path = NSTemporaryDirectory() + "dataconnect-\(UUID().uuidString).hearth"
      return try Firestore.open(at: path, settings: settings)
    }
  }

  /// - Parameter isolated: Opens a database in memory.
  func useEmulator(host: String, port: Int, isolated: () throws -> Firestore) {
    let logger = Logger(label: "hearth")
    let name: Logger.MetadataValue = "\(connectorConfig.connector)"
    if let client = EmulatorClient(host: host, port: port, connectorConfig, settings) {
      logger.notice(
        "An emulator executes the operations.",
        metadata: ["connector": name, "address": "\(host):\(port)"])
      return use(.emulator(client))
    }
    do {
      let firestore = try isolated()
      logger.notice(
        "No emulator listens: operations use a database in memory.",
        metadata: ["connector": name, "address": "\(host):\(port)"])
      use(.database(firestore))
    } catch {
      // The database of the program is not one to try things in.
      logger.error(
        "No emulator listens, and a database in memory cannot be opened: operations fail.",
        metadata: ["connector": name, "address": "\(host):\(port)", "error": "\(error)"])
      use(
        .failed(
          DataConnectInternalError(
            .internalError,
            "No emulator listens at \(host):\(port), and a database in memory cannot be opened.",
            error)))
    }
  }

  private func use(_ emulator: ExecutionTarget) {
    state.withLock { state in
      state.emulator = emulator
      state.queries = [:]
      state.caches = [:]
    }
  }

  // MARK: References

  /// A query with values of its variables, on the current database. Generated code calls it; a
  /// program without generated code names its own types:
  ///
  ///     struct Titles: Decodable, Sendable {
  ///       struct Movie: Decodable, Sendable { var title: String }
  ///       var movies: [Movie]
  ///     }
  ///     let byGenre = connector.dataConnect.query(
  ///       name: "listMoviesByGenre", variables: ["genre": "Sci-Fi"], resultsDataType: Titles.self)
  ///     let titles = try await byGenre.execute().data.movies.map(\.title)
  ///
  /// Returns the same object for the same database, user, name, variables and types, as long as
  /// somebody has it. Texts are the same if their bytes are. Checks nothing: `execute` throws `DataConnectOperationError` for an unknown name, and
  /// `DataConnectCodecError` for variables that are not encoded as an object.
  ///
  /// - Parameters:
  ///   - name: The name of the query in the connector.
  ///   - variables: The values, encoded as an object. A variable that is not encoded is unset.
  ///   - resultsDataType: The type of the result.
  public func query<ResultData: Decodable & Sendable, Variables: OperationVariable>(
    name: String, variables: Variables, resultsDataType: ResultData.Type
  ) -> QueryRefObservation<ResultData, Variables> {
    let encoded = Result { try variables.dataObject() }
    let target = target
    let request = (try? encoded.get()).map {
      "\(target.databaseName)\n\(name) \(DataValue.object($0).canonicalText)"
    }
    let key = request.map { BytewiseString($0) }
    let user = Self.user
    return state.withLock { state in
      if let key,
        let known = state.queries[key]?[user]?.object as? QueryRefObservation<ResultData, Variables>
      {
        return known
      }
      let made = QueryRefObservation<ResultData, Variables>(
        self, target, name, request ?? name, encoded)
      guard let key else { return made }
      if state.queryCount >= state.nextSweep { state.sweep() }
      state.queries[key, default: [:]][user] = Weak(object: made)
      state.queryCount += 1
      return made
    }
  }

  /// A mutation with values of its variables, on the current database. Each call makes a reference;
  /// nothing is executed before its `execute()`. Generated code calls it.
  ///
  /// Checks nothing: `execute` throws `DataConnectOperationError` for an unknown name, and
  /// `DataConnectCodecError` for variables that are not encoded as an object.
  ///
  /// - Parameters:
  ///   - name: The name of the mutation in the connector.
  ///   - variables: The values, encoded as an object. A variable that is not encoded is unset.
  ///   - resultsDataType: The type of the result.
  public func mutation<ResultData: Decodable & Sendable, Variables: OperationVariable>(
    name: String, variables: Variables, resultsDataType: ResultData.Type
  ) -> MutationRef<ResultData, Variables> {
    MutationRef(self, target, name, variables)
  }

  /// Of references that are made now.
  private var target: ExecutionTarget {
    if let emulator = state.withLock(\.emulator) { return emulator }
    return .database(
      ownFirestore ?? Self.ofTask ?? Self.main.withLock { $0 } ?? Firestore.firestore())
  }

  /// Throws `DataConnectInitError`, and `DataConnectInternalError` without a database.
  func executor(_ target: ExecutionTarget) throws -> any OperationExecutor {
    switch target {
    case .database(let firestore): try service(firestore)
    case .emulator(let client): client
    case .failed(let error): throw error
    }
  }

  private static var user: User { auth.map { BytewiseString($0.uid) } }

  private static let keptServices = 8

  /// The connector on a database. Throws `DataConnectInitError`.
  private func service(_ firestore: Firestore) throws -> ConnectorService {
    try state.withLock { state in
      if let known = state.services.first, known.firestore === firestore { return known }
      if let index = state.services.firstIndex(where: { $0.firestore === firestore }) {
        let known = state.services.remove(at: index)
        state.services.insert(known, at: 0)
        return known
      }
      let plan = try state.services.first?.plan ?? ConnectorPlan(json: compiled)
      let service = ConnectorService(plan, firestore, connectorConfig, settings)
      let left = state.services.dropFirst(Self.keptServices - 1)
      state.caches = state.caches.filter { _, cache in
        cache.hasSource && !left.contains { cache.isOf($0) }
      }
      state.services = [service] + state.services.prefix(Self.keptServices - 1)
      return service
    }
  }

  /// The executor of references that are made now.
  func executor() throws -> any OperationExecutor { try executor(target) }

  /// The cache of the task's user. Nil without settings of a cache. A persistent one that cannot be
  /// opened, because its file is damaged for example, is replaced by one in memory.
  ///
  /// Throws an error of opening a database in memory.
  func cache(_ executor: any OperationExecutor) throws -> ResultCache? {
    guard let cacheSettings = settings.cacheSettings else { return nil }
    let auth = Self.auth
    let key = CacheKey(database: BytewiseString(executor.databaseName), user: Self.user)
    return try state.withLock { state in
      // Services of databases that were not used for long are replaced.
      if let known = state.caches[key], known.hasSource { return known }
      let cache: ResultCache
      do {
        cache = try ResultCache(
          connectorConfig, executor, isPersistent: cacheSettings.storage == .persistent, auth)
      } catch {
        guard cacheSettings.storage == .persistent else { throw error }
        Logger(label: "hearth").warning(
          "A persistent cache cannot be opened: results are cached in memory.",
          metadata: ["connector": "\(connectorConfig.connector)", "error": "\(error)"])
        cache = try ResultCache(connectorConfig, executor, isPersistent: false, auth)
      }
      executor.add(cache)
      state.caches[key] = cache
      return cache
    }
  }

  /// The references of a request that somebody has, of all users.
  func references(_ request: String) -> [any Republishable] {
    state.withLock { state in
      state.queries[BytewiseString(request)]?.values
        .compactMap { $0.object as? any Republishable } ?? []
    }
  }
}

extension Encodable {
  /// The variables of an operation. Throws `DataConnectCodecError`.
  func dataObject() throws -> DataObject {
    if let variables = self as? any DataConnectVariables { return variables.dataConnectValues }
    switch try DataValueEncoder.encode(self) {
    case .object(let object): return object
    case .null: return DataObject()
    default:
      throw DataConnectCodecError(.encodingFailed, "The variables are encoded as an object.")
    }
  }
}

/// The name of a connector: its service, location and id. Equal names share an instance.
public struct ConnectorConfig: Hashable, Sendable {
  /// `serviceId` of `dataconnect.yaml`.
  public var serviceId: String
  /// `location` of `dataconnect.yaml`. Part of the identity of the connector; selects no server.
  public var location: String
  /// `connectorId` of `connector.yaml`.
  public var connector: String

  /// Creates the name of a connector. Generated code has it as `connectorConfig`.
  public init(serviceId: String, location: String, connector: String) {
    self.serviceId = serviceId
    self.location = location
    self.connector = connector
  }
}

/// The settings of a connector. `host`, `port` and `sslEnabled` exist for source compatibility and
/// have no effect; see `DataConnect.useEmulator(host:port:)` for an emulator.
public struct DataConnectSettings: Hashable, Sendable {
  /// The host of Firebase's server. Has no effect.
  public var host: String
  /// The port of Firebase's server. Has no effect.
  public var port: Int
  /// Whether Firebase's server is reached with TLS. Has no effect.
  public var sslEnabled: Bool
  /// The cache of results. Nil, the default: every query reads the database.
  public var cacheSettings: CacheSettings?
  /// Whether each subscription is refreshed by every change that alters its result, with or without
  /// `@refresh`: by any mutation, through Firestore's interface, and by other processes. False by
  /// default. An emulator follows it for this program.
  ///
  ///     let settings = DataConnectSettings(refreshesOnChange: true)
  ///
  /// The database's listeners find these changes; the query runs again only for them. An expression like
  /// `request.time` keeps the value that it had when the subscription began.
  public var refreshesOnChange: Bool
  /// Whether an operation without `@auth` is refused, as in the cloud: it throws
  /// `DataConnectOperationError`. False by default: the process is trusted. An emulator refuses
  /// them to this program, too, and with its option `--strict` to all programs.
  public var isStrict: Bool

  /// Creates settings. The defaults are those of Firebase, without a cache.
  ///
  ///     let settings = DataConnectSettings(
  ///       cacheSettings: CacheSettings(storage: .memory, maxAge: 5), isStrict: true)
  public init(
    host: String = "firebasedataconnect.googleapis.com", port: Int = 443, sslEnabled: Bool = true,
    cacheSettings: CacheSettings? = nil, refreshesOnChange: Bool = false, isStrict: Bool = false
  ) {
    self.refreshesOnChange = refreshesOnChange
    self.isStrict = isStrict
    self.host = host
    self.port = port
    self.sslEnabled = sslEnabled
    self.cacheSettings = cacheSettings
  }

  /// Compares only `host`, `port` and `sslEnabled`, as Firebase's type does.
  public static func == (lhs: DataConnectSettings, rhs: DataConnectSettings) -> Bool {
    lhs.host == rhs.host && lhs.port == rhs.port && lhs.sslEnabled == rhs.sslEnabled
  }

  /// Hashes the address, as `==` compares it.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(host)
    hasher.combine(port)
    hasher.combine(sslEnabled)
  }
}

/// The settings of a connector's cache of results, which `connector.yaml` has as `clientCache`.
public struct CacheSettings: Hashable, Sendable {
  /// The place of cached results.
  public enum Storage: Hashable, Sendable {
    /// A file in the folder of the database's path, one for each database, connector and user.
    /// Results outlive the process; they are too old if the database has changed while the cache was
    /// not open. In memory with an emulator, with a database in memory, and if the file
    /// cannot be opened.
    case persistent
    /// The memory of the process.
    case memory
  }

  /// Where results are cached. `.persistent` by default.
  public var storage: Storage
  /// The age from which on `.preferCache` reads the database again, in seconds. 0 by default: every
  /// cached result is too old.
  public var maxAge: TimeInterval

  /// Creates settings of a cache. With the default `maxAge`, only `.cacheOnly` and the first
  /// element of a subscription use cached results.
  public init(storage: Storage = .persistent, maxAge: TimeInterval = 0) {
    self.storage = storage
    self.maxAge = maxAge
  }
}

/// The caller that asks for an instance. For source compatibility; it makes no difference.
public enum CallerSDKType: Sendable {
  /// A call of a program.
  case base
  /// A call of generated code.
  case generated
}

/// The variables of an operation: a type that is encoded as an object.
public typealias OperationVariable = Encodable & Hashable & Equatable & Sendable
