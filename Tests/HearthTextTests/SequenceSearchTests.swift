import ProcessorTime
import TestSupport
import Testing

@testable import HearthText

@Suite struct SequenceSearchTests {
  @Test func `a sequence is found where a search at every place finds it`() {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2000 {
      let wanted = (0..<random.below(6)).map { _ in random.below(2) }
      let text = (0..<random.below(20)).map { _ in random.below(2) }
      let expected = (0...text.count).contains { text[$0...].starts(with: wanted) }
      #expect(SequenceSearch(wanted).isFound(in: text) == expected, "\(wanted) in \(text)")
    }
  }

  @Test func `a long repetition is found in linear time`() {
    let wanted = [Int](repeating: 1, count: 50_000) + [2]
    let start = ProcessorTime.ofThread
    #expect(!SequenceSearch(wanted).isFound(in: [Int](repeating: 1, count: 100_000)))
    #expect(ProcessorTime.ofThread - start < .seconds(20))
  }
}
