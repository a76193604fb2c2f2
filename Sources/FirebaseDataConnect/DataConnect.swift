import Foundation
import Hearth
import Logging
import Synchronization

/// A connector that runs operations on a database, in this process.
///
///     let connector = DataConnect.moviesConnector  // of a generated package
///     let result = try await connector.createMovieMutation.execute(title: "Dune", …)
///
/// Its rows are documents of the default database, `Firestore.firestore()`, or of the one that
/// `initialize(_:)` or `init(connectorConfig:compiled:firestore:settings:)` names.
public final class DataConnect: Sendable {
  /// The address of an emulator.
  public enum EmulatorDefaults {
    public static let host = "127.0.0.1"
    public static let port = 9399
  }

  public let connectorConfig: ConnectorConfig
  public let settings: DataConnectSettings
  private let compiled: String
  /// Nil: the process's own.
  private let ownFirestore: Firestore?

  private struct State {
    /// Of the databases that were used last, the newest first.
    var services: [ConnectorService] = []
    /// Instead of the database.
    var emulator: ExecutionTarget?
    /// By request. The references of one request are one object.
    var queries: [String: Weak] = [:]
    /// By database and user.
    var caches: [String: ResultCache] = [:]
    var nextSweep = 64
  }

  private struct Weak {
    weak var object: AnyObject?
  }

  private let state = Mutex(State())

  /// - Parameters:
  ///   - compiled: The compiled connector, as JSON. If it is damaged, operations throw
  ///     `DataConnectInitError`.
  ///   - firestore: The database of the rows.
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

  /// The instance of a connector: always the same one, with the settings of the first call.
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

  /// The database of all connectors that have none of their own.
  public static func initialize(_ firestore: Firestore) {
    main.withLock { $0 = firestore }
  }

  /// Uses another database for everything that `body` does, in the tasks that it starts, too.
  public static func withFirestore<Result>(
    _ firestore: Firestore, _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await $ofTask.withValue(firestore) { try await body() }
  }

  /// Runs the operations of `body` for a user; nil is nobody.
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
  /// Waits at most 0.3 s for an emulator, and logs which of the two is used. Call it before the first
  /// operation. Later, references that exist keep their database.
  public func useEmulator(
    host: String = EmulatorDefaults.host, port: Int = EmulatorDefaults.port
  ) {
    let logger = Logger(label: "hearth")
    let name: Logger.MetadataValue = "\(connectorConfig.connector)"
    if let client = EmulatorClient(host: host, port: port, connectorConfig) {
      logger.notice(
        "An emulator executes the operations.",
        metadata: ["connector": name, "address": "\(host):\(port)"])
      return use(.emulator(client))
    }
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    let path = NSTemporaryDirectory() + "dataconnect-\(UUID().uuidString).hearth"
    // A database in memory opens no file.
    guard let firestore = try? Firestore.open(at: path, settings: settings) else { return }
    logger.notice(
      "No emulator listens: operations use a database in memory.",
      metadata: ["connector": name, "address": "\(host):\(port)"])
    use(.database(firestore))
  }

  private func use(_ emulator: ExecutionTarget) {
    state.withLock { state in
      state.emulator = emulator
      state.queries = [:]
      state.caches = [:]
    }
  }

  // MARK: References

  /// A query with values of its variables, on the database of now. The same name and variables give the
  /// same object, as long as somebody has it.
  public func query<ResultData: Decodable & Sendable, Variables: OperationVariable>(
    name: String, variables: Variables, resultsDataType: ResultData.Type
  ) -> QueryRefObservation<ResultData, Variables> {
    let encoded = Result { try variables.dataObject() }
    let target = target
    let key = (try? encoded.get()).map {
      "\(target.databaseName)\n\(name) \(DataValue.object($0).canonicalText)"
    }
    return state.withLock { state in
      if let key,
        let known = state.queries[key]?.object as? QueryRefObservation<ResultData, Variables>
      {
        return known
      }
      let made = QueryRefObservation<ResultData, Variables>(
        self, target, name, key ?? name, encoded)
      guard let key else { return made }
      if state.queries.count >= state.nextSweep {
        state.queries = state.queries.filter { $0.value.object != nil }
        state.nextSweep = max(64, 2 * state.queries.count)
      }
      state.queries[key] = Weak(object: made)
      return made
    }
  }

