/// The Snowball stemmer for German, by its published description:
/// https://snowballstem.org/algorithms/german/stemmer.html (Snowball 3, which includes "german2").
///
/// `u` and `y` between vowels are marked as `U` and `Y`. Folding has replaced ß by ss before.
enum GermanStemmer {
  private static func isVowel(_ letter: UInt8) -> Bool {
    EnglishStemmer.isVowel(letter) || letter == 0xE4 || letter == 0xF6 || letter == 0xFC
  }

  static func stem(_ word: inout StemmerBuffer) {
    markConsonants(word)
    replaceTranscriptions(&word)
    word.markRegions(isVowel: isVowel)
    word.r1 = max(word.r1, min(3, word.count))
    removeInflection(&word)
    removeVerbSuffix(&word)
    removeDerivationalSuffix(&word)
  }

  private static func markConsonants(_ word: StemmerBuffer) {
    guard word.count > 2 else { return }
    for index in 1..<word.count - 1
    where isVowel(word[index - 1]) && isVowel(word[index + 1])
      && (word[index] == UInt8(ascii: "u") || word[index] == UInt8(ascii: "y"))
    {
      word[index] &= ~0x20
    }
  }

  /// ae → ä, oe → ö, ue → ü unless after q.
  private static func replaceTranscriptions(_ word: inout StemmerBuffer) {
    var written = 0
    var index = 0
    while index < word.count {
      let letter = word[index]
      var umlaut: UInt8?
      if index + 1 < word.count, word[index + 1] == UInt8(ascii: "e") {
        switch letter {
        case UInt8(ascii: "a"): umlaut = 0xE4
        case UInt8(ascii: "o"): umlaut = 0xF6
        case UInt8(ascii: "u") where index == 0 || word[index - 1] != UInt8(ascii: "q"):
          umlaut = 0xFC
        default: break
        }
      }
      word[written] = umlaut ?? letter
      written += 1
      index += umlaut == nil ? 1 : 2
    }
    word.removeLast(word.count - written)
  }

  /// Folds ae to a, oe to o and ue to u by the rules above, as ä is folded to a: the foldings of
  /// "Mädchen" and "Maedchen" are equal. Returns the new count.
  ///
  /// A letter is left out or kept by the letters before it, so that the law of prefixes holds.
  static func foldTranscriptions(_ letters: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var written = 0
    var (last, lastButOne): (UInt8, UInt8) = (0, 0)
    for letter in letters {
      var isLeftOut = false
      if letter == UInt8(ascii: "e") {
        switch last {
        case UInt8(ascii: "a"), UInt8(ascii: "o"): isLeftOut = true
        case UInt8(ascii: "u"): isLeftOut = lastButOne != UInt8(ascii: "q") && !isVowel(lastButOne)
        default: break
        }
      }
      if !isLeftOut {
        letters[written] = letter
        written += 1
      }
      (last, lastButOne) = (letter, last)
    }
    return written
  }

  // MARK: Steps

  private static let inflections: SuffixTable = [
    "em ern er erin erinnen e en es s": "", "ln lns": "l",
  ]

  /// Step 1.
  private static func removeInflection(_ word: inout StemmerBuffer) {
    guard let rule = inflections.longestMatch(word) else { return }
    let end = word.count - rule.suffix.count
    guard end >= word.r1 else { return }
    if rule.suffix == "em", word.ends(with: "system") { return }
    if rule.suffix == "s", !"bdfghklmnrt".utf8.contains(word[end - 1]) { return }
    word.replaceLast(rule.suffix.count, with: rule.replacement)
    switch rule.suffix {
    case "e", "en", "es": if word.ends(with: "niss") { word.removeLast() }
    default: break
    }
  }

  private static let verbSuffixes: SuffixTable = ["en er est st et": ""]

  private static let etExceptions: [Affix] = ["geordn", "intern", "plan", "tick", "tr"]

  /// Step 2.
  private static func removeVerbSuffix(_ word: inout StemmerBuffer) {
    guard let rule = verbSuffixes.longestMatch(word) else { return }
    let end = word.count - rule.suffix.count
    guard end >= word.r1 else { return }
    if rule.suffix == "st" {
      guard end > 3, "bdfghklmnt".utf8.contains(word[end - 1]) else { return }
    } else if rule.suffix == "et" {
      guard "dfgklmnrstUz".utf8.contains(word[end - 1]) || word[end - 1] == 0xE4 else { return }
      if etExceptions.contains(where: { word.ends(with: $0, before: end) }) { return }
    }
    word.removeLast(rule.suffix.count)
  }

  private static let derivationalSuffixes: SuffixTable = [
    "end ung ig ik isch lich heit keit": ""
  ]

  /// Step 3.
  private static func removeDerivationalSuffix(_ word: inout StemmerBuffer) {
    guard let rule = derivationalSuffixes.longestMatch(word) else { return }
    let end = word.count - rule.suffix.count
    guard end >= word.r2 else { return }
    switch rule.suffix {
    case "end", "ung":
      word.removeLast(rule.suffix.count)
      if !word.ends(with: "eig") { word.remove("ig", from: word.r2) }
    case "ig", "ik", "isch":
      if word[end - 1] != UInt8(ascii: "e") { word.removeLast(rule.suffix.count) }
    case "lich", "heit":
      word.removeLast(rule.suffix.count)
      word.remove("er", "en", from: word.r1)
    default:
      word.removeLast(rule.suffix.count)
      word.remove("lich", "ig", from: word.r2)
    }
  }
}
