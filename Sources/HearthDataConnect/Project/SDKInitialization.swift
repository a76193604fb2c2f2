#if Tools
  import Foundation

  /// Sets up the generation of packages for the apps of a folder: adds `swiftSdk` blocks to the
  /// connectors that have none.
  public struct SDKInitialization: Sendable {
    /// The folder that `--config` gives, as `SDKGeneration.folder`. Nil: the nearest project upwards.
    public var folder: String?
    /// The app's folder, relative to `workingDirectory` or absolute. Nil: all Swift packages in the
    /// working directory and below it.
    public var appFolder: String?
    /// Nil: `DataConnectGenerated`, and with several connectors the connector's name before it.
    public var packageName: String?
    /// Paths in reports are relative to it.
    public var workingDirectory: String

    /// An initialisation that has not run yet.
    public init(
      folder: String? = nil, appFolder: String? = nil, packageName: String? = nil,
      workingDirectory: String = FileManager.default.currentDirectoryPath
    ) {
      self.folder = folder
      self.appFolder = appFolder
      self.packageName = packageName
      self.workingDirectory = workingDirectory
    }

    /// The `connector.yaml` files that a run changed, and the lines that the manifests of the apps need
    /// next.
    public struct Report: Hashable, Sendable {
      /// The `connector.yaml` files that were changed, relative to the working directory:
      /// `dataconnect/movies/connector.yaml`.
      public internal(set) var changed: [String] = []
      /// The lines for the manifests of the apps: for each `swiftSdk` of each connector, also for those
      /// that were there before, one for the app whose folder contains the package, or one for each app
      /// if none does.
      public internal(set) var dependencies: [Dependency] = []
    }

    /// A package that an app can depend on.
    public struct Dependency: Hashable, Sendable {
      /// The app's manifest, relative to the working directory: `Package.swift`.
      public let manifest: String
      /// `.package(path: "FirebaseDataConnectGenerated/Movies")`: relative to the folder of that manifest.
      public let package: String
      /// `.product(name: "Movies", package: "Movies")`
      public let product: String
    }

    /// Changes the files of the connectors. Packages are not generated yet: see `SDKGeneration`.
    ///
    /// Throws a `ProjectError`, for example without a Swift package, or an error of the file system.
    public func run() throws -> Report {
      let apps = try findApps()
      var report = Report()
      for folder in try DataConnectProject.find(in: folder, workingDirectory: workingDirectory) {
        let project = try DataConnectProject(folder: folder, workingDirectory: workingDirectory)
        for connector in project.connectors where connector.configuration.swiftSDKs.isEmpty {
          let name = packageName(for: connector, isOnly: project.connectors.count == 1)
          if let problem = ConnectorConfiguration.problem(ofPackage: name) {
            throw ProjectError(problem, path: connector.path)
          }
          let sdks = apps.map { app in
            ConnectorConfiguration.NewSDK(
              outputFolder: Paths.relative(
                "\(app.folder)/FirebaseDataConnectGenerated", to: connector.folder),
              package: name,
              runtimeLocation: app.runtimeLocation.map {
                $0.hasPrefix("/") ? Paths.relative($0, to: connector.folder) : $0
              })
          }
          let text = try String(
            contentsOfFile: "\(connector.folder)/\(ConnectorConfiguration.fileName)",
            encoding: .utf8)
          let file = GeneratedFile(
            path: ConnectorConfiguration.fileName,
            text: try ConnectorConfiguration.text(text, path: connector.path, adding: sdks))
          try FileStaging.replace([file], in: connector.folder)
          report.changed.append(connector.path)
        }
        try addDependencies(of: folder, apps, to: &report)
      }
      return report
    }

    private func findApps() throws(ProjectError) -> [SwiftApp] {
      if let appFolder {
        let absolute = Paths.absolute(appFolder, from: workingDirectory)
        guard let app = SwiftApp(folder: absolute) else {
          throw ProjectError("There is no Package.swift in the folder.", path: appFolder)
        }
        return [app]
      }
      let apps = SwiftApp.find(below: Paths.absolute(".", from: workingDirectory))
      guard !apps.isEmpty else {
        throw ProjectError(
          "There is no Swift package here: give its folder with --app.", path: ".")
      }
      return apps
    }

    private func packageName(
      for connector: DataConnectProject.Connector, isOnly: Bool
    ) -> String {
      let connectorName = SwiftNames.upperCamel(connector.configuration.connectorID)
      let name = packageName ?? ConnectorConfiguration.defaultPackage
      return isOnly ? name : connectorName + name
    }

    /// Those of the blocks that were there, too.
    private func addDependencies(
      of folder: String, _ apps: [SwiftApp], to report: inout Report
    ) throws(ProjectError) {
      let project = try DataConnectProject(folder: folder, workingDirectory: workingDirectory)
      for connector in project.connectors {
        for sdk in connector.configuration.swiftSDKs {
          let package = project.package(of: sdk, for: connector)
          // A package inside of an app is that app's.
          let inside = apps.filter { package.folder.hasPrefix("\($0.folder)/") }
          for app in inside.isEmpty ? apps : inside {
            let path = Paths.relative(package.folder, to: app.folder)
            let name = SwiftNames.literal(sdk.package)
            report.dependencies.append(
              Dependency(
                manifest: project.display("\(app.folder)/Package.swift"),
                package: ".package(path: \(SwiftNames.literal(path)))",
                product: ".product(name: \(name), package: \(name))"))
          }
        }
      }
    }
  }
#endif
