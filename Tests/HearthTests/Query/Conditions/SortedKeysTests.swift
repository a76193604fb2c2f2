import TestSupport
import Testing

@testable import HearthEngine

@Suite
struct SortedKeysTests {
  @Test(arguments: 0..<50 as Range<UInt64>, [true, false])
  func `keys are distinct and in order, whatever order they come in`(seed: UInt64, sorted: Bool) {
    var random = SeededGenerator(seed: seed)
    var keys = (0..<Int.random(in: 0...100, using: &random)).map { _ in
      Value.integer(Int64.random(in: 0...60, using: &random)).componentKey
    }
    if sorted { keys.sort { UTF8Order.compare($0, $1) < 0 } }
    var collector = KeyCollector()
    for key in keys { collector.add(key) }
    let found = collector.finish()
    let expected = Set(keys).sorted { UTF8Order.compare($0, $1) < 0 }
    #expect(found.map { [UInt8]($0) } == expected)
    #expect(found.count == expected.count)
    var again = KeyCollector()
    for key in expected { again.add(key) }
    #expect(again.finish() == found)
    for number in Int64(-1)...61 {
      let key = Value.integer(number).componentKey
      #expect(key.withUnsafeBytes(found.contains) == expected.contains(key))
    }
    again.add([0xFE])
    #expect(again.finish() != found)
  }
}
