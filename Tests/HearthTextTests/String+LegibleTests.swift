import Foundation
import TestSupport
import Testing

@testable import HearthText

/// Names that others have chosen, where people read them.
@Suite struct StringLegibleTests {
  @Test(arguments: [
    "books", "books/dune", "Bücher/Ærø", "книги", "本/沙丘", "كتب/الكثيب", "ספרים", "किताबें",
    "می\u{200C}خواهم",
    "🏜️", "👩‍👩‍👧", "e\u{301}", " ", "a b", "it's", "a\"b", "\\", "\u{A0}", "\u{E000}", "\u{378}",
  ])
  func `an ordinary name is written as it is`(name: String) {
    #expect(name.legible == name)
    #expect(name.escapingHidden() == name)
  }

  @Test(arguments: [
    ("", #""""#), ("\"a\"", #""\"a\"""#), ("\u{1B}[2J", #""\u001b[2J""#),
    ("\u{1B}]0;title\u{7}", #""\u001b]0;title\u0007""#), ("a\nb\tc\rd", #""a\nb\tc\rd""#),
    ("\u{0}", #""\u0000""#), ("\u{7F}", #""\u007f""#), ("\u{9B}31m", #""\u009b31m""#),
    ("\u{85}", #""\u0085""#), ("a\u{AD}b", #""a\u00adb""#), ("\u{61C}a", #""\u061ca""#),
    ("dune\u{202E}gpj", #""dune\u202egpj""#), ("\u{2066}a\u{2069}", #""\u2066a\u2069""#),
    ("\u{200B}a\u{200E}\u{200F}", #""\u200ba\u200e\u200f""#), ("\u{FEFF}a", #""\ufeffa""#),
    ("a\u{2028}b\u{2029}", #""a\u2028b\u2029""#), ("a\u{E0041}", #""a\udb40\udc41""#),
  ])
  func `a name that a terminal would act on is a JSON string`(name: String, written: String) {
    #expect(name.legible == written)
  }

  @Test func `no name reaches the terminal, and every name can be read back`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let ranges: [ClosedRange<UInt32>] = [
      0...0xFF, 0x600...0x610, 0x2000...0x2070, 0xFE00...0xFEFF, 0xFFF0...0xFFFD,
      0xE0000...0xE007F, 0x1F600...0x1F610, 0x61...0x7A, 0x22...0x22, 0...0x10FFFF,
    ]
    for _ in 0..<20_000 {
      var name = ""
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        let range = ranges[Int.random(in: 0..<ranges.count, using: &random)]
        if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) {
          name.unicodeScalars.append(scalar)
        }
      }
      let written = name.legible
      #expect(!written.unicodeScalars.contains(where: Self.acts), "seed \(seed)")
      #expect(!name.escapingHidden().unicodeScalars.contains(where: Self.acts), "seed \(seed)")
      guard written.utf8.first == UInt8(ascii: "\"") else {
        #expect(written.utf8.elementsEqual(name.utf8), "seed \(seed)")
        continue
      }
      guard case .string(let read) = try JSONReader.read(written) else {
        Issue.record("\(written) is not a string.")
        continue
      }
      #expect(read.utf8.elementsEqual(name.utf8), "seed \(seed)")
    }
  }

  /// What a terminal acts on, said in another way than the code does.
  private static func acts(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    return properties.generalCategory == .control || properties.isBidiControl
      || properties.generalCategory == .lineSeparator
      || properties.generalCategory == .paragraphSeparator
  }

  @Test func `JSON with escapes is the same JSON`() throws {
    let text = "{\"a\u{202E}\":[\"\u{9B}\u{7F}\u{FEFF}\u{E0041}é\"],\"b\":1}"
    let escaped = text.escapingHidden()
    #expect(escaped == #"{"a\u202e":["\u009b\u007f\ufeff\udb40\udc41é"],"b":1}"#)
    #expect(try JSONReader.read(escaped) == (try JSONReader.read(text)))
    #expect(try JSONReader.read(text).text == escaped)
  }

  @Test func `kept characters stay`() {
    #expect("a\tb\n\u{1B}".escapingHidden(except: ["\n", "\t"]) == "a\tb\n\\u001b")
    #expect("a\tb\n".escapingHidden(except: ["\n", "\t"]) == "a\tb\n")
  }
}
