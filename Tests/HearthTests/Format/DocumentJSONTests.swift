import Testing

@testable import Hearth
@testable import HearthEngine

/// Law: reading what was written gives identical fields.
@Suite struct DocumentJSONTests {
  @Test func `every document comes back from its line exactly`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = FormatGenerator(seed: seed)
    for _ in 0..<2000 {
      try expectSame(
        MapValue(generator.fields(upTo: 8)), "seed \(seed)")
    }
  }

  @Test(arguments: [
    Value.null, .boolean(false), .integer(.min), .integer(.max), .double(-0.0), .double(0),
    .double(1), .double(.nan), .double(.infinity), .double(-.infinity),
    .double(.leastNonzeroMagnitude),
    .double(.greatestFiniteMagnitude), .double(0.1), .double(1e21),
    .timestamp(.earliest), .timestamp(.latest), .timestamp(Instant(microseconds: -1)),
    .timestamp(Instant(microseconds: 1)), .string(""), .string("\u{0}\u{1F}\u{7F}\"\\/\u{2028}🏜"),
    .string("e\u{301}"), .bytes([]), .bytes(Array(0...255)),
    .reference(ResourcePath(relative: "a/b/c/d")),
    .geoPoint(Coordinate(latitude: -0.0, longitude: 180)), .array([]),
    .array([.integer(1), .double(1), .map(MapValue([("a", .array([]))]))]),
    .vector([1, -0.0, 0.5]),
    .map(MapValue()), .map(MapValue([("é", .integer(1)), ("e\u{301}", .integer(2))])),
  ])
  func `a value of any type comes back exactly`(value: Value) throws {
    try expectSame(MapValue([("v", value)]), "\(value)")
  }

  private func expectSame(_ fields: MapValue, _ note: Comment) throws {
    let body = try DocumentBody(encoding: fields)
    let times = (Instant(microseconds: 1_234_567), Instant(microseconds: 7_654_321_000_000))
    let key = Array("k".utf8)
    let bytes = body.withBytes { body in
      key.withUnsafeBytes {
        DocumentRecord.encode(
          sequence: 1, updateTime: times.1, createTime: times.0, body: BodyParts(body), key: $0)
      }
    }
    var text: [UInt8] = []
    try bytes.withUnsafeBytes {
      let record = try DocumentRecord(parsing: $0)
      try DocumentJSON.append(
        record, StoredBody(record.storedBody), at: ResourcePath(relative: "a/é b"), to: &text)
    }
    #expect(text.last == 10 && text.count { $0 == 10 } == 1)
    let line = try DocumentJSON.line(try JSONReader.read(text))
    #expect(line.path == ResourcePath(relative: "a/é b"))
    #expect(line.createTime == times.0 && line.updateTime == times.1)
    #expect(try DocumentBody(encoding: line.fields) == body, note)
  }

  @Test func `full names of the REST interface are taken, too`() throws {
    let name = "projects/p/databases/(default)/documents/"
    let line = try DocumentJSON.line(
      try JSONReader.read(
        #"{"name":"\#(name)a/b","fields":{"r":{"referenceValue":"\#(name)c/d"}}}"#))
    #expect(line.path.text == "a/b")
    #expect(line.fields["r"] == .reference(ResourcePath(relative: "c/d")))
  }

  @Test(arguments: [
    "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
    "1969-12-31T23:59:59.999999Z", "2024-02-29T12:34:56.000001Z",
  ])
  func `a moment comes back from its text`(text: String) {
    #expect(Instant(text: text)?.text == text)
  }

  @Test(arguments: [
    "", "2026-01-01", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "0000-01-01T00:00:00Z", "x026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.1234567890Z",
  ])
  func `what is no moment is none`(text: String) {
    #expect(Instant(text: text) == nil)
  }
}
