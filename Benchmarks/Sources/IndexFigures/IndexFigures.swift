import Foundation
import GRDB
import Hearth
import Recordings

/// What indexes cost: time to keep them, against LMDB's own puts of the same bytes, and the file's size,
/// against SQLite with JSON documents.
///
///     swift run -c release --package-path Benchmarks IndexFigures [folder [time] [size] [building]]
@main
struct IndexFigures {
  let folder: String
  static let count = 20_000
  static let group = 500
  static let rounds = 5

  static func main() async throws {
    let base = CommandLine.arguments.dropFirst().first ?? NSTemporaryDirectory()
    let folder = base + "/hearth-figures-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    let keepsFiles = ProcessInfo.processInfo.environment["HEARTH_KEEP_FIGURES"] != nil
    defer { if !keepsFiles { try? FileManager.default.removeItem(atPath: folder) } }
    let figures = IndexFigures(folder: folder)
    let parts = CommandLine.arguments.dropFirst(2)
    if parts.isEmpty || parts.contains("time") { try await figures.insertCost() }
    if parts.isEmpty || parts.contains("size") { try await figures.sizes() }
    if parts.isEmpty || parts.contains("building") { try await figures.building() }
  }

  func newPath() -> String { "\(folder)/\(UUID().uuidString).hearth" }

  // MARK: Documents

  /// Ten fields, in the order of none of which the ids are.
  struct Book: Codable {
    var title: String
    var author: String
    var publisher: String
    var isbn: String
    var pages: Int
    var year: Int
    var price: Double
    var rating: Double
    var added: Date
    var tags: [String]

    init(_ index: Int) {
      let mixed = Int((UInt64(index) &* 0x9E37_79B9_7F4A_7C15) >> 33)
      title = "The book with the number \(mixed)"
      author = "Author \(mixed % 1000)"
      publisher = "A house in the country, Ltd."
      isbn = "978-0-00-\(mixed)-0"
      pages = 100 + mixed % 900
      year = 1900 + mixed % 125
      price = 9.99 + Double(mixed % 5000) / 100
      rating = Double(mixed % 50) / 10
      added = Date(timeIntervalSince1970: 1_700_000_000 + Double(index))
      tags = ["sand", "spice", "shelf-\(mixed % 200)"]
    }
  }

  static func id(_ index: Int) -> String { String(index + 10_000_000) }

  static let indexes: [FirestoreIndex] = [
    FirestoreIndex("books", .ascending("year")),
    FirestoreIndex("books", .ascending("author")),
    FirestoreIndex("books", .ascending("title")),
    FirestoreIndex("books", .ascending("price")),
    FirestoreIndex("books", .ascending("author"), .descending("year")),
    FirestoreIndex("books", .ascending("pages")),
    FirestoreIndex("books", .ascending("rating"), .ascending("title")),
    FirestoreIndex("books", .ascending("isbn")),
    FirestoreIndex("books", .ascending("added")),
    FirestoreIndex("books", .contains("tags")),
  ]

