import Foundation

/// The package's own files, as the tidy tests read them.
enum SourceTree {
  /// The package's folder, found from where this file was compiled.
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// All Swift files below a folder of the package, in the order of their paths.
  static func swiftFiles(in folder: String) -> [SourceFile] {
    files(in: folder).filter { $0.hasSuffix(".swift") }.compactMap(SourceFile.init(path:))
  }

  /// The paths of all files below a folder of the package; none if it is not there.
  static func files(in folder: String) -> [String] {
    let base = root.appendingPathComponent(folder)
    guard let all = FileManager.default.enumerator(atPath: base.path) else { return [] }
    return all.compactMap { $0 as? String }
      .filter { !$0.split(separator: "/").contains { $0.hasPrefix(".build") } }
      .map { folder + "/" + $0 }
      .filter { path in
        var isFolder: ObjCBool = false
        let full = root.appendingPathComponent(path).path
        return FileManager.default.fileExists(atPath: full, isDirectory: &isFolder)
          && !isFolder.boolValue
      }
      .sorted()
  }

  static func text(of path: String) -> String? {
    try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }
}

/// One Swift file, with its code told apart from comments and strings.
struct SourceFile {
  /// From the package's folder: `Sources/Hearth/Keys/KeyBuffer.swift`.
  let path: String
  let lines: [String]
  /// The same lines with blanks for comments and for what strings hold, except for interpolations.
  let code: [String]

  init?(path: String) {
    guard let text = SourceTree.text(of: path) else { return nil }
    self.init(path: path, text: text)
  }

  init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    code = CodeScanner.code(of: text).split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
  }

  var name: String { String(path.split(separator: "/").last ?? "") }

  /// The folder inside a base folder: `Keys`; empty for the base folder itself.
  func folder(below base: String) -> String {
    let inside = path.dropFirst(base.count + 1).split(separator: "/")
    return inside.dropLast().joined(separator: "/")
  }
}

extension SourceFile {
  /// A type's declaration.
  struct Declaration {
    var name: String
    /// Seen from other files: neither inside another declaration nor private.
    var isVisible: Bool
  }

  private static let typeWords: Set<String> = [
    "struct", "class", "enum", "protocol", "actor", "typealias", "associatedtype",
  ]

  var declarations: [Declaration] {
    var declarations: [Declaration] = []
    var depth = 0
    for line in code {
      let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "." }
        .map(String.init)
      for (word, name) in zip(words, words.dropFirst())
      where Self.typeWords.contains(word) && name.first?.isUppercase == true {
        let isPrivate = words.contains("private") || words.contains("fileprivate")
        declarations.append(Declaration(name: name, isVisible: depth == 0 && !isPrivate))
      }
      for character in line {
        if character == "{" { depth += 1 }
        if character == "}" { depth -= 1 }
      }
    }
    return declarations
  }

  /// The names of generic parameters, roughly: single words after `<` or `,` in angle brackets.
  var mentions: [(line: Int, name: String)] {
    var mentions: [(Int, String)] = []
    for (number, line) in code.enumerated() {
      var word = ""
      var before: Character = " "
      var last: Character = " "
      for character in line + " " {
        if character.isLetter || character.isNumber || character == "_" {
          if word.isEmpty { before = last }
          word.append(character)
        } else {
          // `A.B`: B belongs to A, which is mentioned too.
          if word.first?.isUppercase == true, before != ".", before != "#" {
            mentions.append((number + 1, word))
          }
          word = ""
        }
        last = character
      }
    }
    return mentions
  }
}

/// Tells code from comments and strings. Line breaks stay where they are.
enum CodeScanner {
  private enum Place {
    /// With the parentheses open since an interpolation began; nil outside of one.
    case code(open: Int?)
    case lineComment
    case blockComment(depth: Int)
    case string(pounds: Int, isLong: Bool)
  }

  static func code(of text: String) -> String {
    let source = Array(text.unicodeScalars)
    var code = String.UnicodeScalarView()
    var places: [Place] = [.code(open: nil)]
    var index = 0

    func starts(_ word: String, at index: Int) -> Bool {
      source[index...].starts(with: word.unicodeScalars)
    }
    func skip(_ count: Int) {
      for scalar in source[index..<min(index + count, source.count)] {
        code.append(scalar == "\n" ? "\n" : " ")
      }
      index += count
    }

    while index < source.count {
      let scalar = source[index]
      switch places[places.count - 1] {
      case .lineComment:
        if scalar == "\n" { places.removeLast() }
        skip(1)
      case .blockComment(let depth):
        if starts("*/", at: index) {
          places.removeLast()
          if depth > 1 { places.append(.blockComment(depth: depth - 1)) }
          skip(2)
        } else if starts("/*", at: index) {
          places[places.count - 1] = .blockComment(depth: depth + 1)
          skip(2)
        } else {
          skip(1)
        }
      case .string(let pounds, let isLong):
        let hashes = String(repeating: "#", count: pounds)
        if starts((isLong ? "\"\"\"" : "\"") + hashes, at: index) {
          places.removeLast()
          skip((isLong ? 3 : 1) + pounds)
        } else if starts("\\" + hashes + "(", at: index) {
          skip(2 + pounds)
          places.append(.code(open: 0))
        } else if starts("\\" + hashes, at: index) {
          skip(2 + pounds)
        } else if scalar == "\n", !isLong {
          places.removeLast()
          skip(1)
        } else {
          skip(1)
        }
      case .code(let open):
        if starts("//", at: index) {
          places.append(.lineComment)
        } else if starts("/*", at: index) {
          places.append(.blockComment(depth: 1))
          skip(2)
        } else if scalar == "\"" || scalar == "#" {
          let pounds = source[index...].prefix { $0 == "#" }.count
          if starts("\"\"\"", at: index + pounds) {
            places.append(.string(pounds: pounds, isLong: true))
            skip(pounds + 3)
          } else if starts("\"", at: index + pounds) {
            places.append(.string(pounds: pounds, isLong: false))
            skip(pounds + 1)
          } else {
            for _ in 0..<max(pounds, 1) { code.append(source[index]); index += 1 }
          }
        } else {
          if let open, scalar == "(" { places[places.count - 1] = .code(open: open + 1) }
          if let open, scalar == ")" {
            if open == 0 {
              places.removeLast()
              skip(1)
              continue
            }
            places[places.count - 1] = .code(open: open - 1)
          }
          code.append(scalar)
          index += 1
        }
      }
    }
    return String(code)
  }
}
