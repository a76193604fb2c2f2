#if Macros
  import Foundation
  import Hearth
  import HearthMacros
  import HearthTesting
  import TestSupport
  import Testing

  // What the page on typed models shows, word for word.

  @Document
  struct Book: Codable {
    @DocumentID var id: String?
    var title: String
    var author: Author
    var pages = 0
    var tags: [String] = []
    var genre: Genre = .novel
    @ServerTimestamp var updated: Date?
  }

  @Document
  struct Author: Codable {
    var name: String
  }

  @Document
  enum Genre: String, Codable { case novel, essay }

  @Document
  struct Review: Codable {
    var book: Reference<Book>
    var stars: Int
  }

  struct Shelf: Codable {
    var room: String
    var places: Int
    var label: String?
  }

  extension Shelf: DocumentModel {
    struct Fields: Sendable {
      var room: Field<String> { Field("room") }
      var places: Field<Int> { Field("places") }
      var label: Field<String?> { Field("label") }
    }
    static var fields: Fields { Fields() }
  }

  extension Shelf: DocumentCodable {
    static let documentFields = DocumentFields<Shelf>("label", "places", "room")

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(label, at: 0)
      try fields.write(places, at: 1)
      try fields.write(room, at: 2)
    }

    init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      label = try fields.read(at: 0)
      places = try fields.read(at: 1)
      room = try fields.read(at: 2)
    }
  }

  @Suite struct TypedModelsGuideTests {
    private final class Output {
      var lines: [String] = []
    }

    @MainActor private final class Titles {
      private(set) var all: [[String]] = []

      nonisolated init() {}

      nonisolated func add(_ titles: [String]) { Task { @MainActor in all.append(titles) } }

      func wait(for count: Int) async throws {
        try await eventually { all.count >= count }
      }
    }

    @Test(.timeLimit(patience)) func `the page on typed models does what it says`() async throws {
      let database = try TemporaryDatabase()
      let db = database.firestore
      let output = Output()
      func print(_ items: Any...) {
        output.lines.append(items.map { "\($0)" }.joined(separator: " "))
      }
      var dune = Book(title: "Dune", author: Author(name: "Herbert"))
      dune.pages = 412

      let books = db.collection("books", of: Book.self)
      try await books.document("dune").set(dune)
      let long =
        try await books
        .where { $0.pages > 400 && ($0.author.name == "Herbert" || $0.tags.contains("sand")) }
        .order(by: \.title)
        .limit(to: 20)
        .getDocuments()
      let count = try await books.where(\.genre == .essay).count()
      for (title, pages) in try await books.select(\.title, \.pages).getDocuments() {
        print(title, pages)
      }
      #expect(long.map(\.id) == ["dune"] && count == 0 && output.lines == ["Dune 412"])

      try await db.document("reviews/a").setData(["book": books.document("dune").untyped])
      let texts = SearchFields("title", language: "en")
      let found = try await books.where(\.pages > 100).search("dune", in: texts).getDocuments()
      let latest = db.collection("reviews").limit(to: 3)
      let joined = try await books.limit(to: 20)
        .including(.referring(latest, by: "book", as: "reviews"))
        .getDocuments()
      for document in joined.documents {
        let book = try document.data(as: Book.self)
        print(book.title, document.included("reviews").count)
      }
      #expect(found.map(\.id) == ["dune"] && output.lines.last == "Dune 1")

      try await books.document("dune").update {
        $0.pages += 6
        $0.author.name.set("Frank Herbert")
        $0.tags.formUnion(["sequel"])
        $0.updated.setServerTimestamp()
      }
      let changed = try #require(try await books.document("dune").get())
      #expect(changed.pages == 418 && changed.author.name == "Frank Herbert")
      #expect(changed.tags == ["sequel"] && changed.updated != nil && changed.genre == .novel)

      let reviews = db.collection("reviews", of: Review.self)
      try await reviews.document("a").set(Review(book: books.document("dune"), stars: 5))
      let best =
        try await reviews
        .where { $0.book == books.document("dune") && $0.stars > 4 }
        .getDocuments()
      let reviewed = try await best.first?.book.get()
      #expect(reviewed?.title == "Dune")

      let sequel = Book(title: "Dune Messiah", author: Author(name: "Frank Herbert"))
      let third = Book(title: "Children of Dune", author: Author(name: "Frank Herbert"))
      try await books.document("draft").set(third)
      try await db.write { tx in
        guard let dune = try tx.get(books.document("dune")) else { return }
        let others = try tx.getDocuments(books.where { $0.author.name == dune.author.name })
        try tx.update(books.document("dune")) { $0.pages += others.count }
        try tx.set(books.document("sequel"), to: sequel)
        try tx.delete(books.document("draft"))
      }

      try await db.runTransaction { transaction in
        guard let dune = try transaction.get(books.document("dune")) else { return }
        try transaction.update(books.document("sequel")) { $0.pages = dune.pages }
      }

      let batch = db.batch()
      try batch.create(books.document("third"), as: third)
      batch.delete(books.document("draft"))
      try await batch.commit()
      #expect(try await books.getDocuments().map(\.pages) == [420, 420, 0])
      try await books.document("sequel").delete()

      let titles = Titles()
      let listening = Task {
        func print(_ found: [String]) { titles.add(found) }
        for try await books in books.where(\.pages > 400).snapshots {
          print(books.map(\.title))
        }
      }
      try await titles.wait(for: 1)
      try await books.document("dune").delete()
      try await titles.wait(for: 2)
      listening.cancel()
      #expect(await titles.all == [["Dune"], []])

      let changes = Titles()
      let following = Task {
        func print(_ kind: DocumentChangeType, _ title: String) { changes.add([title]) }
        for try await snapshot in books.untyped.snapshots {
          for change in snapshot.documentChanges {
            guard let book = try? change.document.data(as: Book.self) else { continue }
            print(change.type, book.title)
          }
        }
      }
      try await changes.wait(for: 1)
      try await db.document("books/bad").setData(["title": 7])
      try await books.document("second").set(sequel)
      try await changes.wait(for: 2)
      following.cancel()
      #expect(await changes.all == [["Children of Dune"], ["Dune Messiah"]])
      let thick = reviews.where { $0.book.isInResults(of: books.where(\.pages > 400)) }
      #expect(try await thick.count() == 0)
      #expect(Book.fields.title.name == "title")

      let shelves = db.collection("shelves", of: Shelf.self)
      try await shelves.document("a").set(Shelf(room: "attic", places: 7, label: nil))
      #expect(try await shelves.where(\.places > 5).getDocuments().map(\.room) == ["attic"])
    }
  }
#endif
