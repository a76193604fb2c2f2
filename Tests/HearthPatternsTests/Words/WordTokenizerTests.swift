import Foundation
import TestSupport
import Testing

@testable import HearthPatterns

@Suite struct WordTokenizerTests {
  /// A word as `forEachWord` passes it. By bytes: `String` equates what the index keeps apart.
  private struct Passed: Hashable, CustomStringConvertible {
    var bytes: [UInt8]
    var position: Int
    var form: WordTokenizer.Form

    var description: String { "\(String(decoding: bytes, as: UTF8.self))@\(position).\(form)" }
  }

  private static func passed(_ tokenizer: WordTokenizer, _ text: some Collection<UInt8>) -> [Passed]
  {
    var passed: [Passed] = []
    Array(text).withUnsafeBytes { text in
      tokenizer.forEachWord(in: text) { word, position, form in
        passed.append(Passed(bytes: Array(word), position: position, form: form))
      }
    }
    return passed
  }

  private static func passed(_ language: WordLanguage, _ text: String) -> [Passed] {
    passed(WordTokenizer(language), text.utf8)
  }

  // MARK: Boundaries and folding

  @Test(arguments: [
    ("", []),
    (" \n…!?", []),
    (
      "The quick (“brown”) fox can’t jump 32.3 feet, right?",
      [
        "the", "quick", "brown", "fox", "can't", "jump", "32.3", "feet", "right",
      ]
    ),
    // Punctuation between letters, and between digits.
    ("can't CAN’T can' 'can", ["can't", "can't", "can", "can"]),
    ("l’amour aujourd'hui", ["l'amour", "aujourd'hui"]),
    ("e.g. U.S.A. example.com a..b .a", ["e.g", "u.s.a", "example.com", "a", "b", "a"]),
    (
      "3.14 1,000,000 1;2 10. 1,,2 a,b 1,a",
      [
        "3.14", "1,000,000", "1;2", "10", "1", "2", "a", "b", "1", "a",
      ]
    ),
    ("a'1 1'a 1'000 a.1", ["a", "1", "1", "a", "1'000", "a", "1"]),
    ("key:value 12:30 C++ a-b", ["key", "value", "12", "30", "c", "a", "b"]),
    // A middle dot joins letters, and is not part of the word.
    ("col·lecció col•lecció", ["colleccio", "col", "leccio"]),
    ("foo_bar _foo_ __ _ a_1 1_000", ["foo_bar", "foo", "a_1", "1_000"]),
    ("x2 2x A4 b2b", ["x2", "2x", "a4", "b2b"]),
    // Case, accents and compatibility.
    ("naïve café ÉTÉ Ångström", ["naive", "cafe", "ete", "angstrom"]),
    ("cafe\u{301}s re\u{301}sume\u{301}", ["cafes", "resume"]),
    ("Straße STRASSE ẞ ſich", ["strasse", "strasse", "ss", "sich"]),
    ("Ｆｕｌｌ－ｗｉｄｔｈ　１２．５", ["full", "width", "12.5"]),
    ("ﬁnancial oﬃce Ⅷ ĳs", ["financial", "office", "viii", "ijs"]),
    ("Æsir œuvre Ørsted Łódź Đà þing", ["aesir", "oeuvre", "orsted", "lodz", "da", "thing"]),
    ("İstanbul ISPARTA ılık", ["istanbul", "isparta", "ilik"]),
    ("ΟΔΟΣ οδός ὀδός", ["οδοσ", "οδοσ", "οδοσ"]),
    ("Ёлка елка Йод", ["елка", "елка", "иод"]),
    (
      "do\u{AD}nau a\u{200D}b a\u{200C}b a\u{FE0F}b a\u{200B}b",
      [
        "donau", "ab", "ab", "ab", "a", "b",
      ]
    ),
    // Scripts.
    ("日本語", ["日", "本", "語"]),
    ("日本語のテキスト2つ", ["日", "本", "語", "の", "テキスト", "2", "つ"]),
    ("ｶﾞﾗｽ ガラス か\u{3099}", ["ガラス", "ガラス", "が"]),
    ("한국어 텍스트 \u{1112}\u{1161}\u{11AB}", ["한국어", "텍스트", "한"]),
    ("hello世界world", ["hello", "世", "界", "world"]),
    ("ภาษาไทย abc", ["ภาษาไทย", "abc"]),
    ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("אָב צה\"ל צה״ל ג'ורג' ג׳ורג׳", ["אב", "צהל", "צהל", "ג'ורג", "ג'ורג"]),
    ("كِتَاب أحمد ٣٫١٤", ["كتاب", "احمد", "٣٫١٤"]),
    // Emoji, symbols and lone marks are not words.
    ("👍🏽 👩‍👩‍👧 🇩🇪 © ½ → a👍b \u{301} ☕️x", ["a", "b", "x"]),
  ])
  func `words are those of UAX 29, folded`(text: String, words: [String]) {
    let tokenizer = WordTokenizer(.none)
    #expect(tokenizer.words(in: text).map { Array($0.utf8) } == words.map { Array($0.utf8) })
  }

