import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// Bytes written by this and every earlier version are read forever.
struct DocumentGoldenTests {
  struct Sample {
    var title: String
    var sequence: UInt64
    var updateTime: Instant
    var createTime: Instant
    var path: String?
    var key: String
    var fields: MapValue

    var record: [UInt8] {
      encodeRecord(
        sequence: sequence, updateTime: updateTime, createTime: createTime, path: path,
        body: DocumentBody(fields), key: Array(key.utf8))
    }

    /// The record's hex, sixteen bytes to a line, and what its dump says.
    func text(of record: [UInt8]) throws -> String {
      let hex = stride(from: 0, to: record.count, by: 16).map { start in
        record[start..<min(start + 16, record.count)]
          .map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
          .joined(separator: " ")
      }
      let dump = try record.withUnsafeBytes { try DocumentRecord(parsing: $0).dump() }
      return hex.joined(separator: "\n") + "\n\n" + dump
    }
  }

  static let book = Sample(
    title: "A book", sequence: 300, updateTime: Instant(microseconds: 1_700_000_000_000_000),
    createTime: Instant(microseconds: 1_699_999_999_000_000), path: nil, key: "books/dune",
    fields: MapValue([
      ("title", .string("Dune")), ("numberOfPages", .integer(412)),
      ("cover", .map(MapValue([("small", .string("s.png")), ("large", .null)]))),
      ("genres", .array([.string("Sci-Fi"), .boolean(true)])), ("rating", .double(4.5)),
    ]))

  static let samples: [Sample] = [
    book,
    Sample(
      title: "An empty document", sequence: 0, updateTime: .earliest, createTime: .earliest,
      path: nil, key: "", fields: MapValue()),
    Sample(
      title: "A document whose key was cut", sequence: .max, updateTime: .latest,
      createTime: .earliest, path: "books/a very long name", key: "books/a very",
      fields: MapValue([("ok", .boolean(false))])),
    Sample(
      title: "One of every value", sequence: 127, updateTime: Instant(microseconds: 1),
      createTime: Instant(microseconds: 0), path: nil, key: "k",
      fields: MapValue([
        ("null", .null), ("false", .boolean(false)), ("true", .boolean(true)),
        ("zero", .integer(0)), ("minus one", .integer(-1)), ("128", .integer(128)),
        ("least", .integer(.min)), ("most", .integer(.max)),
        ("tenth", .double(0.1)), ("half", .double(0.5)), ("minus zero", .double(-0.0)),
        ("infinity", .double(.infinity)), ("nan", .double(.nan)),
        ("epoch", .timestamp(Instant(microseconds: 0))), ("first", .timestamp(.earliest)),
        ("last", .timestamp(.latest)), ("empty", .string("")),
        ("63", .string(String(repeating: "x", count: 63))),
        ("64", .string(String(repeating: "x", count: 64))), ("漢", .string("字")),
        ("bytes", .bytes([0, 255])), ("reference", .reference(ResourcePath(["a", "b"]))),
        ("point", .geoPoint(Coordinate(latitude: 50.06, longitude: -19.94))),
        ("vector", .vector([1, .nan])), ("array", .array([.array([]), .map(MapValue())])),
        ("map", .map(MapValue([("a", .integer(1))]))),
      ])),
  ]

  @Test func `records of format version 1 are written and read as ever`() throws {
    let url = try #require(
      Bundle.module.url(
        forResource: "document-records-v1", withExtension: "txt", subdirectory: "Resources"))
    let text = try String(contentsOf: url, encoding: .utf8)
    let expected = try Self.samples.map { "# \($0.title)\n\n" + (try $0.text(of: $0.record)) }
      .joined(separator: "\n\n")
    #expect(text == expected + "\n")

    let sections = text.components(separatedBy: "# ").dropFirst()
    #expect(sections.count == Self.samples.count)
    for (section, sample) in zip(sections, Self.samples) {
      let hex = section.components(separatedBy: "\n\n")[1]
      let bytes = hex.split { $0 == " " || $0 == "\n" }.compactMap { UInt8($0, radix: 16) }
      try bytes.withUnsafeBytes { bytes in
        let record = try DocumentRecord(parsing: bytes)
        try Array(sample.key.utf8).withUnsafeBytes { try record.verifyChecksum(key: $0) }
        #expect(record.sequence == sample.sequence)
        #expect(record.updateTime == sample.updateTime)
        #expect(record.createTime == sample.createTime)
        #expect(record.path == sample.path)
        #expect(try MapView(body: record.storedBody).value() == sample.fields)
      }
    }
  }

  @Test func `the worked example in DocumentFormat is what is written`() throws {
    let page = try String(
      contentsOf: URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .appending(path: "Sources/Hearth/Hearth.docc/DocumentFormat.md"), encoding: .utf8)
    let book = try Self.book.text(of: Self.book.record).components(separatedBy: "\n\n")
    for part in book {
      #expect(page.contains("```\n\(part)\n```"), "\(part)")
    }
  }
}
