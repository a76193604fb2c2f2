import Foundation
import Hearth

/// The book again, coded without `Codable`: as `@Document` writes it.
public struct DirectBook: DocumentCodable, Equatable, Sendable {
  public struct Tag: DocumentCodable, Equatable, Sendable {
    public var title: String
    public var color: String

    public static let documentFields = DocumentFields<Tag>("color", "title")

    public func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(color, at: 0)
      try fields.write(title, at: 1)
    }

    public init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      color = try fields.read(at: 0)
      title = try fields.read(at: 1)
    }
  }

  public struct Cover: DocumentCodable, Equatable, Sendable {
    public var small: String
    public var medium: String
    public var large: String

    public static let documentFields = DocumentFields<Cover>("large", "medium", "small")

    public func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(large, at: 0)
      try fields.write(medium, at: 1)
      try fields.write(small, at: 2)
    }

    public init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      large = try fields.read(at: 0)
      medium = try fields.read(at: 1)
      small = try fields.read(at: 2)
    }
  }

  public var title: String
  public var author: String
  public var isbn: String
  public var numberOfPages: Int
  public var rating: Double
  public var published: Date
  public var isAvailable: Bool
  public var tags: [Tag]
  public var genres: [String]
  public var cover: Cover

  public static let documentFields = DocumentFields<DirectBook>(
    "author", "cover", "genres", "isAvailable", "isbn", "numberOfPages", "published", "rating",
    "tags", "title")

  public func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
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

  public init(fields: borrowing DocumentMapReader) throws(UseCodable) {
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

  public init(_ book: Book) {
    title = book.title
    author = book.author
    isbn = book.isbn
    numberOfPages = book.numberOfPages
    rating = book.rating
    published = book.published
    isAvailable = book.isAvailable
    tags = book.tags.map { Tag($0) }
    genres = book.genres
    cover = Cover(book.cover)
  }
}

extension DirectBook.Tag {
  fileprivate init(_ tag: Book.Tag) {
    title = tag.title
    color = tag.color
  }
}

extension DirectBook.Cover {
  fileprivate init(_ cover: Book.Cover) {
    small = cover.small
    medium = cover.medium
    large = cover.large
  }
}

extension Digest {
  /// The same as for the same book that is coded by `Codable`.
  public mutating func add(_ book: DirectBook) {
    add(book.numberOfPages)
    add(book.title.utf8.count)
    add(Int(truncatingIfNeeded: book.rating.bitPattern))
    add(book.tags.count &+ book.genres.count &+ book.cover.large.utf8.count)
  }
}
