import Hearth
import Logging
import Observation
import Synchronization

/// A query with values of its variables, whose last result can be observed.
///
///     let movies = connector.listMoviesByGenreQuery.ref(genre: "Sci-Fi")
///     try await movies.execute()
///     for movie in movies.data?.movies ?? [] { print(movie.title) }
///
/// `data`, `source` and `lastError` are observable, and change where `execute` is called: on the main
/// actor if it is called there. A refresh of a subscription changes them on any thread.
public final class QueryRefObservation<
  ResultData: Decodable & Sendable, Variables: OperationVariable
>: ObservableQueryRef, Observable, Hashable {
  let dataConnect: DataConnect
  private let target: ExecutionTarget
  let name: String
  /// The name with the variables.
  private let request: String
  private let variables: Result<DataObject, any Error>
  private typealias Delivered = QuerySubscription<ResultData>.Element
  private struct Subscriber {
    let user: String?
    let continuation: AsyncStream<Delivered>.Continuation
  }

  private let subscribers = Mutex<[Int: Subscriber]>([:])
  private let last = LastResult()

  init(
    _ dataConnect: DataConnect, _ target: ExecutionTarget, _ name: String, _ request: String,
    _ encoded: Result<DataObject, any Error>
  ) {
    self.dataConnect = dataConnect
    self.target = target
    self.name = name
    self.request = request
    self.variables = encoded
  }

  /// The last result. Nil before the first one; kept if the query fails later.
  public var data: ResultData? { last.data as? ResultData }

  /// The origin of `data`. Nil before the first result.
  public var source: DataSource? { last.source }

  /// The error of the last execution. Nil if it succeeded, or none has ended.
  public var lastError: AnyDataConnectError? { last.error }

  /// Runs the query, or reads its cached result, and returns when `data` has the result.
  ///
  /// Throws `DataConnectOperationError` if the query fails, `DataConnectCodecError` for variables
  /// or a result of another form, `DataConnectInitError` for a damaged connector,
  /// `DataConnectInternalError` if the connector's indexes cannot be declared or the emulator
  /// fails, and `CancellationError`. `lastError` has the error, too. A cache that fails is logged,
  /// and has no result.
  ///
  /// - Parameter fetchPolicy: `.preferCache` by default, which reads the database without
  ///   `DataConnectSettings.cacheSettings`.
  /// - Returns: The result. Its `data` is nil for `.cacheOnly` without a cached result; the
  ///   reference's `data` does not change then.
  @discardableResult
  public func execute(
    fetchPolicy: QueryFetchPolicy = .preferCache
  ) async throws -> OperationResult<ResultData> {
    do {
      let executor = try dataConnect.executor(target)
      let cache = try dataConnect.cache(executor)
      if fetchPolicy != .serverOnly, let found = try await cached(fetchPolicy, cache) {
        return found
      }
      if fetchPolicy == .cacheOnly { return OperationResult(data: nil, source: .cache) }
      var response = try await response(executor, cache)
      if cache != nil, response.errors.isEmpty {
        response.fields = DataValue.object(response.fields).withoutRowMembers.fields ?? [:]
      }
      let result = OperationResult(
        data: try response.decoded(ResultData.self), source: .server)
      last.set(result.data, from: result.source, of: DataConnect.auth?.uid)
      return result
    } catch {
      last.fail(AnyDataConnectError(error))
      throw error
    }
  }

  /// Of the database. The cache keeps it.
  private func response(
    _ executor: any OperationExecutor, _ cache: ResultCache?
  ) async throws -> OperationResponse {
    let (variables, auth) = (try variables.get(), DataConnect.auth)
    guard let cache else {
      return try await executor.query(name, variables, auth, marksRows: false)
    }
    let reading = await cache.beginReading()
    do {
      let response = try await executor.query(name, variables, auth, marksRows: true)
      if response.errors.isEmpty {
        await keep(response, in: cache, reading)
      } else {
        cache.endReading(reading)
      }
      return response
    } catch {
      cache.endReading(reading)
      throw error
    }
  }

  /// A cache that cannot be written, on a full disk for example, fails no query: its results grow old.
  private func keep(
    _ response: OperationResponse, in cache: ResultCache, _ reading: ResultCache.Reading
  ) async {
    do {
      let requests = try await cache.store(
        response.fields, lookups: response.lookups, for: request, reading)
      for request in requests {
        for reference in dataConnect.references(request) {
          try await reference.republish(from: cache)
        }
      }
    } catch {
      Logger(label: "hearth").warning(
        "A result is not cached.", metadata: ["query": "\(name)", "error": "\(error)"])
    }
  }

  /// Nil if the cache does not have the result, or not a young one, or cannot be read. Throws
  /// `CancellationError`.
  private func cached(
    _ policy: QueryFetchPolicy, _ cache: ResultCache?
  ) async throws -> OperationResult<ResultData>? {
    guard let cache else { return nil }
    do {
      guard let found = try await cache.result(request) else { return nil }
      let maximum = dataConnect.settings.cacheSettings?.maxAge ?? 0
      guard policy == .cacheOnly || found.age < maximum else { return nil }
      let result = try decoded(found.fields)
      last.set(result.data, from: .cache, of: cache.user)
      return result
    } catch {
      try Task.checkCancellation()
      Logger(label: "hearth").warning(
        "A cached result cannot be read.",
        metadata: ["query": "\(name)", "error": "\(error)"])
      return nil
    }
  }

  private func decoded(_ fields: DataObject) throws -> OperationResult<ResultData> {
    let data = try OperationResponse(fields: fields).decoded(ResultData.self)
    return OperationResult(data: data, source: .cache)
  }

  /// Same as `execute(fetchPolicy:)` with `.preferCache`.
  @discardableResult
  public func execute() async throws -> OperationResult<ResultData> {
    try await execute(fetchPolicy: .preferCache)
  }

  /// Subscribes to the query: delivers its result now, and again whenever a signal refreshes it.
  ///
  ///     for await result in try await reference.subscribe() {
  ///       print(try result.get().data.movie?.title ?? "There is no movie.")
  ///     }
  ///
  /// Signals are a mutation that writes a row which the query reads by its key, the mutations and
  /// times of `@refresh`, and every change of the result with
  /// `DataConnectSettings.refreshesOnChange`. Returns when signals of all processes are received.
  /// An error of the query is delivered as an element.
  ///
  /// Throws `DataConnectInitError` for a damaged connector, `DataConnectCodecError` for variables
  /// that cannot be encoded, `DataConnectOperationError` if the connector has no such query,
  /// `DataConnectInternalError` if the emulator fails, and other errors of the database.
  public func subscribe() async throws -> QuerySubscription<ResultData> {
    let executor = try dataConnect.executor(target)
    let variables = try variables.get()
    let auth = DataConnect.auth
    let (stream, continuation) = AsyncStream.makeStream(
      of: QuerySubscription<ResultData>.Element.self, bufferingPolicy: .bufferingNewest(1))
    let subscription = try await executor.subscribe(name, variables, auth) { [self] in
      let result: QuerySubscription<ResultData>.Element
      do {
        result = .success(
          try await DataConnect.withAuth(auth) { try await execute(fetchPolicy: .serverOnly) })
      } catch {
        result = .failure(AnyDataConnectError(error))
      }
      continuation.yield(result)
    }
    let number = subscribers.withLock { subscribers in
      let number = (subscribers.keys.max() ?? 0) + 1
      subscribers[number] = Subscriber(user: auth?.uid, continuation: continuation)
      return number
    }
    continuation.onTermination = { [weak self] _ in
      subscription.cancel()
      _ = self?.subscribers.withLock { $0.removeValue(forKey: number) }
    }
    // The last result first, however old.
    if let found = try await cached(.cacheOnly, dataConnect.cache(executor)) {
      continuation.yield(.success(found))
    }
    subscription.refresh()
    return QuerySubscription(stream)
  }

  /// References are equal if they are the same object.
  public static func == (lhs: QueryRefObservation, rhs: QueryRefObservation) -> Bool { lhs === rhs }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A reference whose cached result may change with that of another.
protocol Republishable: Sendable {
  func republish(from cache: ResultCache) async throws
}

extension QueryRefObservation: Republishable {
  func republish(from cache: ResultCache) async throws {
    guard let found = try await cache.result(request) else { return }
    let result = try decoded(found.fields)
    // Results of one user are not those of another.
    if last.isOf(cache.user) { last.set(result.data, from: .cache, of: cache.user) }
    for subscriber in subscribers.withLock({ Array($0.values) })
    where subscriber.user.map({ BytewiseString($0) }) == cache.user.map({ BytewiseString($0) }) {
      subscriber.continuation.yield(.success(result))
    }
  }
}

/// The last result of a query, observable. Not generic: a generic class makes its key paths again for
/// each access.
private final class LastResult: Observable, Sendable {
  private struct State {
    var data: (any Sendable)?
    var source: DataSource?
    var error: AnyDataConnectError?
    /// The user whose result it is. Nil: nobody.
    var user: BytewiseString?
  }

  private let state = Mutex(State())
  private let registrar = ObservationRegistrar()

  var data: (any Sendable)? {
    registrar.access(self, keyPath: \.data)
    return state.withLock { $0.data }
  }

  var source: DataSource? {
    registrar.access(self, keyPath: \.source)
    return state.withLock { $0.source }
  }

  var error: AnyDataConnectError? {
    registrar.access(self, keyPath: \.error)
    return state.withLock { $0.error }
  }

  /// Whether there is a result, and it is the user's.
  func isOf(_ user: String?) -> Bool {
    state.withLock { $0.source != nil && $0.user == user.map { BytewiseString($0) } }
  }

  func set(_ data: (any Sendable)?, from source: DataSource, of user: String?) {
    registrar.withMutation(of: self, keyPath: \.data) {
      registrar.withMutation(of: self, keyPath: \.source) {
        state.withLock { state in
          state.data = data
          state.source = source
          state.user = user.map { BytewiseString($0) }
        }
      }
    }
    if state.withLock({ $0.error != nil }) { fail(nil) }
  }

  func fail(_ error: AnyDataConnectError?) {
    registrar.withMutation(of: self, keyPath: \.error) {
      state.withLock { $0.error = error }
    }
  }
}

extension AnyDataConnectError {
  init(_ error: any Error) {
    self.init(
      dataConnectError: error as? any DataConnectError
        ?? DataConnectInternalError(.internalError, "\(error)", error))
  }
}
