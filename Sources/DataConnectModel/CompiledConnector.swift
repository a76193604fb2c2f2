/// A connector, compiled: the tables of its schema and its operations, without GraphQL.
///
///     schema.gql ──┐
///                  ├─ compiler ─▶ CompiledConnector ─▶ generator ─▶ Swift package
///     *.gql of a   │                     │
///     connector  ──┘                     └─ as JSON in the package ─▶ runtime
///
/// All names are resolved and all types are checked. A runtime that gets one made by somebody else
/// must check again whatever it relies on.
public struct CompiledConnector: Codable, Hashable, Sendable {
  /// The version of this form. A runtime refuses a newer one.
  public static let currentVersion = 1

  public var version: Int
  public var serviceID: String
  public var location: String
  public var connectorID: String
  public var schema: Schema
  /// In the order of the sources: files by name, operations by position.
  public var operations: [Operation]

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

  public func operation(named name: String) -> Operation? {
    operations.first { $0.name == name }
  }
}
