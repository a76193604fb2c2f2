import TestSupport

@testable import Hearth
@testable import HearthEngine

/// Values of every type, small, and close to one another where order and equality are hard.
struct RandomValues {
  var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// - Parameter depth: how many arrays and maps the value may have inside each other.
  mutating func value(depth: Int = 3) -> Value {
    switch generator.below(depth > 0 ? 20 : 14) {
    case 0: .null
    case 1: .boolean(generator.one(in: 2))
    case 2, 3, 4: .integer(integer())
    case 5, 6, 7: .double(double())
    case 8: .timestamp(instant())
    case 9, 10: .string(string())
    case 11: .bytes(bytes())
    case 12: .reference(documentPath())
    case 13: .geoPoint(Coordinate(latitude: degrees(90), longitude: degrees(180)))
    case 14, 15, 16: array(depth: depth - 1)
    case 17: .vector((0..<generator.below(4)).map { _ in double() })
    default: .map(map(depth: depth - 1))
    }
  }

  private mutating func array(depth: Int) -> Value {
    .array(
      (0..<generator.below(4)).map { _ in
        // Firestore has no array directly in an array.
        let element = value(depth: depth)
        if case .array = element { return .null }
        return element
      })
  }

  mutating func map(depth: Int = 2) -> MapValue {
    MapValue((0..<generator.below(4)).map { _ in (fieldName(), value(depth: depth)) })
  }

  mutating func fieldName() -> String {
    generator.one(in: 4) ? "n" + string() : generator.pick(["a", "b", "aa", "a\u{0}", "ab", "é"])
  }

  mutating func integer() -> Int64 {
    let near = Int64(generator.below(7)) - 3
    switch generator.below(5) {
    case 0: return near
    case 1:
      let power =
        Int64(1) << (generator.one(in: 2) ? 53 + generator.below(10) : generator.below(63))
      return generator.one(in: 2) ? power &+ near : 0 &- power &+ near
    case 2: return generator.one(in: 2) ? Int64.max - abs(near) : Int64.min + abs(near)
    case 3: return Int64(truncatingIfNeeded: generator.next()) >> generator.below(64)
    default: return Int64(generator.below(2000)) - 1000
    }
  }

  mutating func double() -> Double {
    switch generator.below(8) {
    case 0:
      return generator.pick([
        0, -0.0, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
        .leastNormalMagnitude, -.leastNormalMagnitude, .greatestFiniteMagnitude, 0x1p53, 0x1p63,
        -0x1p63, 0x1p64,
      ])
    case 1, 2: return Double(integer())
    case 3:
      let near = Double(integer())
      return generator.one(in: 2) ? near.nextUp : near.nextDown
    case 4: return Double(integer()) / 2
    case 5: return Double(bitPattern: generator.next() >> UInt64(generator.below(64)))
    case 6: return Double(bitPattern: generator.next())
    default: return Double(generator.below(200) - 100) / 10
    }
  }

  mutating func instant() -> Instant {
    let span = UInt64(Instant.latest.microseconds - Instant.earliest.microseconds)
    switch generator.below(4) {
    case 0: return generator.pick([.earliest, .latest])
    case 1: return Instant(microseconds: Int64(generator.below(5)) - 2)
    default:
      return Instant(
        microseconds: Instant.earliest.microseconds + Int64(generator.next() % (span + 1)))
    }
  }

  /// Often the start of another, sometimes long, with all that needs escaping.
  mutating func string() -> String {
    var string = generator.one(in: 12) ? String(repeating: "long prefix ", count: 60) : ""
    let pieces = [
      "", "a", "a", "b", "ab", "A", "0", "\u{0}", "\u{1}", "\u{2}", "\u{3}", "é", "e\u{301}",
      "\u{FFFF}", "\u{10000}", "🦔", "~", "/", "some words", "eight by",
    ]
    for _ in 0..<generator.below(5) { string += generator.pick(pieces) }
    return string
  }

  mutating func bytes() -> [UInt8] {
    if generator.one(in: 12) { return [UInt8](repeating: 0xFF, count: 600) + [0, 1] }
    return (0..<generator.below(6)).map { _ in
      generator.pick([
        0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF, UInt8(truncatingIfNeeded: generator.next()),
      ])
    }
  }

