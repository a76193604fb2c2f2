import Foundation
import Hearth

/// The book again, coded without `Codable`: as `@Document` writes it.
struct DirectBook: DocumentCodable {
  struct Cover: DocumentCodable {
    var small: String
    var medium: String
    var large: String

    static let documentFields = DocumentFields<Cover>("large", "medium", "small")

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(large, at: 0)
      try fields.write(medium, at: 1)
      try fields.write(small, at: 2)
    }

    init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      large = try fields.read(at: 0)
      medium = try fields.read(at: 1)
      small = try fields.read(at: 2)
    }
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

  static let documentFields = DocumentFields<DirectBook>(
    "author", "cover", "genres", "isAvailable", "isbn", "numberOfPages", "published", "rating",
    "tags", "title")

  func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
    try fields.write(author, at: 0)
    try fields.write(cover, at: 1)
    try fields.write(genres, at: 2)
    try fields.write(isAvailable, at: 3)
    try fields.write(isbn, at: 4)
    try fields.write(numberOfPages, at: 5)
    try fields.write(published, at: 6)
    try fields.write(rating, at: 7)
    try fields.write(tags, at: 8)
    try fields.write(title, at: 9)
  }

  init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    author = try fields.read(at: 0)
    cover = try fields.read(at: 1)
    genres = try fields.read(at: 2)
    isAvailable = try fields.read(at: 3)
    isbn = try fields.read(at: 4)
    numberOfPages = try fields.read(at: 5)
    published = try fields.read(at: 6)
    rating = try fields.read(at: 7)
    tags = try fields.read(at: 8)
    title = try fields.read(at: 9)
  }
}
