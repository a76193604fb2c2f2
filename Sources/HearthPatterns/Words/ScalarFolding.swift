import Foundation
import Synchronization

/// The word break property and the folding of every scalar, in a table that fills as scalars are
/// first read.
///
/// A page covers 256 scalars and is made of 32-bit words:
///
///     ┌───────────────┬─────────────────────────┐
///     │ entries (256) │ scalars of the foldings │
///     └───────────────┴─────────────────────────┘
///
/// The folding of a scalar is its compatibility decomposition (full width → ASCII, ligatures →
/// letters), in lower case as by full case folding (ß → ss), composed again. Accents, Hebrew and
/// Arabic points and scalars that are ignorable by default (soft hyphen, ZWNJ, variation selectors)
/// are removed. Other marks are kept: the vowel signs of Indic scripts, and が is not か.
///
/// Law: canonically equivalent words have equal foldings.
// Unchecked: a page is published once by an atomic pointer, is not changed after that, and is never
// freed.
final class ScalarFolding: @unchecked Sendable {
  /// Without accents: for the terms of the index.
  static let plain = ScalarFolding(keepsAccents: false)
  /// With accents: for stemmers that read them.
  static let accented = ScalarFolding(keepsAccents: true)

  private typealias Page = UnsafePointer<UInt32>

  struct Entry {
    fileprivate let word: UInt32
    fileprivate let page: UnsafePointer<UInt32>

    var wordBreak: WordBreak { WordBreak(rawValue: UInt8(word & 0xF)) ?? .other }
    /// Whether the folding may compose with what is before it: the word has to be composed.
    var composes: Bool { word & 0x10 != 0 }
    var scalars: UnsafeBufferPointer<UInt32> {
      UnsafeBufferPointer(start: page + Int(word >> 16), count: Int(word >> 8 & 0xFF))
    }
  }

  private static let pageCount = 0x110000 >> 8

  private let keepsAccents: Bool
  private let pages: UnsafeMutablePointer<Atomic<Page?>>

  init(keepsAccents: Bool) {
    self.keepsAccents = keepsAccents
    pages = .allocate(capacity: Self.pageCount)
    for index in 0..<Self.pageCount { (pages + index).initialize(to: Atomic(nil)) }
  }

  @inline(__always)
  subscript(value: UInt32) -> Entry {
    let page =
      pages[Int(value >> 8)].load(ordering: .acquiring) ?? publishPage(Int(value >> 8))
    return Entry(word: page[Int(value & 0xFF)], page: page)
  }

  /// Two threads may make the same page. The first one to publish it wins.
  @inline(never)
  private func publishPage(_ index: Int) -> Page {
    let page = makePage(index)
    let (exchanged, published) = pages[index].compareExchange(
      expected: nil, desired: page, ordering: .acquiringAndReleasing)
    if !exchanged { page.deallocate() }
    return published ?? page
  }

  private func makePage(_ index: Int) -> Page {
    var words = [UInt32](repeating: 0, count: 256)
    for low in 0..<256 {
      guard let scalar = Unicode.Scalar(UInt32(index << 8 | low)) else { continue }
      let wordBreak = WordBreak(scalar)
      guard wordBreak != .other else { continue }
      let folding = fold(scalar)
      var entry = UInt32(wordBreak.rawValue) | UInt32(folding.count) << 8
      entry |= UInt32(words.count) << 16
      if folding.contains(where: Self.mayCompose) { entry |= 0x10 }
      words[low] = entry
      words.append(contentsOf: folding.map(\.value))
    }
    let page = UnsafeMutablePointer<UInt32>.allocate(capacity: words.count)
    page.initialize(from: words, count: words.count)
    return Page(page)
  }

  // MARK: One scalar

  private func fold(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    var folded = String.UnicodeScalarView()
    for part in String(scalar).decomposedStringWithCompatibilityMapping.unicodeScalars {
      let properties = part.properties
      if properties.isDefaultIgnorableCodePoint || properties.isWhitespace { continue }
      if Self.isMark(part) {
        if keepsAccents || !Self.isAccent(part) { folded.append(part) }
      } else {
        folded.append(contentsOf: Self.foldBase(part).unicodeScalars)
      }
    }
    return Array(String(folded).precomposedStringWithCanonicalMapping.unicodeScalars)
  }

  /// The case folding, and letters that are written with others where a keyboard has no key for
  /// them and that have no decomposition.
  private static func foldBase(_ scalar: Unicode.Scalar) -> String {
    switch scalar.value {
    case 0x2018, 0x2019, 0x5F3: return "'"
    // Punctuation that is left out of a word: " · ״ ՟ ‧
    case 0x22, 0xB7, 0x55F, 0x5F4, 0x2027: return ""
    default: break
    }
    // Upper case in between: it folds ς to σ, ſ to s and ß to ss.
    func lower(_ text: String) -> String {
      text.unicodeScalars.map(\.properties.lowercaseMapping).joined()
    }
    let upper = lower(String(scalar)).unicodeScalars.map(\.properties.uppercaseMapping).joined()
    let folded = lower(upper)
    switch folded {
    case "æ": return "ae"
    case "œ": return "oe"
    case "ø": return "o"
    case "đ", "ð": return "d"
    case "ł": return "l"
    case "þ": return "th"
    case "ħ": return "h"
    default: return folded
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: false
    }
  }

  /// Whether a mark is an accent or a point, by its combining class: overlays, Hebrew and Arabic
  /// points, and marks above, below or at a base. Vowel signs, viramas and voicing marks have other
  /// classes.
  private static func isAccent(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.canonicalCombiningClass.rawValue {
    case 1, 10...36, 200...: true
    default: scalar.properties.generalCategory == .enclosingMark
    }
  }

  /// Marks, and the vowels and final consonants of Hangul.
  private static func mayCompose(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1160...0x11FF, 0xD7B0...0xD7FF: true
    default: isMark(scalar)
    }
  }
}
