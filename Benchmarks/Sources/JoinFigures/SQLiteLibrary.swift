import Foundation
import GRDB

struct AuthorRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "author"

  var id: Int64
  var name: String
  var country: String
  var born: Int
}

struct BookRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "book"
  static let author = belongsTo(AuthorRecord.self)
  static let reviews = hasMany(ReviewRecord.self)

  var id: Int64
  var title: String
  var summary: String
  var isbn: String
  var genre: String
  var pages: Int
  var year: Int
  var authorId: Int64
  var latitude: Double
  var longitude: Double
}

struct ReviewRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "review"

  var id: Int64
  var bookId: Int64
  var stars: Int
  var month: Int
  var text: String
}

struct BookWithAuthor: Decodable, FetchableRecord {
  var book: BookRecord
  var author: AuthorRecord
}

struct BookWithReviews: Decodable, FetchableRecord {
  var book: BookRecord
  var reviews: [ReviewRecord]
}

struct GenreTotals: Decodable, FetchableRecord {
  var genre: String
  var books: Int
  var pages: Int
}

/// SQLite's side, through GRDB: integer keys, foreign keys, and the indexes of `HearthLibrary`. WAL,
/// `synchronous` FULL.
struct SQLiteLibrary {
  let library: Library
  let pool: DatabasePool

