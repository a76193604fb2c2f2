import Foundation
import HearthTesting
import Testing

@testable import Hearth
@testable import HearthEngine

/// Direct reading and writing where sizes, names and kinds of text change from map to map.
@Suite struct DirectLayoutTests {
  private struct Page: DocumentCodable, Equatable {
    var number: Int
    var text: String
    var note: String?

    static let documentFields = DocumentFields<Page>("note", "number", "text")

    init(number: Int, text: String, note: String? = nil) {
      (self.number, self.text, self.note) = (number, text, note)
    }

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(note, at: 0)
      try fields.write(number, at: 1)
      try fields.write(text, at: 2)
    }

    init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      note = try fields.read(at: 0)
      number = try fields.read(at: 1)
      text = try fields.read(at: 2)
    }
  }

  private struct Chapter: DocumentCodable, Equatable {
    var pages: [Page]
    var title: String

    static let documentFields = DocumentFields<Chapter>("pages", "title")

    init(pages: [Page], title: String) { (self.pages, self.title) = (pages, title) }

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(pages, at: 0)
      try fields.write(title, at: 1)
    }

    init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      pages = try fields.read(at: 0)
      title = try fields.read(at: 1)
    }
  }

  private func expectSame<Model: Codable & Equatable>(
    _ model: Model, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let encoder = Firestore.Encoder()
    let bytes = try encoder.encodeDocument(model).body.bytes
    let codable = try TreeEncoder.encode(model, options: encoder).body.bytes
    #expect(bytes == codable, sourceLocation: sourceLocation)
    #expect(try decoded(Model.self, bytes) == model, sourceLocation: sourceLocation)
  }

  private func decoded<Model: Codable>(_ type: Model.Type, _ bytes: [UInt8]) throws -> Model {
    try bytes.withUnsafeBytes {
      try Firestore.Decoder().decodeDocument(type, from: StoredBody($0))
    }
  }

  @Test func `maps around the sizes at which ends get wider`() throws {
    // Up and down: the room that a map leaves for its header is that of the last map of its type.
    let sizes = [230, 260, 240, 250, 65_500, 245, 65_540, 65_520, 1, 65_530, 70_000, 0]
    for size in sizes {
      for slack in 0..<12 {
        let page = Page(number: slack, text: String(repeating: "x", count: max(0, size - slack)))
        try expectSame(page)
        try expectSame(
          Chapter(pages: [page, Page(number: 1, text: "", note: "n"), page], title: "t"))
      }
    }
  }

  @Test func `a text is read whatever its length and wherever it is not ASCII`() throws {
    for length in 0...40 {
      let ascii = String((0..<length).map { Character(UnicodeScalar(UInt8(0x20 + $0))) })
      try expectSame(Page(number: length, text: ascii))
      for index in 0..<length {
        for letter in ["é", "漢", "🏜"] {
          var text = Array(ascii).map { String($0) }
          text[index] = letter
          try expectSame(Page(number: index, text: text.joined(), note: letter))
        }
      }
    }
    // A byte that is not UTF-8, at each place.
    for length in 1...20 {
      for index in 0..<length {
        let page = Page(number: 1, text: String(repeating: "x", count: length))
        var bytes = try Firestore.Encoder().encodeDocument(page).body.bytes
        bytes[bytes.count - length + index] = 0xFF
        #expect(throws: Status.self) { try decoded(Page.self, bytes) }
      }
    }
  }

  @Test func `names of several files and of none are kept apart`() async throws {
    let (one, other) = (try TemporaryDatabase(), try TemporaryDatabase())
    let fields: [[String: Any]] = [
      ["number": 1, "text": "a"], ["number": 2, "text": "b", "note": "n"],
      ["number": 3, "text": "c", "more": true], ["alpha": 0, "number": 4, "text": "d"],
    ]
    var expected: [String: Page] = [:]
    for (kind, extra) in fields.enumerated() {
      for copy in 0..<6 {
        let path = "pages/\(kind)-\(copy)"
        // In the files the tables of names are made in different orders.
        for (database, kind) in [(one, kind), (other, fields.count - 1 - kind)] {
          let path = "pages/\(kind)-\(copy)"
          let document: [String: Any] = ["pages": [fields[kind], fields[kind]], "title": "t"]
          try await database.firestore.document(path).setData(fields[kind])
          try await database.firestore.document("chapters/\(kind)-\(copy)").setData(document)
        }
        expected[path] = Page(
          number: kind + 1, text: extra["text"] as? String ?? "", note: extra["note"] as? String)
      }
    }
    for _ in 0..<2 {
      for (path, page) in expected {
        for database in [one, other] {
          #expect(
            try await database.firestore.document(path).getDocument(as: Page.self) == page)
          let chapter = try await database.firestore
            .document(path.replacing("pages", with: "chapters")).getDocument(as: Chapter.self)
          #expect(chapter == Chapter(pages: [page, page], title: "t"))
          try expectSame(chapter)
        }
      }
      try await one.reopen()
      try await other.reopen()
    }
  }

  @Test func `elements are read one by one`() throws {
    struct Sum: DocumentCodable, Equatable {
      var numbers: [Int]
      static let documentFields = DocumentFields<Sum>("numbers")
      init(numbers: [Int]) { self.numbers = numbers }
      func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
        try fields.write(numbers, at: 0)
      }
      init(fields: borrowing DocumentMapReader) throws(UseCodable) {
        numbers = try fields.read(Numbers.self, at: 0).all
      }
    }
    struct Numbers: DocumentValueCodable {
      var all: [Int] = []
      func encode(to encoder: any Encoder) throws { try all.encode(to: encoder) }
      init(from decoder: any Decoder) throws { all = try [Int](from: decoder) }
      func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
        try all.write(to: writer)
      }
      init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
        var elements = try reader.array()
        let count = elements.count
        while let element = try elements.next() { all.append(Int(try element.integer())) }
        guard try elements.next() == nil, all.count == count else { throw UseCodable() }
      }
    }
    for count in [0, 1, 2, 200] { try expectSame(Sum(numbers: Array(0..<count))) }
    let strings = try Firestore.Encoder().encodeDocument(["numbers": ["a"]]).body.bytes
    #expect(throws: DecodingError.self) { try decoded(Sum.self, strings) }
  }

  @Test func `a type larger than the memory for values is read by Codable`() throws {
    struct Large: DocumentCodable, Equatable {
      // 16 KiB.
      typealias Block = SIMD64<Int64>
      var blocks = [Block](repeating: Block(), count: 0)
      var a = Block(), b = Block(), c = Block(), d = Block(), e = Block(), f = Block()
      var g = Block(), h = Block(), i = Block(), j = Block(), k = Block(), l = Block()
      var m = Block(), n = Block(), o = Block(), p = Block(), q = Block()
      var number: Int

      static let documentFields = DocumentFields<Large>("number")
      init(number: Int) { self.number = number }
      enum CodingKeys: CodingKey { case number }
      init(from decoder: any Decoder) throws {
        number = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .number)
      }
      func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
        try fields.write(number, at: 0)
      }
      init(fields: borrowing DocumentMapReader) throws(UseCodable) {
        number = try fields.read(at: 0)
      }
    }
    #expect(MemoryLayout<Large>.size > 8 << 10)
    try expectSame(Large(number: 7))
  }
}
