/// A connector, compiled: the tables of its schema and its operations, without GraphQL.
///
///     schema.gql ──┐
///                  ├─ compiler ─▶ CompiledConnector ─▶ generator ─▶ Swift package
///     *.gql of a   │                     │
///     connector  ──┘                     └─ as JSON in the package ─▶ runtime
///
/// Its JSON is what a package passes to `DataConnect`. A program that compiles by itself makes it:
///
///     let json = String(decoding: try JSONEncoder().encode(connector), as: UTF8.self)
///     let movies = DataConnect(connectorConfig: config, compiled: json, firestore: db)
///
/// The compiler has resolved all names and checked all types. Decoding checks nothing: a runtime
/// checks again what it relies on, because the JSON may come from another tool.
public struct CompiledConnector: Codable, Hashable, Sendable {
  /// The version of the form that this module writes. A runtime refuses a newer one.
  public static let currentVersion = 1

  /// The version of the form that this value has. The initialiser sets `currentVersion`.
  public var version: Int
  /// `serviceId` of `dataconnect.yaml`.
  public var serviceID: String
  /// `location` of `dataconnect.yaml`, a region such as `us-east4`. A local connector only carries
  /// it.
  public var location: String
  /// `connectorId` of `connector.yaml`.
  public var connectorID: String
  /// All tables and enums of the service, also those that no operation uses.
  public var schema: Schema
  /// The queries and mutations in the order of the sources: files by name, operations by position.
  public var operations: [Operation]

  /// Creates a connector of the current version. The compiler makes one from sources; nothing is
  /// checked here.
  public init(
    serviceID: String, location: String, connectorID: String, schema: Schema,
    operations: [Operation]
  ) {
    self.version = Self.currentVersion
    self.serviceID = serviceID
    self.location = location
    self.connectorID = connectorID
    self.schema = schema
    self.operations = operations
  }

  /// The operation with a name, which is case-sensitive. Nil if the connector has none. Searches
  /// linearly.
  public func operation(named name: String) -> Operation? {
    operations.first { $0.name == name }
  }
}
