import Hearth

// The models, coded without `Codable`: as `@Document` writes it.

extension Author: DocumentCodable {
  static let documentFields = DocumentFields<Author>(
    "born", "country", "name")

  func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
    try fields.write(born, at: 0)
    try fields.write(country, at: 1)
    try fields.write(name, at: 2)
  }

  init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    let type0 = DocumentFields<Self>.type { $0.born }
    let value0 = try fields.read(type0, at: 0)
    let type1 = DocumentFields<Self>.type { $0.country }
    let value1 = try fields.read(type1, at: 1)
    let type2 = DocumentFields<Self>.type { $0.name }
    let value2 = try fields.read(type2, at: 2)
    self.born = value0
    self.country = value1
    self.name = value2
  }
}

extension Book: DocumentCodable {
  static let documentFields = DocumentFields<Book>(
    "author", "genre", "isbn", "pages", "position", "summary", "title", "year")

  func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
    try fields.write(author, at: 0)
    try fields.write(genre, at: 1)
    try fields.write(isbn, at: 2)
    try fields.write(pages, at: 3)
    try fields.write(position, at: 4)
    try fields.write(summary, at: 5)
    try fields.write(title, at: 6)
    try fields.write(year, at: 7)
  }

  init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    let type0 = DocumentFields<Self>.type { $0.author }
    let value0 = try fields.read(type0, at: 0)
    let type1 = DocumentFields<Self>.type { $0.genre }
    let value1 = try fields.read(type1, at: 1)
    let type2 = DocumentFields<Self>.type { $0.isbn }
    let value2 = try fields.read(type2, at: 2)
    let type3 = DocumentFields<Self>.type { $0.pages }
    let value3 = try fields.read(type3, at: 3)
    let type4 = DocumentFields<Self>.type { $0.position }
    let value4 = try fields.read(type4, at: 4)
    let type5 = DocumentFields<Self>.type { $0.summary }
    let value5 = try fields.read(type5, at: 5)
    let type6 = DocumentFields<Self>.type { $0.title }
    let value6 = try fields.read(type6, at: 6)
    let type7 = DocumentFields<Self>.type { $0.year }
    let value7 = try fields.read(type7, at: 7)
    self.author = value0
    self.genre = value1
    self.isbn = value2
    self.pages = value3
    self.position = value4
    self.summary = value5
    self.title = value6
    self.year = value7
  }
}

extension Review: DocumentCodable {
  static let documentFields = DocumentFields<Review>(
    "book", "month", "stars", "text")

  func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
    try fields.write(book, at: 0)
    try fields.write(month, at: 1)
    try fields.write(stars, at: 2)
    try fields.write(text, at: 3)
  }

  init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    let type0 = DocumentFields<Self>.type { $0.book }
    let value0 = try fields.read(type0, at: 0)
    let type1 = DocumentFields<Self>.type { $0.month }
    let value1 = try fields.read(type1, at: 1)
    let type2 = DocumentFields<Self>.type { $0.stars }
    let value2 = try fields.read(type2, at: 2)
    let type3 = DocumentFields<Self>.type { $0.text }
    let value3 = try fields.read(type3, at: 3)
    self.book = value0
    self.month = value1
    self.stars = value2
    self.text = value3
  }
}
