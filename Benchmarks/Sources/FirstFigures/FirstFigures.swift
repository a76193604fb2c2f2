import Foundation
import Hearth
import Ratios
import RawLMDB

/// The first figures, as ratios within one run. One line each; see `Comparison`.
///
///     swift run -c release --package-path Benchmarks FirstFigures [folder]
///
/// The folder's disk is what is measured where writes are durable. By default the temporary one.
@main
struct FirstFigures {
  let folder: String

  static func main() async throws {
    let base = CommandLine.arguments.dropFirst().first ?? NSTemporaryDirectory()
    let folder = base + "/hearth-figures-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let figures = FirstFigures(folder: folder)
    try await figures.concurrentWrites()
    try await figures.bulkImport(.full)
    try await figures.bulkImport(.unsafeWithoutFlushing)
    try await figures.reads()
  }

  func newPath() -> String { "\(folder)/\(UUID().uuidString).hearth" }

  func open(
    _ path: String, _ durability: FirestoreSettings.Durability = .full
  ) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = durability
    return try Firestore.open(at: path, settings: settings)
  }

  // MARK: Concurrent writes

  /// What group commit brings: documents and commits in a second.
  func concurrentWrites() async throws {
    let db = try open(newPath())
    // Never the same data twice: a write that changes nothing makes no commit.
    var written = 0
    func write(_ count: Int, by tasks: Int) async throws -> (documents: Double, commits: Double) {
      let first = written
      written += count
      let before = try await db.statistics().commits
      let begin = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<tasks {
          group.addTask {
            for index in 0..<(count / tasks) {
              let number = first + task * (count / tasks) + index
              try await db.document("books/\(number % 10_000)").setData(Book.data(number))
            }
          }
        }
        try await group.waitForAll()
      }
      let seconds = (ContinuousClock.now - begin) / .seconds(1)
      let commits = try await db.statistics().commits - before
      return (Double(count) / seconds, Double(commits) / seconds)
    }
    _ = try await write(64, by: 64)
    var documents: [Double] = []
    var commits: [Double] = []
    for _ in 0..<Comparison.rounds {
      let (many, one) = (try await write(6400, by: 64), try await write(200, by: 1))
      documents.append(many.documents / one.documents)
      commits.append(many.commits / one.commits)
    }
    print(Comparison.line("durable setData, documents/s, 64 tasks over 1 task", documents))
    print(Comparison.line("durable setData, commits/s, 64 tasks over 1 task", commits))
    try await db.terminate()
  }

  // MARK: Bulk import

  /// Batches of 500 models from four tasks, encoding included, against `mdb_put` of the very keys and
  /// records by one thread, 500 to a commit. Batches that wait together share a commit.
  func bulkImport(_ durability: FirestoreSettings.Durability) async throws {
    let (count, group) = (20_000, 500)
    let model = newPath()
    try await load(count, group, model, .unsafeWithoutFlushing)
    let entries = raw_copy(model, "documents")
    defer { raw_free(entries) }
    precondition(entries.count == count, "The documents are where they are looked for.")
    try await Comparison.print(
      "bulk import, documents/s, \(durability), setData(from:) in batches over mdb_put in C"
    ) {
      try await load(count, group, newPath(), durability)
    } under: {
      guard let table = raw_open(newPath(), "documents", durability == .full) else {
        throw POSIXError(.EIO)
      }
      defer { raw_close(table) }
      return try await Comparison.rate(count) {
        guard raw_put(table, entries, group) == 0 else { throw POSIXError(.EIO) }
      }
    }
  }

  @discardableResult
  private func load(
    _ count: Int, _ group: Int, _ path: String, _ durability: FirestoreSettings.Durability
  ) async throws -> Double {
    let db = try open(path, durability)
    let rate = try await Comparison.rate(count) {
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        let starts = Array(stride(from: 0, to: count, by: group))
        for task in 0..<4 {
          tasks.addTask {
            let books = db.collection("books")
            for start in starts where start / group % 4 == task {
              let batch = db.batch()
              for index in start..<min(start + group, count) {
                let id = String(index + 10_000_000)
                try batch.setData(from: Book(index), forDocument: books.document(id))
              }
              try await batch.commit()
            }
          }
        }
        try await tasks.waitForAll()
      }
    }
    try await db.terminate()
    return rate
  }

  // MARK: Reads

  /// `getDocument(as:)`, against `mdb_get` in C plus the decoding of the same bytes once they are there.
  func reads() async throws {
    let (count, rounds) = (1_000, 20)
    let path = newPath()
    try await load(count, 500, path, .unsafeWithoutFlushing)
    let entries = raw_copy(path, "documents")
    defer { raw_free(entries) }
    let raw = path + "-raw"
    guard let table = raw_open(raw, "documents", false), raw_put(table, entries, 500) == 0 else {
      throw POSIXError(.EIO)
    }
    defer { raw_close(table) }
    let db = try open(path)
    let snapshots = try await db.collection("books").getDocuments().documents
    let references = snapshots.map(\.reference)
    var pages = 0
    let typed: () async throws -> Double = {
      try await Comparison.rate(count * rounds) {
        for _ in 0..<rounds {
          for reference in references {
            pages &+= try await reference.getDocument(as: Book.self).pages
          }
        }
      }
    }
    try await Comparison.print(
      "point read, getDocument(as:) over mdb_get in C + decode of the same bytes", over: typed
    ) {
      try await Comparison.rate(count * rounds) {
        pages &+= Int(truncatingIfNeeded: raw_get(table, entries, rounds))
        for _ in 0..<rounds {
          for snapshot in snapshots { pages &+= try snapshot.data(as: Book.self).pages }
        }
      }
    }
    try await Comparison.print("point read, getDocument() over mdb_get in C") {
      try await Comparison.rate(count * rounds) {
        for _ in 0..<rounds {
          for reference in references {
            pages &+= try await reference.getDocument().exists ? 1 : 0
          }
        }
      }
    } under: {
      try await Comparison.rate(count * rounds) {
        pages &+= Int(truncatingIfNeeded: raw_get(table, entries, rounds))
      }
    }
    precondition(pages != 0)
    try await db.terminate()
  }
}

/// A document of ten fields, about 300 bytes.
struct Book: Codable {
  var title: String
  var author: String
  var publisher: String
  var isbn: String
  var pages: Int
  var year: Int
  var price: Double
  var rating: Double
  var isAvailable: Bool
  var tags: [String]

  init(_ index: Int) {
    title = "The book with the number \(index)"
    author = "Frances Herbert"
    publisher = "A house in the country, Ltd."
    isbn = "978-0-00-\(index)-0"
    pages = 100 + index % 900
    year = 1900 + index % 125
    price = 9.99 + Double(index % 50)
    rating = Double(index % 50) / 10
    isAvailable = index % 3 == 0
    tags = ["sand", "spice", "shelf-\(index % 20)"]
  }

  static func data(_ index: Int) -> [String: Any] {
    [
      "title": "The book with the number \(index)", "author": "Frances Herbert",
      "publisher": "A house in the country, Ltd.", "isbn": "978-0-00-\(index)-0",
      "pages": 100 + index % 900, "year": 1900 + index % 125, "price": 9.99 + Double(index % 50),
      "rating": Double(index % 50) / 10, "isAvailable": index % 3 == 0,
      "tags": ["sand", "spice", "shelf-\(index % 20)"],
    ]
  }
}
