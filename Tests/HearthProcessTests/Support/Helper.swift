import Foundation
import Testing

/// A running `hearth-test-helper`, another program of the package, or any other by its path.
final class Helper: @unchecked Sendable {
  // Unchecked: Process is not Sendable; each is used by one test.
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var rest = Data()

  convenience init(
    _ command: String, _ path: String, _ arguments: CustomStringConvertible...,
    environment: [String: String] = [:], program: String = "hearth-test-helper"
  ) throws {
    try self.init(
      arguments: [command, path] + arguments.map(\.description), environment: environment,
      program: program)
  }

  init(arguments: [String], environment: [String: String] = [:], program: String) throws {
    signal(SIGPIPE, SIG_IGN)
    process.executableURL =
      program.hasPrefix("/")
      ? URL(fileURLWithPath: program) : Self.folder.appendingPathComponent(program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  deinit { if process.isRunning { kill(SIGKILL) } }

  /// Beside the tests' own executable.
  private static let folder: URL = {
    let link = "/proc/self/exe"
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) ?? link
    return URL(fileURLWithPath: tests).deletingLastPathComponent()
  }()

  /// The next line; nil when the helper has ended.
  func line() -> String? {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
        rest = rest[(end + 1)...]
        return line
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      rest = Data(rest) + more
    }
  }

  /// All lines up to the helper's end.
  func lines() -> [String] {
    let all = Data(rest) + output.fileHandleForReading.readDataToEndOfFile()
    rest = Data()
    process.waitUntilExit()
    return String(decoding: all, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// Nothing is said to one that has ended.
  func say(_ line: String) {
    try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
  }

  var processID: Int32 { process.processIdentifier }

  func kill(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }

  /// Kills it in the middle of whatever it does by then.
  func kill(after microseconds: Int) {
    usleep(UInt32(microseconds))
    kill(SIGKILL)
  }

  /// Waits for its end.
  var wasKilled: Bool {
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
  }

  /// The kernel's letter for what it does: `T` is stopped.
  var state: Character? {
    guard
      let text = try? String(
        contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
    else { return nil }
    return text.split(separator: ")").last?.dropFirst().first
  }
}
