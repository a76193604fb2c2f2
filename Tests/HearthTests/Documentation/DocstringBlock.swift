import Foundation

/// A block of code in the documentation of a public declaration.
struct DocstringBlock {
  /// From the package's folder: `Sources/Hearth/Face/Queries/Query.swift`.
  var path: String
  /// Of the block's first line in the file; the first line of a file is 1.
  var line: Int
  var lines: [String]
  /// The word after the backquotes of a fenced block; nil for an indented one.
  var language: String?
  /// The conditions of the `#if`s around the declaration.
  var conditions: [String]

  var module: String { String(path.split(separator: "/")[1]) }
}

extension DocstringBlock {
  /// The blocks of a file, in order.
  static func blocks(in file: SourceFile) -> [DocstringBlock] {
    var blocks: [DocstringBlock] = []
    var conditions: [String] = []
    var index = 0
    while index < file.lines.count {
      guard isDocumentation(file.lines[index]) else {
        follow(trimmed(file.code[index]), &conditions)
        index += 1
        continue
      }
      let end = file.lines[index...].firstIndex { !isDocumentation($0) } ?? file.lines.count
      if isPublic(at: end, in: file.code) {
        let text = file.lines[index..<end].map { line in
          let text = trimmed(line).dropFirst(3)
          return String(text.first == " " ? text.dropFirst() : text)
        }
        blocks += Self.blocks(in: text, from: index + 1).map { block in
          var block = block
          block.path = file.path
          block.conditions = conditions
          return block
        }
      }
      index = end
    }
    return blocks
  }

  private static func trimmed(_ line: String) -> String {
    line.trimmingCharacters(in: .whitespaces)
  }

  private static func isDocumentation(_ line: String) -> Bool { trimmed(line).hasPrefix("///") }

  /// Keeps the stack of conditions.
  private static func follow(_ line: String, _ conditions: inout [String]) {
    if line.hasPrefix("#if ") {
      conditions.append(String(line.dropFirst(4)))
    } else if line.hasPrefix("#elseif "), !conditions.isEmpty {
      conditions[conditions.count - 1] = String(line.dropFirst(8))
    } else if line == "#else", let last = conditions.popLast() {
      conditions.append("!" + last)
    } else if line == "#endif" {
      _ = conditions.popLast()
    }
  }

  /// The blocks of one comment: indented by four spaces after an empty line, or fenced.
  private static func blocks(in text: [String], from number: Int) -> [DocstringBlock] {
    var blocks: [DocstringBlock] = []
    func add(_ range: Range<Int>, _ indent: Int, _ language: String?) {
      let lines = text[range].map { String($0.dropFirst(indent)) }
      blocks.append(
        DocstringBlock(
          path: "", line: number + range.lowerBound, lines: lines, language: language,
          conditions: []))
    }
    var index = 0
    while index < text.count {
      let line = trimmed(text[index])
      if line.hasPrefix("```") {
        let end = text[(index + 1)...].firstIndex { trimmed($0).hasPrefix("```") } ?? text.count
        add(index + 1..<end, text[index].count - line.count, String(line.dropFirst(3)))
        index = end + 1
      } else if text[index].hasPrefix("    "), index == 0 || text[index - 1].isEmpty {
        var end = index
        while end < text.count, text[end].hasPrefix("    ") || text[end].isEmpty { end += 1 }
        let next = end
        while text[end - 1].isEmpty { end -= 1 }
        add(index..<end, 4, nil)
        index = next
      } else {
        index += 1
      }
    }
    return blocks
  }

  // MARK: Public declarations

  /// Whether the declaration that begins in a line, perhaps with attributes, is public.
  private static func isPublic(at start: Int, in code: [String]) -> Bool {
    var depth = 0
    for index in start..<code.count {
      let line = trimmed(code[index])
      let words = words(of: line)
      if depth == 0, !words.isDisjoint(with: ["public", "open"]) { return true }
      let isSkipped = depth > 0 || line.isEmpty || line.hasPrefix("@") || line.hasPrefix("#")
      guard isSkipped else {
        let others: Set = ["package", "internal", "private", "fileprivate"]
        return words.isDisjoint(with: others) && isMemberOfPublic(at: index, in: code)
      }
      depth += line.count { $0 == "(" } - line.count { $0 == ")" }
    }
    return false
  }

