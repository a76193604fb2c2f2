import ProcessorTime
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct TextTestTests {
  private func passes(
    _ kind: StructuredQuery.Comparison.Operator, _ operand: String, _ text: String
  ) throws -> Bool {
    let comparison = StructuredQuery.Comparison(
      field: FieldSegments(["a"]), operator: kind, operand: .string(operand))
    let test = try #require(TextTest(comparison))
    var text = text
    return text.withUTF8 { test.passes(UnsafeRawBufferPointer($0)) }
  }

  @Test func `text is compared by its bytes, and case by Unicode`() throws {
    #expect(try passes(.hasPrefix, "Du", "Dune"))
    #expect(try !passes(.hasPrefix, "du", "Dune"))
    #expect(try !passes(.hasPrefix, "Dune 2", "Dune"))
    #expect(try passes(.hasSuffix, "ne", "Dune") && passes(.hasSuffix, "", "Dune"))
    // Canonically equivalent, and other bytes.
    #expect(try !passes(.hasPrefix, "é", "e\u{301}t"))
    #expect(try passes(.equalsIgnoringCase, "ÉTÉ", "été"))
    #expect(try passes(.equalsIgnoringCase, "ΟΔΟΣ", "οδος") == ("ΟΔΟΣ".lowercased() == "οδος"))
    #expect(try !passes(.equalsIgnoringCase, "ete", "été"))
  }

  @Test func `a part is found wherever it is, in time that grows with the text`() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<20_000 {
      let text = (0..<random.below(12)).map { _ in random.pick(["a", "b", "é"]) }.joined()
      let part = (0..<random.below(5)).map { _ in random.pick(["a", "b", "é"]) }.joined()
      let (bytes, wanted) = (Array(text.utf8), Array(part.utf8))
      let expected = (0...bytes.count).contains { bytes[$0...].starts(with: wanted) }
      #expect(try passes(.containsText, part, text) == expected, "\(part) in \(text)")
    }
    let long = String(repeating: "a", count: 1 << 20)
    let began = ProcessorTime.ofThread
    #expect(try !passes(.containsText, String(repeating: "a", count: 1 << 19) + "b", long))
    // Comparing at each position would take minutes.
    #expect(ProcessorTime.ofThread - began < .seconds(30))
  }
}
