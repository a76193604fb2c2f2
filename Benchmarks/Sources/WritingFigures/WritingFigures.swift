import Foundation
import GRDB
import Hearth
import Ratios
import RawLMDB

/// Durable writes beside GRDB's, as ratios within one run. One line each; see `Comparison`.
///
///     swift run -c release --package-path Benchmarks WritingFigures [folder]
///
/// The same documents go the same way on both sides: a Codable value, encoded, written under its id, and
/// flushed to the disk before the call returns. Hearth keeps its change log; SQLite runs in WAL mode with
/// `synchronous=FULL`, which is read back.
@main
struct WritingFigures {
  let folder: String

  static func main() async throws {
    let base = CommandLine.arguments.dropFirst().first ?? NSTemporaryDirectory()
    let folder = base + "/hearth-writing-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let figures = WritingFigures(folder: folder)
    try await figures.compare(tasks: 1, writes: 400)
    try await figures.compare(tasks: 64, writes: 6400)
    try await figures.compareWithC()
  }

  /// Writes of all tasks, one after another within each.
  private func compare(tasks: Int, writes: Int) async throws {
    let hearth = try HearthShelf(folder)
    let records = try RecordShelf(folder)
    let documents = try JSONShelf(folder)
    let names = ["GRDB records", "GRDB JSON documents"]
    var rates: [[Double]] = [[], [], []]
    for round in 0...Comparison.rounds {
      let first = round * writes
      let round = [
        try await rate(tasks, writes, first, hearth.write),
        try await rate(tasks, writes, first, records.write),
        try await rate(tasks, writes, first, documents.write),
      ]
      // The first one warms up.
      guard first > 0 else { continue }
      for index in rates.indices { rates[index].append(round[index]) }
    }
    let name = tasks == 1 ? "1 task" : "\(tasks) tasks"
    for (index, peer) in names.enumerated() {
      print(
        Comparison.line(
          "durable writes/s, \(name), setData(committing:) over \(peer) (WAL, FULL)",
          zip(rates[0], rates[index + 1]).map { $0 / $1 }))
    }
    // For orientation: what a disk does differs from hour to hour.
    print("rate\tdurable writes/s, \(name)\t\(rates.map { Int($0.sorted()[$0.count / 2]) })")
    try await hearth.close()
  }

  private func rate(
    _ tasks: Int, _ writes: Int, _ first: Int,
    _ write: @escaping @Sendable (Book) async throws -> Void
  ) async throws -> Double {
    try await Comparison.rate(writes) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<tasks {
          group.addTask {
            for index in 0..<(writes / tasks) {
              try await write(Book(first + task * (writes / tasks) + index))
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  /// One task, against one `mdb_put` to a commit, of the same bytes, in C.
  private func compareWithC() async throws {
    let count = 200
    let model = "\(folder)/model.hearth"
    let db = try Firestore.open(at: model)
    for index in 0..<count {
      let book = Book(index)
      try await db.document("books/\(book.id)").setData(committing: book)
    }
    try await db.terminate()
    let entries = raw_copy(model, "documents")
    defer { raw_free(entries) }
    let hearth = try HearthShelf(folder)
    var next = 0
    try await Comparison.print("durable writes/s, 1 task, over mdb_put in C, one to a commit") {
      next += count
      return try await rate(1, count, next, hearth.write)
    } under: {
      guard let table = raw_open("\(folder)/\(UUID().uuidString).lmdb", "documents", true) else {
        throw POSIXError(.EIO)
      }
      defer { raw_close(table) }
      return try await Comparison.rate(count) {
        guard raw_put(table, entries, 1) == 0 else { throw POSIXError(.EIO) }
      }
    }
    try await hearth.close()
  }
}

/// A document of ten fields, about 300 bytes.
struct Book: Codable, Sendable {
  var id: String
  var title: String
  var author: String
  var publisher: String
  var pages: Int
  var year: Int
  var price: Double
  var rating: Double
  var isAvailable: Bool
  var tags: [String]

  /// Ids come back, with other contents.
  init(_ index: Int) {
    id = "978-0-00-\(10_000 + index % 10_000)"
    title = "The book with the number \(index)"
    author = "Frances Herbert"
    publisher = "A house in the country, Ltd."
    pages = 100 + index % 900
    year = 1900 + index % 125
    price = 9.99 + Double(index % 50)
    rating = Double(index % 50) / 10
    isAvailable = index % 3 == 0
    tags = ["sand", "spice", "shelf-\(index % 20)"]
  }
}

struct HearthShelf: Sendable {
  private let db: Firestore
  private let books: CollectionReference

  init(_ folder: String) throws {
    db = try Firestore.open(at: "\(folder)/\(UUID().uuidString).hearth")
    books = db.collection("books")
  }

  @Sendable func write(_ book: Book) async throws {
    try await books.document(book.id).setData(committing: book)
  }

  func close() async throws { try await db.terminate() }
}

/// A column for each field; the tags are JSON.
struct RecordShelf: Sendable {
  private let pool: DatabasePool

  init(_ folder: String) throws {
    pool = try DatabasePool.durable("\(folder)/\(UUID().uuidString).sqlite")
    try pool.write { db in
      try db.create(table: "book") { table in
        table.primaryKey("id", .text)
        for name in ["title", "author", "publisher"] { table.column(name, .text) }
        for name in ["pages", "year", "isAvailable"] { table.column(name, .integer) }
        for name in ["price", "rating"] { table.column(name, .double) }
        table.column("tags", .jsonText)
      }
    }
  }

  @Sendable func write(_ book: Book) async throws {
    try await pool.write { try book.upsert($0) }
  }
}

extension Book: PersistableRecord {
  static let databaseTableName = "book"
}

/// A table of ids and JSON.
struct JSONShelf: Sendable {
  private let pool: DatabasePool

  init(_ folder: String) throws {
    pool = try DatabasePool.durable("\(folder)/\(UUID().uuidString).sqlite")
    try pool.write {
      try $0.execute(
        sql: "CREATE TABLE docs(id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID")
    }
  }

  @Sendable func write(_ book: Book) async throws {
    let body = String(decoding: try JSONEncoder().encode(book), as: UTF8.self)
    try await pool.write { db in
      let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO docs VALUES (?, ?)")
      try statement.execute(arguments: [book.id, body])
    }
  }
}

extension DatabasePool {
  /// In WAL mode, and flushed with every commit. A pool sets `synchronous=NORMAL` by itself, so it is
  /// set afterwards, and read back.
  static func durable(_ path: String) throws -> DatabasePool {
    let pool = try DatabasePool(path: path)
    let (synchronous, journal) = try pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = FULL")
      return (
        try Int.fetchOne(db, sql: "PRAGMA synchronous"),
        try String.fetchOne(db, sql: "PRAGMA journal_mode")
      )
    }
    precondition(synchronous == 2 && journal == "wal", "SQLite is not as durable as it should be.")
    return pool
  }
}
