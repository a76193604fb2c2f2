import Foundation
import GRDB
import Hearth
import ParseSwift

/// Books of several authors: a relation on Parse's side, a table of pairs on SQLite's.
extension JoinFigures {
  func relations() async throws {
    let name = "Parse relation"
    guard only.map({ name.contains($0) || $0.hasPrefix(name) }) ?? true else { return }
    let relations = Relations(library)
    try await relations.load(hearth, sqlite, marker: marker + ".relations")
    let parse = ParseLibrary(hearth)
    let book = { ($0 &* 7919) % library.books }
    // Twenty authors have a twentieth of all books each.
    let popular = { ($0 &* 7) % Relations.popular }
    try await compare("Parse relation: authors of a book", 200, book) {
      try parse.authors(of: $0)
    } grdb: {
      try sqlite.authors(of: $0)
    }
    try await compare(
      "Parse relation: 20 of an author's 5 % of the books, from the middle", 100, popular
    ) {
      try parse.pageOfBooks(of: $0, after: library.books / 2)
    } grdb: {
      try sqlite.pageOfBooks(of: $0, after: library.books / 2)
    }
    try await compare("Parse relation: the same by title", 5, popular) {
      try parse.pageOfBooksByTitle(of: $0, from: "m")
    } grdb: {
      try sqlite.pageOfBooksByTitle(of: $0, from: "m")
    }
    let author = { Relations.popular + ($0 &* 31) % (library.authors - Relations.popular) }
    try await compare("Parse relation: count of an author's books", 200, author) {
      try parse.countOfBooks(of: $0)
    } grdb: {
      try sqlite.countOfBooks(of: $0)
    }
    try await compare("Parse relation: count of 5 % of the books", 20, popular) {
      try parse.countOfBooks(of: $0)
    } grdb: {
      try sqlite.countOfBooks(of: $0)
    }
    try sqlite.prepareDeepSaves()
    for tasks in [1, 64] {
      let name =
        "Parse relation: deep save with ISBN and three authors, \(tasks) task\(tasks == 1 ? "" : "s")"
      guard wants(name) else { continue }
      var times: (own: [Double], their: [Double]) = ([], [])
      let count = tasks == 1 ? 100 : 1280
      for round in 0...rounds {
        let own = try await Self.perform(side == "grdb" ? 0 : count, tasks) {
          try await parse.saveDeep($0)
        }
        let their = try await Self.perform(side == "hearth" ? 0 : count, tasks) {
          try await sqlite.saveDeep($0)
        }
        guard round > 0 else { continue }
        times.own.append(own)
        times.their.append(their)
      }
      show(name, times.own, times.their)
    }
  }

  private static func perform(
    _ count: Int, _ tasks: Int, _ body: @escaping @Sendable (Int) async throws -> Void
  ) async throws -> Double {
    let begin = Machine.nanoseconds
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for index in stride(from: task, to: count, by: tasks) { try await body(index) }
        }
      }
      try await group.waitForAll()
    }
    return (Machine.nanoseconds - begin) / Double(max(1, count))
  }
}

/// Three authors of each book.
struct Relations {
  static let popular = 20
  let library: Library

  init(_ library: Library) { self.library = library }

  private func authors(of book: Int) -> Set<Int> {
    var numbers = Numbers(6, book)
    let rest = library.authors - Self.popular
    return [
      book % Self.popular, Self.popular + numbers.below(rest), Self.popular + numbers.below(rest),
    ]
  }

