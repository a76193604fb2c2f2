import Foundation
import GRDB

/// A document of ten fields, with lists and a map: the same in all three databases.
struct Book: Codable {
  struct Cover: Codable {
    var small: String
    var medium: String
    var large: String
  }

  var title: String
  var author: String
  var isbn: String
  var numberOfPages: Int
  var rating: Double
  var published: Date
  var isAvailable: Bool
  var tags: [String]
  var genres: [String]
  var cover: Cover

  static let perAuthor = 100

  init(_ index: Int) {
    title = "The book with the number \(index)"
    author = Book.author(index / Book.perAuthor)
    isbn = "978-0-00-\(index)-0"
    // Spread, and the same in every run.
    let mixed = UInt64(index) &* 0x9E37_79B9_7F4A_7C15
    numberOfPages = Int(mixed >> 40 % 1000)
    rating = Double(mixed >> 32 % 1_000_000) / 200_000
    published = Date(timeIntervalSince1970: Double(mixed >> 34 % 1_000_000_000))
    isAvailable = index % 3 == 0
    tags = ["tag-\(index % 40)", "shelf-\(index % 20)"]
    genres = ["genre-\(index % 50)", "fiction", "english"]
    let base = "https://covers.example.org/\(index)"
    cover = Cover(
      small: base + "-small.jpg", medium: base + "-medium.jpg", large: base + "-large.jpg")
  }

  static func author(_ number: Int) -> String { "Author number \(number)" }
  static func id(_ index: Int) -> String { "book-\(1_000_000 + index)" }
}

/// The same as a GRDB record: a column for each field, JSON in those for lists and the cover.
struct BookRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "book"

  var id: String
  var title: String
  var author: String
  var isbn: String
  var numberOfPages: Int
  var rating: Double
  var published: Date
  var isAvailable: Bool
  var tags: [String]
  var genres: [String]
  var cover: Book.Cover

  init(_ index: Int) {
    let book = Book(index)
    id = Book.id(index)
    title = book.title
    author = book.author
    isbn = book.isbn
    numberOfPages = book.numberOfPages
    rating = book.rating
    published = book.published
    isAvailable = book.isAvailable
    tags = book.tags
    genres = book.genres
    cover = book.cover
  }
}
