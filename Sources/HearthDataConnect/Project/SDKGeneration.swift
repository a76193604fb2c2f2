#if Tools
  import DataConnectModel
  import Foundation

  /// Generates the packages of the projects in a folder.
  public struct SDKGeneration: Sendable {
    /// A folder with `dataconnect.yaml`, or with projects below it, as the option `--config` of the
    /// command line gives it. Relative to `workingDirectory`, or absolute. Nil: the nearest project
    /// upwards.
    public var folder: String?
    /// Only this connector. Nil: all.
    public var connectorID: String?
    /// The compiler of the sources, with its options.
    public var compiler: DataConnectCompiler
    /// Paths in findings are relative to it.
    public var workingDirectory: String

    /// A generation that has not run yet.
    public init(
      folder: String? = nil, connectorID: String? = nil,
      compiler: DataConnectCompiler = DataConnectCompiler(),
      workingDirectory: String = FileManager.default.currentDirectoryPath
    ) {
      self.folder = folder
      self.connectorID = connectorID
      self.compiler = compiler
      self.workingDirectory = workingDirectory
    }

    /// Whether packages are written.
    public enum Mode: Sendable {
      /// Writes the files that differ, and removes those that are no longer generated.
      case write
      /// Lists differences, and writes nothing.
      case check
    }

    /// The findings of a run, and its packages.
    public struct Report: Hashable, Sendable {
      /// Of the YAML files and of the sources. A folder without a project is an error among them.
      public internal(set) var diagnostics: [Diagnostic] = []
      /// Of connectors without errors.
      public internal(set) var packages: [Package] = []

      /// A package that was written or compared.
      public struct Package: Hashable, Sendable {
        /// The id of the connector whose package it is.
        public let connectorID: String
        /// The name of the package.
        public let name: String
        /// As it is written from the working directory.
        public let folder: String
        /// Of `write`.
        public internal(set) var report = PackageWriter.Report()
        /// Of `check`.
        public internal(set) var differences: [PackageWriter.Difference] = []
      }

      /// Whether a diagnostic is an error.
      public var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }

      /// Without errors, and nothing differs from what would be generated.
      public var isCurrent: Bool { !hasErrors && packages.allSatisfy(\.differences.isEmpty) }
    }

    /// Compiles the connectors and generates their packages. An error of one connector does not stop
    /// the others.
    public func run(_ mode: Mode = .write) -> Report {
      var report = Report()
      do throws(ProjectError) {
        var owners: [String: String] = [:]
        var found = false
        for folder in try DataConnectProject.find(in: folder, workingDirectory: workingDirectory) {
          let project = try DataConnectProject(
            folder: folder, workingDirectory: workingDirectory)
          report.diagnostics += project.warnings
          for connector in project.connectors
          where connectorID == nil || connector.configuration.connectorID == connectorID {
            found = true
            generate(connector, of: project, mode, owners: &owners, report: &report)
          }
        }
        if let connectorID, !found {
          throw ProjectError("There is no connector \"\(connectorID)\".", path: folder ?? ".")
        }
      } catch {
        report.diagnostics += error.diagnostics
      }
      return report
    }

    private func generate(
      _ connector: DataConnectProject.Connector, of project: DataConnectProject, _ mode: Mode,
      owners: inout [String: String], report: inout Report
    ) {
      let compiled: CompiledConnector
      do {
        let result = compiler.compile(try project.input(for: connector))
        for diagnostic in result.diagnostics where !report.diagnostics.contains(diagnostic) {
          report.diagnostics.append(diagnostic)
        }
        guard let connector = result.connector else { return }
        compiled = connector
      } catch {
        report.diagnostics += error.diagnostics
        return
      }
      let configuration = connector.configuration
      for sdk in configuration.swiftSDKs {
        func fail(_ message: String) {
          report.diagnostics.append(
            Diagnostic(
              error: message, path: connector.path, line: sdk.line, column: sdk.column))
        }
        let package = project.package(of: sdk, for: connector)
        if let owner = owners.updateValue(configuration.connectorID, forKey: package.folder) {
          fail(
            "The package of the connector \"\(owner)\" is in the same folder: "
              + "choose another outputDir or package.")
          continue
        }
        let files = SwiftGenerator(settings: package.settings).files(for: compiled)
        let writer = PackageWriter(folder: package.folder)
        var entry = Report.Package(
          connectorID: configuration.connectorID, name: sdk.package,
          folder: project.display(package.folder))
        do {
          switch mode {
          case .check: entry.differences = writer.differences(from: files)
          case .write: entry.report = try writer.write(files)
          }
          report.packages.append(entry)
        } catch let error as PackageWriter.ForeignFileError {
          fail(error.description)
        } catch {
          fail("The package cannot be written: \(FileStaging.reason(error)).")
        }
      }
    }

    // MARK: - Watching

    /// Generates now, and each time that a YAML file or a source has changed. Errors are in the
    /// reports, and do not end it. Ends when the task is cancelled.
    public func watch(
      interval: Duration = .milliseconds(50), _ onReport: (Report) async throws -> Void
    ) async throws {
      let watch = ProjectWatch(folder: folder, workingDirectory: workingDirectory)
      try await watch.run(interval: interval) { try await onReport(run()) }
    }
  }
#endif
