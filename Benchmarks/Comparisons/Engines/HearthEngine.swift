import Foundation
import Hearth
import Workloads

/// Hearth as it comes: its change log on, full durability.
final class HearthEngine: Engine {
  static let name = "Hearth"

  let database: Firestore
  let books: CollectionReference

  convenience init(path: String) async throws { try self.init(path: path, durability: .full) }

  init(path: String, durability: FirestoreSettings.Durability) throws {
    let settings = FirestoreSettings()
    settings.indexPolicy = .declared
    settings.durability = durability
    database = try Firestore.open(at: path, settings: settings)
    books = database.collection("books")
  }

  func declareIndexes() async throws {
    try await database.indexes.declare(
      FirestoreIndex("books", .ascending("author")), FirestoreIndex("books", .ascending("rating")))
    try await database.indexes.waitUntilReady()
  }

  func load(_ numbers: Range<Int>, group: Int) async throws {
    if numbers.lowerBound == 0 { try await declareIndexes() }
    try await inBatches(numbers, group) { try $0.setData(from: Book($1), forDocument: $2) }
  }

  func rate(_ numbers: Range<Int>, _ rating: Double, group: Int) async throws {
    try await inBatches(numbers, group) { batch, _, document in
      batch.updateData(["rating": rating], forDocument: document)
    }
  }

  func delete(_ numbers: Range<Int>, group: Int) async throws {
    try await inBatches(numbers, group) { batch, _, document in batch.deleteDocument(document) }
  }

  /// While a batch is committed, the next is made.
  private func inBatches(
    _ numbers: Range<Int>, _ group: Int,
    _ add: (WriteBatch, Int, DocumentReference) throws -> Void
  ) async throws {
    var commit: Task<Void, any Error>?
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: group) {
      let batch = try batch(start..<min(start + group, numbers.upperBound), add)
      try await commit?.value
      commit = Task { try await batch.commit() }
    }
    try await commit?.value
  }

  private func batch(
    _ numbers: Range<Int>, _ add: (WriteBatch, Int, DocumentReference) throws -> Void
  ) throws -> sending WriteBatch {
    let batch = database.batch()
    for number in numbers { try add(batch, number, books.document(Book.id(number))) }
    return batch
  }

  func put(_ book: Book, _ id: String) async throws {
    try await books.document(id).setData(committing: book)
  }

  func get(_ id: String) async throws -> Book {
    try await books.document(id).getDocument(as: Book.self)
  }

  /// On the caller's thread.
  func read(_ id: String) throws -> Book {
    let document = books.document(id)
    return try database.read { try $0.getDocument(document, as: Book.self) }
  }

  func books(by author: String) async throws -> [Book] {
    try await books.whereField("author", isEqualTo: author).getDocuments(as: Book.self)
  }

  func bestRated(_ count: Int) async throws -> [Book] {
    try await books.order(by: "rating", descending: true).limit(to: count)
      .getDocuments(as: Book.self)
  }

  func scan(_ body: (Book) -> Void) async throws {
    for book in try await books.getDocuments(as: Book.self) { body(book) }
  }

  func count(numberOfPages: Int) async throws -> Int {
    try await books.whereField("numberOfPages", isEqualTo: numberOfPages).count
      .getAggregation(source: .server).count.intValue
  }

  func close() async throws { try await database.terminate() }
}
