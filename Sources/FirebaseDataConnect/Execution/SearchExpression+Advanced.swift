extension SearchExpression {
  /// The text of an `ADVANCED` search: PostgreSQL's `to_tsquery`.
  ///
  ///     space & (ship | 'star trek') & !alien & tele:*
  ///     small <-> town                 one behind the other
  ///
  /// `!` binds stronger than `<->`, that stronger than `&`, and that stronger than `|`. Nil for a text
  /// without a word that has content. Throws an `OperationFailure` that names the place.
  static func advanced(_ text: String, _ words: SearchWords) throws -> SearchExpression? {
    if text.allSatisfy(\.isWhitespace) { return nil }
    var parser = Parser(text, words)
    let expression = try parser.expression()
    try parser.end()
    return expression
  }

  private struct Parser {
    private enum Factor {
      case term(String, isPrefix: Bool)
      case expression(SearchExpression?)
    }

    private let text: [Character]
    private let words: SearchWords
    private var position = 0
    private var depth = 0

    /// Nested deeper, an expression is refused.
    private static let depthLimit = 50

    init(_ text: String, _ words: SearchWords) {
      self.text = Array(text)
      self.words = words
    }

    mutating func expression() throws -> SearchExpression? {
      try enter()
      defer { depth -= 1 }
      var parts = [try conjunction()]
      while accept("|") { parts.append(try conjunction()) }
      return joined(parts, SearchExpression.any)
    }

    mutating func end() throws {
      skipSpace()
      if position < text.count { throw expected("'&', '|' or the end") }
    }

    private mutating func conjunction() throws -> SearchExpression? {
      var parts = [try sequence()]
      while accept("&") { parts.append(try sequence()) }
      return joined(parts, SearchExpression.all)
    }

    /// Words one behind the other are a phrase.
    private mutating func sequence() throws -> SearchExpression? {
      let start = position
      var factors = [try factor()]
      while accept("<") {
        guard accept("-") || accept("1"), accept(">") else {
          throw expected("'<->'; other distances are not implemented:")
        }
        factors.append(try factor())
      }
      if factors.count == 1 { return try expression(of: factors[0]) }
      var phrase: [String] = []
      for factor in factors {
        guard case .term(let word, isPrefix: false) = factor else {
          position = start
          throw expected("whole words around '<->'")
        }
        phrase.append(word)
      }
      return try words.phrase(phrase.joined(separator: " ")).map(SearchExpression.term)
    }

    private func expression(of factor: Factor) throws -> SearchExpression? {
      switch factor {
      case .expression(let expression): expression
      case .term(let text, let isPrefix):
        try text.contains(where: \.isWhitespace) && !isPrefix
          ? words.phrase(text).map(SearchExpression.term)
          : words.words(in: text, isPrefix: isPrefix).map(SearchExpression.term)
      }
    }

    private mutating func factor() throws -> Factor {
      if accept("!") {
        try enter()
        defer { depth -= 1 }
        switch try expression(of: factor()) {
        case nil: return .expression(nil)
        case .not(let twice)?: return .expression(twice)
        case let expression?: return .expression(.not(expression))
        }
      }
      if accept("(") {
        let inner = try expression()
        guard accept(")") else { throw expected("')'") }
        return .expression(inner)
      }
      return try term()
    }

    private mutating func term() throws -> Factor {
      skipSpace()
      let start = position
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
      // Punctuation is a word without content.
      guard position > start else { throw expected("a word") }
      var isPrefix = false
      if position < text.count, text[position] == ":" {
        position += 1
        // The weights of columns have no effect.
        while position < text.count, "*ABCDabcd".contains(text[position]) {
          if text[position] == "*" { isPrefix = true }
          position += 1
        }
      }
      return .term(word, isPrefix: isPrefix)
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

    /// Throws if there are too many levels.
    private mutating func enter() throws {
      guard depth < Self.depthLimit else {
        throw OperationFailure("An 'ADVANCED' search has at most \(Self.depthLimit) levels.")
      }
      depth += 1
    }

    private func expected(_ what: String) -> OperationFailure {
      OperationFailure(
        "\(what) is expected in the text of the 'ADVANCED' search, at character \(position + 1).")
    }
  }
}
