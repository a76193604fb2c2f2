import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// How many random documents a law is tried on: thorough when asked, brief by default.
private let documentCount =
  Soak.isOn ? 1_000_000 : 8000

struct DocumentBodyTests {
  /// Four seeds, so that four cores share the documents.
  static let seeds: [UInt64] = [11, 22, 33, 44]

  @Test(arguments: seeds)
  func `decoding gives back what was encoded, and the bytes are the one canonical form`(
    seed: UInt64
  ) throws {
    var random = FormatGenerator(seed: seed)
    for round in 0..<documentCount {
      let map = MapValue(random.fields(upTo: 8))
      let body = DocumentBody(map)
      // Not an `#expect` for each: tens of thousands of them take longer than what they watch.
      if try DocumentBody(validating: body.bytes).map() != map {
        Issue.record("seed \(seed), round \(round)")
      }
    }
  }

  @Test(arguments: seeds)
  func `fields may come in any order, and of equal names the last one wins`(seed: UInt64) throws {
    var random = FormatGenerator(seed: seed)
    let writer = DocumentWriter()
    defer { writer.destroy() }
    for round in 0..<documentCount / 5 {
      var fields = random.fields(upTo: 40, depthLeft: 1)
      let expected = DocumentBody(MapValue(fields))
      #expect(try write(fields, to: writer) == expected, "seed \(seed), round \(round)")
      fields = MapValue(fields).fields.map { ($0.name, $0.value) }
      fields.shuffle(using: &random)
      #expect(try write(fields, to: writer) == expected, "seed \(seed), round \(round)")
    }
  }

  private func write(
    _ fields: [(String, Value)], to writer: DocumentWriter
  ) throws(Status) -> DocumentBody {
    writer.beginMap()
    for (name, value) in fields {
      writer.field(name)
      writer.value(value)
    }
    writer.endMap()
    return try writer.finish()
  }

  @Test(arguments: seeds)
  func `bytes are equal exactly where documents are identical`(seed: UInt64) throws {
    var random = FormatGenerator(seed: seed)
    // Few names and values, so that many pairs are identical.
    let values: [Value] = [
      .null, .boolean(true), .integer(1), .double(1), .double(0), .double(-0.0), .double(.nan),
      .double(Double(bitPattern: 0xFFF8_0000_0000_0001)), .string("é"), .string("e\u{301}"),
      .bytes([]), .string(""), .array([]), .map(MapValue()), .vector([.nan]),
      .vector([Double(bitPattern: 0x7FF0_0000_0000_0009)]), .array([.null]), .vector([]),
    ]
    var identical = 0
    for round in 0..<documentCount {
      func few() -> MapValue {
        MapValue(
          (0..<random.below(3)).map { _ in
            (random.one(of: ["a", "b"]), random.one(of: values))
          })
      }
      let (left, right) = (few(), few())
      identical += left == right ? 1 : 0
      if (DocumentBody(left) == DocumentBody(right)) != (left == right) {
        Issue.record("seed \(seed), round \(round)")
      }
    }
    #expect(identical > documentCount / 100)
  }

  @Test func `maps and vectors large enough for wide offsets come back`() throws {
    for (count, length) in [(300, 1), (20, 5_000), (2, 40_000), (5_000, 20), (1, 200_000)] {
      let map = MapValue(
        (0..<count).map { number in
          ("name \(number)", .string(String(repeating: "x", count: length)))
        })
      let body = DocumentBody(map)
      #expect(try DocumentBody(validating: body.bytes).map() == map)
    }
    let map = MapValue([("v", .vector((0..<2_048).map { Double($0) / 3 }))])
    #expect(try DocumentBody(validating: DocumentBody(map).bytes).map() == map)
  }

  @Test func `a field whose name is followed by nothing is left out`() throws {
    let writer = DocumentWriter()
    defer { writer.destroy() }
    writer.beginMap()
    writer.field("b")
    writer.field("c")
    writer.integer(1)
    writer.field("a")
    writer.endMap()
    #expect(try writer.finish() == DocumentBody(MapValue([("c", .integer(1))])))
  }

  @Test func `a field is found by name and by path`() throws {
    let inner = MapValue([("city", .string("Kraków")), ("zip", .null)])
    let body = DocumentBody(MapValue([("address", .map(inner)), ("name", .string("Ada"))]))
    try body.withView { view throws(Status) in
      #expect(try view.value(named: "name")?.string() == "Ada")
      #expect(try view.value(named: "nam") == nil)
      #expect(try view.value(at: FieldSegments(["address", "city"]))?.string() == "Kraków")
      #expect(try view.value(at: FieldSegments(["address", "street"])) == nil)
      #expect(try view.value(at: FieldSegments(["name", "city"])) == nil)
      #expect(try view.value(at: FieldSegments(["address"]))?.value() == .map(inner))
    }
  }