  /// A mutation with values of its variables.
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

  /// Throws `DataConnectInitError`.
  func executor(_ target: ExecutionTarget) throws -> any OperationExecutor {
    switch target {
    case .database(let firestore): try service(firestore)
    case .emulator(let client): client
    }
  }

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
      state.services = [service] + state.services.prefix(Self.keptServices - 1)
      return service
    }
  }

  /// The executor of references that are made now.
  func executor() throws -> any OperationExecutor { try executor(target) }

  /// The cache of the task's user. Nil without settings of a cache.
  func cache(_ executor: any OperationExecutor) throws -> ResultCache? {
    guard let cacheSettings = settings.cacheSettings else { return nil }
    let auth = Self.auth
    let key = "\(executor.databaseName)\n\(auth?.uid ?? "")"
    return try state.withLock { state in
      if let known = state.caches[key] { return known }
      let cache = try ResultCache(cacheSettings, connectorConfig, in: executor.cacheFolder, auth)
      executor.add(cache)
      state.caches[key] = cache
      return cache
    }
  }

  /// The reference of a request, if somebody has it.
  func reference(_ request: String) -> (any Republishable)? {
    state.withLock { $0.queries[request]?.object as? any Republishable }
  }
}

extension Encodable {
  /// The variables of an operation. Throws `DataConnectCodecError`.
  fileprivate func dataObject() throws -> DataObject {
    if let variables = self as? any DataConnectVariables { return variables.dataConnectValues }
    switch try DataValueEncoder.encode(self) {
    case .object(let object): return object
    case .null: return DataObject()
    default:
      throw DataConnectCodecError(.encodingFailed, "The variables are encoded as an object.")
    }
  }
}

extension MutationRef {
  func encodedVariables() throws -> DataObject { try variables.dataObject() }
}

/// The name of a connector.
public struct ConnectorConfig: Hashable, Sendable {
  public var serviceId: String
  public var location: String
  public var connector: String

  public init(serviceId: String, location: String, connector: String) {
    self.serviceId = serviceId
    self.location = location
    self.connector = connector
  }
}

/// Settings of a connector. The address is accepted for compatibility: see `DataConnect.useEmulator`.
public struct DataConnectSettings: Hashable, Sendable {
  public var host: String
  public var port: Int
  public var sslEnabled: Bool
  public var cacheSettings: CacheSettings?
  /// Whether each subscription is refreshed by every change that alters its result, with or without
  /// `@refresh`: by any mutation, through Firestore's interface, and by other processes. Off by default.
  ///
  ///     let settings = DataConnectSettings(refreshesOnChange: true)
  ///
  /// The database's listeners find these changes; the query runs again only for them. An expression like
  /// `request.time` keeps the value that it had when the subscription began.
  public var refreshesOnChange: Bool
  /// Whether an operation without `@auth` is refused, as in the cloud. Off by default: the process is
  /// trusted.
  public var isStrict: Bool

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

  /// Only the address counts.
  public static func == (lhs: DataConnectSettings, rhs: DataConnectSettings) -> Bool {
    lhs.host == rhs.host && lhs.port == rhs.port && lhs.sslEnabled == rhs.sslEnabled
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(host)
    hasher.combine(port)
    hasher.combine(sslEnabled)
  }
}

/// The client's cache.
public struct CacheSettings: Hashable, Sendable {
  public enum Storage: Hashable, Sendable {
    case persistent, memory
  }

  public var storage: Storage
  /// In seconds.
  public var maxAge: TimeInterval

  public init(storage: Storage = .persistent, maxAge: TimeInterval = 0) {
    self.storage = storage
    self.maxAge = maxAge
  }
}

/// Whether generated code asks for an instance.
public enum CallerSDKType: Sendable {
  case base, generated
}

/// Variables of an operation.
public typealias OperationVariable = Encodable & Hashable & Equatable & Sendable
