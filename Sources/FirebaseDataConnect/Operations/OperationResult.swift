/// The result of an operation.
public struct OperationResult<ResultData: Sendable>: Sendable {
  /// Nil only for `cacheOnly` without a cached result. Implicitly unwrapped, so that both
  /// `result.data.movies` and `if let data = result.data` compile.
  // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
  public let data: ResultData!
  /// The origin of `data`. Always `.server` for a mutation.
  public let source: DataSource
}

/// The origin of a result.
public enum DataSource: Hashable, Sendable {
  /// The database, or the emulator.
  case server
  /// The cache of `DataConnectSettings.cacheSettings`.
  case cache
}

/// Where a query looks for its result. Without `DataConnectSettings.cacheSettings` there is no
/// cache.
public enum QueryFetchPolicy: Hashable, Sendable {
  /// In the cache, if the result is younger than `CacheSettings.maxAge` and no mutation has written
  /// its rows since; else in the database.
  case preferCache
  /// In the cache only, however old. Without a cached result, `OperationResult.data` is nil.
  case cacheOnly
  /// In the database. The cache keeps the result.
  case serverOnly
}

/// A query or a mutation with values of its variables.
public protocol OperationRef: Sendable {
  /// The type of the result, a generated `Data` structure.
  associatedtype ResultData: Decodable & Sendable

  /// Runs the operation. Throws `DataConnectError`.
  func execute() async throws -> OperationResult<ResultData>
}

/// A query with values of its variables.
public protocol QueryRef: OperationRef {
  /// Delivers the result now, and again whenever a signal refreshes it. Errors of the query are
  /// delivered; throws if the subscription cannot begin.
  func subscribe() async throws -> QuerySubscription<ResultData>

  /// Runs the query, or reads its cached result.
  ///
  /// Throws `DataConnectOperationError` if the query fails, `DataConnectCodecError` for variables
  /// or a result of another form, `DataConnectInitError` for a damaged connector,
  /// and `DataConnectInternalError` if the connector's indexes cannot be declared or the emulator
  /// fails. A cache that fails is logged, and has no result.
  func execute(fetchPolicy: QueryFetchPolicy) async throws -> OperationResult<ResultData>
}

/// A query whose last result can be observed.
public protocol ObservableQueryRef: QueryRef {
  /// The last result. Nil before the first one; kept if the query fails later.
  var data: ResultData? { get }
  /// The origin of `data`. Nil before the first result.
  var source: DataSource? { get }
  /// The error of the last execution. Nil if it succeeded, or none has ended.
  var lastError: AnyDataConnectError? { get }
}
