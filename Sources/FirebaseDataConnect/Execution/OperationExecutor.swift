import Hearth

/// Executes the operations of a connector: `ConnectorService` in this process, and `EmulatorClient` in
/// the process of an emulator.
protocol OperationExecutor: AnyObject, Sendable {
  /// Distinguishes the databases of executors.
  var databaseName: String { get }
  /// The folder of persistent caches. Nil: caches are in memory.
  var cacheFolder: String? { get }

  /// The state of the database, of which a persistent cache asks. Nil without a folder of caches.
  func changeToken() async throws -> ChangeToken?

  /// Whether the connector's tables have the same rows in two states of the database. False after many
  /// changes of anything. Throws if the database does not know the changes since the first one any
  /// more.
  func hasSameRows(_ old: ChangeToken, _ new: ChangeToken) async throws -> Bool

  /// - Parameter marksRows: Rows have `Projection.rowMember`.
  func query(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?, marksRows: Bool
  ) async throws -> OperationResponse

  /// Returns when the mutation is durable.
  func mutate(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?
  ) async throws -> OperationResponse

  /// Returns when signals will call `refresh`.
  func subscribe(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?,
    _ refresh: @escaping @Sendable () async -> Void
  ) async throws -> Refresher

  /// Mutations make the cache's results with their rows too old.
  func add(_ cache: ResultCache)

  /// Returns when mutations of other processes that are committed later will do so, too. Throws an
  /// error of the database.
  func announceCaches() async throws
}

/// Where the operations of a reference are executed.
enum ExecutionTarget: Sendable {
  case database(Firestore)
  case emulator(EmulatorClient)
  /// Executes nothing: the database in memory of `DataConnect.useEmulator(host:port:)` failed.
  case failed(DataConnectInternalError)

  var databaseName: String {
    switch self {
    case .database(let firestore): firestore.path
    case .emulator(let client): client.databaseName
    case .failed: "none"
    }
  }
}
