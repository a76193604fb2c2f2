import Foundation

/// Another process: `lmdb-test-helper`, built beside the tests.
final class Helper {
  let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var unread = Data()

  /// `before` is what starts it instead of itself (`unshare`).
  init(_ arguments: [String], before: [String] = []) throws {
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let helper = (own as NSString).deletingLastPathComponent + "/lmdb-test-helper"
    let words = before + [helper] + arguments
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    output.fileHandleForWriting.closeFile()
  }

  /// `nil` when it has ended.
  func line() -> String? {
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: unread[unread.startIndex..<end], as: UTF8.self)
        unread = Data(unread[unread.index(after: end)...])
        return line
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      unread += more
    }
  }

  func goOn() { input.fileHandleForWriting.write(Data("\n".utf8)) }

  func rest() -> [String] {
    var lines: [String] = []
    while let line = line() { lines.append(line) }
    process.waitUntilExit()
    return lines
  }

  func kill(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }
}
