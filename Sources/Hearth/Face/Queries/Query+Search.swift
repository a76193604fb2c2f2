import Foundation

/// The texts that a search reads: fields with weights, and a language.
///
///     let texts = SearchFields("title", "summary", language: "en")
///     try await db.indexes.declare(FirestoreIndex(words: "books", in: texts))
///     let found = try await books.search("sand worm*", in: texts).limit(to: 20).getDocuments()
///
/// A field is a string, or an array of strings. Words are found by the rules of Unicode (UAX #29),
/// without regard to case and accents. With a language they are reduced to their stems: "worms" is
/// found by "worm". Chinese and Japanese characters are one word each.
public struct SearchFields: Hashable, Sendable {
  private struct Field: Hashable {
    var name: String
    var weight: Int
  }

  private let fields: [Field]
  /// The language, as an ISO 639-1 code: "en", "de", or "simple" for no stemming.
  public let language: String

  /// Fields of equal weight. Dots lead into maps.
  public init(_ fields: String..., language: String = "simple") {
    self.init(fields, language: language)
  }

  /// Same as `init(_:language:)`, for a list.
  public init(_ fields: [String], language: String = "simple") {
    self.fields = fields.map { Field(name: $0, weight: 1) }
    self.language = language
  }

  /// Fields with weights, 1 to 100: a word counts as often as its field's weight says.
  ///
  ///     SearchFields(weights: ["title": 3, "summary": 1], language: "en")
  public init(weights: KeyValuePairs<String, Int>, language: String = "simple") {
    fields = weights.map { Field(name: $0, weight: $1) }
    self.language = language
  }

  /// The words of a text, in their order, as a search in these fields compares them: without case and
  /// accents, and as stems if there is a language.
  ///
  ///     let fields = SearchFields("title", language: "en")
  ///     try fields.words(in: "The Worms, naïve")    // ["the", "worm", "naiv"]
  ///
  /// For programs that change the text of a search, or mark what it has found. Punctuation and symbols
  /// are no words; a word of more than 64 scalars is cut. Throws `invalidArgument` for a language that
  /// does not exist, and for fields that cannot be searched.
  public func words(in text: String) throws -> [String] {
    do {
      return try words().words(in: text)
    } catch {
      throw error.nsError
    }
  }

  func words() throws(Status) -> WordFields {
    var found: [(field: FieldSegments, weight: Int)] = []
    for field in fields { found.append((try FieldSegments(dotted: field.name), field.weight)) }
    return try WordFields(found, language: language)
  }
}

extension Query {
  /// Finds documents with words, the best first.
  ///
  ///     books.search("dune", in: texts)             // documents with the word
  ///     books.search("dune mess*", in: texts)       // and a word that begins with "mess"
  ///     books.search("\"sand worm\"", in: texts)    // the two words, one after the other
  ///
  /// Documents are ranked by BM25 (k1 1.2, b 0.75) with the statistics of the collection; ties are in
  /// the order of names. Filters select among the documents that have the words; there is no other
  /// order and no cursor. An index on the words of these fields, with these weights and this language,
  /// serves the search; without one every document is read. With a limit, only the entries with high
  /// scores are read.
  ///
  /// A listener receives the new ranking after each commit, which costs as much as sorting the matches.
  /// A search is not read in a transaction, nor in the past. In a closure that writes, or if others
  /// write at the same moment, it reads every match, whatever the limit is.
  ///
  /// - Parameters:
  ///   - text: Words, words with `*` at the end, and phrases in quotation marks.
  ///   - fields: The fields to search, with their weights and the language.
  ///   - matchesAll: False finds documents with any of the words; phrases are always required.
  ///   - scoreField: A field that the documents of a read have their scores in, beside those that are
  ///     stored. Dots lead into maps. A listener's documents do not have it.
  public func search(
    _ text: String, in fields: SearchFields, matchesAll: Bool = true, scoreField: String? = nil
  ) -> Query {
    changed { query throws(Status) in
      let score = try scoreField.map(FieldSegments.init(dotted:))
      try query.ask(
        .search(.init(text, in: fields.words(), matchesAll: matchesAll, scoreField: score)))
    }
  }

  /// Throws for a search: its groups and aggregations are not updated.
  func refuseListeningToSearch(isOnlyCounted: Bool = false) throws(Status) {
    let query = try listenable(isOnlyCounted: isOnlyCounted)
    guard query.question.traits.contains(.liveAggregations) else {
      throw .invalidArgument(
        "Aggregations of a search for words are not supported by real-time queries.")
    }
  }
}