  @Test func `twenty levels are stored, twenty-one are refused`() throws {
    func nested(_ levels: Int) -> MapValue {
      var value = Value.null
      for level in 0..<levels {
        value = level % 2 == 0 ? .array([value]) : .map(MapValue([("m", value)]))
      }
      return MapValue([("top", value)])
    }
    let deep = DocumentBody(nested(20))
    #expect(try DocumentBody(validating: deep.bytes).map() == nested(20))
    let tooDeep = DocumentBody(nested(21))
    #expect(throws: Status.self) { try DocumentBody(validating: tooDeep.bytes) }
    #expect(throws: Status.self) { try tooDeep.map() }
  }

  /// Bytes that mean something to a lenient reader, and are not the form that is written.
  static let otherForms: [(why: String, body: [UInt8])] = [
    ("no bytes", []),
    ("not a map", [0x00]),
    ("bytes behind the end", [0x90, 0, 0]),
    ("an empty name", [0x90, 1, 0, 1, 0x00]),
    ("a name that is not UTF-8", [0x90, 1, 1, 1, 0xC3, 0x00]),
    ("unsorted names", [0x90, 2, 1, 2, 1, 2, 0x62, 0x61, 0x00, 0x00]),
    ("the same name twice", [0x90, 2, 1, 2, 1, 2, 0x61, 0x61, 0x00, 0x00]),
    ("descending name ends", [0x90, 2, 2, 1, 1, 2, 0x61, 0x62, 0x00, 0x00]),
    ("descending value ends", [0x90, 2, 1, 2, 2, 1, 0x61, 0x62, 0x00, 0x00]),
    ("a value of no bytes", [0x90, 1, 1, 0, 0x61]),
    ("wide name ends", [0x94, 1, 1, 0, 1, 0x61, 0x00]),
    ("wide value ends", [0x91, 1, 1, 1, 0, 0x61, 0x00]),
    ("an unknown width", [0x9C, 0]),
    ("a long count", [0x90, 0x81, 0x00, 1, 1, 0x61, 0x00]),
    ("0 in one byte", body([0x10 + 1, 0])),
    ("1 in two bytes", body([0x12, 1, 0])),
    ("-1 in two bytes", body([0x12, 0xFF, 0xFF])),
    ("nine bytes of integer", body([0x19, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
    ("1.0 in eight bytes", body([0x20, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F])),
    ("NaN as a double", body([0x20, 0, 0, 0, 0, 0, 0, 0xF8, 0x7F])),
    ("NaN as a float", body([0x21, 0, 0, 0xC0, 0x7F])),
    ("a short string in the long form", body([0x80, 1, 0x61])),
    ("a string that is not UTF-8", body([0x41, 0xFF])),
    ("an overlong UTF-8 form", body([0x42, 0xC0, 0x80])),
    ("a surrogate", body([0x43, 0xED, 0xA0, 0x80])),
    ("a timestamp beyond 9999", body([0x38, 0, 0, 0, 0, 0, 0, 0, 0x7F])),
    ("a reference to nothing", body([0x82, 0])),
    ("a reference to a collection", body([0x82, 1, 0x61])),
    ("a reference with an empty segment", body([0x82, 4, 0x61, 0x2F, 0x2F, 0x62])),
    (
      "a geo point with another NaN",
      body([0x83, 1, 0, 0, 0, 0, 0, 0xF8, 0x7F, 0, 0, 0, 0, 0, 0, 0, 0])
    ),
    ("a vector with another NaN", body([0x85, 1, 1, 0, 0, 0, 0, 0, 0xF8, 0x7F])),
    ("an array with fewer elements than bytes", body([0x84, 3, 1, 0x00, 0x00])),
    ("an array with more elements than bytes", body([0x84, 2, 2, 0x00])),
    ("an unknown tag", body([0x03])),
    ("two values in one place", body([0x00, 0x00])),
  ]

  private static func body(_ value: [UInt8]) -> [UInt8] {
    [0x90, 1, 1, UInt8(value.count), 0x61] + value
  }

  @Test(arguments: otherForms)
  func `no other form of a document is accepted`(form: (why: String, body: [UInt8])) {
    do throws(Status) {
      _ = try DocumentBody(validating: form.body)
      Issue.record("\(form.why) was accepted")
    } catch {
      #expect(error.code == .dataLoss)
    }
  }

  @Test func `a damaged neighbour does not keep a sound field from being read`() throws {
    var bytes = DocumentBody(
      MapValue([("a", .string("damaged")), ("b", .integer(7)), ("c", .string("damaged"))])
    ).bytes
    for index in bytes.indices where bytes[index] == 0x47 { bytes[index] = 0xFE }
    let body = DocumentBody(canonical: bytes)
    try body.withView { view throws(Status) in
      #expect(try view.value(named: "b")?.integer() == 7)
    }
    #expect(throws: Status.self) { try body.map() }
  }
}
