import DataConnectModel
import Foundation
import Hearth
import Logging
import Synchronization

/// Serves the operations of connectors on a database to programs of this machine, for development.
///
///     let server = try EmulatorServer(db, host: "127.0.0.1", port: 9399)
///     try server.serve(connectors)   // again after a change of their sources
///     …
///     server.stop()
///
/// Each connection has two threads; see `EmulatorRequest` and `EmulatorMessage` for its lines.
package final class EmulatorServer: Sendable {
  private static let maximumConnections = 64

  private struct State {
    /// By the name of the connector.
    var services: [String: [ConnectorService]] = [:]
    var sessions: [ObjectIdentifier: EmulatorSession] = [:]
    var isServing = false
    var isStopped = false
  }

  let firestore: Firestore
  /// The port that the system chose, if none was given.
  package let port: Int
  private let socket: LoopbackSocket
  private let isStrict: Bool
  private let state = Mutex(State())

  /// Listens; connections wait for the first connectors. Throws an error for an address that other
  /// machines can reach, and for one in use.
  ///
  /// - Parameter isStrict: Whether an operation without `@auth` is refused to every program. A
  ///   program may also ask for it.
  package init(_ firestore: Firestore, host: String, port: Int, isStrict: Bool = false) throws {
    self.firestore = firestore
    self.isStrict = isStrict
    (socket, self.port) = try LoopbackSocket.listening(host: host, port: port)
  }

  private func service(_ connector: CompiledConnector) throws -> ConnectorService {
    ConnectorService(
      try ConnectorPlan(connector), firestore,
      ConnectorConfig(
        serviceId: connector.serviceID, location: connector.location,
        connector: connector.connectorID),
      DataConnectSettings(isStrict: isStrict))
  }

  /// The change of a service's schema, and its effect on the rows.
  package struct Migration: Sendable {
    /// The differences of the schemas.
    package let changes: [SchemaChange]
    /// The reason why the rows stay as they are. Nil: they have the form of the new schema.
    package let refusal: (any Error)?
  }

  /// Gives the rows the form of the connectors' schemas, where that loses no value. Call it before
  /// `serve`. Returns one element for each service whose schema differs from that of its rows.
  ///
  /// Throws `DataConnectInitError` for a connector that is damaged.
  package func migrate(_ connectors: [CompiledConnector]) async throws -> [Migration] {
    var services: Set<String> = []
    var migrations: [Migration] = []
    // The connectors of a service have one schema.
    for connector in connectors where services.insert(connector.serviceID).inserted {
      let migration = SchemaMigration(try service(connector))
      var changes: [SchemaChange] = []
      do {
        changes = try await migration.changes()
        if changes.isEmpty { continue }
        _ = try await migration.run(allowingDestructive: false)
        migrations.append(Migration(changes: changes, refusal: nil))
      } catch {
        migrations.append(Migration(changes: changes, refusal: error))
      }
    }
    return migrations
  }

  /// Replaces the connectors. Subscriptions are refreshed.
  ///
  /// Throws `DataConnectInitError`, without an effect, for a connector that is damaged.
  package func serve(_ connectors: [CompiledConnector]) throws {
    let services = try connectors.map { try service($0) }
    let (sessions, isFirst) = state.withLock { state in
      state.services = Dictionary(grouping: services, by: \.config.connector)
      defer { state.isServing = true }
      return (Array(state.sessions.values), !state.isServing && !state.isStopped)
    }
    for session in sessions { session.reload() }
    guard isFirst else { return }
    let thread = Thread { [self] in accept() }
    thread.name = "hearth-emulator"
    thread.start()
  }

  /// Ends all connections, and listens no more.
  package func stop() {
    let (sessions, isUnused) = state.withLock { state in
      defer { state.isStopped = true }
      return (Array(state.sessions.values), !state.isServing && !state.isStopped)
    }
    // The accepting thread closes it.
    if isUnused { socket.close() } else { socket.end() }
    for session in sessions { session.end() }
  }

  /// The number of connections.
  var connectionCount: Int { state.withLock(\.sessions.count) }

  /// Throws `DataConnectInitError` if there is no such connector.
  func service(_ call: EmulatorRequest.Call) throws(DataConnectInitError) -> ConnectorService {
    let services = state.withLock { $0.services[call.connector] ?? [] }
    guard
      let service = services.first(where: {
        call.service ?? $0.config.serviceId == $0.config.serviceId
      })
    else {
      let service = call.service.map { "\($0)/" } ?? ""
      throw DataConnectInitError(
        .invalidConnector,
        "The emulator has no connector \(service)\(call.connector), or one with errors.")
    }
    return service.with(
      isStrict: isStrict || call.isStrict, refreshesOnChange: call.refreshesOnChange)
  }

  private func accept() {
    while let connection = socket.accepted() {
      guard connectionCount < Self.maximumConnections else {
        let reason = "There are \(Self.maximumConnections) connections already."
        _ = connection.write(Array((EmulatorMessage.error(reason).line + "\n").utf8))
        connection.close()
        continue
      }
      let session = EmulatorSession(LineConnection(connection), self)
      let key = ObjectIdentifier(session)
      let isStopped = state.withLock { state in
        state.sessions[key] = session
        return state.isStopped
      }
      session.start { [weak self] in
        _ = self?.state.withLock { $0.sessions.removeValue(forKey: key) }
      }
      if isStopped { session.end() }
    }
    socket.close()
  }
}
