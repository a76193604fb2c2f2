/// The result of an operation.
public struct OperationResult<ResultData: Sendable>: Sendable {
  /// Nil only for `cacheOnly` without a cached result. Implicitly unwrapped, so that both
  /// `result.data.movies` and `if let data = result.data` compile.
  // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
  public let data: ResultData!
  public let source: DataSource
}

/// The origin of a result.
public enum DataSource: Hashable, Sendable {
  /// The database.
  case server
  case cache
}

/// Where a query looks for its result.
public enum QueryFetchPolicy: Hashable, Sendable {
  /// In the cache, if it is young enough; else in the database.
  case preferCache
  /// In the cache only, however old.
  case cacheOnly
  /// In the database.
  case serverOnly
}

/// An operation with values of its variables.
public protocol OperationRef: Sendable {
  associatedtype ResultData: Decodable & Sendable

  /// Runs the operation. Throws `DataConnectError`.
  func execute() async throws -> OperationResult<ResultData>
}

/// A query with values of its variables.
public protocol QueryRef: OperationRef {
  /// The result now, and again whenever a signal refreshes it.
  func subscribe() async throws -> QuerySubscription<ResultData>

  func execute(fetchPolicy: QueryFetchPolicy) async throws -> OperationResult<ResultData>
}

/// A query whose last result can be observed.
public protocol ObservableQueryRef: QueryRef {
  var data: ResultData? { get }
  var source: DataSource? { get }
  var lastError: AnyDataConnectError? { get }
}
