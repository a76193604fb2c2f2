#if Macros
  import Foundation
  import Hearth
  import HearthMacros
  import HearthTesting
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
        while all.count < count { try await Task.sleep(for: .milliseconds(5)) }
      }
    }

    @Test(.timeLimit(.minutes(5))) func `the page on typed models does what it says`() async throws
    {
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

      try await books.document("dune").update {
        $0.pages += 6
        $0.author.name.set("Frank Herbert")
        $0.tags.formUnion(["sequel"])
        $0.updated.setServerTimestamp()
      }
      let changed = try #require(try await books.document("dune").get())
      #expect(changed.pages == 418 && changed.author.name == "Frank Herbert")
      #expect(changed.tags == ["sequel"] && changed.updated != nil && changed.genre == .novel)

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

      let shelves = db.collection("shelves", of: Shelf.self)
      try await shelves.document("a").set(Shelf(room: "attic", places: 7, label: nil))
      #expect(try await shelves.where(\.places > 5).getDocuments().map(\.room) == ["attic"])
    }
  }
#endif
