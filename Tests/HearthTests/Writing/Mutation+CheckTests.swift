import Testing

@testable import Hearth
@testable import HearthEngine

struct MutationCheckTests {
  /// Values at the limits and beyond them.
  private struct HostileValues {
    var random: RandomValues

    mutating func value(depth: Int) -> Value {
      switch random.generator.below(depth > 0 ? 16 : 8) {
      case 0, 1: return .integer(random.integer())
      case 2:
        return .string(String(repeating: "x", count: random.generator.pick([0, 62, 64, 70_000])))
      case 3:
        let edge = random.generator.pick([Instant.earliest, .latest]).microseconds
        return .timestamp(
          Instant(microseconds: edge + Int64(random.generator.pick([-1, 0, 1]))))
      case 4:
        let latitude = random.generator.pick([-90.0, 90, 90.1, .nan])
        let longitude = random.generator.pick([-180.0, 180, -180.1, .infinity])
        return .geoPoint(Coordinate(latitude: latitude, longitude: longitude))
      case 5:
        let ids = random.generator.pick([
          ["a"], ["a", "b"], ["a", "__b__"], ["a", "b", "c", "."],
        ])
        return .reference(ResourcePath(ids))
      case 6:
        return .vector(
          Array(
            repeating: random.generator.pick([0, 1, .nan]),
            count: random.generator.pick([0, 1, 2048, 2049])))
      case 7:
        return .bytes(random.bytes())
      case 8, 9, 10:
        return .array((0..<random.generator.below(3)).map { _ in value(depth: depth - 1) })
      default: return .map(map(depth: depth - 1))
      }
    }

    mutating func map(depth: Int) -> MapValue {
      MapValue((0..<(1 + random.generator.below(2))).map { _ in (name(), value(depth: depth)) })
    }

    private mutating func name() -> String {
      if random.generator.one(in: 2) { return random.generator.pick(["a", "b", "é"]) }
      return random.generator.pick([
        "", "_", "_a", "__a__", "__", String(repeating: "n", count: 69),
        String(repeating: "n", count: 70), String(repeating: "n", count: 71),
        String(repeating: "n", count: 750), String(repeating: "n", count: 1500),
        String(repeating: "n", count: 1501), "`", "a.b",
      ])
    }
  }

  private func fault(_ check: () throws(Status) -> Void) -> String? {
    do throws(Status) {
      try check()
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `what a writer lets through without a walk, the walk would let through`() throws {
    var passed = 0
    var refused = 0
    for seed in 1...4000 as ClosedRange<UInt64> {
      var values = HostileValues(random: RandomValues(seed: seed))
      // Up to more maps in each other than Firestore takes.
      let depth = values.random.generator.pick([0, 2, 4, 19, 20, 21])
      let nested = (0..<(depth > 4 ? depth : 0)).reduce(values.value(depth: 2)) { inner, _ in
        .map(
          MapValue([
            (values.random.generator.pick(["a", String(repeating: "n", count: 70)]), inner)
          ]))
      }
      // The third time, the writer remembers the names.
      let bodies = (0..<3).compactMap { _ in
        try? DocumentBody(encoding: MapValue([("a", nested)]))
      }
      guard let body = bodies.last else { continue }
      #expect(bodies.allSatisfy { $0.needsCheck == body.needsCheck }, "seed \(seed)")
      let walked = fault(body.walkAndCheckFields)
      #expect(fault(body.checkFields) == walked, "seed \(seed)")
      if walked != nil {
        refused += 1
        #expect(body.needsCheck, "seed \(seed): \(walked ?? "")")
      } else if !body.needsCheck {
        passed += 1
      }
    }
    #expect(passed > 500 && refused > 500)
  }

  @Test func `nested usual names are no path that is too long`() {
    // The names of all levels, with their dots.
    let longest = (Int(DocumentWriter.usualNameBytes) + 1) * (Limits.nesting + 1) - 1
    #expect(longest <= Limits.fieldName)
  }

  @Test func `a usual document is not walked over`() throws {
    let body = try DocumentBody(
      encoding: MapValue([
        ("title", .string("Dune")), ("pages", .integer(412)), ("rating", .double(4.5)),
        ("read", .timestamp(Instant(microseconds: 1))), ("tags", .array([.string("sand")])),
        ("place", .geoPoint(Coordinate(latitude: 1, longitude: 2))),
        ("author", .map(MapValue([("name", .string("Frank Herbert"))]))), ("none", .null),
      ]))
    #expect(!body.needsCheck)
    var model: [String: Int] = [:]
    for index in 0..<20 { model["field\(index)"] = index }
    #expect(try !Firestore.Encoder().encodedForWriting(model).body.needsCheck)
  }

  private struct Swallowing: Encodable {
    var values: [Double]

    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      for value in values { try? list.encode(value) }
      try? list.encode(UInt64.max)
    }
  }

  private struct Lossy: Encodable {
    var value: Double

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try? container.encode(value)
    }
  }

  private struct Holder<Content: Encodable>: Encodable { var content: Content }

  @Test(arguments: [[1, .nan, 2], [.nan], [1, .infinity], [.nan, .nan, 3]] as [[Double]])
  func `a type that catches errors of its elements never makes a damaged document`(
    values: [Double]
  ) throws {
    let encoder = Firestore.Encoder()
    let swallowing = try encoder.encodedForWriting(Holder(content: Swallowing(values: values))).body
    #expect(
      try swallowing.map().value(at: ["content"])
        == .array(values.filter(\.isFinite).map(Value.double)))
    // An element that encodes nothing: refused, or stored as something that can be read.
    if let lossy = try? encoder.encodedForWriting(Holder(content: values.map(Lossy.init))).body,
      (try? lossy.checkFields()) != nil
    {
      #expect(throws: Never.self) { try lossy.map() }
    }
    if let lossy = try? encoder.encodedForWriting(Holder(content: Lossy(value: values[0]))).body,
      (try? lossy.checkFields()) != nil
    {
      #expect(throws: Never.self) { try lossy.map() }
    }
  }
}
