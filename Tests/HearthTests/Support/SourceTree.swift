import Foundation

/// The package's own files, as the tidy tests read them.
enum SourceTree {
  /// The package's folder, found from where this file was compiled.
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static let swiftFiles = ["Sources", "Tests"].flatMap(files(in:))
    .filter { $0.hasSuffix(".swift") }.compactMap(SourceFile.init(path:))

  /// All Swift files below a folder of the sources or tests, in the order of their paths.
  static func swiftFiles(in folder: String) -> [SourceFile] {
    swiftFiles.filter { $0.path.hasPrefix(folder + "/") }
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
  /// From the package's folder: `Sources/HearthEngine/Keys/KeyBuffer.swift`.
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
      let words = line.utf8.split { !Self.isInWord($0) && $0 != UInt8(ascii: ".") }
        .map { String(Substring($0)) }
      for (word, name) in zip(words, words.dropFirst())
      where Self.typeWords.contains(word) && name.first?.isUppercase == true {
        let isPrivate = words.contains("private") || words.contains("fileprivate")
        declarations.append(Declaration(name: name, isVisible: depth == 0 && !isPrivate))
      }
      for byte in line.utf8 {
        if byte == UInt8(ascii: "{") { depth += 1 }
        if byte == UInt8(ascii: "}") { depth -= 1 }
      }
    }
    return declarations
  }

  /// The types that the code names. Of `A.B` only A: B belongs to it.
  var mentions: [(line: Int, name: String)] {
    var mentions: [(Int, String)] = []
    for (number, line) in code.enumerated() {
      let bytes = Array(line.utf8)
      var index = 0
      while index < bytes.count {
        let end = bytes[index...].firstIndex { !Self.isInWord($0) } ?? bytes.count
        defer { index = end + 1 }
        guard index < end, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index]) else {
          continue
        }
        let before = index > 0 ? bytes[index - 1] : 0
        if before != UInt8(ascii: "."), before != UInt8(ascii: "#") {
          mentions.append((number + 1, String(decoding: bytes[index..<end], as: UTF8.self)))
        }
      }
    }
    return mentions
  }

  private static func isInWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }
}

/// Tells code from comments and strings. Line breaks stay where they are; a regex literal is code.
struct CodeScanner {
  private enum Place {
    /// With the parentheses open since an interpolation began; nil outside of one.
    case code(open: Int?)
    case lineComment
    case blockComment(depth: Int)
    case string(pounds: Int, isLong: Bool)
  }

  private let source: [UInt8]
  private var code: [UInt8] = []
  private var places: [Place] = [.code(open: nil)]
  private var index = 0

  static func code(of text: String) -> String {
    var scanner = CodeScanner(source: Array(text.utf8))
    scanner.code.reserveCapacity(scanner.source.count)
    while scanner.index < scanner.source.count { scanner.step() }
    return String(decoding: scanner.code, as: UTF8.self)
  }

  private init(source: [UInt8]) { self.source = source }

  private mutating func step() {
    switch places[places.count - 1] {
    case .code(let open): stepInCode(open)
    case .lineComment:
      if starts("\n") { places.removeLast() }
      blank(1)
    case .blockComment(let depth):
      if starts("*/") {
        places.removeLast()
        if depth > 1 { places.append(.blockComment(depth: depth - 1)) }
        blank(2)
      } else if starts("/*") {
        places[places.count - 1] = .blockComment(depth: depth + 1)
        blank(2)
      } else {
        blank(1)
      }
    case .string(let pounds, let isLong):
      if starts(isLong ? "\"\"\"" : "\"", pounds) {
        places.removeLast()
        blank((isLong ? 3 : 1) + pounds)
      } else if starts("\\", pounds) {
        let isInterpolation = byte(at: index + 1 + pounds) == UInt8(ascii: "(")
        blank(2 + pounds)
        if isInterpolation { places.append(.code(open: 0)) }
      } else {
        if starts("\n"), !isLong { places.removeLast() }
        blank(1)
      }
    }
  }

  private mutating func stepInCode(_ open: Int?) {
    if starts("//") {
      places.append(.lineComment)
      return
    }
    if starts("/*") {
      places.append(.blockComment(depth: 1))
      return blank(2)
    }
    let pounds = source[index...].prefix { $0 == UInt8(ascii: "#") }.count
    if byte(at: index + pounds) == UInt8(ascii: "\"") {
      let isLong =
        byte(at: index + pounds + 1) == UInt8(ascii: "\"")
        && byte(at: index + pounds + 2) == UInt8(ascii: "\"")
      places.append(.string(pounds: pounds, isLong: isLong))
      return blank(pounds + (isLong ? 3 : 1))
    }
    if let open, starts("(") { places[places.count - 1] = .code(open: open + 1) }
    if let open, starts(")") {
      guard open > 0 else {
        places.removeLast()
        return blank(1)
      }
      places[places.count - 1] = .code(open: open - 1)
    }
    code.append(source[index])
    index += 1
  }

  private func byte(at index: Int) -> UInt8 { index < source.count ? source[index] : 0 }

  /// Whether `word`, and then so many `#`, stand here.
  private func starts(_ word: StaticString, _ pounds: Int = 0) -> Bool {
    let count = word.utf8CodeUnitCount
    guard index + count + pounds <= source.count else { return false }
    for offset in 0..<count where source[index + offset] != word.utf8Start[offset] { return false }
    for offset in 0..<pounds where source[index + count + offset] != UInt8(ascii: "#") {
      return false
    }
    return true
  }

  private mutating func blank(_ count: Int) {
    for byte in source[index..<min(index + count, source.count)] {
      code.append(byte == UInt8(ascii: "\n") ? byte : UInt8(ascii: " "))
    }
    index += count
  }
}