  init(_ library: Library, path: String) throws {
    self.library = library
    pool = try DatabasePool(path: path)
    // A pool sets NORMAL by itself.
    let level = try pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = FULL")
      return try Int.fetchOne(db, sql: "PRAGMA synchronous")
    }
    precondition(level == 2, "A commit is flushed.")
  }

  func load() throws {
    try pool.write { db in
      try db.create(table: "author") { table in
        table.primaryKey("id", .integer)
        table.column("name", .text).notNull()
        table.column("country", .text).notNull()
        table.column("born", .integer).notNull()
      }
      try db.create(table: "book") { table in
        table.primaryKey("id", .integer)
        table.column("title", .text).notNull()
        table.column("summary", .text).notNull()
        table.column("isbn", .text).notNull().unique()
        table.column("genre", .text).notNull()
        table.column("pages", .integer).notNull()
        table.column("year", .integer).notNull()
        table.column("authorId", .integer).notNull().references("author")
        table.column("latitude", .double).notNull()
        table.column("longitude", .double).notNull()
      }
      try db.create(table: "review") { table in
        table.primaryKey("id", .integer)
        table.column("bookId", .integer).notNull().references("book", onDelete: .cascade)
        table.column("stars", .integer).notNull()
        table.column("month", .integer).notNull()
        table.column("text", .text).notNull()
      }
      for index in 0..<library.authors { try author(index).insert(db) }
      for index in 0..<library.books { try book(index).insert(db) }
      for index in 0..<library.reviews { try review(index).insert(db) }
      try db.execute(
        sql: """
          CREATE INDEX bookTitle ON book (title);
          CREATE INDEX bookAuthorTitle ON book (authorId, title);
          CREATE INDEX bookGenrePages ON book (genre, pages);
          CREATE INDEX reviewBookStars ON review (bookId, stars DESC);
          CREATE INDEX reviewMonthStarsBook ON review (month, stars, bookId);
          ANALYZE;
          """)
    }
  }

  func author(_ index: Int) -> AuthorRecord {
    let fields = library.author(index)
    return AuthorRecord(
      id: Int64(index), name: fields.name, country: fields.country, born: fields.born)
  }

  func book(_ index: Int) -> BookRecord {
    let fields = library.book(index)
    return BookRecord(
      id: Int64(index), title: fields.title, summary: fields.summary, isbn: fields.isbn,
      genre: fields.genre, pages: fields.pages, year: fields.year, authorId: Int64(fields.author),
      latitude: fields.latitude, longitude: fields.longitude)
  }

  private func review(_ index: Int) -> ReviewRecord {
    let fields = library.review(index)
    return ReviewRecord(
      id: Int64(index), bookId: Int64(fields.book), stars: fields.stars, month: fields.month,
      text: fields.text)
  }

  // MARK: Joins

  private static func books(from title: String) -> QueryInterfaceRequest<BookRecord> {
    BookRecord.filter(Column("title") >= title).order(Column("title"), Column("id")).limit(20)
  }

  /// 20 books in order from a title on, each with its author.
  static func page(from title: String) -> QueryInterfaceRequest<BookWithAuthor> {
    books(from: title).including(required: BookRecord.author).asRequest(of: BookWithAuthor.self)
  }

  func pageWithAuthors(from title: String) throws -> Int {
    try pool.read { try Self.page(from: title).fetchAll($0) }
      .reduce(0) { $0 + $1.book.pages + $1.author.born }
  }

  func book(withKey index: Int) throws -> Int {
    try pool.read { try BookRecord.fetchOne($0, key: index) }?.pages ?? 0
  }

  func page(from title: String) throws -> Int {
    try pool.read { try Self.books(from: title).fetchAll($0) }.reduce(0) { $0 + $1.pages }
  }

  /// The first 20 books of an author.
  func books(of author: Int) throws -> Int {
    try pool.read { db in
      try BookRecord.filter(Column("authorId") == author).order(Column("title"), Column("id"))
        .limit(20).fetchAll(db)
    }.reduce(0) { $0 + $1.pages }
  }

  func count(of author: Int) throws -> Int {
    try pool.read { try BookRecord.filter(Column("authorId") == author).fetchCount($0) }
  }

  /// Ways to read a page of books with the three best reviews of each.
  enum ReviewStrategy: String, CaseIterable {
    /// An association, which reads all reviews of a book.
    case association
    /// One query with ROW_NUMBER for the reviews of all books.
    case window
    /// A query with a limit for each book.
    case queries
  }

  func pageWithReviews(from title: String, _ strategy: ReviewStrategy) throws -> Int {
    try pool.read { db in
      switch strategy {
      case .association:
        let reviews = BookRecord.reviews.order(Column("stars").desc)
        return try Self.books(from: title).including(all: reviews)
          .asRequest(of: BookWithReviews.self).fetchAll(db)
          .reduce(0) { sum, found in
            sum + found.book.pages + found.reviews.prefix(3).reduce(0) { $0 + $1.stars }
          }
      case .window:
        let books = try Self.books(from: title).fetchAll(db)
        let places = books.map { _ in "?" }.joined(separator: ", ")
        let statement = try db.cachedStatement(
          sql: """
            SELECT id, bookId, stars, month, text FROM (
              SELECT *, ROW_NUMBER() OVER (PARTITION BY bookId ORDER BY stars DESC) AS place
              FROM review WHERE bookId IN (\(places)))
            WHERE place <= 3
            """)
        let reviews = try ReviewRecord.fetchAll(
          statement, arguments: StatementArguments(books.map(\.id)))
        let byBook = Dictionary(grouping: reviews, by: \.bookId)
        return books.reduce(0) { sum, book in
          sum + book.pages + (byBook[book.id] ?? []).reduce(0) { $0 + $1.stars }
        }
      case .queries:
        let statement = try db.cachedStatement(
          sql: "SELECT * FROM review WHERE bookId = ? ORDER BY stars DESC LIMIT 3")
        return try Self.books(from: title).fetchAll(db).reduce(0) { sum, book in
          let reviews = try ReviewRecord.fetchAll(statement, arguments: [book.id])
          return sum + book.pages + reviews.reduce(0) { $0 + $1.stars }
        }
      }
    }
  }

  // MARK: Groups

  func totalsByGenre() throws -> Int {
    try totals("SELECT genre, COUNT(*) AS books, SUM(pages) AS pages FROM book GROUP BY genre")
  }

  func totalsByGenre(of author: Int) throws -> Int {
    try totals(
      """
      SELECT genre, COUNT(*) AS books, SUM(pages) AS pages FROM book WHERE authorId = ?
      GROUP BY genre
      """, [author])
  }

  private func totals(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
    try pool.read { db in
      try GenreTotals.fetchAll(try db.cachedStatement(sql: sql), arguments: arguments)
    }.reduce(0) { $0 + $1.books * $1.pages }
  }

  // MARK: Semi-joins

  /// `IN` and not `EXISTS`: SQLite reads every book for a correlated `EXISTS`.
  private static let praised =
    "book WHERE id IN (SELECT bookId FROM review WHERE month = ? AND stars = 5)"

  /// The books with a review of five stars in the month.
  func praised(in month: Int) throws -> Int {
    try books("SELECT * FROM \(Self.praised)", [month])
  }

  func praisedCount(in month: Int) throws -> Int {
    try pool.read { db in
      let statement = try db.cachedStatement(sql: "SELECT COUNT(*) FROM \(Self.praised)")
      return try Int.fetchOne(statement, arguments: [month]) ?? 0
    }
  }

  /// The first 20 of them, by title.
  func praisedPage(in month: Int) throws -> Int {
    try books("SELECT * FROM \(Self.praised) ORDER BY title, id LIMIT 20", [month])
  }

  private func books(_ sql: String, _ arguments: StatementArguments) throws -> Int {
    try pool.read { db in
      try BookRecord.fetchAll(try db.cachedStatement(sql: sql), arguments: arguments)
    }.reduce(0) { $0 + $1.pages }
  }

  // MARK: Writing

  func insert(_ book: BookRecord) async throws {
    try await pool.write { try book.insert($0) }
  }

  func refusesDuplicate() async throws -> Bool {
    var duplicate = book(0)
    duplicate.id = -1
    do {
      try await pool.write { [duplicate] in try duplicate.insert($0) }
      return false
    } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
      return true
    }
  }

  /// An empty table for inserts.
  func makeNotes() throws {
    try pool.write { db in
      try db.execute(
        sql: """
          DROP TABLE IF EXISTS note;
          CREATE TABLE note (
            id TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL,
            authorId INTEGER NOT NULL REFERENCES author ON DELETE CASCADE);
          CREATE INDEX noteAuthor ON note (authorId);
          """)
    }
  }

  func addNote(_ text: String, of author: Int) async throws {
    try await pool.write { db in
      try db.cachedStatement(sql: "INSERT INTO note (id, text, authorId) VALUES (?, ?, ?)")
        .execute(arguments: [UUID().uuidString, text, author])
    }
  }

  func rename(_ author: Int, to name: String) async throws {
    try await pool.write { db in
      try db.cachedStatement(sql: "UPDATE author SET name = ? WHERE id = ?")
        .execute(arguments: [name, author])
    }
  }
}
