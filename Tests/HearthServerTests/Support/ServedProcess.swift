#if Server && Tools
  import Foundation
  import HearthEngine
  import TestSupport

  /// A `hearth serve` of its own, in a new folder.
  final class ServedProcess: @unchecked Sendable {
    // Unchecked: `Process` is used by one test.

    struct NotReady: Error {
      let log: String
    }

    private let temporary = TemporaryFolder()
    var folder: String { temporary.path }
    private let process = Process()
    private var output: String { folder + "/output" }
    private var errors: String { folder + "/errors" }

    /// The port is free, and the folder is the working directory.
    init(_ arguments: [String], files: [String: String] = [:]) throws {
      for (name, content) in files { try write(name, content) }
      for path in [output, errors] { try Data().write(to: URL(filePath: path)) }
      process.executableURL = URL(filePath: PythonClient.hearth)
      process.arguments = ["serve", "--port", "0"] + arguments
      process.currentDirectoryURL = URL(filePath: folder)
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
      process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
      try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Writes a file that only its owner may read.
    func write(_ name: String, _ content: String) throws {
      let path = folder + "/" + name
      try Data(content.utf8).write(to: URL(filePath: path), options: .atomic)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    /// What it has logged.
    var log: String { (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "" }

    func signal(_ signal: Int32) { kill(process.processIdentifier, signal) }

    var isRunning: Bool { process.isRunning }

    /// Waits until the log has a text so many times.
    func waitForLog(_ text: String, times: Int = 1) async throws {
      try await wait { self.log.components(separatedBy: text).count > times }
    }

    var port: Int {
      get async throws {
        let port = Guarded<Int?>(nil)
        try await wait {
          let line = (try? String(contentsOfFile: self.output, encoding: .utf8)) ?? ""
          guard line.hasSuffix("\n"), let text = line.dropLast().split(separator: ":").last else {
            return false
          }
          port.withLock { $0 = Int(text) }
          return true
        }
        guard let port = port.withLock(\.self) else { throw NotReady(log: log) }
        return port
      }
    }

    private func wait(_ isReady: @Sendable () -> Bool) async throws {
      guard try await becomesTrue({ isReady() }) else { throw NotReady(log: log) }
    }

    /// Ends it gracefully, and returns its status.
    func stop() async throws -> Int32 {
      signal(SIGTERM)
      try await wait { [process] in !process.isRunning }
      return process.terminationStatus
    }
  }
#endif
