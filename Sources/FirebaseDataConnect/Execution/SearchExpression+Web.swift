extension SearchExpression {
  /// The text of a `QUERY` search: PostgreSQL's `websearch_to_tsquery`, with `begin*`.
  ///
  ///     sand worm            both words
  ///     "small town" or man  the phrase or the word
  ///     desert -worm         the first word without the second
  ///
  /// `-` binds stronger than a space, and that stronger than `or`. No text is wrong: other punctuation
  /// has no meaning, and a quotation mark without its pair reaches to the end. Nil for a text without
  /// a word that has content.
  static func web(_ text: String, _ words: SearchWords) throws -> SearchExpression? {
    let text = Array(text)
    var position = 0
    var alternatives: [SearchExpression?] = []
    var parts: [SearchExpression?] = []

    func isOperator(_ character: Character) -> Bool { "!&|()".contains(character) }

    let lastOperand = text.lastIndex { !$0.isWhitespace } ?? 0
    /// Reads `or`, if it is a word of its own with something behind it.
    func acceptOr() -> Bool {
      let end = position + 2
      guard end <= lastOperand, String(text[position..<end]).lowercased() == "or",
        !text[end].isLetter, !text[end].isNumber, !"-_".contains(text[end])
      else { return false }
      position = end
      return true
    }

    while true {
      var isNegated = false
      while position < text.count,
        text[position].isWhitespace || text[position] == "-" || isOperator(text[position])
      {
        if text[position] == "-" { isNegated.toggle() }
        position += 1
      }
      guard position < text.count else { break }
      let isPhrase = text[position] == "\""
      if isPhrase { position += 1 }
      let start = position
      while position < text.count, text[position] != "\"",
        isPhrase || !text[position].isWhitespace && !isOperator(text[position])
      {
        position += 1
      }
      let token = String(text[start..<position])
      if isPhrase { position += 1 }
      let found =
        try isPhrase
        ? words.phrase(token) : words.words(in: token, isPrefix: token.hasSuffix("*"))
      let part = found.map(SearchExpression.term)
      parts.append(isNegated ? part.map(SearchExpression.not) : part)
      while position < text.count, text[position].isWhitespace { position += 1 }
      if acceptOr() {
        alternatives.append(joined(parts, SearchExpression.all))
        parts = []
      }
    }
    alternatives.append(joined(parts, SearchExpression.all))
    return joined(alternatives, SearchExpression.any)
  }
}
