import FirebaseFirestore
import Foundation
import HearthTesting
import Testing

/// The snippets of the page on pages of results, word for word.
@Suite struct PagingGuideTests {
  /// The position of a book in the list by pages.
  struct PageToken: Codable {
    var pages: Int
    var id: String

    init(after document: QueryDocumentSnapshot) {
      pages = document["pages"] as? Int ?? 0
      id = document.documentID
    }

    /// Fails for a text that is not a token of this service.
    init(text: String) throws {
      guard let data = Data(base64Encoded: text) else { throw InvalidToken() }
      do { self = try JSONDecoder().decode(Self.self, from: data) } catch { throw InvalidToken() }
    }

    var text: String {
      get throws { try JSONEncoder().encode(self).base64EncodedString() }
    }
  }

  struct InvalidToken: Error {}

  struct BookPage: Codable {
    var titles: [String]
    /// Nil on the last page.
    var next: String?
  }

  func page(
    of books: Query, after token: String?, limit: Int
  ) async throws -> BookPage {
    let size = min(max(limit, 1), 100)
    var query = books.order(by: "pages").order(by: FieldPath.documentID()).limit(to: size + 1)
    if let token {
      let position = try PageToken(text: token)
      query = query.start(after: [position.pages, position.id])
    }
    let found = try await query.getDocuments().documents
    let page = found.prefix(size)
    return BookPage(
      titles: page.map { $0["title"] as? String ?? "" },
      next: found.count > size ? try page.last.map { try PageToken(after: $0).text } : nil)
  }

  private func filled(_ books: CollectionReference) async throws {
    for number in 0..<7 {
      // Pairs have equal numbers of pages.
      try await books.document("b\(number)").setData([
        "title": "Book \(number)", "pages": 100 + number / 2,
      ])
    }
  }

  @Test func `pages follow each other without a gap`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    try await filled(books)
    for limit in [1, 2, 3, 7, 8] {
      var titles: [String] = []
      var token: String?
      var pages = 0
      repeat {
        let page = try await page(of: books, after: token, limit: limit)
        titles += page.titles
        token = page.next
        pages += 1
      } while token != nil
      #expect(titles == (0..<7).map { "Book \($0)" })
      #expect(pages == (7 + limit - 1) / limit)
    }
    #expect(try await page(of: books, after: nil, limit: -5).titles.count == 1)
    await #expect(throws: InvalidToken.self) {
      try await page(of: books, after: "not a token", limit: 1)
    }
    for id in ["a/b", ""] {
      let token = Data(#"{"pages": 1, "id": "\#(id)"}"#.utf8).base64EncodedString()
      await #expect {
        try await page(of: books, after: token, limit: 1)
      } throws: {
        FirestoreErrorCode.invalidArgument ~= $0
      }
    }
  }

  @Test func `pages are filtered`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    try await filled(books)
    try await books.document("b6").updateData(["author": "Herbert"])
    try await books.document("b5").updateData(["author": "Herbert"])
    try await books.document("b1").updateData(["author": "Herbert"])
    func titles(by author: String?, atLeast least: Int?, after token: String?) async throws
      -> [String]
    {
      var query: Query = books
      if let author { query = query.whereField("author", isEqualTo: author) }
      if let least { query = query.whereField("pages", isGreaterThanOrEqualTo: least) }
      let found = try await page(of: query, after: token, limit: 20)
      return found.titles
    }
    let token = try await page(of: books, after: nil, limit: 2).next
    #expect(try await titles(by: nil, atLeast: nil, after: nil).count == 7)
    #expect(try await titles(by: "Herbert", atLeast: nil, after: nil).count == 3)
    // The token of another list.
    #expect(try await titles(by: "Herbert", atLeast: nil, after: token) == ["Book 5", "Book 6"])
    #expect(try await titles(by: "Herbert", atLeast: 103, after: nil) == ["Book 6"])
  }

  @Test func `a page starts where its document was`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    try await filled(books)
    let first = try await page(of: books, after: nil, limit: 3)
    try await books.document("b2").delete()
    let second = try await page(of: books, after: first.next, limit: 3)
    #expect(first.titles + second.titles == (0..<6).map { "Book \($0)" })
  }

  @Test func `pages show one state`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let books = db.collection("books")
    try await filled(books)
    let first = try await db.snapshot()
    let time = first.time
    try await books.document("b6").setData(["title": "Another", "pages": 1])
    let query = books.order(by: "pages")
    let state = try await db.snapshot(at: time)
    let found = try await state.getDocuments(query)
    #expect(found.documents.map(\.documentID) == (0..<7).map { "b\($0)" })
  }

  private final class Output: Sendable {
    let lines = Guarded<[String]>([])
  }

  @Test func `a loop reads pages`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    try await filled(books)
    let output = Output()
    func print(_ line: String) { output.lines.withLock { $0.append(line) } }
    for try await book in books.order(by: "pages").documents(pageSize: 500) {
      print(book.documentID)
    }
    #expect(output.lines.withLock(\.self) == (0..<7).map { "b\($0)" })
  }
}
