import Foundation
internal import HearthPatterns
internal import HearthText

/// A search for words in texts: the documents that have them, the best first.
///
///     dune mess*            both: "dune", and a word that begins with "mess"
///     "sand worm" fremen    also the two words of the phrase, one after the other
///
/// Documents are ranked by BM25 with k1 = 1.2 and b = 0.75. A word that few documents have counts
/// more; a prefix counts as a word with a weight of one. Ties are in the order of names.
package struct TextSearch: Hashable, Sendable {
  /// A word that is looked for: a stem, or the beginning of a stem or of a folded word.
  struct Term: Hashable, Sendable {
    var bytes: [UInt8]
    var isPrefix: Bool

    /// The word in an index, if it is one.
    var stem: [UInt8] { [WordTokenizer.Form.stem.rawValue] + bytes }
  }

  package let fields: WordFields
  package let text: String
  /// A document has every word; otherwise one of them. It has all phrases in any case.
  package let matchesAll: Bool
  /// Distinct.
  let terms: [Term]
  /// Stems that follow one another in one text.
  let phrases: [[[UInt8]]]
  /// The field that results have their scores in, if any.
  package let scoreField: FieldSegments?

  static let termLimit = 64

  /// Throws `invalidArgument` for a text without words, or with too many.
  package init(
    _ text: String, in fields: WordFields, matchesAll: Bool, scoreField: FieldSegments? = nil
  ) throws(Status) {
    self.scoreField = scoreField
    self.fields = fields
    self.text = text
    self.matchesAll = matchesAll
    try fields.check()
    let tokenizer = WordTokenizer(fields.language)
    var terms: [Term] = []
    var phrases: [[[UInt8]]] = []
    // Beyond the limit the search is refused.
    func add(_ term: Term) {
      if terms.count <= Self.termLimit, !terms.contains(term) { terms.append(term) }
    }
    for (index, part) in text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
    {
      if index % 2 == 1 {
        let words = tokenizer.words(in: String(part)).map { Array($0.utf8) }
        for word in words { add(Term(bytes: word, isPrefix: false)) }
        if words.count > 1 { phrases.append(words) }
        continue
      }
      for piece in part.split(whereSeparator: \.isWhitespace) {
        let isPrefix = piece.last == "*"
        var words = tokenizer.words(in: String(piece))
        if isPrefix, !words.isEmpty {
          words.removeLast()
          add(Term(bytes: Array(tokenizer.foldedPrefix(String(piece)).utf8), isPrefix: true))
        }
        for word in words { add(Term(bytes: Array(word.utf8), isPrefix: false)) }
      }
    }
    self.terms = terms
    self.phrases = phrases
    guard !terms.isEmpty else {
      throw .invalidArgument("The text of a search has no word.")
    }
    guard terms.count <= Self.termLimit else {
      throw .invalidArgument("The text of a search has more than \(Self.termLimit) words.")
    }
  }
}

/// The numbers of a search in one document.
struct TextMatch: Hashable, Sendable {
  /// By term.
  var counts: [Int]
  var length: Int
}

/// Numbers of all documents that are searched: the collection's, or those of the scope.
package struct TextStatistics: Hashable, Sendable {
  /// The number of documents with a word.
  var documents = 0
  /// In all of them together.
  var length = 0
  /// By term, the number of documents that have it; for prefixes without a meaning.
  var frequencies: [Int]

  init(_ search: TextSearch) { frequencies = search.terms.map { _ in 0 } }

  mutating func add(_ match: TextMatch, sign: Int = 1) {
    if match.length == 0 { return }
    documents += sign
    length += sign * match.length
    for (index, count) in match.counts.enumerated() where count > 0 { frequencies[index] += sign }
  }
}

/// BM25: the score of a document.
struct TextRanking {
  private static let saturation = 1.2
  private static let normalization = 0.75
  private let weights: [Double]
  private let averageLength: Double

  init(_ search: TextSearch, _ statistics: TextStatistics) {
    let documents = Double(statistics.documents)
    averageLength = statistics.documents == 0 ? 1 : Double(statistics.length) / documents
    weights = zip(search.terms, statistics.frequencies).map { term, frequency in
      if term.isPrefix { return 1 }
      let frequency = Double(frequency)
      return log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
    }
  }

  /// The part of a term in the score.
  func score(of term: Int, count: Int, length: Int) -> Double {
    let count = Double(count)
    let share = Double(length) / averageLength
    let norm = Self.saturation * (1 - Self.normalization + Self.normalization * share)
    return weights[term] * count * (Self.saturation + 1) / (count + norm)
  }

  func score(_ match: TextMatch) -> Double {
    var sum = 0.0
    for (term, count) in match.counts.enumerated() where count > 0 {
      sum += score(of: term, count: count, length: match.length)
    }
    return sum
  }
}

/// Finds the words of a search in documents. Use one for many.
final class TextMatcher {
  let search: TextSearch
  private let tokenizer: WordTokenizer
  /// Few: a comparison with each costs less than a hash of the word.
  private let terms: [(bytes: [UInt8], term: Int)]
  private let prefixes: [(bytes: [UInt8], term: Int)]
  /// The terms of the words of phrases.
  private let phrases: [SequenceSearch<Int>]

  init(_ search: TextSearch) {
    self.search = search
    tokenizer = WordTokenizer(search.fields.language)
    let all = search.terms.indices.map { (bytes: search.terms[$0].bytes, term: $0) }
    terms = all.filter { !search.terms[$0.term].isPrefix }
    prefixes = all.filter { search.terms[$0.term].isPrefix && !$0.bytes.isEmpty }
    phrases = search.phrases.map { phrase in
      SequenceSearch(
        phrase.compactMap { word in
          search.terms.firstIndex { !$0.isPrefix && $0.bytes == word }
        })
    }
  }

  @inline(__always)
  private func term(_ word: UnsafeRawBufferPointer) -> Int? {
    for (bytes, term) in terms
    where bytes.count == word.count && bytes.withUnsafeBytes({ UTF8Order.areEqual($0, word) }) {
      return term
    }
    return nil
  }

  /// The numbers of the document, and whether it matches.
  func find(in document: MapView) throws -> (match: TextMatch, isMatch: Bool) {
    var match = TextMatch(counts: search.terms.map { _ in 0 }, length: 0)
    var found = phrases.map { _ in false }
    try search.fields.forEachText(in: document) { text, weight in
      // The terms of the words so far; -1 for another word.
      var words: [Int] = []
      // By prefix: the last word that begins with it. Of both forms of a word, one counts.
      var prefixed = prefixes.map { _ in -1 }
      tokenizer.forEachWord(in: text) { word, position, form in
        for (index, prefix) in prefixes.enumerated()
        where prefixed[index] != position && word.starts(with: prefix.bytes) {
          prefixed[index] = position
          match.counts[prefix.term] += weight
        }
        guard form == .stem else { return }
        match.length += weight
        let term = term(word)
        if let term { match.counts[term] += weight }
        if !phrases.isEmpty { words.append(term ?? -1) }
      }
      for (index, phrase) in phrases.enumerated() where !found[index] {
        found[index] = phrase.isFound(in: words)
      }
    }
    match.length = min(match.length, WordPosting.lengthLimit)
    match.counts = match.counts.map { min($0, WordPosting.countLimit) }
    let isMatch =
      search.matchesAll
      ? match.counts.allSatisfy { $0 > 0 } : match.counts.contains { $0 > 0 }
    return (match, isMatch && found.allSatisfy(\.self))
  }
}
