import Foundation
import Hearth

/// The book again, coded without `Codable`.
struct DirectBook: Measured, DocumentCodable {
  struct Tag: Codable, Equatable, DocumentCodable {
    var title: String
    var color: String

    static let documentFields = DocumentFields<Tag>("color", "title")

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(color, at: 0)
      try fields.write(title, at: 1)
    }

    init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      color = try fields.read(at: 0)
      title = try fields.read(at: 1)
    }
  }

  struct Cover: Codable, Equatable, DocumentCodable {
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

  static let name = "book"

  var title: String
  var author: String
  var isbn: String
  var numberOfPages: Int
  var rating: Double
  var published: Date
  var isAvailable: Bool
  var tags: [Tag]
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

  init(_ index: Int) {
    let book = Book(index)
    title = book.title
    author = book.author
    isbn = book.isbn
    numberOfPages = book.numberOfPages
    rating = book.rating
    published = book.published
    isAvailable = book.isAvailable
    tags = book.tags.map { Tag(title: $0.title, color: $0.color) }
    genres = book.genres
    cover = Cover(small: book.cover.small, medium: book.cover.medium, large: book.cover.large)
  }

  func mix(into mixer: inout Mixer) {
    mixer.mix(title)
    mixer.mix(author)
    mixer.mix(isbn)
    mixer.mix(numberOfPages)
    mixer.mix(rating)
    mixer.mix(published)
    mixer.mix(isAvailable)
    for tag in tags {
      mixer.mix(tag.title)
      mixer.mix(tag.color)
    }
    for genre in genres { mixer.mix(genre) }
    mixer.mix(cover.small)
    mixer.mix(cover.medium)
    mixer.mix(cover.large)
  }
}

extension DirectBook.Tag {
  init(title: String, color: String) {
    self.title = title
    self.color = color
  }
}

extension DirectBook.Cover {
  init(small: String, medium: String, large: String) {
    self.small = small
    self.medium = medium
    self.large = large
  }
}
