import Hearth

/// The condition that a search puts to the words of a row, as PostgreSQL's `tsquery`.
///
///     sand or worm -"small town"
///
///         any
///       ┌──┴──┐
///     sand   all
///         ┌───┴───┐
///       worm     not
///                 │
///            "small town"
///
/// Words without content, such as "the", are in no expression.
indirect enum SearchExpression: Hashable {
  /// A text of `Query.search`: words, `begin*`, or a phrase in quotation marks.
  case term(String)
  case not(SearchExpression)
  case all([SearchExpression])
  case any([SearchExpression])

  /// The most terms of an expression that needs several searches, as of a search of the database.
  private static let termLimit = 64

  /// Nil for a text without a word that has content. Throws an `OperationFailure` for a text with too
  /// many words, and for an `ADVANCED` one that is not an expression, with the place.
  static func parsed(
    _ text: String, format: SearchQueryFormat, _ words: SearchWords
  ) throws -> SearchExpression? {
    let expression =
      switch format {
      case .QUERY: try web(text, words)
      case .PLAIN: try words.words(in: text).map(SearchExpression.term)
      case .PHRASE: try words.phrase(text).map(SearchExpression.term)
      case .ADVANCED: try advanced(text, words)
      }
    if let expression, expression.searchText == nil, expression.termCount > termLimit {
      throw OperationFailure("The text of a search has more than \(termLimit) words.")
    }
    return expression
  }

  /// The parts as one expression: each part once, without those that have no content.
  static func joined(
    _ parts: [SearchExpression?], _ join: ([SearchExpression]) -> SearchExpression
  ) -> SearchExpression? {
    var seen: Set<SearchExpression> = []
    let distinct = parts.compactMap(\.self).filter { seen.insert($0).inserted }
    return distinct.count > 1 ? join(distinct) : distinct.first
  }

  /// The text of one `Query.search` that finds the same rows. Nil if there is none.
  var searchText: String? {
    switch self {
    case .term(let text): return text
    case .all(let parts):
      let texts = parts.compactMap(\.searchText)
      return texts.count == parts.count ? texts.joined(separator: " ") : nil
    case .not, .any: return nil
    }
  }

  private var termCount: Int {
    switch self {
    case .term: 1
    case .not(let expression): expression.termCount
    case .all(let parts), .any(let parts): parts.reduce(0) { $0 + $1.termCount }
    }
  }

  /// The ids of the rows that are found, with their scores.
  ///
  /// - Parameters:
  ///   - found: The ids and scores that a term finds.
  ///   - everything: The ids of all rows. Asked for only if the expression finds rows by what they
  ///     do not have.
  func scores(
    _ found: (String) throws -> [BytewiseString: Double], everything: () throws -> [BytewiseString]
  ) throws -> [BytewiseString: Double] {
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
      var kept: [BytewiseString: Double]?
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
