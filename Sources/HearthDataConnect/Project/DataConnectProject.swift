#if Tools
  import Foundation

  /// A service and its connectors, as they are on disk.
  ///
  ///     firebase.json                   "dataconnect": {"source": "dataconnect"}
  ///     dataconnect/dataconnect.yaml    the service
  ///     dataconnect/schema/**.gql       its tables
  ///     dataconnect/connector/connector.yaml
  ///     dataconnect/connector/**.gql    the operations of a connector
  public struct DataConnectProject: Sendable {
    /// With `dataconnect.yaml`. Absolute.
    public let folder: String
    /// The contents of `dataconnect.yaml`.
    public let service: ServiceConfiguration
    /// In the order of `connectorDirs`.
    public let connectors: [Connector]
    /// Of the YAML files.
    public let warnings: [Diagnostic]
    private let workingDirectory: String

    /// A connector of the service.
    public struct Connector: Hashable, Sendable {
      /// With `connector.yaml`. Absolute.
      public let folder: String
      /// The contents of `connector.yaml`.
      public let configuration: ConnectorConfiguration
      /// `connector.yaml`, as it appears in diagnostics.
      let path: String
    }

    /// A package to generate.
    public struct Package: Hashable, Sendable {
      /// Absolute.
      public let folder: String
      /// The settings of the package, from a `swiftSdk` block.
      public let settings: SwiftSDKSettings
    }

    /// The endings of source files.
    static let extensions: Set<String> = ["gql", "graphql"]

    // MARK: - Finding

    /// The folders of projects: those of the folder, if one is given, or of the nearest folder upwards
    /// that has any.
    ///
    /// A folder has a project if it has a `dataconnect.yaml`, a `firebase.json` that names folders of
    /// projects, or a folder `dataconnect` with a `dataconnect.yaml`.
    ///
    /// Throws a `ProjectError` if there is none.
    public static func find(
      in folder: String?, workingDirectory: String
    ) throws(ProjectError) -> [String] {
      if let folder {
        let absolute = Paths.absolute(folder, from: workingDirectory)
        let found = try projects(of: absolute, workingDirectory: workingDirectory)
        guard found.isEmpty else { return found }
        throw ProjectError(
          "There is no \(ServiceConfiguration.fileName) in the folder, and no firebase.json.",
          path: folder)
      }
      var current = Paths.absolute(".", from: workingDirectory)
      while true {
        let found = try projects(of: current, workingDirectory: workingDirectory)
        if !found.isEmpty { return found }
        guard current != "/" else { break }
        current = Paths.parent(current)
      }
      throw ProjectError(
        "There is no \(ServiceConfiguration.fileName) here, and none upwards: "
          + "give its folder with --config, or write one with hearth dataconnect init.",
        path: ".")
    }

    private static func projects(
      of folder: String, workingDirectory: String
    ) throws(ProjectError) -> [String] {
      func isProject(_ folder: String) -> Bool {
        Paths.isFile("\(folder)/\(ServiceConfiguration.fileName)")
      }
      if isProject(folder) { return [folder] }
      let firebase = "\(folder)/firebase.json"
      if Paths.isFile(firebase) {
        let path = display(firebase, workingDirectory)
        var reader = YAMLReader(path: path)
        let root = try YAMLNode.parse(read(firebase, as: path), path: path)
        var folders: [String] = []
        if let value = root["dataconnect"], !value.isNull {
          for element in reader.elements(of: value) {
            guard let source = reader.string("source", of: element, isRequired: true) else {
              continue
            }
            let absolute = Paths.absolute(source, from: folder)
            folders.append(absolute)
            if !isProject(absolute) {
              reader.report(
                "There is no \(ServiceConfiguration.fileName) in \(source).",
                at: element["source"] ?? element)
            }
          }
        }
        if reader.hasErrors { throw ProjectError(reader.diagnostics) }
        if !folders.isEmpty { return folders }
      }
      let usual = "\(folder)/dataconnect"
      return isProject(usual) ? [usual] : []
    }

    // MARK: - Loading

    /// Reads the YAML files of a project.
    ///
    /// Throws a `ProjectError` with all errors and warnings of all files.
    public init(folder: String, workingDirectory: String) throws(ProjectError) {
      self.folder = Paths.absolute(folder, from: workingDirectory)
      self.workingDirectory = workingDirectory
      var findings: [Diagnostic] = []

      func load<Value>(
        _ file: String, _ read: (YAMLNode, inout YAMLReader) -> Value
      ) throws(ProjectError) -> (Value, String) {
        let path = Self.display(file, workingDirectory)
        let root = try YAMLNode.parse(Self.read(file, as: path), path: path)
        var reader = YAMLReader(path: path)
        let value = read(root, &reader)
        findings += reader.diagnostics
        return (value, path)
      }

      let (service, servicePath) = try load("\(self.folder)/\(ServiceConfiguration.fileName)") {
        ServiceConfiguration($0, reader: &$1)
      }
      self.service = service
      var connectors: [Connector] = []
      for connectorFolder in service.connectorFolders {
        let absolute = Paths.absolute(connectorFolder, from: self.folder)
        let file = "\(absolute)/\(ConnectorConfiguration.fileName)"
        guard Paths.isFile(file) else {
          findings.append(
            Diagnostic(
              error: "There is no \(ConnectorConfiguration.fileName) in \(connectorFolder).",
              path: servicePath))
          continue
        }
        let (configuration, path) = try load(file) { ConnectorConfiguration($0, reader: &$1) }
        if let other = connectors.first(where: {
          $0.configuration.connectorID == configuration.connectorID
        }) {
          findings.append(
            Diagnostic(error: "\(other.path) has the same connectorId.", path: path))
        }
        connectors.append(
          Connector(folder: absolute, configuration: configuration, path: path))
      }
      self.connectors = connectors
      if findings.contains(where: { $0.severity == .error }) { throw ProjectError(findings) }
      warnings = findings
    }

    /// The sources of a connector, for the compiler.
    ///
    /// Throws a `ProjectError` if a folder or a file cannot be read.
    public func input(for connector: Connector) throws(ProjectError) -> CompilerInput {
      var schema: [SourceFile] = []
      for source in service.schemaSources {
        schema += try sources(below: Paths.absolute(source, from: folder))
      }
      return CompilerInput(
        serviceID: service.serviceID, location: service.location,
        connectorID: connector.configuration.connectorID, schema: schema,
        connector: try sources(below: connector.folder))
    }

    /// The source files below a folder, by path.
    private func sources(below folder: String) throws(ProjectError) -> [SourceFile] {
      guard Paths.isFolder(folder) else {
        throw ProjectError("There is no such folder.", path: display(folder))
      }
      var files: [SourceFile] = []
      for file in Paths.files(below: folder, withExtensions: Self.extensions) {
        let path = display(file)
        files.append(SourceFile(path: path, text: try Self.read(file, as: path)))
      }
      return files
    }

    /// The package of a `swiftSdk` block.
    public func package(
      of sdk: ConnectorConfiguration.SwiftSDK, for connector: Connector
    ) -> Package {
      let output = Paths.absolute(sdk.outputFolder, from: connector.folder)
      let packageFolder = Paths.absolute(sdk.package, from: output)
      let runtime: SwiftSDKSettings.Runtime
      if let location = sdk.runtimeLocation, location.contains("://") || location.hasPrefix("git@")
      {
        runtime = .repository(url: location, version: sdk.runtimeVersion)
      } else {
        // By default a folder beside the one that has the project.
        let absolute =
          sdk.runtimeLocation.map { Paths.absolute($0, from: connector.folder) }
          ?? Paths.absolute("../../hearth", from: folder)
        runtime = .path(Paths.relative(absolute, to: packageFolder))
      }
      return Package(
        folder: packageFolder,
        settings: SwiftSDKSettings(
          package: sdk.package, observablePublisher: sdk.observablePublisher,
          clientCache: sdk.clientCache, runtime: runtime))
    }

    /// The files whose changes change what is generated, and where new ones may appear.
    var watchedFolders: [String] {
      let schemas = service.schemaSources.map { Paths.absolute($0, from: folder) }
      return [folder] + schemas + connectors.map(\.folder)
    }

    // MARK: - Files

    func display(_ path: String) -> String { Self.display(path, workingDirectory) }

    /// Relative to the working directory, if the file is below it or near it.
    static func display(_ path: String, _ workingDirectory: String) -> String {
      let relative = Paths.relative(path, to: Paths.absolute(".", from: workingDirectory))
      return relative.hasPrefix("../../") ? path : relative
    }

    private static func read(_ file: String, as path: String) throws(ProjectError) -> String {
      guard let data = FileManager.default.contents(atPath: file) else {
        throw ProjectError("The file cannot be read.", path: path)
      }
      guard let text = String(bytes: data, encoding: .utf8) else {
        throw ProjectError("The file is not UTF-8.", path: path)
      }
      return text
    }
  }
#endif
