import Foundation
import GRDB
import Hearth

/// A hundred books of each of a thousand authors, on both sides.
private enum Library {
  static let authors = 1000
  static let booksEach = 100

  static func id(_ author: Int, _ book: Int) -> String { "book-\(author)-\(book)" }
}

struct Book: Codable, Sendable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "book"
  var id: String
  var title: String
  var author: String
  var pages: Int
  var year: Int

  init(_ author: Int, _ book: Int) {
    id = Library.id(author, book)
    title = "The book with the number \(book)"
    self.author = "author-\(author)"
    pages = 100 + book
    year = 1900 + book
  }
}

/// One side's observers: what tells them, and what changes a book.
private protocol Observers {
  /// Observers of different authors, or all of the first one's.
  func observe(_ count: Int, sameAuthor: Bool, _ told: Bell) throws
  func observeDocument(_ told: Bell) throws
  func change(to pages: Int) async throws
  func stop()
}

private final class HearthSide: Observers {
  private let db: Firestore
  private var registrations: [any ListenerRegistration] = []
  private let queue = DispatchQueue(label: "told")

  init(_ db: Firestore, authors: Int = Library.authors) async throws {
    self.db = db
    let bulk = db.bulkWriter()
    for author in 0..<authors {
      for index in 0..<Library.booksEach {
        let book = Book(author, index)
        try await bulk.enqueueSet(from: book, forDocument: db.document("books/\(book.id)"))
      }
    }
    _ = await bulk.finish()
    try await db.indexes.declare(FirestoreIndex("books", [.ascending("author")]))
    try await db.indexes.waitUntilReady()
  }

  func observe(_ count: Int, sameAuthor: Bool, _ told: Bell) throws {
    for index in 0..<count {
      registrations.append(
        db.collection("books").whereField("author", isEqualTo: "author-\(sameAuthor ? 0 : index)")
          .addSnapshotListener(on: queue) { snapshot, _ in
            // Every book, decoded, as GRDB's observers get them.
            let books = snapshot?.documents.compactMap { try? $0.data(as: Book.self) }
            if books?.count == Library.booksEach { told.ring() }
          })
    }
  }

  func observeDocument(_ told: Bell) throws {
    registrations.append(
      db.document("books/\(Library.id(0, 0))").addSnapshotListener(on: queue) { snapshot, _ in
        if (try? snapshot?.data(as: Book.self)) != nil { told.ring() }
      })
  }

  func change(to pages: Int) async throws {
    try await db.document("books/\(Library.id(0, 0))").updateData(["pages": pages])
  }

  func stop() {
    registrations.forEach { $0.remove() }
    registrations = []
  }
}

private final class GRDBSide: Observers {
  private let pool: DatabasePool
  private var cancellables: [AnyDatabaseCancellable] = []
  private let queue = DispatchQueue(label: "told")
  private let isConstant: Bool

  init(_ path: String, authors: Int = Library.authors, isConstant: Bool) throws {
    self.isConstant = isConstant
    pool = try DatabasePool(path: path)
    let synchronous = try pool.writeWithoutTransaction { db in
      // A pool sets NORMAL by itself.
      try db.execute(sql: "PRAGMA synchronous = FULL")
      return try Int.fetchOne(db, sql: "PRAGMA synchronous")
    }
    precondition(synchronous == 2, "SQLite is not as durable as it should be.")
    try pool.write { db in
      try db.create(table: "book") { table in
        table.primaryKey("id", .text)
        table.column("title", .text)
        table.column("author", .text).indexed()
        table.column("pages", .integer)
        table.column("year", .integer)
      }
      for author in 0..<authors {
        for index in 0..<Library.booksEach { try Book(author, index).insert(db) }
      }
    }
  }

  func observe(_ count: Int, sameAuthor: Bool, _ told: Bell) throws {
    for index in 0..<count {
      let author = "author-\(sameAuthor ? 0 : index)"
      start(told) { db in try Book.filter(Column("author") == author).fetchAll(db) }
    }
  }

  func observeDocument(_ told: Bell) throws {
    start(told) { db in try Book.fetchAll(db, keys: [Library.id(0, 0)]) }
  }

  private func start(_ told: Bell, _ fetch: @escaping @Sendable (Database) throws -> [Book]) {
    let observation =
      isConstant
      ? ValueObservation.trackingConstantRegion(fetch) : ValueObservation.tracking(fetch)
    cancellables.append(
      observation.start(in: pool, scheduling: .async(onQueue: queue)) {
        fatalError("\($0)")
      } onChange: { _ in
        told.ring()
      })
  }

