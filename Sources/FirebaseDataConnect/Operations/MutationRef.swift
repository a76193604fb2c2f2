import Hearth

/// A mutation with values of its variables.
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

  /// Runs the mutation, and returns when it is durable.
  ///
  /// Throws `DataConnectOperationError` if a field fails: see its `response` for those that did not.
  @discardableResult
  public func execute() async throws -> OperationResult<ResultData> {
    let executor = try dataConnect.executor(target)
    let response = try await executor.mutate(name, encodedVariables(), DataConnect.auth)
    return OperationResult(data: try response.decoded(ResultData.self), source: .server)
  }

  public static func == (lhs: MutationRef, rhs: MutationRef) -> Bool {
    lhs.dataConnect === rhs.dataConnect && lhs.name == rhs.name && lhs.variables == rhs.variables
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(variables)
  }
}
