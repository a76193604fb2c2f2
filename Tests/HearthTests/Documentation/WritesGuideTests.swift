import FirebaseFirestore
import Foundation
import HearthTesting
import TestSupport
import Testing

/// The snippets of the page on writing, word for word.
@Suite struct WritesGuideTests {
  private struct Book: Codable {
    var title: String
    var pages: Int
  }

  private final class Output: Sendable {
    private let printed = Guarded<[String]>([])

    var lines: [String] { printed.withLock(\.self) }

    func add(_ line: String) { printed.withLock { $0.append(line) } }
  }

  private let output = Output()

  private func print(_ items: Any...) {
    output.add(items.map { "\($0)" }.joined(separator: " "))
  }

  @Test func `a service awaits its writes`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    try await create(in: books)
    #expect(output.lines == [])
    try await create(in: books)
    #expect(output.lines == ["There is such a book already."])
  }

  private func create(in books: CollectionReference) async throws {
    let dune = books.document("dune")
    do {
      try await dune.create(committing: Book(title: "Dune", pages: 412))
    } catch FirestoreErrorCode.alreadyExists {
      print("There is such a book already.")
    }
  }

  @Test func `a form that does not wait is called in an async function`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let dune = db.document("books/dune")
    try await dune.setData(["title": "Dune"])
    dune.updateData(["reads": FieldValue.increment(1)], completion: nil)
    try await db.waitForPendingWrites()
    #expect(try await dune.getDocument()["reads"] as? Int == 1)
  }

  @Test func `a batch is written as a whole or not at all`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    try await lend(in: db)
    #expect(output.lines == ["There is no such book. Nothing was written."])
    #expect(try await db.collection("loans").getDocuments().isEmpty)
    try await db.document("books/dune").setData(["copies": 2])
    try await lend(in: db)
    #expect(try await db.document("books/dune").getDocument()["copies"] as? Int == 1)
    #expect(try await db.collection("loans").getDocuments().count == 1)
  }

  private func lend(in db: Firestore) async throws {
    let dune = db.document("books/dune")
    let batch = db.batch()
    batch.updateData(["copies": FieldValue.increment(-1)], forDocument: dune)
    batch.setData(["book": dune, "reader": "ann"], forDocument: db.collection("loans").document())
    do {
      try await batch.commit()
    } catch FirestoreErrorCode.notFound {
      print("There is no such book. Nothing was written.")
    }
  }

  @Test func `a batch checks the document that it leaves`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    try await dune.setData(["title": "Dune", "pages": 412])
    for amount in [6, 0.5] { try await add(amount, dune, in: database.firestore) }
    #expect(try await dune.getDocument()["pages"] as? Double == 418)
    #expect(output.lines == ["The sum is no number of pages. Nothing was written."])
  }

  private func add(
    _ amount: Double, _ dune: DocumentReference, in db: Firestore
  ) async throws {
    let batch = db.batch()
    batch.updateData(["pages": FieldValue.increment(amount)], forDocument: dune)
    batch.check(dune) { _ = try $0.data(as: Book.self) }
    do {
      try await batch.commit()
    } catch is DecodingError {
      print("The sum is no number of pages. Nothing was written.")
    }
  }

  @Test func `a closure decides on what it reads`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let dune = db.document("books/dune")
    try await dune.setData(["copies": 1])
    for _ in 0..<2 { try await sellInClosure(dune, in: db) }
    #expect(output.lines == ["0 left", "There is no copy left."])
    #expect(try await dune.getDocument()["copies"] as? Int == 0)
  }

  private func sellInClosure(_ dune: DocumentReference, in db: Firestore) async throws {
    struct OutOfStock: Error {}

    do {
      let left = try await db.write { tx in
        let copies = try tx.getDocument(dune)["copies"] as? Int ?? 0
        guard copies > 0 else { throw OutOfStock() }
        try tx.updateData(["copies": copies - 1], forDocument: dune)
        return copies - 1
      }
      print(left, "left")
    } catch is OutOfStock {
      print("There is no copy left.")
    }
  }

  @Test func `a closure reads and writes models`() async throws {
    struct NotInShop: Error {}
    struct Order: Codable { var title, reader: String }
    let database = try TemporaryDatabase()
    let db = database.firestore
    let dune = db.document("books/dune")
    func order() async throws {
      try await db.write { tx in
        guard let book = try tx.getDocument(dune, as: Book?.self) else { throw NotInShop() }
        let order = db.collection("orders").document()
        try tx.create(from: Order(title: book.title, reader: "ann"), forDocument: order)
      }
    }
    await #expect(throws: NotInShop.self) { try await order() }
    try await dune.setData(committing: Book(title: "Dune", pages: 412))
    try await order()
    #expect(try await db.collection("orders").getDocuments(as: Order.self).map(\.title) == ["Dune"])
  }

  @Test func `a transaction decides on what it reads`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let dune = db.document("books/dune")
    try await dune.setData(["copies": 1])
    for _ in 0..<2 { try await sellInTransaction(dune, in: db) }
    #expect(output.lines == ["0 left", "There is no copy left."])
    #expect(try await dune.getDocument()["copies"] as? Int == 0)
  }

  @Test func `a block throws an error of its own, which arrives whole`() async throws {
    struct Book: Codable {
      var title: String
      var copies: Int
    }
    let database = try TemporaryDatabase()
    let db = database.firestore
    let dune = db.document("books/dune")
    try await dune.setData(["title": "Dune", "copies": 1])
    struct SoldOut: Error { var title: String }

    func sell() async throws -> Int {
      let remaining = try await db.runTransaction { transaction in
        let book = try transaction.getDocument(dune, as: Book.self)
        guard book.copies > 0 else { throw SoldOut(title: book.title) }
        transaction.updateData(["copies": book.copies - 1], forDocument: dune)
        return book.copies - 1
      }
      return remaining
    }
    #expect(try await sell() == 0)
    let error = await #expect(throws: SoldOut.self) { try await sell() }
    #expect(error?.title == "Dune")
  }

  private func sellInTransaction(_ dune: DocumentReference, in db: Firestore) async throws {
    do {
      let left = try await db.runTransaction { transaction, errorPointer in
        do {
          let copies = try transaction.getDocument(dune)["copies"] as? Int ?? 0
          guard copies > 0 else { throw NSError(domain: "shop", code: 1) }
          transaction.updateData(["copies": copies - 1], forDocument: dune)
          return copies - 1
        } catch {
          errorPointer?.pointee = error as NSError
          return nil
        }
      }
      print(left ?? 0, "left")
    } catch let error as NSError where error.domain == "shop" {
      print("There is no copy left.")
    } catch FirestoreErrorCode.aborted {
      print("Too many others wanted the same book. Try again later.")
    }
  }

  @Test func `a write compares the version that was read`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    try await dune.setData(["pages": 412])
    try await correct(dune)
    #expect(output.lines == [])
    #expect(try await dune.getDocument()["pages"] as? Int == 418)
  }

  private func correct(_ dune: DocumentReference) async throws {
    let seen = try await dune.getDocument()
    guard let version = seen.updateTime else { return }
    do {
      try await dune.updateData(["pages": 418], precondition: .lastUpdateTime(version))
    } catch let error as FirestoreErrorCode where error.isUpdateTimeMismatch {
      print("The book has changed since you read it.")
    }
  }

  @Test func `a bulk writer reports what failed`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let books = db.collection("books")
    let shelf = ["1": Book(title: "Dune", pages: 412), "a/b": Book(title: "Emma", pages: 474)]
    let failures = Output()
    let bulk = db.bulkWriter { failure in
      failures.add("\(failure.document.path): \(failure.error.localizedDescription)")
    }
    for (isbn, book) in shelf {
      try await bulk.enqueueSet(from: book, forDocument: books.document(isbn))
    }
    let summary = await bulk.finish()
    print(summary.done, "written,", summary.failed, "failed")
    #expect(output.lines == ["1 written, 1 failed"])
    #expect(failures.lines.count == 1)
    #expect(try await books.getDocuments().documents.map(\.documentID) == ["1"])
  }

  @Test func `a task that is cancelled does not take its write back`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    let writing = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await dune.setData(["pages": 412])
    }
    try await writing.value
    #expect(try await dune.getDocument().exists)
  }

  // MARK: Settings

  private let folder = TemporaryFolder()

  /// `Firestore.open(at:settings:)`, with its files in the temporary folder.
  private struct Opener {
    let folder: TemporaryFolder

    func open(at path: String, settings: FirestoreSettings) throws -> FirebaseFirestore.Firestore {
      try FirebaseFirestore.Firestore.open(at: folder.path + "/" + path, settings: settings)
    }
  }

  @Test func `durability is a setting`() async throws {
    let Firestore = Opener(folder: folder)
    let settings = FirestoreSettings()
    settings.durability = .lastCommitMayBeLost
    let db = try Firestore.open(at: "books.hearth", settings: settings)
    #expect(db.settings.durability == .lastCommitMayBeLost)
    try await db.terminate()
  }
}
