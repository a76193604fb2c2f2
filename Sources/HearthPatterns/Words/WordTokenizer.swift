import Foundation
internal import HearthText

/// Divides text into the words of a full-text index, folds them and reduces them to stems.
///
///     "Runners’ naïve café, 3.14"
///       │        │     │     │
///       ▼        ▼     ▼     ▼
///     runner   naiv   cafe  3.14    stems, which queries look up
///     runners  naive                full forms, which prefix searches read, too
///     0        1      2     3       positions
///
/// Word boundaries are those of UAX #29 without a dictionary: "can't", "3.14", "1,000", "foo_bar"
/// and "e.g" are words, each Han and Hiragana character is one, a run of Katakana is one, and so is a
/// run of Thai, Lao, Khmer or Myanmar letters. Emoji and other symbols are not words. A colon ends a
/// word.
///
/// Words are folded as `ScalarFolding` describes, without `_` at their ends. A folded word of more
/// than `maximumScalars` scalars is cut to that length.
package struct WordTokenizer: Sendable {
  /// The form of a word that `forEachWord` passes.
  // On disk. Changing a raw value changes the file format.
  package enum Form: UInt8, Sendable {
    /// The stem. Without stemming, the folded word.
    case stem = 0
    /// The folded word. Passed after the stem, and only if the two differ.
    case full = 1
  }

  static let maximumScalars = 64

  package let language: WordLanguage
  /// Off only in tests, to compare the two paths.
  var readsASCIIByBytes = true

  package init(_ language: WordLanguage) { self.language = language }

  /// Calls `body` with each word of the text in order, as UTF-8 bytes that are valid during the
  /// call, with its form and its position. Positions count words: 0, 1, 2, …
  ///
  /// A word is looked up and ranked by its `.stem`. A prefix search reads the terms of both forms
  /// that begin with `foldedPrefix(_:)`:
  ///
  ///     connecti  →  .full "connection", "connections"
  ///     comput    →  .stem "comput", .full "computer", "computing"
  ///
  /// It finds every word that begins with the prefix, because the folded word is a term of one of
  /// the forms. It also finds words of which only the stem begins with the prefix: "happy", whose
  /// stem is "happi", for "happi".
  ///
  /// Bytes that are not UTF-8 end a word.
  package func forEachWord(
    in text: UnsafeRawBufferPointer,
    _ body: (_ word: UnsafeRawBufferPointer, _ position: Int, _ form: Form) throws -> Void
  ) rethrows {
    try WordScanner.withScanner(text, self) { scanner in
      var position = 0
      while scanner.next() {
        if let stem = scanner.stem() {
          try body(stem, position, .stem)
          if !stem.elementsEqual(scanner.full) { try body(scanner.full, position, .full) }
        } else {
          try body(scanner.full, position, .stem)
        }
        position += 1
      }
    }
  }

  /// The stems of the words of `text`, in order.
  package func words(in text: String) -> [String] {
    var words: [String] = []
    forEachWord(in: text) { word, _, form in
      if form == .stem { words.append(String(decoding: word, as: UTF8.self)) }
    }
    return words
  }

  /// The last word of `text`, folded and not stemmed: the operand of a prefix search. Empty if
  /// `text` has no word.
  ///
  /// Law: the folding of a beginning of a word is a beginning of the folding of the word, if the
  /// beginning ends between characters.
  package func foldedPrefix(_ text: String) -> String {
    var last: [UInt8] = []
    // The full form is passed last.
    forEachWord(in: text) { word, _, _ in last = Array(word) }
    return String(decoding: last, as: UTF8.self)
  }

  private func forEachWord(
    in text: String, _ body: (UnsafeRawBufferPointer, Int, Form) -> Void
  ) {
    var text = text
    text.withUTF8 { forEachWord(in: UnsafeRawBufferPointer($0), body) }
  }
}

/// Finds the words of a text, one after the other.
private struct WordScanner {
  private let text: UnsafeRawBufferPointer
  private let language: WordLanguage
  private let readsASCIIByBytes: Bool
  private var index = 0

  /// The scalars of the word, folded.
  private let scalars: UnsafeMutablePointer<UInt32>
  /// The word, folded, in UTF-8.
  private let folded: UnsafeMutablePointer<UInt8>
  private var foldedCount = 0
  /// The letters of the word, before they are stemmed, and then the stem.
  private let stemmerStorage: UnsafeMutablePointer<UInt8>
  /// The letters in `stemmerStorage`. Nil if the word is not stemmed.
  private var letterCount: Int?

