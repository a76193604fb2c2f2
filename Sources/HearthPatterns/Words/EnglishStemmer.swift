/// The Snowball stemmer for English, known as Porter2, by its published description:
/// https://snowballstem.org/algorithms/english/stemmer.html (Snowball 3).
///
/// A `y` that is a consonant is marked as `Y`. The rules for apostrophes at both ends are left out:
/// the tokenizer passes no such words.
enum EnglishStemmer {
  static func isVowel(_ letter: UInt8) -> Bool {
    switch letter {
    case UInt8(ascii: "a"), UInt8(ascii: "e"), UInt8(ascii: "i"), UInt8(ascii: "o"),
      UInt8(ascii: "u"), UInt8(ascii: "y"):
      true
    default: false
    }
  }

  static func stem(_ word: inout StemmerBuffer) {
    guard word.count > 2 else { return }
    if word.count <= 6, let exception = exceptions.longestMatch(word),
      exception.suffix.count == word.count
    {
      word.replaceLast(word.count, with: exception.replacement)
      return
    }
    markConsonantY(word)
    markRegions(&word)
    removePossessive(&word)
    removePlural(&word)
    removeVerbSuffix(&word)
    replaceFinalY(&word)
    replaceCombinedSuffix(&word)
    replaceAdjectiveSuffix(&word)
    removeDerivationalSuffix(&word)
    removeFinalEOrL(&word)
  }

  /// Whole words, with their stems.
  private static let exceptions: SuffixTable = [
    "skis": "ski", "skies": "sky", "sky": "sky",
    "idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli",
    "singly": "singl", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos",
    "bias": "bias", "andes": "andes",
  ]

  /// Beginnings after which R1 begins.
  private static let r1Exceptions: [Affix] = [
    "gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ", "inter",
  ]

  private static func markConsonantY(_ word: StemmerBuffer) {
    for index in 0..<word.count where word[index] == UInt8(ascii: "y") {
      if index == 0 || isVowel(word[index - 1]) { word[index] = UInt8(ascii: "Y") }
    }
  }

  private static func markRegions(_ word: inout StemmerBuffer) {
    word.markRegions(isVowel: isVowel)
    for beginning in r1Exceptions where word.begins(with: beginning) {
      word.r1 = beginning.count
      word.r2 = word.regionStart(after: word.r1, isVowel)
    }
  }

  private static func hasVowel(_ word: StemmerBuffer, before end: Int) -> Bool {
    end > 0 && (0..<end).contains { isVowel(word[$0]) }
  }

  /// Whether the letters before `end` end with a short syllable: a vowel between two non-vowels, of
  /// which the second is not w, x or Y; or a vowel and a non-vowel that are the whole word.
  private static func endsWithShortSyllable(_ word: StemmerBuffer, before end: Int) -> Bool {
    guard end >= 2 else { return false }
    let last = word[end - 1]
    guard !isVowel(last), isVowel(word[end - 2]) else {
      return word.ends(with: "past", before: end)
    }
    if end == 2 { return true }
    return !isVowel(word[end - 3]) && last != UInt8(ascii: "w") && last != UInt8(ascii: "x")
      && last != UInt8(ascii: "Y")
  }

  // MARK: Steps

  /// Step 0.
  private static func removePossessive(_ word: inout StemmerBuffer) {
    if word.ends(with: "'s") { word.removeLast(2) }
  }

  /// Step 1a.
  private static func removePlural(_ word: inout StemmerBuffer) {
    if word.ends(with: "sses") {
      word.removeLast(2)
    } else if word.ends(with: "ied") || word.ends(with: "ies") {
      word.removeLast(word.count > 4 ? 2 : 1)
    } else if word.ends(with: "s"), !word.ends(with: "us"), !word.ends(with: "ss"),
      hasVowel(word, before: word.count - 2)
    {
      word.removeLast()
    }
  }

  private static let verbSuffixes: SuffixTable = [
    "eed eedly": "ee", "ed edly ing ingly": "",
  ]

  private static let eedExceptions: [Affix] = ["proc", "exc", "succ"]
  private static let ingExceptions: [Affix] = ["inn", "out", "cann", "herr", "earr", "even"]

  private static func isOneOf(_ words: [Affix], _ word: StemmerBuffer, before end: Int) -> Bool {
    words.contains { $0.count == end && word.begins(with: $0) }
  }

