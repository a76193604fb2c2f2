#if Postgres
  import Foundation

  /// A server for one test, or a cluster of them, which the test may kill.
  final class OwnServer {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    let url: String

    /// Starts it. Blocks until it accepts connections.
    ///
    /// - Parameters:
    ///   - script: From the package's folder.
    ///   - environment: Further variables for it.
    init(by script: String = "Scripts/postgres", environment: [String: String] = [:]) throws {
      let package = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
      let commands = """
        echo "$HEARTH_TEST_POSTGRES"
        while read -r command; do "$HEARTH_TEST_POSTGRES_CONTROL" "$command"; echo "$?"; done
        """
      process.executableURL = package.appending(path: script)
      process.arguments = ["bash", "-c", commands]
      process.environment = ProcessInfo.processInfo.environment
        .merging(environment) { $1 }
      process.standardInput = input
      process.standardOutput = output
      try process.run()
      url = try Self.line(from: output.fileHandleForReading)
    }

    /// The next line, without its end. The script writes one at a time.
    private static func line(from file: FileHandle) throws -> String {
      var line = Data()
      while let byte = try file.read(upToCount: 1), byte != Data([10]) {
        guard !byte.isEmpty else { break }
        line += byte
      }
      return String(decoding: line, as: UTF8.self)
    }

    /// `kill` or `start`. Blocks until it is done; true if it succeeded.
    func control(_ command: String) throws -> Bool {
      try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
      return try Self.line(from: output.fileHandleForReading) == "0"
    }

    func stop() {
      try? input.fileHandleForWriting.close()
      process.waitUntilExit()
    }
  }
#endif
