import Foundation
import GRDB
import Workloads

/// SQLite as a document store: the whole book as JSON text, two expression indexes, cached statements,
/// Foundation's coders. WAL, `synchronous` FULL.
final class SQLiteJSONEngine: Engine {
  static let name = "SQLite JSON"

  private let pool: DatabasePool

  init(path: String) async throws {
    pool = try GRDBEngine.open(path)
    try await pool.write { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS docs (id TEXT PRIMARY KEY, body TEXT NOT NULL);
          CREATE INDEX IF NOT EXISTS author ON docs (json_extract(body, '$.author'));
          CREATE INDEX IF NOT EXISTS rating ON docs (json_extract(body, '$.rating'));
          """)
    }
  }

  private static func insert(
    _ book: Book, _ id: String, _ db: GRDB.Database, _ encoder: JSONEncoder
  )
    throws
  {
    let statement = try db.cachedStatement(
      sql: "INSERT INTO docs VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body")
    try statement.execute(
      arguments: [id, String(decoding: try encoder.encode(book), as: UTF8.self)])
  }

  func load(_ numbers: Range<Int>, group: Int) async throws {
    let encoder = JSONEncoder()
    try await pool.write(numbers, group) { try Self.insert(Book($1), Book.id($1), $0, encoder) }
  }

  func rate(_ numbers: Range<Int>, _ rating: Double, group: Int) async throws {
    try await pool.write(numbers, group) { db, number in
      try db.cachedStatement(
        sql: "UPDATE docs SET body = json_set(body, '$.rating', ?) WHERE id = ?"
      ).execute(arguments: [rating, Book.id(number)])
    }
  }

  func delete(_ numbers: Range<Int>, group: Int) async throws {
    try await pool.write(numbers, group) { db, number in
      try db.cachedStatement(sql: "DELETE FROM docs WHERE id = ?")
        .execute(arguments: [Book.id(number)])
    }
  }

  func put(_ book: Book, _ id: String) async throws {
    try await pool.write { try Self.insert(book, id, $0, JSONEncoder()) }
  }

  /// Synchronous reads are the fastest.
  private func bodies(_ sql: String, _ arguments: StatementArguments) throws -> [Book] {
    try pool.read { db in
      let decoder = JSONDecoder()
      var books: [Book] = []
      let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
      while let row = try rows.next() {
        guard let body: String = row[0] else { throw Missing() }
        books.append(try decoder.decode(Book.self, from: Data(body.utf8)))
      }
      return books
    }
  }

  func get(_ id: String) async throws -> Book {
    guard let book = try bodies("SELECT body FROM docs WHERE id = ?", [id]).first else {
      throw Missing()
    }
    return book
  }

  func books(by author: String) async throws -> [Book] {
    try bodies("SELECT body FROM docs WHERE json_extract(body, '$.author') = ?", [author])
  }

  func bestRated(_ count: Int) async throws -> [Book] {
    try bodies(
      "SELECT body FROM docs ORDER BY json_extract(body, '$.rating') DESC LIMIT ?", [count])
  }

  func scan(_ body: (Book) -> Void) async throws {
    for book in try bodies("SELECT body FROM docs", []) { body(book) }
  }

  func count(numberOfPages: Int) async throws -> Int { try countNow(numberOfPages) }

  private func countNow(_ numberOfPages: Int) throws -> Int {
    try pool.read { db in
      try Int.fetchOne(
        db.cachedStatement(
          sql: "SELECT count(*) FROM docs WHERE json_extract(body, '$.numberOfPages') = ?"),
        arguments: [numberOfPages]) ?? 0
    }
  }

  func close() async throws { try pool.close() }
}
