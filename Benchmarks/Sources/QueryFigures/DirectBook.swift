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
      let type0 = DocumentFields<Self>.type { $0.large }
      let value0 = try fields.read(type0, at: 0)
      let type1 = DocumentFields<Self>.type { $0.medium }
      let value1 = try fields.read(type1, at: 1)
      let type2 = DocumentFields<Self>.type { $0.small }
      let value2 = try fields.read(type2, at: 2)
      self.large = value0
      self.medium = value1
      self.small = value2
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
    let type0 = DocumentFields<Self>.type { $0.author }
    let value0 = try fields.read(type0, at: 0)
    let type1 = DocumentFields<Self>.type { $0.cover }
    let value1 = try fields.read(type1, at: 1)
    let type2 = DocumentFields<Self>.type { $0.genres }
    let value2 = try fields.read(type2, at: 2)
    let type3 = DocumentFields<Self>.type { $0.isAvailable }
    let value3 = try fields.read(type3, at: 3)
    let type4 = DocumentFields<Self>.type { $0.isbn }
    let value4 = try fields.read(type4, at: 4)
    let type5 = DocumentFields<Self>.type { $0.numberOfPages }
    let value5 = try fields.read(type5, at: 5)
    let type6 = DocumentFields<Self>.type { $0.published }
    let value6 = try fields.read(type6, at: 6)
    let type7 = DocumentFields<Self>.type { $0.rating }
    let value7 = try fields.read(type7, at: 7)
    let type8 = DocumentFields<Self>.type { $0.tags }
    let value8 = try fields.read(type8, at: 8)
    let type9 = DocumentFields<Self>.type { $0.title }
    let value9 = try fields.read(type9, at: 9)
    self.author = value0
    self.cover = value1
    self.genres = value2
    self.isAvailable = value3
    self.isbn = value4
    self.numberOfPages = value5
    self.published = value6
    self.rating = value7
    self.tags = value8
    self.title = value9
  }
}
