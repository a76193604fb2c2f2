/// The language by which words are folded and stemmed.
// On disk. Changing a raw value changes the file format. A change of a stemmer needs new indexes.
package enum WordLanguage: UInt8, Sendable, CaseIterable {
  /// Words are folded and not stemmed.
  case none = 0
  case english = 1
  case german = 2
  // 3, 4 and 5 are reserved for French, Spanish and Italian.

  /// The language of an ISO 639-1 code, in any case, with or without a region ("en", "de-AT"), or
  /// "simple". Nil if words of the language are not stemmed here.
  package init?(code: String) {
    let primary = code.lowercased().prefix { $0 != "-" && $0 != "_" }
    guard let language = Self.allCases.first(where: { $0.code == primary }) else { return nil }
    self = language
  }

  /// The ISO 639-1 code, or "simple" for `none`.
  package var code: String {
    switch self {
    case .none: "simple"
    case .english: "en"
    case .german: "de"
    }
  }

  /// Whether the stemmer reads accented letters. The accents are removed after stemming.
  var stemsAccentedLetters: Bool { self == .german }

  /// Reduces the word to its stem.
  func stem(_ word: inout StemmerBuffer) {
    switch self {
    case .none: break
    case .english: EnglishStemmer.stem(&word)
    case .german: GermanStemmer.stem(&word)
    }
  }

  /// Folds letters that are equal in this language only. Returns the new count of `letters`, which
  /// are UTF-8.
  ///
  /// Law: the folding of a prefix of a word is a prefix of the folding of the word.
  func fold(_ letters: UnsafeMutableBufferPointer<UInt8>) -> Int {
    self == .german ? GermanStemmer.foldTranscriptions(letters) : letters.count
  }
}
