import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

struct KeyBufferValueViewTests {
  @Test func `stored bytes make the key their value makes, and the identity says what is lost`()
    throws
  {
    var unknown = 0
    for seed in 1...3000 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let value = random.value()
      let isDescending = random.generator.one(in: 2)
      guard let pin = try? DocumentBody(encoding: MapValue([("a", value)])) else { continue }
      try pin.withView { (map: MapView) throws(Status) in
        guard let view = try map.value(named: "a") else { return }
        // What is stored: every NaN is one.
        let stored = try view.value()
        var expected = KeyBuffer()
        expected.append(stored, descending: isDescending)
        var key = KeyBuffer()
        let identity = try key.append(view, descending: isDescending)
        #expect(key.bytes == expected.bytes, "seed \(seed)")
        var reader = KeyReader(key.buffer)
        let read = try reader.readValue(descending: isDescending)
        #expect(identity == .unknown || identity.value(read) == stored, "seed \(seed): \(stored)")
        #expect((identity == .exact) == (read == stored), "seed \(seed): \(stored)")
        if identity == .unknown { unknown += 1 }
      }
    }
    #expect(unknown > 0)
  }

  @Test func `an entry's value holds two bits for each component, in the fewest bytes`() throws {
    for seed in 1...300 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      var identities = EntryIdentities()
      var expected = [KeyIdentity](repeating: .exact, count: 40)
      for _ in 0..<random.below(6) {
        let component = random.below(40)
        let identity = random.pick([KeyIdentity.exact, .double, .negativeZero, .unknown])
        identities[component] = identity
        expected[component] = identity
      }
      for component in 32..<40 { expected[component] = .unknown }
      var buffer = KeyBuffer()
      identities.append(to: &buffer)
      #expect(buffer.count == identities.byteCount)
      #expect(buffer.bytes.last != 0)
      let read = try EntryIdentities(buffer.buffer)
      #expect(read == identities, "seed \(seed)")
      #expect((0..<40).map { read[$0] } == expected, "seed \(seed)")
    }
    for wrong: [UInt8] in [[0], [1, 0], [UInt8](repeating: 1, count: 9)] {
      #expect(throws: Status.self) { try wrong.withUnsafeBytes { try EntryIdentities($0) } }
    }
  }

  @Test func `numbers of indexes order as they do, in the fewest bytes`() throws {
    let numbers: [UInt32] = [0, 1, 239, 240, 255, 256, 65_535, 65_536, 1 << 24, .max]
    let keys = numbers.map(KeyLayout.indexKey)
    #expect(keys.map(\.count) == [1, 1, 1, 2, 2, 3, 3, 4, 5, 5])
    for (one, next) in zip(keys, keys.dropFirst()) { #expect(compareBytes(one, next) < 0) }
    for (number, key) in zip(numbers, keys) {
      #expect(try key.withUnsafeBytes(KeyLayout.index) == number)
      #expect(!keys.contains { $0 != key && $0.starts(with: key) })
    }
    for wrong: [UInt8] in [
      [], [0xF0], [0xF0, 1], [0xF1, 0, 0xFF], [0xF4, 1, 1, 1, 1, 1], [1, 1],
    ] {
      #expect(throws: Status.self) { try wrong.withUnsafeBytes(KeyLayout.index) }
    }
  }
}
