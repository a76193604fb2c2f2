import Foundation
import GRDB

/// The peers: GRDB's Codable records with columns, and JSON documents with expression indexes.
final class SQLiteBooks: Sendable {
  private let records: DatabasePool
  private let documents: DatabasePool

  init(folder: String, count: Int) throws {
    records = try DatabasePool(path: folder + "/records.sqlite")
    documents = try DatabasePool(path: folder + "/documents.sqlite")
    try records.write { db in
      try db.create(table: "book") { table in
        table.primaryKey("id", .text)
        table.column("title", .text)
        table.column("author", .text).indexed()
        table.column("isbn", .text)
        table.column("numberOfPages", .integer)
        table.column("rating", .double).indexed()
        table.column("published", .datetime)
        table.column("isAvailable", .boolean)
        table.column("tags", .jsonText)
        table.column("genres", .jsonText)
        table.column("cover", .jsonText)
      }
      for index in 0..<count { try BookRecord(index).insert(db) }
      try db.execute(sql: "ANALYZE")
    }
    try documents.write { db in
      try db.execute(
        sql: """
          CREATE TABLE docs (id TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID;
          CREATE INDEX authors ON docs (json_extract(body, '$.author'));
          CREATE INDEX ratings ON docs (json_extract(body, '$.rating'));
          """)
      let insert = try db.makeStatement(sql: "INSERT INTO docs VALUES (?, ?)")
      let encoder = JSONEncoder()
      for index in 0..<count {
        let body = String(decoding: try encoder.encode(Book(index)), as: UTF8.self)
        try insert.execute(arguments: [Book.id(index), body])
      }
      try db.execute(sql: "ANALYZE")
    }
  }

  // MARK: Records

  func book(_ id: String) throws -> BookRecord? {
    try records.read { try BookRecord.fetchOne($0, key: id) }
  }

  func authors(_ names: [String]) throws -> [BookRecord] {
    try records.read { db in
      try BookRecord.filter(names.contains(Column("author"))).fetchAll(db)
    }
  }

  func author(_ name: String) throws -> [BookRecord] {
    try records.read { try BookRecord.filter(Column("author") == name).fetchAll($0) }
  }

  func best(_ limit: Int) throws -> [BookRecord] {
    try records.read { try BookRecord.order(Column("rating").desc).limit(limit).fetchAll($0) }
  }

  /// Pages by key: the rating, then the id.
  func page(from rating: Double, after last: BookRecord?, _ limit: Int) throws -> [BookRecord] {
    let (key, id) = (Column("rating"), Column("id"))
    return try records.read { db in
      var query = BookRecord.order(key, id).limit(limit)
      if let last {
        query = query.filter(key >= last.rating && (key > last.rating || id > last.id))
      } else {
        query = query.filter(key >= rating)
      }
      return try query.fetchAll(db)
    }
  }

  func all() throws -> [BookRecord] { try records.read { try BookRecord.fetchAll($0) } }

  func count(pages: Int) throws -> Int {
    try records.read { try BookRecord.filter(Column("numberOfPages") == pages).fetchCount($0) }
  }

  // MARK: JSON documents

  private func decoded(_ sql: String, _ arguments: StatementArguments = []) throws -> [Book] {
    let decoder = JSONDecoder()
    return try documents.read { db in
      let statement = try db.cachedStatement(sql: sql)
      return try String.fetchCursor(statement, arguments: arguments).map {
        try decoder.decode(Book.self, from: Data($0.utf8))
      }.reduce(into: []) { $0.append($1) }
    }
  }

  func jsonBook(_ id: String) throws -> Book {
    let found = try decoded("SELECT body FROM docs WHERE id = ?", [id])
    guard let book = found.first else { throw CocoaError(.fileReadNoSuchFile) }
    return book
  }

  func jsonAuthors(_ names: [String]) throws -> [Book] {
    let places = names.map { _ in "?" }.joined(separator: ", ")
    return try decoded(
      "SELECT body FROM docs WHERE json_extract(body, '$.author') IN (\(places))",
      StatementArguments(names))
  }

  func jsonBest(_ limit: Int) throws -> [Book] {
    try decoded(
      "SELECT body FROM docs ORDER BY json_extract(body, '$.rating') DESC LIMIT ?", [limit])
  }

  func jsonPage(from rating: Double, after last: (Double, String)?, _ limit: Int) throws
    -> [(id: String, book: Book)]
  {
    let decoder = JSONDecoder()
    let key = "json_extract(body, '$.rating')"
    return try documents.read { db in
      let place = last == nil ? "\(key) >= ?" : "\(key) >= ? AND (\(key) > ? OR id > ?)"
      let statement = try db.cachedStatement(
        sql: "SELECT id, body FROM docs WHERE \(place) ORDER BY \(key), id LIMIT ?")
      let arguments: StatementArguments =
        last.map { [$0.0, $0.0, $0.1, limit] } ?? [rating, limit]
      return try Row.fetchAll(statement, arguments: arguments).map { row in
        let body: String = row[1]
        return (row[0], try decoder.decode(Book.self, from: Data(body.utf8)))
      }
    }
  }

  func jsonAll() throws -> [Book] { try decoded("SELECT body FROM docs") }

  func jsonCount(pages: Int) throws -> Int {
    try documents.read { db in
      try Int.fetchOne(
        db, sql: "SELECT COUNT(*) FROM docs WHERE json_extract(body, '$.numberOfPages') = ?",
        arguments: [pages]) ?? 0
    }
  }
}
