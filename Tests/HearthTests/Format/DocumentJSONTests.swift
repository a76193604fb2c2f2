import Foundation
import HearthText
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

  @Test func `a document without fields is empty, as the REST interface gives it`() throws {
    let line = try DocumentJSON.line(
      try JSONReader.read(#"{"name":"a/b","createTime":"2026-11-28T12:03:56+01:00"}"#))
    #expect(line.fields.isEmpty && line.updateTime == nil)
    #expect(line.createTime?.text == "2026-11-28T11:03:56Z")
  }

  @Test func `a member that nothing reads is refused, not left out`() throws {
    for text in [
      #"{"name":"a/b","field":{}}"#, #"{"name":"a/b","fields":{"a":{"uuidValue":"x"}}}"#,
      #"{"name":"a/b","fields":{"a":{"geoPointValue":{"altitude":1}}}}"#,
      #"{"name":"a/b","fields":{"a":{"arrayValue":{"value":[]}}}}"#,
      #"{"name":"a/b","fields":{"a":{"mapValue":{"b":{"nullValue":null}}}}}"#,
    ] {
      #expect(throws: Status.self, "\(text)") { try DocumentJSON.line(try JSONReader.read(text)) }
    }
  }

  @Test func `base64 of every length is read in each of its forms`() throws {
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 151 + count) }
      let padded = Data(bytes).base64EncodedString()
      let forURLs = padded.replacing("+", with: "-").replacing("/", with: "_")
      for text in [
        padded, forURLs, padded.replacing("=", with: ""), forURLs.replacing("=", with: ""),
      ] {
        let json = JSON.object([.init("bytesValue", .string(text))])
        #expect(try DocumentJSON.plainValue(json) == .bytes(bytes), "\(text)")
      }
    }
  }

  @Test func `plain values and typed ones are mixed on the command line`() throws {
    let fields = try DocumentJSON.plainFields(
      try JSONReader.read(
        #"{"a":[1,1.5,{"integerValue":"2"},null],"b":{"c":{"stringValue":"x"},"d":true},"#
          + #""e":{"stringValue":"x","f":1},"string_value":{"string_value":"x"}}"#))
    #expect(
      fields.fields.map(\.value) == [
        .array([.integer(1), .double(1.5), .integer(2), .null]),
        .map(MapValue([("c", .string("x")), ("d", .boolean(true))])),
        .map(MapValue([("stringValue", .string("x")), ("f", .integer(1))])),
        .map(MapValue([("string_value", .string("x"))])),
      ])
  }
}
