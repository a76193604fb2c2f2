import DataConnectModel
import FirebaseDataConnect
import Foundation
import Hearth

/// Another process, which executes the operations of a connector on the same database file.
final class OperationProcess: @unchecked Sendable {
  // Unchecked: Process is not Sendable; each is used by one test.
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  /// Where it listens as an emulator.
  let port: Int

  struct Failure: Error {}

  init(_ connector: CompiledConnector, on path: String) throws {
    let file = path + ".connector.json"
    try JSONEncoder().encode(connector).write(to: URL(filePath: file))
    process.executableURL = Self.folder.appending(path: "hearth-test-helper")
    process.arguments = ["serve-operations", path, file]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { throw Failure() }
      line += more
    }
    guard let port = Int(String(decoding: line.dropLast(), as: UTF8.self)) else { throw Failure() }
    self.port = port
  }

  /// Beside the tests' own executable.
  private static let folder: URL = {
    let link = "/proc/self/exe"
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) ?? link
    return URL(filePath: tests).deletingLastPathComponent()
  }()

  /// Lets it close the database, and waits for its end.
  func stop() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  deinit { if process.isRunning { process.terminate() } }
}