  /// Step 1b.
  private static func removeVerbSuffix(_ word: inout StemmerBuffer) {
    guard let rule = verbSuffixes.longestMatch(word) else { return }
    let suffix = rule.suffix
    let end = word.count - suffix.count
    if rule.replacement.count > 0 {
      if end >= word.r1, !isOneOf(eedExceptions, word, before: end) {
        word.replaceLast(suffix.count, with: rule.replacement)
      }
      return
    }
    if word.ends(with: "ing") {
      if end == 2, word[1] == UInt8(ascii: "y"), !isVowel(word[0]) {
        word.replaceLast(4, with: "ie")
        return
      }
      if isOneOf(ingExceptions, word, before: end) { return }
    }
    guard hasVowel(word, before: end) else { return }
    word.removeLast(suffix.count)
    if word.ends(with: "at") || word.ends(with: "bl") || word.ends(with: "iz") {
      word.append(UInt8(ascii: "e"))
    } else if endsWithDouble(word) {
      let isAddEggOff = word.count == 3 && "aeo".utf8.contains(word[0])
      if !isAddEggOff { word.removeLast() }
    } else if word.r1 >= word.count, endsWithShortSyllable(word, before: word.count) {
      word.append(UInt8(ascii: "e"))
    }
  }

  private static func endsWithDouble(_ word: StemmerBuffer) -> Bool {
    guard word.count >= 2, word[word.count - 1] == word[word.count - 2] else { return false }
    return "bdfgmnprt".utf8.contains(word[word.count - 1])
  }

  /// Step 1c.
  private static func replaceFinalY(_ word: inout StemmerBuffer) {
    guard word.count > 2, word[word.count - 1] | 0x20 == UInt8(ascii: "y"),
      !isVowel(word[word.count - 2])
    else { return }
    word[word.count - 1] = UInt8(ascii: "i")
  }

  private static let combinedSuffixes: SuffixTable = [
    "tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent",
    "izer ization": "ize", "ational ation ator": "ate", "alism aliti alli": "al",
    "fulness fulli": "ful", "ousli ousness": "ous", "iveness iviti": "ive", "biliti bli": "ble",
    "ogist ogi": "og", "lessli": "less", "li": "",
  ]

  /// Step 2.
  private static func replaceCombinedSuffix(_ word: inout StemmerBuffer) {
    guard let rule = combinedSuffixes.longestMatch(word) else { return }
    let end = word.count - rule.suffix.count
    guard end >= word.r1 else { return }
    if rule.suffix == "ogi", !word.ends(with: "logi") { return }
    if rule.suffix == "li", !"cdeghkmnrt".utf8.contains(word[end - 1]) { return }
    word.replaceLast(rule.suffix.count, with: rule.replacement)
  }

  private static let adjectiveSuffixes: SuffixTable = [
    "tional": "tion", "ational": "ate", "alize": "al", "icate iciti ical": "ic",
    "ful ness ative": "",
  ]

  /// Step 3.
  private static func replaceAdjectiveSuffix(_ word: inout StemmerBuffer) {
    guard let rule = adjectiveSuffixes.longestMatch(word) else { return }
    let end = word.count - rule.suffix.count
    guard end >= (rule.suffix == "ative" ? word.r2 : word.r1) else { return }
    word.replaceLast(rule.suffix.count, with: rule.replacement)
  }

  private static let derivationalSuffixes: SuffixTable = [
    "al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion": ""
  ]

  /// Step 4.
  private static func removeDerivationalSuffix(_ word: inout StemmerBuffer) {
    guard let rule = derivationalSuffixes.longestMatch(word) else { return }
    let end = word.count - rule.suffix.count
    guard end >= word.r2 else { return }
    if rule.suffix == "ion", !word.ends(with: "sion"), !word.ends(with: "tion") { return }
    word.removeLast(rule.suffix.count)
  }

  /// Step 5.
  private static func removeFinalEOrL(_ word: inout StemmerBuffer) {
    let end = word.count - 1
    if word.ends(with: "e") {
      if end >= word.r2 || end >= word.r1 && !endsWithShortSyllable(word, before: end) {
        word.removeLast()
      }
    } else if word.ends(with: "ll"), end >= word.r2 {
      word.removeLast()
    }
  }
}
