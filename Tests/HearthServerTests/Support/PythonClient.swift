#if Server
  import Foundation
  import HearthEngine
  import Testing

  /// Scripts with Google's Python client, which Scripts/clients installs.
  enum PythonClient {
    private static let package = URL(filePath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()

    /// The built `hearth`, beside the running tests.
    static let hearth: String = {
      let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
      return URL(filePath: own).deletingLastPathComponent().appending(path: "hearth").path()
    }()

    static let installer = package.appending(path: "Scripts/clients").path()

    /// Nil if the client cannot be installed.
    private static let python: String? = {
      let installation = try? execute(installer, [])
      guard let installation, installation.status == 0 else { return nil }
      return installation.output.split(separator: "\n").last.map(String.init)
    }()

    /// Runs a script of `Clients`, and records an issue if it fails. Prints "skipped" if there is no
    /// client.
    static func run(_ script: String, port: Int? = nil, _ arguments: [String] = []) async throws {
      // The server in this process needs the threads of async code.
      try await onBlockingThread { try runBlocking(script, port, arguments) }
    }

    private static func runBlocking(_ script: String, _ port: Int?, _ arguments: [String]) throws {
      guard let python else {
        print("skipped: \(script). The client cannot be installed.")
        return
      }
      let path = package.appending(path: "Tests/HearthServerTests/Clients/\(script)").path()
      let host = port.map { ["FIRESTORE_EMULATOR_HOST": "127.0.0.1:\($0)"] } ?? [:]
      let (status, output) = try execute(python, [path] + arguments, host)
      #expect(status == 0, "\(script): \(output)")
      print(output, terminator: "")
    }

    static func execute(
      _ executable: String, _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> (status: Int32, output: String) {
      let process = Process()
      process.executableURL = URL(filePath: executable)
      process.arguments = arguments
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
      let pipe = Pipe()
      process.standardOutput = pipe
      process.standardError = pipe
      process.standardInput = FileHandle.nullDevice
      try process.run()
      let output = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
  }
#endif
