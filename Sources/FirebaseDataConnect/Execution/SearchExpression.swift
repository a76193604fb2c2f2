/// The text of an `ADVANCED` search: PostgreSQL's `tsquery`.
///
///     space & (ship | 'star trek') & !alien & tele:*
///     small <-> town                 one behind the other
///
/// `!` binds stronger than `<->`, that stronger than `&`, and that stronger than `|`.
indirect enum SearchExpression: Equatable {
  /// In the words of `Query.search`: a word, `begin*`, or a phrase in quotation marks.
  case term(String)
  case not(SearchExpression)
  case all([SearchExpression])
  case any([SearchExpression])

  /// Throws an `OperationFailure` that names the place.
  init(_ text: String) throws {
    var parser = Parser(text)
    self = try parser.expression()
    try parser.end()
  }

  /// The ids of the rows that are found, with their scores.
  ///
  /// - Parameters:
  ///   - found: The ids and scores that a term finds.
  ///   - everything: The ids of all rows. Asked for only if the expression finds rows by what they
  ///     do not have.
  func scores(
    _ found: (String) throws -> [ExactText: Double], everything: () throws -> [ExactText]
  ) throws -> [ExactText: Double] {
    switch self {
    case .term(let text): return try found(text)
    case .not(let expression):
      let without = try expression.scores(found, everything: everything)
      return Dictionary(
        uniqueKeysWithValues: try everything().filter { without[$0] == nil }.map { ($0, 0) })
    case .any(let expressions):
      return try expressions.reduce(into: [:]) { sum, expression in
        sum.merge(try expression.scores(found, everything: everything)) { $0 + $1 }
      }
    case .all(let expressions):
      // Rows that must not be found are taken from those that must.
      var kept: [ExactText: Double]?
      for expression in expressions where !expression.isNegative {
        let scores = try expression.scores(found, everything: everything)
        kept =
          kept.map { kept in
            kept.reduce(into: [:]) { both, one in
              if let score = scores[one.key] { both[one.key] = one.value + score }
            }
          } ?? scores
        if kept?.isEmpty == true { return [:] }
      }
      for case .not(let expression) in expressions {
        let without = try expression.scores(found, everything: everything)
        kept = try (kept ?? Dictionary(uniqueKeysWithValues: everything().map { ($0, 0) }))
          .filter { without[$0.key] == nil }
      }
      return kept ?? [:]
    }
  }

  private var isNegative: Bool {
    if case .not = self { true } else { false }
  }
}

extension SearchExpression {
  private struct Parser {
    private let text: [Character]
    private var position = 0
    private var depth = 0

    /// Nested deeper, an expression is refused.
    private static let depthLimit = 50

    init(_ text: String) { self.text = Array(text) }

    mutating func expression() throws -> SearchExpression {
      depth += 1
      defer { depth -= 1 }
      guard depth <= Self.depthLimit else {
        throw OperationFailure("An 'ADVANCED' search has at most \(Self.depthLimit) levels.")
      }
      var parts = [try conjunction()]
      while accept("|") { parts.append(try conjunction()) }
      return parts.count == 1 ? parts[0] : .any(parts)
    }

    mutating func end() throws {
      skipSpace()
      if position < text.count { throw expected("'&', '|' or the end") }
    }

    private mutating func conjunction() throws -> SearchExpression {
      var parts = [try sequence()]
      while accept("&") { parts.append(try sequence()) }
      return parts.count == 1 ? parts[0] : .all(parts)
    }

    /// Words one behind the other are a phrase.
    private mutating func sequence() throws -> SearchExpression {
      let start = position
      var parts = [try factor()]
      while accept("<") {
        guard accept("-") || accept("1"), accept(">") else {
          throw expected("'<->'; other distances are not implemented:")
        }
        parts.append(try factor())
      }
      if parts.count == 1 { return parts[0] }
      var words: [String] = []
      for part in parts {
        guard case .term(let word) = part, !word.hasSuffix("*") else {
          position = start
          throw expected("whole words around '<->'")
        }
        words.append(word.filter { $0 != "\"" })
      }
      return .term("\"\(words.joined(separator: " "))\"")
    }

    private mutating func factor() throws -> SearchExpression {
      if accept("!") {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else {
          throw OperationFailure("An 'ADVANCED' search has at most \(Self.depthLimit) levels.")
        }
        let negated = try factor()
        if case .not(let twice) = negated { return twice }
        return .not(negated)
      }
      if accept("(") {
        let inner = try expression()
        guard accept(")") else { throw expected("')'") }
        return inner
      }
      return try term()
    }

    private mutating func term() throws -> SearchExpression {
      skipSpace()
      var word = ""
      if accept("'") {
        while position < text.count, text[position] != "'" { advance(into: &word) }
        guard position < text.count else { throw expected("'''") }
        position += 1
      } else {
        while position < text.count, !text[position].isWhitespace,
          !"&|!()<>:'".contains(text[position])
        {
          advance(into: &word)
        }
      }
      word = word.filter { $0 != "\"" && $0 != "*" }
      guard word.contains(where: { $0.isLetter || $0.isNumber }) else { throw expected("a word") }
      var isPrefix = false
      if position < text.count, text[position] == ":" {
        position += 1
        // The weights of columns have no effect.
        while position < text.count, "*ABCDabcd".contains(text[position]) {
          if text[position] == "*" { isPrefix = true }
          position += 1
        }
      }
      if isPrefix { return .term(word + "*") }
      return .term(word.contains(where: \.isWhitespace) ? "\"\(word)\"" : word)
    }

    private mutating func advance(into word: inout String) {
      word.append(text[position])
      position += 1
    }

    private mutating func skipSpace() {
      while position < text.count, text[position].isWhitespace { position += 1 }
    }

    private mutating func accept(_ character: Character) -> Bool {
      skipSpace()
      guard position < text.count, text[position] == character else { return false }
      position += 1
      return true
    }

    private func expected(_ what: String) -> OperationFailure {
      OperationFailure(
        "\(what) is expected in the text of the 'ADVANCED' search, at character \(position + 1).")
    }
  }
}