  func load(_ hearth: HearthLibrary, _ sqlite: SQLiteLibrary, marker: String) async throws {
    if FileManager.default.fileExists(atPath: marker) { return }
    let db = hearth.db
    // The first one declares the relation's rules and indexes.
    ParseSwift.initialize(db)
    let first = ParseBook.pointer(0)
    _ = try await first.toObject().operation.addRelation(
      "authors", objects: authors(of: 0).map { ParseAuthor.pointer($0).toObject() }
    ).save()
    var batch = db.batch()
    for book in 0..<library.books {
      let owner = db.document("books/\(ID.book(book))")
      for author in authors(of: book) {
        let related = db.document("authors/\(ID.author(author))")
        let id = "\(owner.documentID.utf8.count):\(owner.documentID)\(related.documentID)"
        batch.setData(
          ["owner": owner, "related": related],
          forDocument: db.collection("_Join:authors:books").document(id))
      }
      guard book % 2000 == 1999 || book == library.books - 1 else { continue }
      try await batch.commit()
      batch = db.batch()
    }
    try await db.indexes.waitUntilReady()
    try await sqlite.pool.write { db in
      try db.execute(
        sql: """
          DROP TABLE IF EXISTS bookAuthor;
          CREATE TABLE bookAuthor (
            bookId INTEGER NOT NULL REFERENCES book ON DELETE CASCADE,
            authorId INTEGER NOT NULL REFERENCES author ON DELETE CASCADE,
            PRIMARY KEY (bookId, authorId)) WITHOUT ROWID;
          CREATE INDEX bookAuthorReverse ON bookAuthor (authorId, bookId);
          """)
      let insert = try db.makeStatement(sql: "INSERT INTO bookAuthor VALUES (?, ?)")
      for book in 0..<library.books {
        for author in authors(of: book) { try insert.execute(arguments: [book, author]) }
      }
      try db.execute(sql: "ANALYZE")
    }
    _ = FileManager.default.createFile(atPath: marker, contents: nil)
  }
}

extension ParseBook {
  static func pointer(_ index: Int) -> Pointer<ParseBook> {
    Pointer(objectId: JoinFigures.bookID(index))
  }
}

extension ParseAuthor {
  static func pointer(_ index: Int) -> Pointer<ParseAuthor> {
    Pointer(objectId: JoinFigures.authorID(index))
  }
}

extension JoinFigures {
  // Within a Parse class, `ID` is the type of its ids.
  fileprivate static func bookID(_ index: Int) -> String { ID.book(index) }
  fileprivate static func authorID(_ index: Int) -> String { ID.author(index) }
}

struct DeepISBN: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var value: String?
}

struct DeepAuthor: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var name: String?
}

struct DeepBook: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var title: String?
  var isbn: DeepISBN?
}

extension ParseLibrary {
  func authors(of book: Int) throws -> Int {
    try ParseAuthor.queryRelations("authors", parent: ParseBook.pointer(book)).find()
      .reduce(0) { $0 + ($1.born ?? 0) }
  }

  private func books(of author: Int) throws -> ParseBookQuery {
    try ParseBook.queryRelations("authors", child: ParseAuthor.pointer(author).toObject())
  }

  func pageOfBooks(of author: Int, after book: Int) throws -> Int {
    try books(of: author).limit(20).after(ParseBook.pointer(book).toObject()).find()
      .reduce(0) { $0 + ($1.pages ?? 0) }
  }

  func pageOfBooksByTitle(of author: Int, from title: String) throws -> Int {
    try books(of: author).where("title" >= title).order([.ascending("title")]).limit(20).find()
      .reduce(0) { $0 + ($1.pages ?? 0) }
  }

  func countOfBooks(of author: Int) throws -> Int { try books(of: author).count() }

  func saveDeep(_ number: Int) async throws {
    let book = DeepBook(title: "title \(number)", isbn: DeepISBN(value: "978 \(number)"))
    let authors = (0..<3).map { DeepAuthor(name: "author \(number) \($0)") }
    _ = try await book.operation.addRelation("authors", objects: authors).save()
  }
}

extension BookRecord {
  static let pairs = hasMany(BookAuthorRecord.self)
  static let relatedAuthors = hasMany(
    AuthorRecord.self, through: pairs, using: BookAuthorRecord.author)
}

struct BookAuthorRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "bookAuthor"
  static let author = belongsTo(AuthorRecord.self)
  static let book = belongsTo(BookRecord.self)

  var bookId: Int64
  var authorId: Int64
}

