import DataConnectModel
import Foundation
internal import HearthText

/// A compiled connector as the text that its package carries.
struct CompiledText {
  /// JSON with sorted names, on one line.
  let json: String
  /// FNV-1a of the JSON, in hex.
  let hash: String

  init(_ connector: CompiledConnector) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Encoding fails only for numbers that are not finite, which GraphQL cannot write.
    json = (try? encoder.encode(connector)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    hash = FNV1a.digits(json)
  }

  /// A raw string literal with line breaks between the tokens of the JSON, where they mean nothing.
  func write(to source: inout SwiftSource) {
    // One more than the longest run of `#`: the text then contains neither the literal's end nor an
    // escape sequence of it.
    let longest = json.utf8.split { $0 != UInt8(ascii: "#") }.map(\.count).max() ?? 0
    let marks = String(repeating: "#", count: longest + 1)
    source.line("/// The compiled connector, as JSON.")
    source.line("static let compiled = \(marks)\"\"\"")
    source.indented { source in
      for line in lines(width: 92) { source.line(line) }
      source.line("\"\"\"\(marks)")
    }
  }

  /// Breaks after commas outside strings. A longer string has a line of its own.
  func lines(width: Int) -> [String] {
    let bytes = Array(json.utf8)
    var lines: [String] = []
    var start = 0
    /// After the last comma of the line.
    var end = 0
    var isInString = false
    var isEscaped = false
    for (index, byte) in bytes.enumerated() {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      if byte == UInt8(ascii: "\"") { isInString = true }
      guard byte == UInt8(ascii: ",") else { continue }
      if index + 1 - start > width, end > start {
        lines.append(String(decoding: bytes[start..<end], as: UTF8.self))
        start = end
      }
      end = index + 1
    }
    if bytes.count - start > width, end > start {
      lines.append(String(decoding: bytes[start..<end], as: UTF8.self))
      start = end
    }
    lines.append(String(decoding: bytes[start...], as: UTF8.self))
    return lines
  }
}