  /// Whether a member without a modifier is as public as what it is in: a requirement of a
  /// protocol, a case, or part of a public extension.
  private static func isMemberOfPublic(at index: Int, in code: [String]) -> Bool {
    func indent(_ line: String) -> Int { line.prefix { $0 == " " }.count }
    var limit = indent(code[index])
    for line in code[..<index].reversed()
    where indent(line) < limit && !trimmed(line).isEmpty && !line.hasPrefix("#") {
      let words = words(of: line)
      let kinds = words.intersection([
        "protocol", "enum", "extension", "struct", "class", "actor", "func", "var", "init",
      ])
      // Else it is the last line of a long declaration.
      limit = kinds.isEmpty ? limit : indent(line)
      guard !kinds.isEmpty else { continue }
      guard words.contains("public") else { return false }
      if kinds.contains("enum") { return self.words(of: code[index]).contains("case") }
      return kinds.contains("protocol") || kinds.contains("extension")
    }
    return false
  }

  private static func words(of line: String) -> Set<String> {
    Set(line.split { !$0.isLetter }.map(String.init))
  }
}

extension DocstringBlock {
  /// A block as a file that the compiler reads.
  struct Source {
    var text: String
    /// For each line of the text: that of the docstring's file.
    var lines: [Int?]
  }

  private static let declaring: Set<String> = [
    "import", "extension", "struct", "enum", "class", "final", "actor", "protocol", "func",
  ]
  private static let onlyInFile = ["import ", "extension ", "protocol ", "@Document", "@Test"]

  /// Whether the macro `@Document` occurs.
  var usesMacros: Bool { lines.contains { $0.hasPrefix("@Document") } }

  /// The block in a function of its own. If there is something that only a file can have, then its
  /// declarations come before the function; their types get names of their own.
  ///
  /// - Parameters:
  ///   - number: What makes names unique.
  ///   - context: The type that has the function, for its properties.
  func source(_ number: Int, imports: [String], context: String?) -> Source {
    var inFile: [(String, Int?)] = []
    var inFunction: [(String, Int?)] = []
    let splits = lines.contains { line in Self.onlyInFile.contains { line.hasPrefix($0) } }
    var names: [String] = []
    var depth = 0
    var isDeclaration = false
    for (offset, line) in lines.enumerated() {
      let words = line.split { !($0.isLetter || $0.isNumber || $0 == "@") }.map(String.init)
      if depth == 0, let first = words.first {
        isDeclaration = splits && (first.hasPrefix("@") || Self.declaring.contains(first))
        for (word, name) in zip(words, words.dropFirst())
        where isDeclaration && ["struct", "enum", "class", "actor", "protocol"].contains(word) {
          names.append(name)
        }
      }
      depth += line.count { $0 == "{" } - line.count { $0 == "}" }
      if isDeclaration {
        inFile.append((line, self.line + offset))
      } else {
        inFunction.append((line, self.line + offset))
      }
    }
    if let context {
      inFunction = [("extension \(context) {", nil)] + Self.function(number, inFunction)
      inFunction.append(("}", nil))
    } else {
      inFunction = Self.function(number, inFunction)
    }
    let all = imports.map { ("import \($0)", nil) } + inFile + inFunction
    var text = all.map(\.0).joined(separator: "\n") + "\n"
    for name in names {
      guard let word = try? Regex("\\b\(name)\\b") else { continue }
      // In Unicode's sense `Book.self` is one word.
      text.replace(word.wordBoundaryKind(.simple), with: "\(name)\(number)")
    }
    return Source(text: text, lines: all.map(\.1))
  }

  /// Only with `await` is it asynchronous: some functions of ParseSwift have two forms.
  private static func function(_ number: Int, _ lines: [(String, Int?)]) -> [(String, Int?)] {
    let effects = lines.contains { $0.0.contains("await ") } ? "async throws" : "throws"
    return [("func snippet\(number)() \(effects) {", nil)] + lines + [("}", nil)]
  }
}