extension AuthorRecord {
  static let pairs = hasMany(BookAuthorRecord.self)
  static let relatedBooks = hasMany(BookRecord.self, through: pairs, using: BookAuthorRecord.book)
  var relatedBooks: QueryInterfaceRequest<BookRecord> { request(for: AuthorRecord.relatedBooks) }
}

extension SQLiteLibrary {
  private static func author(_ index: Int) -> AuthorRecord {
    AuthorRecord(id: Int64(index), name: "", country: "", born: 0)
  }

  func authors(of book: Int) throws -> Int {
    try pool.read { db in
      let book = BookRecord(
        id: Int64(book), title: "", summary: "", isbn: "", genre: "", pages: 0, year: 0,
        authorId: 0, latitude: 0, longitude: 0)
      return try book.request(for: BookRecord.relatedAuthors).fetchAll(db).reduce(0) {
        $0 + $1.born
      }
    }
  }

  func pageOfBooks(of author: Int, after book: Int) throws -> Int {
    try pool.read { db in
      try Self.author(author).relatedBooks.filter(Column("id") > book).order(Column("id"))
        .limit(20).fetchAll(db).reduce(0) { $0 + $1.pages }
    }
  }

  func pageOfBooksByTitle(of author: Int, from title: String) throws -> Int {
    try pool.read { db in
      try Self.author(author).relatedBooks.filter(Column("title") >= title)
        .order(Column("title"), Column("id")).limit(20).fetchAll(db).reduce(0) { $0 + $1.pages }
    }
  }

  func countOfBooks(of author: Int) throws -> Int {
    try pool.read { try BookAuthorRecord.filter(Column("authorId") == author).fetchCount($0) }
  }

  func prepareDeepSaves() throws {
    try pool.write { db in
      try db.execute(
        sql: """
          DROP TABLE IF EXISTS deepPair; DROP TABLE IF EXISTS deepBook;
          DROP TABLE IF EXISTS deepIsbn; DROP TABLE IF EXISTS deepAuthor;
          CREATE TABLE deepIsbn (id INTEGER PRIMARY KEY, value TEXT, createdAt, updatedAt);
          CREATE TABLE deepAuthor (id INTEGER PRIMARY KEY, name TEXT, createdAt, updatedAt);
          CREATE TABLE deepBook (
            id INTEGER PRIMARY KEY, title TEXT, isbnId INTEGER REFERENCES deepIsbn,
            createdAt, updatedAt);
          CREATE TABLE deepPair (
            bookId INTEGER NOT NULL REFERENCES deepBook ON DELETE CASCADE,
            authorId INTEGER NOT NULL REFERENCES deepAuthor ON DELETE CASCADE,
            PRIMARY KEY (bookId, authorId)) WITHOUT ROWID;
          CREATE INDEX deepPairReverse ON deepPair (authorId, bookId);
          """)
    }
  }

  func saveDeep(_ number: Int) async throws {
    try await pool.write { db in
      let now = Date()
      try db.execute(
        literal:
          "INSERT INTO deepIsbn (value, createdAt, updatedAt) VALUES (\("978 \(number)"), \(now), \(now))"
      )
      let isbn = db.lastInsertedRowID
      try db.execute(
        literal: """
          INSERT INTO deepBook (title, isbnId, createdAt, updatedAt)
          VALUES (\("title \(number)"), \(isbn), \(now), \(now))
          """)
      let book = db.lastInsertedRowID
      for author in 0..<3 {
        try db.execute(
          literal: """
            INSERT INTO deepAuthor (name, createdAt, updatedAt)
            VALUES (\("author \(number) \(author)"), \(now), \(now))
            """)
        try db.execute(
          literal: "INSERT INTO deepPair VALUES (\(book), \(db.lastInsertedRowID))")
      }
      _ = try Row.fetchOne(db, sql: "SELECT * FROM deepBook WHERE id = ?", arguments: [book])
    }
  }
}
