import DataConnectModel
import Foundation
import Hearth
import HearthDataConnect
import HearthTesting
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// A connector on a database of its own.
struct TestConnector {
  let database: TemporaryDatabase
  let dataConnect: DataConnect
  let connector: CompiledConnector

  init(
    schema: String, operations: String, id: String = "movies",
    settings: DataConnectSettings = DataConnectSettings()
  ) throws {
    let result = DataConnectCompiler().compile(
      CompilerInput(
        serviceID: "films", location: "local", connectorID: id,
        schema: [SourceFile(path: "schema.gql", text: schema)],
        connector: [SourceFile(path: "operations.gql", text: operations)]))
    let errors = result.diagnostics.filter { $0.severity == .error }
    try #require(errors.isEmpty, "\(errors.map(\.description).joined(separator: "\n"))")
    try self.init(#require(result.connector), TemporaryDatabase(), settings)
  }

  init(
    _ connector: CompiledConnector, _ database: TemporaryDatabase,
    _ settings: DataConnectSettings = DataConnectSettings()
  ) throws {
    self.connector = connector
    self.database = database
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    dataConnect = DataConnect(
      connectorConfig: ConnectorConfig(
        serviceId: connector.serviceID, location: connector.location,
        connector: connector.connectorID),
      compiled: String(decoding: try encoder.encode(connector), as: UTF8.self),
      firestore: database.firestore, settings: settings)
  }

  var firestore: Firestore { database.firestore }

  /// Uses the emulator at the port. On a busy machine it may greet too late, and is then connected to again.
  func useEmulator(port: Int) throws {
    try blockUntil {
      dataConnect.useEmulator(port: port)
      return try dataConnect.executor() is EmulatorClient
    }
  }

  /// A client of the emulator at the port, beside the connector.
  func emulatorClient(port: Int) throws -> EmulatorClient {
    var client: EmulatorClient?
    try blockUntil {
      client = EmulatorClient(host: "127.0.0.1", port: port, dataConnect.connectorConfig)
      return client != nil
    }
    return try #require(client)
  }

  /// The result of a query. Throws its error.
  func query(
    _ name: String, _ variables: DataObject = [:], auth: DataConnectAuth? = nil
  ) async throws -> DataValue {
    try await .object(dataConnect.service().query(name, variables, auth).checked())
  }

  /// The result of a mutation. Throws its error.
  @discardableResult
  func mutate(
    _ name: String, _ variables: DataObject = [:], auth: DataConnectAuth? = nil
  ) async throws -> DataValue {
    try await .object(dataConnect.service().mutate(name, variables, auth).checked())
  }

  func reference(
    _ name: String, _ variables: [String: DataValue] = [:]
  ) -> QueryRefObservation<DataValue, [String: DataValue]> {
    dataConnect.query(name: name, variables: variables, resultsDataType: DataValue.self)
  }
}

extension OperationResponse {
  fileprivate func checked() throws -> DataObject {
    if errors.isEmpty { return fields }
    throw DataConnectOperationError(errors.map(\.description).joined(separator: "\n"))
  }
}

/// The error's message.
func message(of body: () async throws -> Void) async -> String {
  do {
    try await body()
    return "no error"
  } catch {
    return "\(error)"
  }
}

extension DataConnect {
  /// The connector on the database of now, in this process.
  func service() throws -> ConnectorService {
    try #require(try executor() as? ConnectorService)
  }
}

extension OperationExecutor {
  func query(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?
  ) async throws -> OperationResponse {
    try await query(name, variables, auth, marksRows: false)
  }
}
