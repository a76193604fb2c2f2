import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// The hex dumps in the documentation are what the engine writes.
struct KeyDocumentationTests {
  @Test func `the dumps in KeyEncoding are true`() throws {
    var examples: [(String, [UInt8])] = []
    func value(_ label: String, _ value: Value, descending: Bool = false) {
      examples.append((label, bytes { $0.append(value, descending: descending) }))
    }
    func id(_ label: String, _ id: String) { examples.append((label, bytes { $0.append(id: id) })) }
    func path(_ label: String, _ path: String) {
      examples.append((label, bytes { $0.append(path: ResourcePath(relative: path)) }))
    }

    id("id dune", "dune")
    id("id a\\0b", "a\0b")
    id("id __id7__", "__id7__")
    id("id __id-7__", "__id-7__")
    path("path (root)", "")
    path("path books/dune", "books/dune")
    path("path books/dune/pages/__id7__", "books/dune/pages/__id7__")

    value("null", .null)
    value("false", .boolean(false))
    value("true", .boolean(true))
    value("NaN", .double(.nan))
    value("-∞", .double(-.infinity))
    value("-5", .integer(-5))
    value("0 and -0.0", .double(-0.0))
    value("0.1", .double(0.1))
    value("1 and 1.0", .integer(1))
    value("5", .integer(5))
    value("9007199254740992", .integer(1 << 53))
    value("9007199254740993", .integer(1 << 53 + 1))
    value("9007199254740994.0", .double(0x1p53 + 2))
    value("9223372036854775807", .integer(.max))
    value("9223372036854775808.0", .double(0x1p63))
    value("1970-01-01T00:00:00Z", .timestamp(Instant(microseconds: 0)))
    value("1969-12-31T23:59:59.999999Z", .timestamp(Instant(microseconds: -1)))
    value("\"\"", .string(""))
    value("\"dune\"", .string("dune"))
    value("\"é\"", .string("é"))
    value("bytes 00 01 02 03", .bytes([0, 1, 2, 3]))
    value("reference books/dune", .reference(ResourcePath(relative: "books/dune")))
    value("point 1°, -1°", .geoPoint(Coordinate(latitude: 1, longitude: -1)))
    value("[]", .array([]))
    value("[1, \"a\"]", .array([.integer(1), .string("a")]))
    value("vector [1.0]", .vector([1]))
    value("{}", .map(MapValue()))
    value("{a: 1, b: null}", .map(MapValue([("a", .integer(1)), ("b", .null)])))
    value("5 descending", .integer(5), descending: true)
    value("\"dune\" descending", .string("dune"), descending: true)

    let long = ResourcePath(relative: "books/dune/pages/the-first-page")
    examples.append(("full", KeyLimit.standard.documentKey(long).bytes))
    examples.append(("cut at 24", KeyLimit(24).documentKey(long).bytes))
    try check("KeyEncoding.md", examples)
  }

  @Test func `the dumps in StorageLayout are true`() throws {
    let dune = ResourcePath(relative: "books/dune")
    let page = ResourcePath(relative: "books/dune/pages/7")
    func entry(isGroup: Bool) -> [UInt8] {
      bytes {
        $0.append(entryPrefix: 3, parent: isGroup ? nil : page.parent.parent)
        $0.append(.integer(5), descending: false)
        $0.append(entryName: page, isGroup: isGroup)
      }
    }
    try check(
      "StorageLayout.md",
      [
        ("books/dune", KeyLimit.standard.documentKey(dune).bytes),
        ("books/dune/pages/7", KeyLimit.standard.documentKey(page).bytes),
        ("the collection books", KeyLayout.collectionPrefix(dune.parent)),
        ("the collection books/dune/pages", KeyLayout.collectionPrefix(page.parent)),
        ("the group pages", KeyLayout.groupPrefix("pages")),
        ("books", KeyLayout.catalogueKey(dune.parent)),
        ("books/dune/pages", KeyLayout.catalogueKey(page.parent)),
        ("below books/dune", KeyLayout.cataloguePrefix(below: dune)),
        ("index 3", KeyLayout.indexKey(3)),
        ("index 239", KeyLayout.indexKey(239)),
        ("index 240", KeyLayout.indexKey(240)),
        ("index 256", KeyLayout.indexKey(256)),
        ("collection scope", entry(isGroup: false)),
        ("group scope", entry(isGroup: true)),
        ("sequence 258", KeyLayout.sequenceKey(258)),
      ] + LayoutRecords.examples)
  }

  @Test func `every table is in StorageLayout`() throws {
    let text = try document("StorageLayout.md")
    for table in KeyLayout.Table.allCases { #expect(text.contains("| `\(table.rawValue)` |")) }
  }

  private func bytes(_ build: (inout KeyBuffer) -> Void) -> [UInt8] {
    var buffer = KeyBuffer()
    build(&buffer)
    return buffer.bytes
  }

  /// The dumps stand in code blocks, one a line: a label, two spaces or more, hex. Bars between
  /// bytes are for the eye.
  private func check(_ name: String, _ examples: [(String, [UInt8])]) throws {
    var isCode = false
    var dumps: [String: String] = [:]
    for line in try document(name).split(separator: "\n") {
      if line.hasPrefix("```") { isCode.toggle() }
      guard isCode, let gap = line.range(of: "  "), line.first != " " else { continue }
      let hex = line[gap.upperBound...].replacing("│", with: "").split(separator: " ")
      dumps[String(line[..<gap.lowerBound])] = hex.joined(separator: " ")
    }
    for (label, bytes) in examples {
      #expect(dumps.removeValue(forKey: label) == KeyLayout.hex(bytes), "\(label)")
    }
    #expect(dumps.isEmpty, "Without a test: \(dumps.keys.sorted())")
  }

  private func document(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    let url = root.appending(path: "Sources/Hearth/Hearth.docc/\(name)")
    return try String(decoding: Data(contentsOf: url), as: UTF8.self)
  }
}
