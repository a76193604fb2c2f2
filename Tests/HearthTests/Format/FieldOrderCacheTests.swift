import Testing

@testable import Hearth
@testable import HearthEngine

/// A writer that has seen a map's names before writes the same bytes as one that has not.
struct FieldOrderCacheTests {
  /// A map as it is written: names in their order, some without a value, some in turn maps.
  private indirect enum Item {
    case nothing, number(Int64)
    case map([(String, Item)])
    /// Written, taken back, and then the number.
    case again(String, Int64)
  }

  private static let names = ["a", "b", "ab", "ba", "abc", "title", "titles", "numberOfPages", "é"]

  private func fields(_ random: inout FormatGenerator, depth: Int) -> [(String, Item)] {
    (0..<random.below(7)).map { _ in
      let name = random.one(of: Self.names)
      switch random.below(depth > 0 ? 9 : 7) {
      case 0: return (name, .nothing)
      case 1: return (name, .again(random.one(of: Self.names), random.integer()))
      case 7, 8: return (name, .map(fields(&random, depth: depth - 1)))
      default: return (name, .number(random.integer()))
      }
    }
  }

  private func write(_ fields: [(String, Item)], to writer: DocumentWriter) {
    writer.beginMap()
    for (name, item) in fields {
      if case .again(let other, let number) = item {
        let mark = writer.mark()
        writer.field(other)
        writer.beginMap()
        writer.field(name)
        writer.rollBack(to: mark)
        writer.field(name)
        writer.integer(number)
        continue
      }
      writer.field(name)
      switch item {
      case .number(let number): writer.integer(number)
      case .map(let inner): write(inner, to: writer)
      case .nothing, .again: break
      }
    }
    writer.endMap()
  }

  private func bytes(_ fields: [(String, Item)], _ writer: DocumentWriter) throws -> [UInt8] {
    write(fields, to: writer)
    return try writer.finish().bytes
  }

  /// With other numbers, and now and then without one.
  private func like(
    _ fields: [(String, Item)], _ random: inout FormatGenerator
  ) -> [(String, Item)] {
    fields.map { name, item in
      switch item {
      case .map(let inner): return (name, .map(like(inner, &random)))
      case .number: return (name, random.below(20) == 0 ? .nothing : .number(random.integer()))
      case .nothing, .again: return (name, item)
      }
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `maps that come again are written as for the first time`(seed: UInt64) throws {
    var random = FormatGenerator(seed: seed)
    let experienced = DocumentWriter()
    defer { experienced.destroy() }
    let models = (0..<60).map { _ in fields(&random, depth: 2) }
    for _ in 0..<4_000 {
      let map = like(random.one(of: models), &random)
      let fresh = DocumentWriter()
      defer { fresh.destroy() }
      let expected = try bytes(map, fresh)
      let written = try bytes(map, experienced)
      if written != expected { Issue.record("seed \(seed): \(map)") }
      #expect(throws: Never.self) { try DocumentBody(validating: written) }
    }
  }

  @Test func `names that only differ in where they end are told apart`() throws {
    let writer = DocumentWriter()
    defer { writer.destroy() }
    // All the same to a hash of their beginnings.
    func alike(_ counts: [Int]) -> [String] { counts.map { String(repeating: "a", count: $0) } }
    let maps = [
      ["ab", "c"], ["a", "bc"], ["c", "ab"], ["abc"], ["bc", "a"], alike([9, 10]), alike([10, 9]),
      alike([11, 8]),
    ]
    for names in [maps, maps.reversed()].joined() {
      for round in 0..<3 {
        let map = names.enumerated().map { ($1, Item.number(Int64($0 + round))) }
        let body = DocumentBody(canonical: try bytes(map, writer))
        #expect(
          try body.map()
            == MapValue(names.enumerated().map { ($1, .integer(Int64($0 + round))) }))
        #expect(throws: Never.self) { try DocumentBody(validating: body.bytes) }
      }
    }
  }

  @Test func `wide maps and long names are written as others`() throws {
    let writer = DocumentWriter()
    defer { writer.destroy() }
    for count in [1, 24, 25, 127, 128, 256, 257, 300] {
      for names in [
        (0..<count).map { "field\($0)" }, (0..<count).reversed().map { "field\(10_000 + $0)" },
        (0..<count).map { "f\($0)" + String(repeating: "x", count: 60) },
      ] {
        for round in 0..<3 {
          let map = names.map { ($0, Item.number(Int64(round))) }
          let body = DocumentBody(canonical: try bytes(map, writer))
          #expect(try body.map() == MapValue(names.map { ($0, .integer(Int64(round))) }))
        }
      }
    }
  }
}