  private mutating func degrees(_ bound: Int) -> Double {
    switch generator.below(3) {
    case 0: return generator.pick([0, -0.0, 1, -1, Double(bound), -Double(bound)])
    case 1: return Double(generator.below(2 * bound + 1) - bound)
    default: return Double.random(in: -Double(bound)...Double(bound), using: &generator)
    }
  }

  mutating func collectionPath() -> ResourcePath {
    var path = ResourcePath([id()])
    while generator.one(in: 2), path.segments.count < 7 {
      path = path.appending(id()).appending(id())
    }
    return path
  }

  mutating func documentPath() -> ResourcePath { collectionPath().appending(id()) }

  /// Few different ones, so that paths share their beginnings.
  mutating func id() -> String {
    switch generator.below(24) {
    case 0: "__id\(generator.pick([1, 2, 10, -1, Int64.min, Int64.max, integer() | 1]))__"
    case 1: "x" + string().split(separator: "/").joined()
    case 2:
      generator.pick(["\u{0}", "\u{1}", "_", "a\u{0}", "a\u{1}", "é", "e\u{301}", "__id0__", "~"])
    case 3: String(repeating: "i", count: 300 + generator.below(3))
    default: generator.pick(["a", "b", "c", "ab", "books"])
    }
  }

  /// The same, or something close to it: the pairs that random choice would never meet.
  mutating func neighbour(of value: Value) -> Value {
    switch value {
    case .integer(let number):
      switch generator.below(3) {
      case 0: return .integer(number &+ Int64(generator.below(3)) &- 1)
      case 1: return .double(Double(number))
      default:
        return .double(generator.one(in: 2) ? Double(number).nextUp : Double(number).nextDown)
      }
    case .double(let number):
      switch generator.below(4) {
      case 0: return .double(number.nextUp)
      case 1: return .double(-number)
      case 2: return Int64(exactly: number.rounded()).map(Value.integer) ?? value
      default: return .double(number.nextDown)
      }
    case .timestamp(let time):
      let near = Instant(microseconds: time.microseconds &+ Int64(generator.below(3)) &- 1)
      return .timestamp(min(max(near, .earliest), .latest))
    case .string(let string):
      return .string(string + generator.pick(["", "\u{0}", "\u{1}", "a", "\u{FFFF}", "\u{10000}"]))
    case .bytes(let bytes):
      return .bytes(bytes + generator.pick([[], [0], [1], [0xFF], [0, 0]]))
    case .reference(let path):
      return .reference(generator.one(in: 2) ? path.parent.appending(id()) : path.appending(id()))
    case .array(var elements):
      if !elements.isEmpty, generator.one(in: 2) {
        let index = generator.below(elements.count)
        elements[index] = neighbour(of: elements[index])
      } else if !elements.isEmpty, generator.one(in: 2) {
        elements.removeLast()
      } else {
        elements.append(self.value(depth: 0))
      }
      return .array(elements)
    case .vector(var components):
      if !components.isEmpty, generator.one(in: 2) {
        components[components.count - 1] = components[components.count - 1].nextUp
      } else {
        components.append(double())
      }
      return .vector(components)
    case .map(let map):
      var fields = map.fields.map { ($0.name, $0.value) }
      if !fields.isEmpty, generator.one(in: 2) {
        let index = generator.below(fields.count)
        fields[index].1 = neighbour(of: fields[index].1)
      } else {
        fields.append((fieldName(), self.value(depth: 0)))
      }
      return .map(MapValue(fields))
    case .geoPoint(let point):
      return .geoPoint(Coordinate(latitude: point.latitude, longitude: point.longitude.nextUp))
    case .null, .boolean: return self.value(depth: 0)
    }
  }

  /// Some unrelated values, and several neighbours of each.
  mutating func family(_ count: Int) -> [Value] {
    var values: [Value] = []
    while values.count < count {
      values.append(
        values.isEmpty || generator.one(in: 3) ? value() : neighbour(of: generator.pick(values)))
    }
    return values
  }
}
