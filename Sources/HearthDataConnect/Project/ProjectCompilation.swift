#if Tools
  import DataConnectModel
  import Foundation

  /// Compiles the connectors of the projects in a folder, and writes the schema for editors.
  public struct ProjectCompilation: Sendable {
    /// The folder that `--config` gives. Nil: the nearest project upwards.
    public var folder: String?
    /// The compiler of the sources, with its options.
    public var compiler: DataConnectCompiler
    /// Paths in findings are relative to it.
    public var workingDirectory: String

    /// A compilation that has not run yet.
    public init(
      folder: String? = nil, compiler: DataConnectCompiler = DataConnectCompiler(),
      workingDirectory: String = FileManager.default.currentDirectoryPath
    ) {
      self.folder = folder
      self.compiler = compiler
      self.workingDirectory = workingDirectory
    }

    /// The findings of a run, and its connectors. A folder without a project is an error among the
    /// findings.
    public struct Report: Sendable {
      /// Of the YAML files and of the sources.
      public internal(set) var diagnostics: [Diagnostic] = []
      /// Those without errors.
      public internal(set) var connectors: [CompiledConnector] = []

      /// Whether a diagnostic is an error.
      public var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }
    }

    /// Writes `.dataconnect/schema/**` in the folder of each project whose schema has no errors.
    ///
    /// Throws an error of the file system.
    public func run() throws -> Report {
      var report = Report()
      do {
        for folder in try DataConnectProject.find(in: folder, workingDirectory: workingDirectory) {
          let project = try DataConnectProject(
            folder: folder, workingDirectory: workingDirectory)
          report.diagnostics += project.warnings
          var schema: Schema?
          for connector in project.connectors {
            let result = compiler.compile(try project.input(for: connector))
            for diagnostic in result.diagnostics where !report.diagnostics.contains(diagnostic) {
              report.diagnostics.append(diagnostic)
            }
            guard let compiled = result.connector else { continue }
            report.connectors.append(compiled)
            schema = compiled.schema
          }
          if let schema { try writeSchema(schema, in: folder) }
        }
      } catch let error as ProjectError {
        report.diagnostics += error.diagnostics
      }
      return report
    }

    private func writeSchema(_ schema: Schema, in folder: String) throws {
      let target = "\(folder)/.dataconnect/schema"
      let files = compiler.schemaFiles(for: schema).map {
        GeneratedFile(path: $0.path, text: $0.text)
      }
      let changed = files.filter {
        FileManager.default.contents(atPath: "\(target)/\($0.path)") != Data($0.text.utf8)
      }
      try FileStaging.replace(changed, in: target)
    }
  }
#endif