  private func open(_ path: String, indexes: Int) async throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.indexPolicy = .declared
    let db = try Firestore.open(at: path, settings: settings)
    try await db.indexes.declare(Array(Self.indexes.prefix(indexes)))
    try await db.indexes.waitUntilReady()
    return db
  }

  private func fill(_ db: Firestore) async throws {
    let books = db.collection("books")
    for start in stride(from: 0, to: Self.count, by: Self.group) {
      let batch = db.batch()
      for index in start..<min(start + Self.group, Self.count) {
        try batch.setData(from: Book(index), forDocument: books.document(Self.id(index)))
      }
      try await batch.commit()
    }
  }

  /// Seconds.
  private func hearth(_ indexes: Int, at path: String? = nil) async throws -> Double {
    let db = try await open(path ?? newPath(), indexes: indexes)
    let begin = ContinuousClock.now
    try await fill(db)
    let seconds = (ContinuousClock.now - begin) / .seconds(1)
    try await db.terminate()
    return seconds
  }

  // MARK: Time

  private func raw(_ recording: Recording) throws -> Double {
    let path = newPath()
    let begin = ContinuousClock.now
    try recording.put(at: path, flushes: false)
    return (ContinuousClock.now - begin) / .seconds(1)
  }

  func insertCost() async throws {
    var recordings: [(indexes: Int, Recording)] = []
    for indexes in [0, 1, 5, 10] {
      let path = newPath()
      _ = try await hearth(indexes, at: path)
      recordings.append((indexes, Recording(path, group: Self.group)))
    }
    var own: [Int: [Double]] = [:]
    var theirs: [Int: [Double]] = [:]
    for _ in 0..<Self.rounds {
      for (indexes, recording) in recordings {
        own[indexes, default: []].append(try await hearth(indexes))
        theirs[indexes, default: []].append(try raw(recording))
      }
    }
    func median(_ values: [Double]?) -> Double {
      let sorted = (values ?? []).sorted()
      return sorted[sorted.count / 2]
    }
    print("indexes\tentries/doc\tHearth µs/doc\traw µs/doc\tper entry: Hearth ns\traw ns\tratio")
    for (indexes, recording) in recordings {
      let (one, other) = (median(own[indexes]), median(theirs[indexes]))
      let perDocument = 1e6 / Double(Self.count)
      var line = [
        "\(indexes)", format(Double(recording.entryCount) / Double(Self.count)),
        format(one * perDocument), format(other * perDocument),
      ]
      if indexes > 0 {
        let entries = Double(recording.entryCount)
        let cost = (one - median(own[0])) / entries * 1e9
        let floor = (other - median(theirs[0])) / entries * 1e9
        line += [format(cost), format(floor), String(format: "%.2f", cost / floor)]
      }
      print(line.joined(separator: "\t"))
    }
  }

  private func format(_ number: Double) -> String { String(format: "%.1f", number) }

  // MARK: Size

  /// With the indexes on author and year.
  func sizes() async throws {
    let path = newPath()
    let settings = FirestoreSettings()
    settings.indexPolicy = .declared
    settings.durability = .unsafeWithoutFlushing
    for isRandom in [false, true] {
      let own = path + "\(isRandom)"
      let db = try Firestore.open(at: own, settings: settings)
      try await db.indexes.declare(Array(Self.indexes.prefix(2)))
      try await fill(db, isRandom: isRandom)
      let statistics = try await db.statistics()
      try await db.terminate()
      let sqlite = try size(isRandom: isRandom, suffix: "")
      let compact = try size(isRandom: isRandom, suffix: "WITHOUT ROWID")
      let ids = isRandom ? "ids of 20 random characters" : "ids in order"
      let bytes = size(of: own)
      print("size\tHearth, \(ids)\t\(bytes / Self.count) bytes a document")
      print(
        "size\t  in use \((bytes - statistics.freeBytes) / Self.count), of this the log "
          + "\(statistics.changeLogBytes / Self.count)")
      print("size\tSQLite with JSON, \(ids)\t\(sqlite / Self.count)")
      print("size\tSQLite with JSON, without row ids, \(ids)\t\(compact / Self.count)")
      print(
        "ratio\tHearth's file over SQLite's\t\(String(format: "%.2f", Double(bytes) / Double(sqlite)))"
      )
    }
  }

  private func ids(isRandom: Bool) -> [String] {
    var generator = SystemRandomNumberGenerator()
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    return (0..<Self.count).map { index in
      guard isRandom else { return Self.id(index) }
      return String((0..<20).map { _ in letters[Int(generator.next() % 62)] })
    }
  }

  private func fill(_ db: Firestore, isRandom: Bool) async throws {
    let ids = ids(isRandom: isRandom)
    for start in stride(from: 0, to: Self.count, by: Self.group) {
      let batch = db.batch()
      for index in start..<min(start + Self.group, Self.count) {
        try batch.setData(
          from: Book(index), forDocument: db.collection("books").document(ids[index]))
      }
      try await batch.commit()
    }
  }

  private func size(isRandom: Bool, suffix: String) throws -> Int {
    let path = newPath()
    let queue = try DatabasePool(path: path)
    try queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE documents (id TEXT PRIMARY KEY NOT NULL, json TEXT NOT NULL) \(suffix);
          CREATE INDEX by_year ON documents (json_extract(json, '$.year'));
          CREATE INDEX by_author ON documents (json_extract(json, '$.author'));
          """)
    }
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .secondsSince1970
    let ids = ids(isRandom: isRandom)
    for start in stride(from: 0, to: Self.count, by: Self.group) {
      try queue.write { db in
        for index in start..<min(start + Self.group, Self.count) {
          let json = String(decoding: try encoder.encode(Book(index)), as: UTF8.self)
          try db.execute(
            sql: "INSERT INTO documents VALUES (?, ?)", arguments: [ids[index], json])
        }
      }
    }
    try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
    try queue.close()
    return size(of: path)
  }

  private func size(of path: String) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.size] as? NSNumber)?.intValue ?? 0
  }

  // MARK: Building

  /// How long an index on documents that are there takes.
  func building() async throws {
    let db = try await open(newPath(), indexes: 0)
    try await fill(db)
    let begin = ContinuousClock.now
    try await db.indexes.declare(Self.indexes[1])
    try await db.indexes.waitUntilReady()
    let seconds = (ContinuousClock.now - begin) / .seconds(1)
    print("building\tan index on \(Self.count) documents\t\(String(format: "%.3f", seconds)) s")
    try await db.terminate()
  }
}
