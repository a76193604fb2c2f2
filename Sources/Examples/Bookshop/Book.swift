import FirebaseFirestore
import Hummingbird

/// A book as it is stored. Its id is the document's, and not a field.
struct Book: Codable, Equatable, Sendable {
  @DocumentID var id: String?
  var title: String
  var author: String
  var pages: Int
  var copies: Int
  @ServerTimestamp var added: Timestamp?
}

/// A book as a request contains it.
public struct BookRequest: Codable, Sendable {
  public var title: String
  public var author: String
  public var pages: Int
  public var copies: Int

  public init(title: String, author: String, pages: Int, copies: Int) {
    self.title = title
    self.author = author
    self.pages = pages
    self.copies = copies
  }
}

/// A book as a response contains it. `Book` is no response: `@DocumentID` is coded for a document only.
public struct BookResponse: ResponseCodable, Sendable, Equatable {
  public var id: String
  public var title: String
  public var author: String
  public var pages: Int
  public var copies: Int

  /// Nil for a book that was not read from a document.
  init?(_ book: Book) {
    guard let id = book.id else { return nil }
    self.id = id
    title = book.title
    author = book.author
    pages = book.pages
    copies = book.copies
  }
}
