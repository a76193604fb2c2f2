import Foundation
import Testing

@testable import HearthPatterns

@Suite struct StemmerTests {
  /// Each line is a word and its stem. The stems agree with those of Snowball 3, without accents.
  private static func golden(_ language: WordLanguage) throws -> [(word: String, stem: String)] {
    let url = Bundle.module.bundleURL.appendingPathComponent(
      "Resources/stems-\(language.code).txt")
    return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map { line in
      let parts = line.split(separator: " ").map(String.init)
      return (try #require(parts.first), try #require(parts.last))
    }
  }

  @Test(arguments: [WordLanguage.english, .german])
  func `a word has the stem that an index of an earlier version has`(language: WordLanguage) throws
  {
    let words = try Self.golden(language)
    #expect(words.count == 500)
    let tokenizer = WordTokenizer(language)
    for (word, stem) in words {
      #expect(tokenizer.words(in: word) == [stem], "\(word)")
    }
  }

  @Test func `forms of an English word have one stem`() {
    let english = WordTokenizer(.english)
    for forms in [
      "connect connects connected connecting connection connections connective",
      "dog dogs dog's dogs’", "fly flies", "hope hoped hoping", "hop hopped hopping",
      "café cafe cafés café’s", "relational relate related relation",
    ] {
      #expect(Set(english.words(in: forms)).count == 1, "\(forms): \(english.words(in: forms))")
    }
    for different in ["universe university", "past paste", "herring her", "news new"] {
      #expect(Set(english.words(in: different)).count == 2, "\(different)")
    }
  }

  @Test func `an umlaut and its transcription are equal in German`() throws {
    let german = WordTokenizer(.german)
    let words = try Self.golden(.german).map(\.word).filter { word in
      word.contains { "äöü".contains($0) } && !word.contains("äu")
    }
    #expect(words.count > 50)
    for word in words {
      let transcribed = ["ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"].reduce(word) {
        $0.replacingOccurrences(of: $1.key, with: $1.value)
      }
      #expect(german.words(in: word) == german.words(in: transcribed), "\(word)")
      #expect(german.foldedPrefix(word) == german.foldedPrefix(transcribed), "\(word)")
    }
  }

  @Test func `words with letters beyond ISO 8859-1 are not stemmed`() {
    #expect(WordTokenizer(.german).words(in: "Tōkyōsern Москвами") == ["tokyosern", "москвами"])
    // In English, accents are removed before.
    #expect(WordTokenizer(.english).words(in: "Tōkyōs москвing") == ["tokyo", "москвing"])
  }

  @Test func `languages have the codes and the numbers that are on disk`() {
    #expect(WordLanguage.allCases.map(\.rawValue) == [0, 1, 2])
    #expect(WordTokenizer.Form.stem.rawValue == 0 && WordTokenizer.Form.full.rawValue == 1)
    for language in WordLanguage.allCases { #expect(WordLanguage(code: language.code) == language) }
    #expect(WordLanguage(code: "EN-us") == .english && WordLanguage(code: "de_AT") == .german)
    #expect(WordLanguage(code: "fr") == nil && WordLanguage(code: "") == nil)
  }
}