  func change(to pages: Int) async throws {
    try await pool.write { db in
      try db.execute(
        sql: "UPDATE book SET pages = ? WHERE id = ?", arguments: [pages, Library.id(0, 0)])
    }
  }

  func stop() { cancellables = [] }
}

extension ListeningFigures {
  private struct Round {
    var first: [Double] = []
    var last: [Double] = []
    var cpu = 0.0

    var text: String {
      """
      first \(Text.micros(middle(first))) last \(Text.micros(middle(last))) CPU/commit \
      \(Text.micros(cpu))
      """
    }

    func middle(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }
  }

  /// Observers of `author == X`, and one commit that changes a book of the first.
  func manyObservers() async throws {
    let hearth = try await HearthSide(try open(flushing: true))
    let tracking = try GRDBSide("\(folder)/tracking.sqlite", isConstant: false)
    let constant = try GRDBSide("\(folder)/constant.sqlite", isConstant: true)
    for sameAuthor in [false, true] {
      for count in [1, 10, 100, 1000] {
        let commits = count >= 1000 ? 3 : count >= 100 ? 8 : 30
        // Of different authors Hearth tells the one whose books changed, GRDB all.
        let ours = try await round(
          hearth, count, sameAuthor, commits: max(commits, 20),
          deliveries: sameAuthor ? count : 1)
        let theirs = try await round(tracking, count, sameAuthor, commits: commits)
        let fixed = try await round(constant, count, sameAuthor, commits: commits)
        let name = "\(count) observers of \(sameAuthor ? "one author" : "different authors")"
        print("grdb\t\(name)\tHearth \(ours.text)")
        for (peer, figures) in [("tracking", theirs), ("trackingConstantRegion", fixed)] {
          print(
            """
            grdb\t\(name)\t\(peer) \(figures.text)\tHearth sooner to the last \
            \(ratio(figures.middle(figures.last), ours.middle(ours.last))), less CPU \
            \(ratio(figures.cpu, ours.cpu))
            """)
        }
      }
    }
  }

  private func ratio(_ over: Double, _ under: Double) -> String {
    String(format: "%.1fx", over / under)
  }

  private func round(
    _ side: any Observers, _ count: Int, _ sameAuthor: Bool, commits: Int, deliveries: Int? = nil
  ) async throws -> Round {
    let told = Bell(keepingTimes: true)
    try side.observe(count, sameAuthor: sameAuthor, told)
    return try await round(side, told, first: count, commits, deliveries ?? count)
  }

  private func round(
    _ side: any Observers, _ told: Bell, first: Int, _ commits: Int, _ deliveries: Int
  ) async throws -> Round {
    await told.wait(for: first)
    // GRDB may tell a first value twice.
    var count = -1
    while count != told.count {
      count = told.count
      try await Task.sleep(for: .milliseconds(300))
    }
    var round = Round()
    var cpu: UInt64 = 0
    // The first two warm up.
    for commit in -2..<commits {
      told.clear()
      let cpuBegin = Machine.cpuNanoseconds
      let begin = Machine.monotonicNanoseconds
      try await side.change(to: 1000 + Int.random(in: 0..<1_000_000))
      await told.wait(for: deliveries)
      let times = told.times
      guard commit >= 0, let first = times.first, let last = times.last else { continue }
      cpu += Machine.cpuNanoseconds - cpuBegin
      round.first.append(Double(first - begin))
      round.last.append(Double(last - begin))
    }
    round.cpu = Double(cpu) / Double(commits)
    side.stop()
    return round
  }

  /// One observer of one document, everything flushed.
  func oneDocument() async throws {
    let hearth = try await HearthSide(try open(flushing: true), authors: 10)
    let tracking = try GRDBSide("\(folder)/one.sqlite", authors: 10, isConstant: false)
    let constant = try GRDBSide("\(folder)/one-constant.sqlite", authors: 10, isConstant: true)
    for turn in 0..<4 {
      for (name, side) in [
        ("Hearth", hearth as any Observers), ("tracking", tracking),
        ("trackingConstantRegion", constant),
      ] {
        let told = Bell(keepingTimes: true)
        try side.observeDocument(told)
        let round = try await round(side, told, first: 1, 300, 1)
        if turn > 0 {
          print(
            "document\t\(name)\t\(Text.spread(round.first)) CPU/commit \(Text.micros(round.cpu))")
        }
      }
    }
  }
}
