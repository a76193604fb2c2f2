import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// The component's bytes.
private func encode(_ value: Value, descending: Bool = false) -> [UInt8] {
  var buffer = KeyBuffer()
  buffer.append(value, descending: descending)
  return buffer.bytes
}

struct ValueKeyTests {
  @Test func `comparing components as bytes is comparing the values`() {
    var pairs = 0
    for seed in 1...1000 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let values = random.family(18)
      let reference = values.map(ReferenceOrder.terms)
      let ascending = values.map { encode($0) }
      let descending = values.map { encode($0, descending: true) }
      for left in values.indices {
        for right in values.indices[left...] {
          let order = ReferenceOrder.compare(reference[left], reference[right])
          if Value.compare(values[left], values[right]).signum() != order
            || compareBytes(ascending[left], ascending[right]) != order
            || compareBytes(descending[left], descending[right]) != -order
          {
            Issue.record("seed \(seed): \(values[left]) and \(values[right]), expected \(order)")
          }
          pairs += 1
        }
      }
    }
    #expect(pairs >= 100_000)
  }

  @Test func `components one after the other compare like their list`() {
    for seed in 1...400 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let directions = (0..<2 + random.generator.below(2)).map { _ in
        random.generator.one(in: 2)
      }
      // Two choices for each place, so that first components often tie.
      let choices = directions.map { _ in random.family(2) }
      let lists = (0..<12).map { _ in choices.map { random.generator.pick($0) } }
      let keys = lists.map { list in
        zip(list, directions).reduce(into: []) { $0 += encode($1.0, descending: $1.1) }
      }
      for left in lists.indices {
        for right in lists.indices[left...] {
          var order = 0
          for (index, descending) in directions.enumerated() where order == 0 {
            order = Value.compare(lists[left][index], lists[right][index]).signum()
            if descending { order = -order }
          }
          if compareBytes(keys[left], keys[right]) != order {
            Issue.record("seed \(seed): \(lists[left]) and \(lists[right]), \(directions)")
          }
        }
      }
    }
  }

  @Test func `integers and doubles around the powers of two interleave exactly`() {
    var numbers: [Value] = []
    for power in 50...63 {
      for offset in -2...2 as ClosedRange<Int64> {
        if power < 63 {
          numbers += [.integer((1 << power) + offset), .integer(-(1 << power) + offset)]
        }
        var double = Double(sign: .plus, exponent: power, significand: 1)
        if offset < 0 { double = double.nextDown } else if offset > 0 { double = double.nextUp }
        numbers += [.double(double), .double(-double)]
      }
    }
    numbers += (0...3).flatMap { [.integer(.max - $0), .integer(.min + $0)] as [Value] }
    let terms = numbers.map(ReferenceOrder.terms)
    let keys = numbers.map { encode($0) }
    for left in numbers.indices {
      for right in numbers.indices {
        let order = ReferenceOrder.compare(terms[left], terms[right])
        #expect(compareBytes(keys[left], keys[right]) == order)
        #expect(Value.compare(numbers[left], numbers[right]).signum() == order)
      }
    }
  }

  @Test func `a component gives back an equal value, and reading stops where it ends`() throws {
    for seed in 1...1500 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let value = random.value()
      for descending in [false, true] {
        let bytes = encode(value, descending: descending)
        try (bytes + [0xAB]).withUnsafeBytes { buffer in
          var reader = KeyReader(buffer)
          let decoded = try reader.readValue(descending: descending)
          var skipping = KeyReader(buffer)
          try skipping.skipValue(descending: descending)
          if Value.compare(decoded, value) != 0 || encode(decoded, descending: descending) != bytes
            || reader.offset != bytes.count || skipping.offset != bytes.count
          {
            Issue.record("seed \(seed): \(value) came back as \(decoded)")
          }
        }
      }
    }
  }

  @Test func `whole numbers come back as integers, others as doubles`() throws {
    let cases: [(Value, Value)] = [
      (.double(5), .integer(5)), (.double(-0.0), .integer(0)), (.integer(.max), .integer(.max)),
      (.double(0x1p63), .double(0x1p63)), (.double(-0x1p63), .integer(.min)),
      (.double(0.5), .double(0.5)), (.double(1e300), .double(1e300)),
    ]
    for (value, expected) in cases {
      let decoded = try encode(value).withUnsafeBytes { buffer in
        var reader = KeyReader(buffer)
        return try reader.readValue()
      }
      #expect(decoded == expected)
    }
  }

  @Test func `small numbers of both signs take three bytes`() {
    for number in [0, 1, 2, 3, 5, 7, 8, -1, -5] as [Int64] {
      #expect(encode(.integer(number)).count <= 3)
    }
    #expect(encode(.double(-0.5)).count <= 3)
    #expect(encode(.integer(.max)).count == 12)
  }

  @Test func `pieces make the same bytes as the value they are pieces of`() {
    var buffer = KeyBuffer()
    buffer.append(tag: .map)
    Array("a".utf8).withUnsafeBytes { buffer.appendName(utf8: $0) }
    buffer.append(tag: .reference)
    Array("books".utf8).withUnsafeBytes { buffer.append(idUTF8: $0) }
    Array("__id7__".utf8).withUnsafeBytes { buffer.append(idUTF8: $0) }
    buffer.appendTerminator()
    Array("b".utf8).withUnsafeBytes { buffer.appendName(utf8: $0) }
    buffer.beginVector(count: 1)
    buffer.append(ordered: 1.5)
    buffer.appendTerminator()
    let path = ResourcePath(["books", "__id7__"])
    let map = MapValue([("a", .reference(path)), ("b", .vector([1.5]))])
    #expect(buffer.bytes == encode(.map(map)))
  }

  @Test func `every class of values is the range of one tag`() {
    for seed in 1...500 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let value = random.value()
      #expect(encode(value).first == value.typeClass.rawValue, "seed \(seed)")
    }
  }

  @Test func `damaged components throw and are never read as something else`() throws {
    for seed in 1...20_000 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      var bytes = encode(random.value(depth: 2))
      for _ in 0...random.generator.below(2) {
        switch random.generator.below(4) {
        case 0 where !bytes.isEmpty: bytes.removeLast(1 + random.generator.below(bytes.count))
        case 1: bytes.append(UInt8(truncatingIfNeeded: random.generator.next()))
        case _ where !bytes.isEmpty:
          bytes[random.generator.below(bytes.count)] =
            random.generator.pick([
              0, 1, 2, 3, 50, 55, UInt8(truncatingIfNeeded: random.generator.next()),
            ])
        default: break
        }
      }
      bytes.withUnsafeBytes { buffer in
        var skipping = KeyReader(buffer)
        let end = (try? skipping.skipValue()).map { skipping.offset }
        var reader = KeyReader(buffer)
        do throws(Status) {
          let value = try reader.readValue()
          // The range of times is the caller's to check; everything else is told apart.
          if encode(value) != Array(buffer[..<reader.offset]) || end != reader.offset {
            Issue.record("seed \(seed): \(bytes) was read as \(value)")
          }
        } catch {
          if error.code != .dataLoss { Issue.record("seed \(seed): \(error)") }
        }
      }
    }
  }

  @Test(
    arguments: [
      ("nothing", []), ("unknown type", [0x06]), ("boolean 2", [0x0A, 2]),
      ("number without groups", [0x0F]), ("number that goes on", [0x0F, 0x81]),
      ("number with an empty last group", [0x0F, 0x81, 0]),
      ("number of 12 groups", [0x0F, 0xC3, 0xA1, 1, 1, 1, 1, 1, 1, 1, 1, 0x11, 2]),
      ("number beyond 74 bits", [0x0F, 0xC3, 0xA1, 1, 1, 1, 1, 1, 1, 1, 1, 0x12]),
      ("residual of a small number", [0x0F, 0xBF, 0xF9, 1, 1, 1, 1, 1, 1, 1, 1, 0x10]),
      ("residual that reaches the next double", [0x0F, 0xC3, 0xA1, 1, 1, 1, 1, 1, 1, 1, 1, 0x20]),
      ("number that is NaN", [0x0F, 0]), ("number above infinity", [0x0F, 0xFF, 0xFE]),
      ("short timestamp", [0x14, 0, 0, 0, 0, 0, 0, 0]), ("string without end", [0x19, 0x61]),
      ("unescaped byte", [0x19, 1, 0]), ("wrong escape", [0x19, 2, 4, 0]),
      ("escaped end", [0x19, 2, 0, 0]), ("text that is not UTF-8", [0x19, 0xC3, 0]),
      ("numeric id 0", [0x25, 1, 0x80, 0, 0, 0, 0, 0, 0, 0, 0]),
      ("numeric id as text", [0x25] + Array("__id7__".utf8) + [0, 0]),
      ("path without end", [0x25, 0x61, 0]), ("array without end", [0x32, 5]),
      ("vector without elements", [0x35, 0xFF, 0xFF, 0xFF, 0xFF]),
      ("map without a name", [0x37, 5, 0]), ("map without a value", [0x37, 1, 0x61, 0, 0]),
      ("map with a name twice", [0x37, 1, 0x61, 0, 5, 1, 0x61, 0, 5, 0]),
      ("map out of order", [0x37, 1, 0x62, 0, 5, 1, 0x61, 0, 5, 0]),
    ] as [(String, [UInt8])])
  func `what is never written is damage`(what: String, bytes: [UInt8]) {
    for descending in [false, true] {
      let stored = descending ? bytes.map { ~$0 } : bytes
      let error = #expect(throws: Status.self) {
        try stored.withUnsafeBytes { buffer in
          var reader = KeyReader(buffer)
          _ = try reader.readValue(descending: descending)
        }
      }
      #expect(error?.code == .dataLoss, "\(what)")
    }
  }

  @Test func `values nested to the limit are read, deeper ones are damage`() throws {
    var value = Value.integer(1)
    for _ in 0..<Limits.nesting { value = .map(MapValue([("a", value)])) }
    try encode(value).withUnsafeBytes { buffer in
      var reader = KeyReader(buffer)
      let decoded = try reader.readValue()
      #expect(decoded == value)
    }
    encode(.map(MapValue([("a", value)]))).withUnsafeBytes { buffer in
      var reader = KeyReader(buffer)
      #expect(throws: Status.self) { try reader.readValue() }
      var skipping = KeyReader(buffer)
      #expect(throws: Status.self) { try skipping.skipValue() }
    }
  }
}
