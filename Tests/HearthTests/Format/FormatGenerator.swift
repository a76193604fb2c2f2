import TestSupport

@testable import Hearth
@testable import HearthEngine

/// Random documents for the laws of the format, the same for the same seed.
struct FormatGenerator: RandomNumberGenerator {
  private var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  mutating func below(_ bound: Int) -> Int { generator.below(bound) }

  mutating func one<Element>(of choices: [Element]) -> Element { choices[below(choices.count)] }

  mutating func integer() -> Int64 {
    let edges: [Int64] = [0, 1, -1, 127, 128, -128, -129, 255, 256, .max, .min]
    if below(3) == 0 { return one(of: edges) }
    return Int64(bitPattern: next()) >> Int64(below(64))
  }

  mutating func double() -> Double {
    let edges: [Double] = [
      0, -0.0, 1, -1, 0.5, 0.1, .infinity, -.infinity, .greatestFiniteMagnitude,
      .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 16_777_217, 0x1p-126, 0x1p-149, 0x1p-150,
      Double(bitPattern: 0x7FF0_0000_0000_0001), Double(bitPattern: 0xFFFF_FFFF_FFFF_FFFF), .nan,
    ]
    switch below(4) {
    case 0: return one(of: edges)
    case 1: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: next())))
    case 2: return Double(bitPattern: next())
    default: return Double(integer()) / 100
    }
  }

  mutating func text(upTo limit: Int) -> String {
    let letters: [Character] = ["a", "b", "é", "e\u{301}", "ß", "漢", "😀", "\0", "~", "Z", "_", " "]
    return String((0..<below(limit + 1)).map { _ in one(of: letters) })
  }

  mutating func name() -> String {
    let known = ["a", "b", "ab", "title", "titles", "author", "a\0", "numberOfPages", "numberOf"]
    if below(2) == 0 { return one(of: known) }
    let text = text(upTo: below(20) == 0 ? 120 : 9)
    return text.isEmpty ? "x" : text
  }

  mutating func instant() -> Instant {
    let edges: [Instant] = [.earliest, .latest, Instant(microseconds: 0)]
    if below(4) == 0 { return one(of: edges) }
    let span = UInt64(Instant.latest.microseconds - Instant.earliest.microseconds)
    return Instant(
      microseconds: Instant.earliest.microseconds + Int64(next() % span) >> Int64(below(50)))
  }

  mutating func path() -> ResourcePath {
    ResourcePath((0..<2 * (1 + below(3))).map { _ in name() })
  }

  mutating func value(depthLeft: Int = 3) -> Value {
    switch below(depthLeft > 0 ? 15 : 13) {
    case 0: return .null
    case 1: return .boolean(below(2) == 0)
    case 2, 3: return .integer(integer())
    case 4, 5: return .double(double())
    case 6: return .timestamp(instant())
    case 7, 8: return .string(text(upTo: below(30) == 0 ? 200 : 30))
    case 9: return .bytes((0..<below(below(30) == 0 ? 300 : 9)).map { _ in UInt8(below(256)) })
    case 10: return .reference(path())
    case 11: return .geoPoint(Coordinate(latitude: double(), longitude: double()))
    case 12: return .vector((0..<below(below(30) == 0 ? 40 : 4)).map { _ in double() })
    case 13:
      let count = below(below(30) == 0 ? 200 : 4)
      return .array((0..<count).map { _ in value(depthLeft: count > 9 ? 0 : depthLeft - 1) })
    default: return .map(MapValue(fields(upTo: 4, depthLeft: depthLeft - 1)))
    }
  }

  /// In random order, and sometimes with a name twice.
  mutating func fields(upTo limit: Int, depthLeft: Int = 3) -> [(String, Value)] {
    let count = below(below(60) == 0 ? 60 : limit + 1)
    return (0..<count).map { _ in
      (name(), value(depthLeft: count > 20 ? 0 : depthLeft))
    }
  }
}
