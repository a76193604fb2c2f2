import DataConnectModel

extension SwiftGenerator {
  func writeClient(
    of connector: CompiledConnector, _ shape: ConnectorShape, to source: inout SwiftSource
  ) {
    let name = shape.connectorClass
    writeImports(to: &source)
    source.scope("extension DataConnect") { source in
      source.line("/// The connector `\(connector.connectorID)`, on the default database.")
      source.line("public static let \(SwiftNames.quoted(shape.property)) = \(name)(")
      source.indented { source in
        source.call(
          "dataConnect: DataConnect.dataConnect(",
          [
            "connectorConfig: \(name).connectorConfig", "compiled: \(shape.schemaEnum).compiled",
            "settings: \(name).settings", "callerSDKType: .generated",
          ], "))")
      }
    }
    source.line()
    source.line("/// The operations of the connector `\(connector.connectorID)`.")
    source.scope("public final class \(name): Sendable") { source in
      source.call(
        "public static let connectorConfig = ConnectorConfig(",
        [
          "serviceId: \(SwiftNames.literal(connector.serviceID))",
          "location: \(SwiftNames.literal(connector.location))",
          "connector: \(SwiftNames.literal(connector.connectorID))",
        ], ")")
      source.line()
      source.call("static let settings = DataConnectSettings(", cacheSettings, ")")
      source.line()
      source.line("public let dataConnect: DataConnect")
      for operation in shape.operations {
        source.line()
        source.line("/// The \(operation.kind.rawValue) `\(operation.name)`.")
        source.line(
          "public let \(SwiftNames.quoted(operation.property)): \(operation.className)")
      }
      source.line()
      source.scope("public init(dataConnect: DataConnect)") { source in
        source.line("self.dataConnect = dataConnect")
        for operation in shape.operations {
          source.line(
            "\(SwiftNames.quoted(operation.property)) = "
              + "\(operation.className)(dataConnect: dataConnect)")
        }
      }
      source.line()
      source.line("/// The connector on another database.")
      source.scope("public convenience init(firestore: Firestore)") { source in
        source.line("self.init(")
        source.indented { source in
          source.call(
            "dataConnect: DataConnect(",
            [
              "connectorConfig: Self.connectorConfig", "compiled: \(shape.schemaEnum).compiled",
              "firestore: firestore", "settings: Self.settings",
            ], "))")
        }
      }
      source.line()
      source.line(
        "/// Uses an emulator, or a database of its own, for development. Call it before operations."
      )
      source.function(
        "public func useEmulator",
        [
          "host: String = DataConnect.EmulatorDefaults.host",
          "port: Int = DataConnect.EmulatorDefaults.port",
        ]
      ) { $0.line("dataConnect.useEmulator(host: host, port: port)") }
      for operation in shape.operations {
        guard let alias = operation.alias else { continue }
        source.line()
        source.line("/// The same as `\(operation.property)`.")
        source.accessor(
          "public var \(SwiftNames.quoted(alias)): \(operation.className)",
          SwiftItem(SwiftNames.quoted(operation.property)))
      }
    }
  }

  private var cacheSettings: [SwiftItem] {
    guard let cache = settings.clientCache else { return [] }
    return [
      SwiftItem(
        "cacheSettings: CacheSettings(",
        [
          "storage: .\(cache.storage.rawValue)", "maxAge: \(Self.number(cache.maxAgeSeconds))",
        ])
    ]
  }

  /// `5` instead of `5.0`.
  private static func number(_ value: Double) -> String {
    Int(exactly: value).map(String.init) ?? "\(value)"
  }
}
