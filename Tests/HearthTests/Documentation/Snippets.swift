import FirebaseFirestore
import Foundation
import TestSupport

/// What the README and the landing page show, word for word, with room to run in.
struct Snippets {
  let folder: TemporaryFolder
  let output: Output

  /// Catches what snippets print.
  final class Output: Sendable {
    private let printed = Guarded<[String]>([])

    var lines: [String] { printed.withLock(\.self) }

    func add(_ line: String) { printed.withLock { $0.append(line) } }
  }

  /// `print`, as snippets write it.
  private func print(_ items: Any...) {
    output.add(items.map { "\($0)" }.joined(separator: " "))
  }

  /// `Firestore.open(at:)`, with its files in the temporary folder.
  private var Firestore: Opener { Opener(folder: folder) }

  private struct Opener {
    let folder: TemporaryFolder

    func open(
      at path: String, settings: FirestoreSettings = FirestoreSettings()
    ) throws -> FirebaseFirestore.Firestore {
      try FirebaseFirestore.Firestore.open(at: folder.path + "/" + path, settings: settings)
    }
  }

  func firstProgram() async throws {
    struct Book: Codable {
      @DocumentID var id: String?
      var title: String
      var pages: Int
    }

    func run() async throws {
      let db = try Firestore.open(at: "books.hearth")
      let books = db.collection("books")

      // Receives the books, and then every change that any process commits.
      let listener = books.addSnapshotListener { snapshot, _ in
        for change in snapshot?.documentChanges ?? [] {
          print(change.type, change.document.documentID)
        }
      }

      let dune = books.document("dune")
      try await dune.setData(committing: Book(title: "Dune", pages: 412))
      try await dune.updateData(["pages": FieldValue.increment(6), "tags": ["sand", "spice"]])
      let book = try await dune.getDocument(as: Book.self)
      print(book.id ?? "", book.title, book.pages)  // dune Dune 418

      listener.remove()
      try await db.terminate()
    }

    try await run()
  }

  func memory() throws {
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    let scratch = try Firestore.open(at: "scratch.hearth", settings: settings)
    _ = scratch
  }

  func sequence(_ db: Firestore) async throws {
    for try await snapshot in db.collection("books").snapshots {
      print(snapshot.count, "books,", snapshot.documentChanges.count, "changes")
    }
  }

  func queries(_ db: Firestore) async throws {
    struct Book: Codable {
      var title: String
      var pages: Int
    }

    let books = db.collection("books")
    let long = books.whereField("pages", isGreaterThan: 400)
      .order(by: "pages", descending: true)
      .limit(to: 10)
    for book in try await long.getDocuments(as: Book.self) { print(book.title) }
    print(try await long.count.getAggregation(source: .server).count)

    let batch = db.batch()
    batch.updateData(["pages": FieldValue.increment(1)], forDocument: books.document("dune"))
    batch.deleteDocument(books.document("draft"))
    try await batch.commit()
  }

  struct OutOfPrint: Error {}

  func writing(_ db: Firestore) async throws -> Int {
    let books = db.collection("books")
    let left = try await db.write { tx in
      let copies = try tx.getDocument(books.document("dune"))["copies"] as? Int ?? 0
      guard copies > 0 else { throw OutOfPrint() }
      try tx.updateData(["copies": copies - 1], forDocument: books.document("dune"))
      return copies - 1
    }
    return left
  }

  func indexes(_ db: Firestore) async throws {
    let books = db.collection("books")
    try await db.indexes.declare(
      FirestoreIndex("books", .ascending("author"), .descending("pages")))
    try await db.indexes.waitUntilReady()
    print(try await books.whereField("author", isEqualTo: "Frank Herbert").explain(analyze: true))
  }

  func listening(_ db: Firestore) async throws {
    let books = db.collection("books")
    let longest = books.order(by: "pages", descending: true).limit(to: 3)
    let registration = longest.addSnapshotListener { snapshot, error in
      for change in snapshot?.documentChanges ?? [] {
        print(change.type, change.document.documentID, change.newIndex)
      }
    }
    for try await snapshot in books.count.snapshots { print(snapshot.count, "books") }
    registration.remove()
  }

  func following(_ db: Firestore) async throws {
    var token: ChangeToken?
    for try await change in db.changes(since: token) {
      print(change.kind, change.document.path, change.before?["pages"] ?? "-")
      token = change.token
    }
  }

  func landing() async throws {
    let db = try Firestore.open(at: "books.hearth")
    try await db.document("books/dune").setData(["title": "Dune", "pages": 412])
    for try await snapshot in db.collection("books").snapshots {
      print(snapshot.documents.map(\.documentID))
    }
  }
}
