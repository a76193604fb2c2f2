/// A word while a stemmer changes it: one byte per letter, in ISO 8859-1.
///
///     ┌───────────┬─────────────────┬───────┐
///     │ zeros (8) │ letters (count) │ spare │
///     └───────────┴─────────────────┴───────┘
///
/// The zeros let a suffix be compared by one load of eight bytes. Letters are in lower case; a
/// stemmer marks letters for itself in upper case.
struct StemmerBuffer {
  /// Where the letters begin in the storage.
  static let letterOffset = 8
  /// For the longest word, which may grow by some letters while it is stemmed.
  static let capacity = letterOffset + WordTokenizer.maximumScalars + 8

  private let letters: UnsafeMutablePointer<UInt8>
  private(set) var count: Int
  /// Where the regions R1 and R2 begin. See `markRegions`.
  var r1: Int
  var r2: Int

  /// `storage` has `capacity` bytes, and begins with eight zeros.
  init(_ storage: UnsafeMutablePointer<UInt8>, count: Int) {
    letters = storage + Self.letterOffset
    self.count = count
    (r1, r2) = (count, count)
  }

  subscript(index: Int) -> UInt8 {
    get { letters[index] }
    nonmutating set { letters[index] = newValue }
  }

  /// The eight letters before `end`, the last one in the highest byte.
  @inline(__always)
  fileprivate func window(before end: Int) -> UInt64 {
    UInt64(littleEndian: UnsafeRawPointer(letters + end - 8).loadUnaligned(as: UInt64.self))
  }

  @inline(__always)
  func ends(with suffix: Affix) -> Bool { suffix.matches(window(before: count)) }

  /// Whether the letters before `end` end with `suffix`.
  @inline(__always)
  func ends(with suffix: Affix, before end: Int) -> Bool { suffix.matches(window(before: end)) }

  @inline(__always)
  func begins(with prefix: Affix) -> Bool {
    count >= prefix.count && prefix.matches(window(before: prefix.count))
  }

  mutating func removeLast(_ removed: Int = 1) { count -= removed }

  mutating func append(_ letter: UInt8) {
    letters[count] = letter
    count += 1
  }

  mutating func replaceLast(_ removed: Int, with suffix: Affix) {
    count -= removed
    for index in 0..<suffix.count { append(suffix[index]) }
  }

  /// Removes the first of `suffixes` that the word ends with, if it is in the region.
  mutating func remove(_ suffixes: Affix..., from region: Int) {
    guard let suffix = suffixes.first(where: { ends(with: $0) }) else { return }
    if count - suffix.count >= region { count -= suffix.count }
  }

  /// R1 is the region after the first non-vowel that follows a vowel. R2 is the same within R1.
  mutating func markRegions(isVowel: (UInt8) -> Bool) {
    r1 = regionStart(after: 0, isVowel)
    r2 = regionStart(after: r1, isVowel)
  }

  func regionStart(after start: Int, _ isVowel: (UInt8) -> Bool) -> Int {
    var index = start
    while index < count, !isVowel(letters[index]) { index += 1 }
    while index < count, isVowel(letters[index]) { index += 1 }
    return min(index + 1, count)
  }

  /// Turns the marks of the stemmer back into letters, and removes accents: the stem is ASCII.
  func removeMarksAndAccents() {
    for index in 0..<count {
      let letter = letters[index]
      if letter >= 0xE0 {
        letters[index] = Self.unaccented[Int(letter) - 0xE0]
      } else if letter &- 0x41 < 26 {
        letters[index] = letter | 0x20
      }
    }
  }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: letters, count: count) }

  /// The letters U+00E0…U+00FF without their accents. ß, æ, ð, ø and þ never get here: they are
  /// folded before.
  private static let unaccented = Array("aaaaaaaceeeeiiiidnooooo/ouuuuyty".utf8)
}

/// A suffix, a prefix or a short word: up to eight ASCII letters as one number.
struct Affix: ExpressibleByStringLiteral, Equatable {
  let count: Int
  /// The last letter in the highest byte.
  private let bits: UInt64

  init(_ text: Substring) {
    self.init(text.utf8)
  }

  @inline(__always)
  init(stringLiteral text: StaticString) {
    self.init(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inline(__always)
  private init(_ letters: some Collection<UInt8>) {
    precondition(letters.count <= 8, "An affix has more than eight letters. Split it.")
    count = letters.count
    bits = letters.reduce(0) { $0 >> 8 | UInt64($1) << 56 }
  }

  subscript(index: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: bits >> UInt64(8 * (8 - count + index)))
  }

  var last: UInt8 { UInt8(truncatingIfNeeded: bits >> 56) }

  @inline(__always)
  func matches(_ window: UInt64) -> Bool {
    (window ^ bits) >> UInt64(64 - 8 * count) == 0
  }
}

/// The suffixes of a step, longest first, each with its replacement.
struct SuffixTable: ExpressibleByDictionaryLiteral, Sendable {
  struct Rule {
    let suffix: Affix
    let replacement: Affix
  }

  private let rules: [Rule]
  /// One bit for each last letter: most words end with none of them.
  private let lastLetters: UInt32

  /// A key may hold several suffixes, with spaces between them.
  init(dictionaryLiteral elements: (String, Affix)...) {
    rules = elements.flatMap { suffixes, replacement in
      suffixes.split(separator: " ").map { Rule(suffix: Affix($0), replacement: replacement) }
    }.sorted { $0.suffix.count > $1.suffix.count }
    lastLetters = rules.reduce(0) { $0 | 1 << UInt32($1.suffix.last & 31) }
  }

  /// The rule of the longest suffix that the word ends with.
  func longestMatch(_ word: StemmerBuffer) -> Rule? {
    guard word.count > 0, lastLetters >> UInt32(word[word.count - 1] & 31) & 1 == 1 else {
      return nil
    }
    let window = word.window(before: word.count)
    return rules.first { $0.suffix.matches(window) }
  }
}
