internal import HearthText

/// A service: the contents of `dataconnect.yaml`.
///
///     specVersion: v1
///     serviceId: films
///     location: local
///     schema:
///       source: ./schema
///       datasource:
///         embedded: { path: ./data, mapSize: 1GB }
///     connectorDirs: [./connector]
///
/// A PostgreSQL data source is accepted, and has no effect.
public struct ServiceConfiguration: Hashable, Sendable {
  /// `dataconnect.yaml`
  public static let fileName = "dataconnect.yaml"

  /// `v1`, `v1beta`
  public var specVersion: String
  /// `serviceId`, which is required. Empty if it is missing, which is an error.
  public var serviceID: String
  /// `local` without one.
  public var location: String
  /// Folders, relative to the one of the file. One, unless `schemas` has several.
  public var schemaSources: [String]
  /// Nil without `datasource: embedded`.
  public var embedded: EmbeddedDatasource?
  /// Folders, relative to the one of the file.
  public var connectorFolders: [String]

  /// A database in a file.
  public struct EmbeddedDatasource: Hashable, Sendable {
    /// Relative to the folder of the file.
    public var path: String
    /// Nil: the default of databases.
    public var mapSizeBytes: Int?
  }

  init(_ root: YAMLNode, reader: inout YAMLReader) {
    specVersion = "v1"
    serviceID = ""
    location = "local"
    schemaSources = []
    connectorFolders = ["./connector"]
    let known = ["connectorDirs", "location", "schema", "schemas", "serviceId", "specVersion"]
    guard reader.isMapping(root, Self.fileName, known: known) else { return }
    specVersion = reader.string("specVersion", of: root) ?? specVersion
    if !["v1", "v1alpha", "v1beta"].contains(specVersion), let node = root["specVersion"] {
      reader.report("specVersion is v1 or v1beta, not \"\(specVersion)\".", at: node)
    }
    serviceID = reader.string("serviceId", of: root, isRequired: true) ?? ""
    location = reader.string("location", of: root) ?? location
    connectorFolders = reader.strings("connectorDirs", of: root) ?? connectorFolders

    let schemas = [root["schema"], root["schemas"]].compactMap(\.self).filter { !$0.isNull }
      .flatMap { reader.elements(of: $0) }
    for schema in schemas {
      guard reader.isMapping(schema, "schema", known: ["datasource", "source"]) else { continue }
      schemaSources.append(reader.string("source", of: schema) ?? "./schema")
      if let datasource = schema["datasource"], !datasource.isNull {
        readDatasource(datasource, reader: &reader)
      }
    }
    if schemas.isEmpty { schemaSources = ["./schema"] }
  }

  private mutating func readDatasource(_ node: YAMLNode, reader: inout YAMLReader) {
    guard reader.isMapping(node, "datasource", known: ["embedded", "postgresql"]),
      let value = node["embedded"]
    else { return }
    var result = EmbeddedDatasource(path: "./data", mapSizeBytes: nil)
    if !value.isNull {
      guard reader.isMapping(value, "embedded", known: ["mapSize", "path"]) else { return }
      result.path = reader.string("path", of: value) ?? result.path
      if let text = reader.string("mapSize", of: value), let size = value["mapSize"] {
        result.mapSizeBytes = Int(byteCount: text)
        if result.mapSizeBytes == nil {
          reader.report(
            "mapSize is a size such as 512MB or 8GiB, not \"\(text)\".", at: size)
        }
      }
    }
    embedded = result
  }
}