  @Test func `a word is passed as its stem and then as its full form, with one position`() {
    func passed(_ language: WordLanguage, _ text: String) -> [String] {
      Self.passed(language, text).map(\.description)
    }
    #expect(
      passed(.english, "The runners’ dog's naïve café, running 3.14") == [
        "the@0.stem", "runner@1.stem", "runners@1.full", "dog@2.stem", "dog's@2.full",
        "naiv@3.stem", "naive@3.full", "cafe@4.stem", "run@5.stem", "running@5.full", "3.14@6.stem",
      ])
    #expect(passed(.none, "running runners") == ["running@0.stem", "runners@1.stem"])
    #expect(
      passed(.german, "Häuser, MAEDCHEN 日本 quellen") == [
        "haus@0.stem", "hauser@0.full", "madch@1.stem", "madchen@1.full", "日@2.stem", "本@3.stem",
        "quell@4.stem", "quellen@4.full",
      ])
    #expect(WordTokenizer(.english).words(in: "__ running … dogs") == ["run", "dog"])
  }

  @Test func `a long word is cut to its first 64 scalars, after folding`() {
    let tokenizer = WordTokenizer(.none)
    func word(_ unit: String, _ count: Int) -> String { String(repeating: unit, count: count) }
    for count in [63, 64, 65, 1000, 100_000] {
      let kept = min(count, 64)
      #expect(tokenizer.words(in: word("A", count)) == [word("a", kept)])
      #expect(tokenizer.words(in: word("é", count)) == [word("e", kept)])
      #expect(tokenizer.words(in: word("e\u{301}", count)) == [word("e", kept)])
      #expect(tokenizer.words(in: word("か\u{3099}", count)) == Array(repeating: "が", count: count))
      #expect(tokenizer.words(in: word("カ\u{3099}", count)) == [word("ガ", kept)])
      #expect(tokenizer.words(in: word("ß", count)) == [word("s", min(2 * count, 64))])
      #expect(tokenizer.words(in: word("ก", count) + " x") == [word("ก", kept), "x"])
      let marks = "a" + word("\u{93C}\u{94D}", count)
      #expect(tokenizer.words(in: marks).first?.unicodeScalars.count == min(1 + 2 * count, 64))
    }
    #expect(tokenizer.words(in: "a" + word("_", 70)) == ["a"])
    #expect(tokenizer.words(in: "a" + word("_", 70) + "b") == ["a" + word("_", 63)])
    for language in WordLanguage.allCases {
      let stems = WordTokenizer(language).words(in: word("connecting", 20) + " " + word("Ä", 200))
      #expect(stems.count == 2 && stems.allSatisfy { $0.utf8.count <= 64 })
    }
  }

  @Test func `an error of the body ends the run`() {
    struct Stop: Error {}
    var count = 0
    #expect(throws: Stop.self) {
      try Array("one two three".utf8).withUnsafeBytes { text in
        try WordTokenizer(.english).forEachWord(in: text) { _, _, _ in
          count += 1
          if count == 2 { throw Stop() }
        }
      }
    }
    #expect(count == 2)
  }

  // MARK: Laws

  /// Pieces at which boundaries and foldings are hard.
  private static let pieces: [String] =
    " _.,;:'’·\"-abesuyAEIÄöÜßñç019".map(String.init) + [
      "é", "ế", "ǿ", "ſ", "ﬃ", "İ", "ı", "Σ", "ς", "ᾴ", "Й", "ё", "Ⅷ", "ﷺ", "㎏", "ŀ", "ª", "²",
      "か", "が", "ガ", "ｶ", "ﾞ", "ー", "゛", "㌀", "日", "〇", "한", "ㅎ", "ㅏ", "\u{1112}",
      "\u{1161}", "\u{11AB}", "ก", "ำ", "ຫຼ", "က", "न", "क़", "्", "ি", "ো", "ொ", "ש", "שׁ", "״",
      "׳", "ك", "أ", "ِ", "٣", "٫", "👍", "🏽", "🇩", "\u{301}", "\u{308}", "\u{323}", "\u{345}",
      "\u{3099}", "\u{93C}", "\u{200D}", "\u{200B}", "\u{AD}", "\u{FE0F}", "\u{202F}", "＿", "．",
      "\u{1D15E}", "𝐀", "𐐀", "\u{FFFD}", "…", "\n",
    ]

  private static func randomText(_ random: inout SeededGenerator, _ count: Int) -> String {
    var text = ""
    for _ in 0..<random.below(count) {
      if random.one(in: 12), let scalar = Unicode.Scalar(UInt32(random.below(0x3400))) {
        text.unicodeScalars.append(scalar)
      } else {
        text += random.pick(pieces)
      }
    }
    return text
  }

  @Test(arguments: WordLanguage.allCases)
  func `composed and decomposed text have the same words`(language: WordLanguage) {
    for seed in 0..<4000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let text = Self.randomText(&random, seed % 50 == 0 ? 400 : 24)
      let words = Self.passed(language, text)
      let composed = Self.passed(language, text.precomposedStringWithCanonicalMapping)
      let decomposed = Self.passed(language, text.decomposedStringWithCanonicalMapping)
      if words != composed || words != decomposed {
        Issue.record("seed \(seed), \(text.debugDescription): \(words), \(composed), \(decomposed)")
      }
    }
  }

  @Test(arguments: WordLanguage.allCases)
  func `bytes that are not UTF-8 end words, and all others are read`(language: WordLanguage) {
    let tokenizer = WordTokenizer(language)
    for seed in 0..<4000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var bytes = Array(Self.randomText(&random, 24).utf8)
      for _ in 0..<random.below(6) {
        let index = random.below(bytes.count + 1)
        switch random.below(3) {
        case 0: bytes.insert(UInt8(random.below(256)), at: index)
        case 1 where index < bytes.count: bytes.remove(at: index)
        default: bytes.replaceSubrange(index..., with: bytes[index...].dropLast(random.below(3)))
        }
      }
      if random.one(in: 8) { bytes = (0..<64).map { _ in UInt8(random.below(256)) } }
      let words = Self.passed(tokenizer, bytes)
      // U+FFFD ends a word, too.
      let repaired = Self.passed(tokenizer, String(decoding: bytes, as: UTF8.self).utf8)
      if words != repaired { Issue.record("seed \(seed), \(bytes): \(words), \(repaired)") }
      #expect(words.allSatisfy { String(validating: $0.bytes, as: UTF8.self) != nil })
    }
  }

  @Test(arguments: WordLanguage.allCases)
  func `reading by bytes and reading by scalars find the same words`(language: WordLanguage) {
    let byBytes = WordTokenizer(language)
    var byScalars = byBytes
    byScalars.readsASCIIByBytes = false
    let text = Array("abcdeinrstuyAEIOUY019__''..,,;:-\" \"".utf8)
    // For words of more than 64 bytes.
    let long = Array("abAB19____'.".utf8)
    for seed in 0..<6000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let isLong = seed % 20 == 0
      var text = (0..<random.below(isLong ? 200 : 24)).map { _ in
        random.one(in: isLong ? 100 : 10)
          ? UInt8(random.below(128)) : random.pick(isLong ? long : text)
      }
      if random.one(in: 3) { text += Array(Self.randomText(&random, 8).utf8) }
      let (left, right) = (Self.passed(byBytes, text), Self.passed(byScalars, text))
      if left != right {
        Issue.record("seed \(seed), \(String(decoding: text, as: UTF8.self)): \(left), \(right)")
      }
    }
  }

  @Test(arguments: WordLanguage.allCases)
  func `the words of a text are the words of its parts`(language: WordLanguage) {
    for seed in 0..<1000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let parts = (0..<random.below(6)).map { _ in Self.randomText(&random, 12) }
      var expected: [Passed] = []
      for part in parts {
        let before = expected.last.map { $0.position + 1 } ?? 0
        expected += Self.passed(language, part).map {
          Passed(bytes: $0.bytes, position: $0.position + before, form: $0.form)
        }
      }
      let separator = random.pick([" ", "\n", "—", ":", "👍", "\u{200B}"])
      let words = Self.passed(language, parts.joined(separator: separator))
      if words != expected { Issue.record("seed \(seed), \(parts): \(words), \(expected)") }
    }
  }

  @Test(arguments: WordLanguage.allCases)
  func `case is of no importance`(language: WordLanguage) {
    let letters = "aeiosuyzäöüßàéîñçøœæþłđσςωάϊжйёїґ'’.1_ ".map(String.init)
    for seed in 0..<1000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let text = (0..<random.below(24)).map { _ in random.pick(letters) }.joined()
      let words = Self.passed(language, text)
      if words != Self.passed(language, text.uppercased()) {
        Issue.record("seed \(seed), \(text): \(words)")
      }
    }
  }

  // MARK: Prefixes

  @Test func `a prefix is the last word, folded and not stemmed`() {
    let english = WordTokenizer(.english)
    #expect(english.foldedPrefix("") == "" && english.foldedPrefix(" …") == "")
    #expect(english.foldedPrefix("Connecti") == "connecti")
    #expect(english.foldedPrefix("full text CONNECTIONS ") == "connections")
    #expect(english.foldedPrefix("naïv") == "naiv" && english.foldedPrefix("can'") == "can")
    let german = WordTokenizer(.german)
    #expect(german.foldedPrefix("Mä") == "ma" && german.foldedPrefix("Mae") == "ma")
    #expect(german.foldedPrefix("Straß") == "strass" && german.foldedPrefix("Quel") == "quel")
    #expect(german.foldedPrefix("neue") == "neue" && german.foldedPrefix("Bauer") == "bauer")
  }

  /// The terms of a text that a prefix search with `prefix` finds.
  private func found(_ prefix: String, in text: String, _ language: WordLanguage) -> [String] {
    let folded = Array(WordTokenizer(language).foldedPrefix(prefix).utf8)
    return Self.passed(language, text).filter { $0.bytes.starts(with: folded) }
      .map(\.description)
  }

  @Test func `a prefix search finds a word by its stem or by its full form`() {
    let text = "The computer informs: information about connections, happy"
    #expect(found("comput", in: text, .english) == ["comput@1.stem", "computer@1.full"])
    #expect(found("computer", in: text, .english) == ["computer@1.full"])
    #expect(
      found("inform", in: text, .english) == [
        "inform@2.stem", "informs@2.full", "inform@3.stem", "information@3.full",
      ])
    #expect(found("connecti", in: text, .english) == ["connections@5.full"])
    #expect(found("happy", in: text, .english) == ["happy@6.full"])
    // By the stem only.
    #expect(found("happi", in: text, .english) == ["happi@6.stem"])
    #expect(found("mäd", in: "Maedchen", .german) == ["madch@0.stem", "madchen@0.full"])
  }

  @Test(arguments: WordLanguage.allCases)
  func `every beginning of a word finds it`(language: WordLanguage) {
    let letters = "aaeeiouqynrstgäöüßéñ'’1".map(String.init) + ["ing", "ung", "en", "er", "ies"]
    for seed in 0..<2000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let word = "b" + (0..<random.below(8)).map { _ in random.pick(letters) }.joined() + "n"
      guard WordTokenizer(language).words(in: word).count == 1 else { continue }
      for end in word.indices.dropFirst()
      where found(String(word[..<end]), in: word, language) == [] {
        Issue.record("seed \(seed): \(word[..<end]) does not find \(word)")
      }
    }
  }
}
