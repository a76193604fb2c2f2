import Foundation
import Hearth
import HearthTerminal
import HearthText

/// A paragraph of `Name: value` lines; a line that begins with a space continues the previous
/// one.
struct Stanza {
  private var fields: [String: String] = [:]

  subscript(name: String) -> String? { fields[name] }

  init(_ bytes: [UInt8]) {
    var name: String?
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      if line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t") {
        if let name { fields[name]?.append(String(decoding: line, as: UTF8.self)) }
      } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
        let key = String(decoding: line[..<colon], as: UTF8.self)
        let value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }
        fields[key] = String(decoding: value, as: UTF8.self)
        name = key
      }
    }
  }
}

/// A source of stanzas. Every `read` begins at the start.
enum StanzaSource {
  /// `apt-cache dumpavail`: all packages available to this machine.
  case apt
  case file(String)
  case text(String)

  /// Whether apt knows a package here.
  static func hasPackages() async -> Bool {
    struct Found: Error {}
    do {
      try await StanzaSource.apt.read { stanza in
        if DebianPackage(Stanza(stanza)) != nil { throw Found() }
      }
      return false
    } catch {
      return error is Found
    }
  }

  /// Calls `body` with the bytes of every stanza. Reads files and pipes one megabyte at a time.
  func read(_ body: ([UInt8]) async throws -> Void) async throws {
    switch self {
    case .text(let text):
      var cutter = StanzaCutter()
      for stanza in cutter.cut(Array(text.utf8)) { try await body(stanza) }
      if let last = cutter.rest() { try await body(last) }
    case .file(let path):
      guard let file = FileHandle(forReadingAtPath: path) else {
        throw Failure(
          "The index file \(path.legible) cannot be read. \(FileError.sentence(forCode: errno))")
      }
      do {
        try await StanzaSource.read(file, body)
      } catch {
        guard let sentence = FileError.sentence(for: error) else { throw error }
        throw Failure("The index file \(path.legible) cannot be read. \(sentence)")
      }
    case .apt:
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["apt-cache", "dumpavail"]
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      do {
        try await StanzaSource.read(output.fileHandleForReading, body)
      } catch {
        process.terminate()
        throw error
      }
      process.waitUntilExit()
    }
  }

  private static func read(
    _ file: FileHandle, _ body: ([UInt8]) async throws -> Void
  ) async throws {
    var cutter = StanzaCutter()
    while let chunk = try file.read(upToCount: 1 << 20), !chunk.isEmpty {
      for stanza in cutter.cut([UInt8](chunk)) { try await body(stanza) }
    }
    if let last = cutter.rest() { try await body(last) }
  }
}

/// Splits a stream of bytes at empty lines.
struct StanzaCutter {
  private var unfinished: [UInt8] = []

  /// The stanzas that this chunk completes.
  mutating func cut(_ chunk: [UInt8]) -> [[UInt8]] {
    let newline = UInt8(ascii: "\n")
    var stanzas: [[UInt8]] = []
    let bytes = unfinished + chunk
    var start = 0
    var index = 0
    while let end = bytes[index...].firstIndex(of: newline) {
      index = end + 1
      guard index < bytes.count, bytes[index] == newline else { continue }
      if end > start { stanzas.append(Array(bytes[start..<end])) }
      start = index + 1
      index = start
    }
    unfinished = Array(bytes[start...])
    return stanzas
  }

  mutating func rest() -> [UInt8]? {
    defer { unfinished = [] }
    return unfinished.contains { $0 != UInt8(ascii: "\n") } ? unfinished : nil
  }
}
