import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct ValueViewOrderTests {
  @Test func `comparing stored values is comparing values`() throws {
    for seed in 0..<60 as Range<UInt64> {
      var random = RandomValues(seed: seed)
      let values = random.family(40)
      let stored = values.map(PinnedBytes.init(encoding:))
      for (value, bytes) in zip(values, stored) {
        #expect(try bytes.view.typeClass() == value.typeClass, "seed \(seed): \(value)")
        for (other, otherBytes) in zip(values, stored) {
          let expected = Value.compare(value, other).signum()
          let found = try ValueView.compare(bytes.view, otherBytes.view).signum()
          guard found == expected else {
            Issue.record("seed \(seed): \(value) and \(other) compare \(found), not \(expected)")
            return
          }
        }
      }
    }
  }

  @Test func `paths as text compare as paths do`() {
    var random = RandomValues(seed: 4)
    let paths = (0..<300).map { _ in random.documentPath() } + [.root]
    for path in paths {
      for other in paths {
        var (text, otherText) = (path.text, other.text)
        let found = text.withUTF8 { left in
          otherText.withUTF8 {
            ResourcePath.compare(
              text: UnsafeRawBufferPointer(left), UnsafeRawBufferPointer($0))
          }
        }
        #expect(found.signum() == ResourcePath.compare(path, other).signum())
      }
    }
  }

  @Test func `damaged values are told, and end no process`() {
    var random = RandomValues(seed: 9)
    for _ in 0..<400 {
      let bytes = PinnedBytes(encoding: random.value())
      var damaged = [UInt8](bytes.buffer)
      damaged[random.generator.below(damaged.count)] ^= UInt8(1 + random.generator.below(255))
      damaged.removeLast(random.generator.below(damaged.count))
      damaged.withUnsafeBytes {
        let view = ValueView(trusting: $0, in: nil)
        do {
          _ = try ValueView.compare(view, bytes.view)
          _ = try ValueView.compare(bytes.view, view)
        } catch {
          #expect((error as? Status)?.code == .dataLoss)
        }
      }
    }
  }

  @Test func `equal values hash alike`() {
    var random = RandomValues(seed: 2)
    let values = random.family(300)
    for value in values {
      for other in values where value == other { #expect(value.hashValue == other.hashValue) }
    }
    #expect(Set(values).count > 100)
    #expect(Value.double(-.nan) == .double(.nan))
    #expect(Value.double(-.nan).hashValue == Value.double(.nan).hashValue)
    #expect(Set<Value>([.integer(1), .double(1), .double(-0.0), .double(0)]).count == 4)
  }
}