  private static let limit = WordTokenizer.maximumScalars

  static func withScanner(
    _ text: UnsafeRawBufferPointer, _ tokenizer: WordTokenizer,
    _ body: (inout WordScanner) throws -> Void
  ) rethrows {
    try withUnsafeTemporaryAllocation(of: UInt32.self, capacity: limit) { scalars in
      let byteCount = 4 * limit + StemmerBuffer.capacity
      try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { bytes in
        bytes.initialize(repeating: 0)
        guard let first = scalars.baseAddress, let storage = bytes.baseAddress else { return }
        var scanner = WordScanner(
          text: text, language: tokenizer.language, readsASCIIByBytes: tokenizer.readsASCIIByBytes,
          scalars: first, folded: storage + StemmerBuffer.capacity, stemmerStorage: storage)
        try body(&scanner)
      }
    }
  }

  /// The folded word. Valid until `next` is called.
  var full: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: folded, count: foldedCount) }

  /// The stem of the word. Nil if it is the folded word, because the word is not stemmed: by the
  /// language, or because it has letters beyond ISO 8859-1.
  func stem() -> UnsafeRawBufferPointer? {
    guard let letterCount else { return nil }
    var word = StemmerBuffer(stemmerStorage, count: letterCount)
    language.stem(&word)
    word.removeMarksAndAccents()
    return word.bytes
  }

  /// Finds the next word. False at the end of the text.
  mutating func next() -> Bool {
    while index < text.count {
      let byte = text[index]
      if byte < 0x80, !byte.isASCIIWord {
        index += 1
        continue
      }
      foldedCount = 0
      letterCount = nil
      if !(byte < 0x80 && readsASCIIByBytes && scanASCII()) { scanScalars() }
      if foldedCount > 0 {
        foldedCount = language.fold(UnsafeMutableBufferPointer(start: folded, count: foldedCount))
        return true
      }
    }
    return false
  }

  // MARK: ASCII

  /// Reads a word of ASCII bytes at `index`. False, and nothing is read, if the word has other
  /// scalars.
  ///
  /// Law: finds and folds the same words as `scanScalars`.
  private mutating func scanASCII() -> Bool {
    var end = index
    var count = 0
    // Without `_` at the end.
    var trimmedCount = 0
    while true {
      while end < text.count {
        let byte = text[end]
        // Most bytes are letters.
        let lower = byte | 0x20
        if lower &- 0x61 < 26 {
          end &+= 1
          if count < Self.limit {
            folded[count] = lower
            count &+= 1
          }
          trimmedCount = count
          continue
        }
        guard byte.isASCIIWord else { break }
        end &+= 1
        if count < Self.limit, count > 0 || byte != UInt8(ascii: "_") {
          folded[count] = byte
          count &+= 1
        }
        if byte != UInt8(ascii: "_") { trimmedCount = count }
      }
      guard end < text.count else { break }
      let middle = text[end]
      if middle >= 0x80 {
        guard wordBreak(at: end).wordBreak == .other else { return false }
        break
      }
      guard end + 1 < text.count else { break }
      let (before, after) = (text[end - 1], text[end + 1])
      // A mark may follow, and a letter that the punctuation joins.
      if after >= 0x80, Self.joins(before, before, over: middle) { return false }
      guard Self.joins(before, after, over: middle) else { break }
      if count < Self.limit {
        folded[count] = middle
        count += 1
      }
      end += 1
    }
    index = end
    foldedCount = trimmedCount
    if language != .none { copyFoldedLetters() }
    return true
  }

  private static func joins(_ before: UInt8, _ after: UInt8, over middle: UInt8) -> Bool {
    switch middle {
    case UInt8(ascii: "."), UInt8(ascii: "'"):
      before.isASCIILetter && after.isASCIILetter || before.isASCIIDigit && after.isASCIIDigit
    case UInt8(ascii: ","), UInt8(ascii: ";"): before.isASCIIDigit && after.isASCIIDigit
    default: false
    }
  }

  // MARK: Scalars

  private func wordBreak(at offset: Int) -> (wordBreak: WordBreak, byteCount: Int) {
    let (value, byteCount) = text.scalar(at: offset)
    return (ScalarFolding.plain[value].wordBreak, byteCount)
  }

  /// Reads the word at `index`, or moves past the scalars there if they are no word.
  private mutating func scanScalars() {
    var (last, byteCount) = wordBreak(at: index)
    var start = index
    index += byteCount
    guard last.isWordCharacter || last == .extendNumLet else { return }
    // Where the word ends without what follows its last letter or digit.
    var end = last.isWordCharacter ? index : start
    // Punctuation that belongs to the word if what follows does.
    var middle: WordBreak?
    var ahead = index
    while ahead < text.count {
      let offset = ahead
      let (next, byteCount) = wordBreak(at: offset)
      ahead += byteCount
      if next == .extend {
        if middle != nil { continue }
      } else if let over = middle {
        guard last.joins(next, over: over) else { break }
        middle = nil
        last = next
      } else if last.joins(next) {
        if end == start, next.isWordCharacter { start = offset }
        last = next
      } else {
        guard next.isMiddle else { break }
        middle = next
        continue
      }
      index = ahead
      if last.isWordCharacter { end = ahead }
    }
    if end > start { fold(start..<end) }
  }

  private mutating func fold(_ range: Range<Int>) {
    for value in UnsafeBufferPointer(start: scalars, count: fold(range, by: .plain)) {
      if value < 0x80 {
        folded[foldedCount] = UInt8(truncatingIfNeeded: value)
        foldedCount += 1
      } else if let scalar = Unicode.Scalar(value) {
        for byte in scalar.utf8 {
          folded[foldedCount] = byte
          foldedCount += 1
        }
      }
    }
    if language.stemsAccentedLetters {
      let count = fold(range, by: .accented)
      copyLetters(UnsafeBufferPointer(start: scalars, count: count), upTo: 0xFF)
    } else if language != .none {
      copyFoldedLetters()
    }
  }

  /// Folds the scalars in `range` into `scalars`. Returns their count, at most `limit`.
  private func fold(_ range: Range<Int>, by folding: ScalarFolding) -> Int {
    var count = 0
    var offset = range.lowerBound
    while offset < range.upperBound {
      let (value, byteCount) = text.scalar(at: offset)
      let entry = folding[value]
      if entry.composes { return foldComposing(range, by: folding) }
      for scalar in entry.scalars {
        if count == Self.limit { return count }
        scalars[count] = scalar
        count += 1
      }
      offset += byteCount
    }
    return count
  }

  /// As `fold(_:by:)`, for a word with marks that may compose with letters before them.
  private func foldComposing(_ range: Range<Int>, by folding: ScalarFolding) -> Int {
    var word = String.UnicodeScalarView()
    var offset = range.lowerBound
    var count = 0
    // Composition leaves at least as many scalars as do not compose with others.
    var uncomposedCount = 0
    // Normalization takes quadratic time in a run of marks. No text has as many as this lets pass.
    while offset < range.upperBound, uncomposedCount <= Self.limit, count < 8 * Self.limit {
      let (value, byteCount) = text.scalar(at: offset)
      let entry = folding[value]
      for value in entry.scalars {
        if let scalar = Unicode.Scalar(value) { word.append(scalar) }
      }
      count += entry.scalars.count
      if !entry.composes { uncomposedCount += entry.scalars.count }
      offset += byteCount
    }
    count = 0
    let composed = String(word).precomposedStringWithCanonicalMapping.unicodeScalars
    for scalar in composed.prefix(Self.limit) {
      scalars[count] = scalar.value
      count += 1
    }
    return count
  }

  // MARK: Both

  private mutating func copyFoldedLetters() {
    copyLetters(UnsafeBufferPointer(start: folded, count: foldedCount), upTo: 0x7F)
  }

  /// Copies the letters for the stemmer, unless one of them is beyond `greatest`.
  @inline(__always)
  private mutating func copyLetters<Letter: UnsignedInteger>(
    _ letters: UnsafeBufferPointer<Letter>, upTo greatest: Letter
  ) {
    var count = 0
    for letter in letters {
      guard letter <= greatest else { return }
      stemmerStorage[StemmerBuffer.letterOffset + count] = UInt8(truncatingIfNeeded: letter)
      count += 1
    }
    letterCount = count
  }
}
