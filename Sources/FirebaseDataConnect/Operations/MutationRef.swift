import Hearth

/// A mutation with values of its variables. Each `execute()` runs it once.
///
///     let add = connector.createMovieMutation.ref(
///       title: "Dune", releaseYear: 2021, genre: "Sci-Fi", rating: 5)
///     let key = try await add.execute().data.movie_insert
public final class MutationRef<ResultData: Decodable & Sendable, Variables: OperationVariable>:
  OperationRef, Hashable
{
  let dataConnect: DataConnect
  private let target: ExecutionTarget
  let name: String
  let variables: Variables

  init(
    _ dataConnect: DataConnect, _ target: ExecutionTarget, _ name: String, _ variables: Variables
  ) {
    self.dataConnect = dataConnect
    self.target = target
    self.name = name
    self.variables = variables
  }

  /// Runs the mutation, and returns when its commits are as durable as the database's settings
  /// demand.
  ///
  /// Throws `DataConnectOperationError` if a field fails: see its `response` for those that did
  /// not, and were committed if the mutation has no `@transaction`. Throws `DataConnectCodecError`
  /// for variables that cannot be encoded, without executing anything, and for a result of another
  /// form, after the commit. Throws `DataConnectInitError` for a damaged connector, and
  /// `DataConnectInternalError` if the connector's indexes cannot be declared or the emulator
  /// fails; with `.unknownOutcome`, the mutation may have been executed.
  @discardableResult
  public func execute() async throws -> OperationResult<ResultData> {
    let executor = try dataConnect.executor(target)
    let response = try await executor.mutate(name, variables.dataObject(), DataConnect.auth)
    return OperationResult(data: try response.decoded(ResultData.self), source: .server)
  }

  /// References are equal if the connector, the mutation and the variables are.
  public static func == (lhs: MutationRef, rhs: MutationRef) -> Bool {
    lhs.dataConnect === rhs.dataConnect && lhs.name == rhs.name && lhs.variables == rhs.variables
  }

  /// Hashes the mutation and its variables.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(variables)
  }
}
