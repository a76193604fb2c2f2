import Foundation
import GRDB
import Workloads

/// GRDB with a Codable record: scalars in columns, what is nested as JSON, indexes on two columns. WAL,
/// `synchronous` FULL.
final class GRDBEngine: Engine {
  static let name = "GRDB record"

  struct Row: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "books"

    var id: String
    var title: String
    var author: String
    var isbn: String
    var numberOfPages: Int
    var rating: Double
    var published: Date
    var isAvailable: Bool
    var tags: [Book.Tag]
    var genres: [String]
    var cover: Book.Cover

    init(_ book: Book, _ id: String) {
      self.id = id
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

    var book: Book {
      var book = Book(0)
      book.title = title
      book.author = author
      book.isbn = isbn
      book.numberOfPages = numberOfPages
      book.rating = rating
      book.published = published
      book.isAvailable = isAvailable
      book.tags = tags
      book.genres = genres
      book.cover = cover
      return book
    }
  }

  let pool: DatabasePool

  init(path: String) async throws {
    pool = try Self.open(path)
    try await pool.write { db in
      try db.create(table: "books", options: .ifNotExists) { table in
        table.primaryKey("id", .text)
        table.column("title", .text).notNull()
        table.column("author", .text).notNull().indexed()
        table.column("isbn", .text).notNull()
        table.column("numberOfPages", .integer).notNull()
        table.column("rating", .double).notNull().indexed()
        table.column("published", .datetime).notNull()
        table.column("isAvailable", .boolean).notNull()
        table.column("tags", .jsonText).notNull()
        table.column("genres", .jsonText).notNull()
        table.column("cover", .jsonText).notNull()
      }
    }
  }

  /// The pool sets `synchronous` to NORMAL by itself, after it has prepared a connection: it is set
  /// to FULL afterwards, and read back.
  static func open(_ path: String) throws -> DatabasePool {
    let pool = try DatabasePool(path: path)
    let level = try pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = FULL")
      return try Int.fetchOne(db, sql: "PRAGMA synchronous")
    }
    precondition(level == 2, "A commit is flushed.")
    return pool
  }

  func load(_ numbers: Range<Int>, group: Int) async throws {
    try await pool.write(numbers, group) { try Row(Book($1), Book.id($1)).insert($0) }
  }

  func rate(_ numbers: Range<Int>, _ rating: Double, group: Int) async throws {
    try await pool.write(numbers, group) { db, number in
      try db.cachedStatement(sql: "UPDATE books SET rating = ? WHERE id = ?")
        .execute(arguments: [rating, Book.id(number)])
    }
  }

  func delete(_ numbers: Range<Int>, group: Int) async throws {
    try await pool.write(numbers, group) { _ = try Row.deleteOne($0, key: Book.id($1)) }
  }

  func put(_ book: Book, _ id: String) async throws {
    try await pool.write { try Row(book, id).upsert($0) }
  }

  /// Synchronous reads are GRDB's fastest.
  private func read<Answer>(_ body: (GRDB.Database) throws -> Answer) throws -> Answer {
    try pool.read(body)
  }

  func get(_ id: String) async throws -> Book {
    guard let row = try read({ try Row.fetchOne($0, key: id) }) else { throw Missing() }
    return row.book
  }

  func books(by author: String) async throws -> [Book] {
    try read { try Row.filter(Column("author") == author).fetchAll($0).map(\.book) }
  }

  func bestRated(_ count: Int) async throws -> [Book] {
    try read { try Row.order(Column("rating").desc).limit(count).fetchAll($0).map(\.book) }
  }

  func scan(_ body: (Book) -> Void) async throws {
    for row in try read({ try Row.fetchAll($0) }) { body(row.book) }
  }

  func count(numberOfPages: Int) async throws -> Int {
    try read { try Row.filter(Column("numberOfPages") == numberOfPages).fetchCount($0) }
  }

  func close() async throws { try pool.close() }
}

struct Missing: Error {}

extension DatabasePool {
  /// Does the same for each number, `group` to a transaction.
  func write(
    _ numbers: Range<Int>, _ group: Int,
    _ body: @escaping @Sendable (GRDB.Database, Int) throws -> Void
  ) async throws {
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: group) {
      try await write { db in
        for number in start..<min(start + group, numbers.upperBound) { try body(db, number) }
      }
    }
  }
}
