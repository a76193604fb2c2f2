/// The limits of a YAML file: the parser calls itself for each level, and an alias repeats values, which
/// may have aliases, too.
enum YAMLLimits {
  static let depth = 100
  static let aliases = 200
  static let nodes = 100_000

  /// Found without a parser, from bounds: collections in brackets that are open, indented lines, and
  /// the dashes and question marks at the beginning of a line are levels.
  ///
  /// - Returns: The line, from 1, and the end of a sentence. Nil for a file that can be parsed.
  static func problem(of text: String) -> (line: Int, problem: String)? {
    let breaks: Set<Unicode.Scalar> = ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"]
    var open = 0
    var aliases = 0
    var indentations: [Int] = []
    let lines = text.unicodeScalars.split(omittingEmptySubsequences: false) { breaks.contains($0) }
    for (index, line) in lines.enumerated() {
      let indentation = line.prefix { $0 == " " }.count
      let content = line.dropFirst(indentation)
      if content.isEmpty { continue }
      while let last = indentations.last, last >= indentation { indentations.removeLast() }
      indentations.append(indentation)
      let marks = content.prefix { "-?: \t".unicodeScalars.contains($0) }
        .count { $0 != " " && $0 != "\t" }
      var before: Unicode.Scalar = " "
      var isAlias = false
      for scalar in content {
        switch scalar {
        case "[", "{": open += 1
        case "]", "}": open = max(0, open - 1)
        case "*": break
        default: if isAlias, scalar.properties.isAlphabetic || scalar == "_" { aliases += 1 }
        }
        isAlias = scalar == "*" && " \t[{,:-".unicodeScalars.contains(before)
        before = scalar
        if indentations.count + marks + open > depth {
          return (index + 1, "it is nested deeper than \(depth) levels")
        }
      }
      if aliases > Self.aliases {
        return (index + 1, "it has more than \(Self.aliases) aliases")
      }
    }
    return nil
  }
}
