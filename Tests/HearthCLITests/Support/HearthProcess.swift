#if Tools
  import Foundation
  import TestSupport
  import Testing

  /// The built `hearth`, or another program, run as people run it.
  struct HearthProcess {
    /// Every invocation works in here, with relative names.
    var folder = TemporaryFolder()
    var program = "hearth"

    struct Result {
      var status: Int32
      var output: String
      var error: String

      var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// Beside the running tests, where the package manager puts programs.
    private var executable: URL {
      let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
      return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(program)
    }

    var path: String { executable.path }

    func start(_ arguments: [String], input: String? = nil) throws -> Running {
      let running = Running(folder: folder)
      running.process.executableURL = executable
      running.process.arguments = arguments
      running.process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
      running.process.standardOutput = try running.handle("output")
      running.process.standardError = try running.handle("error")
      if let input {
        try Data(input.utf8).write(to: running.file("input"))
        running.process.standardInput = try FileHandle(forReadingFrom: running.file("input"))
      } else {
        running.process.standardInput = FileHandle.nullDevice
      }
      try running.process.run()
      return running
    }

    func callAsFunction(_ arguments: String..., input: String? = nil) throws -> Result {
      try start(arguments, input: input).finish()
    }

    /// Runs a line of a shell, for what only a shell can do with streams. `hearth` is the program.
    func shell(_ line: String) throws -> Result {
      let running = Running(folder: folder)
      running.process.executableURL = URL(fileURLWithPath: "/bin/sh")
      running.process.arguments = ["-c", "hearth() { '\(path)' \"$@\"; }\n\(line)"]
      running.process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
      running.process.standardOutput = try running.handle("output")
      running.process.standardError = try running.handle("error")
      running.process.standardInput = FileHandle.nullDevice
      try running.process.run()
      return running.finish()
    }

    /// The names in the folder, except for those of captured output.
    var files: Set<String> {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
      return Set(
        names.filter { name in ![".output", ".error", ".input"].contains { name.hasSuffix($0) } })
    }

    /// Files that are being made.
    var unfinished: Set<String> { files.filter { $0.contains("-unfinished") } }

    /// A process under way, whose output goes to files: a full pipe would hold it up.
    final class Running {
      let process = Process()
      private let folder: TemporaryFolder
      private let name = UUID().uuidString

      init(folder: TemporaryFolder) { self.folder = folder }

      deinit { if process.isRunning { process.terminate() } }

      func file(_ kind: String) -> URL {
        URL(fileURLWithPath: "\(folder.path)/\(name).\(kind)")
      }

      func handle(_ kind: String) throws -> FileHandle {
        try Data().write(to: file(kind))
        return try FileHandle(forWritingTo: file(kind))
      }

      private func text(_ kind: String) -> String {
        (try? String(contentsOf: file(kind), encoding: .utf8)) ?? ""
      }

      var output: String { text("output") }

      var error: String { text("error") }

      func finish() -> Result {
        process.waitUntilExit()
        return Result(
          status: process.terminationStatus, output: text("output"), error: text("error"))
      }

      /// Waits until the output has so many lines. False if that takes too long.
      func reaches(lines count: Int) async throws -> Bool {
        func isThere() -> Bool { output.split(separator: "\n").count >= count }
        _ = try await becomesTrue { isThere() || !process.isRunning }
        return isThere()
      }
    }
  }
#endif
