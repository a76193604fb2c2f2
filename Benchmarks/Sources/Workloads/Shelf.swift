import Foundation
import Hearth

/// A database of books with two indexes, in a folder that goes with it.
final class Shelf: Sendable {
  let folder: String
  let database: Firestore
  let books: CollectionReference

  init(_ size: Workload.Size) async throws {
    folder = NSTemporaryDirectory() + "hearth-workload-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let settings = FirestoreSettings()
    settings.indexPolicy = .declared
    // What is measured is our own work; the comparisons measure the disk's too.
    settings.durability = .unsafeWithoutFlushing
    database = try Firestore.open(at: folder + "/books.hearth", settings: settings)
    books = database.collection("books")
    try await database.indexes.declare(
      FirestoreIndex("books", .ascending("author")), FirestoreIndex("books", .ascending("rating")))
    try await database.indexes.waitUntilReady()
    for start in stride(from: 0, to: size.books, by: 500) {
      let batch = database.batch()
      for number in start..<min(start + 500, size.books) {
        try batch.setData(from: Book(number), forDocument: document(number))
      }
      try await batch.commit()
    }
  }

  deinit {
    // Off the caller's thread, which may be a callback's.
    let (database, folder) = (database, folder)
    Task {
      try? await database.terminate()
      try? FileManager.default.removeItem(atPath: folder)
    }
  }

  func document(_ number: Int) -> DocumentReference { books.document(Book.id(number)) }
}
