import FirebaseFirestore
import Foundation
import Hummingbird

/// One page of the books by title, and the token for the next one.
public struct BookPage: ResponseCodable, Sendable {
  public var books: [BookResponse]
  /// Nil on the last page.
  public var next: String?
}

/// The position after a book: its title, and its id, because titles are not unique.
struct PageToken: Codable {
  var title: String
  var id: String

  /// The text for a URL.
  var text: String {
    get throws {
      try JSONEncoder().encode(self).base64EncodedString()
        .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    }
  }

  init(after book: BookResponse) {
    title = book.title
    id = book.id
  }

  /// Throws `badRequest` for a text that no page contained.
  init(text: String) throws {
    let base64 = text.replacingOccurrences(of: "-", with: "+")
      .replacingOccurrences(of: "_", with: "/")
    guard let data = Data(base64Encoded: base64),
      let token = try? JSONDecoder().decode(PageToken.self, from: data)
    else { throw HTTPError(.badRequest, message: "The page token is malformed.") }
    self = token
  }
}

extension Query {
  /// At most `limit` books by title, after a token.
  func page(limit: Int, after token: PageToken?) async throws -> BookPage {
    var page = order(by: "title").order(by: FieldPath.documentID())
    if let token { page = page.start(after: [token.title, token.id]) }
    // One more shows whether there is a next page.
    let found = try await page.limit(to: limit + 1).getDocuments(as: Book.self)
    let books = found.prefix(limit).compactMap(BookResponse.init)
    let next = found.count > limit ? try books.last.map { try PageToken(after: $0).text } : nil
    return BookPage(books: books, next: next)
  }
}
