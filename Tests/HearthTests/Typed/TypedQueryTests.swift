import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Typed queries and updates are the untyped ones, checked by the compiler.
@Suite struct TypedQueryTests {
  enum Genre: String, Codable { case novel, poem }

  struct Author: Codable, Equatable, DocumentModel {
    var name: String
    var born: Int?

    struct Fields: Sendable {
      var name: Field<String> { Field("name") }
      var born: Field<Int?> { Field("born") }
    }
    static let fields = Fields()
  }

  struct Book: Codable, Equatable, DocumentModel {
    @DocumentID var id: String?
    var title: String
    var pages: Int
    var rating: Double
    var tags: [String]
    var author: Author
    var editor: Author?
    var genre: Genre
    var updated: Date?
    var place: GeoPoint?
    var series: TypedDocument<Author>?

    struct Fields: Sendable {
      var id: Field<String> { .documentID }
      var title: Field<String> { Field("title") }
      var pages: Field<Int> { Field("pages") }
      var rating: Field<Double> { Field("rating") }
      var tags: Field<[String]> { Field("tags") }
      var author: Field<Author> { Field("author") }
      var editor: Field<Author?> { Field("editor") }
      var genre: Field<Genre> { Field("genre") }
      var updated: Field<Date?> { Field("updated") }
      var place: Field<GeoPoint?> { Field("place") }
      var series: Field<TypedDocument<Author>?> { Field("series") }
    }
    static let fields = Fields()

    init(_ title: String, pages: Int = 100, tags: [String] = [], genre: Genre = .novel) {
      self.title = title
      self.pages = pages
      rating = 4
      self.tags = tags
      author = Author(name: "Herbert", born: 1920)
      self.genre = genre
    }
  }

  private func withBooks(
    _ body: (Firestore, TypedCollection<Book>) async throws -> Void
  ) async throws {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/typed.hearth")
    try await body(db, db.collection("books", of: Book.self))
    try await db.terminate()
  }

  @Test func `an id that is a path leads to no other collection`() async throws {
    try await withBooks { db, books in
      try await db.document("books/a/secrets/b").setData(["title": "hidden"])
      for id in ["a/secrets/b", "a/secrets", "/", "a/", ""] {
        let document = books.document(id)
        for call: () async throws -> Void in [
          { _ = try await document.get() }, { try await document.set(Book("x")) },
          { try await document.create(Book("x")) }, { try await document.update { $0.pages = 1 } },
          { try await document.delete() },
          { _ = try await document.reference.collection("reviews").getDocuments() },
          { for try await _ in document.snapshots {} },
        ] {
          let error = await #expect(throws: NSError.self) { try await call() }
          #expect(error.map { FirestoreErrorCode.invalidArgument ~= $0 } == true, "\(id)")
        }
      }
      let all = try await db.collectionGroup("secrets").getDocuments().documents
      #expect(all.map { $0["title"] as? String } == ["hidden"])
    }
  }

  @Test func `every operator is the untyped filter of the same name`() async throws {
    try await withBooks { db, books in
      let plain = db.collection("books")
      let author = FieldPath(["author", "name"])
      let authors = db.collection("authors", of: Author.self)
      let oslo = GeoPoint(latitude: 59.9, longitude: 10.7)
      let bergen = GeoPoint(latitude: 60.4, longitude: 15.3)
      let bodo = GeoPoint(latitude: 67.3, longitude: 14.4)
      let pairs: [(TypedQuery<Book>, Query)] = [
        (books.where(\.pages == 400), plain.whereField("pages", isEqualTo: 400)),
        (books.where(\.pages != 400), plain.whereField("pages", isNotEqualTo: 400)),
        (books.where(\.pages < 400), plain.whereField("pages", isLessThan: 400)),
        (books.where(\.pages <= 400), plain.whereField("pages", isLessThanOrEqualTo: 400)),
        (books.where(\.pages > 400), plain.whereField("pages", isGreaterThan: 400)),
        (books.where(\.pages >= 400), plain.whereField("pages", isGreaterThanOrEqualTo: 400)),
        (books.where { $0.pages == 400 }, plain.whereField("pages", isEqualTo: 400)),
        (books.where { $0.pages != 400 }, plain.whereField("pages", isNotEqualTo: 400)),
        (books.where { $0.pages < 400 }, plain.whereField("pages", isLessThan: 400)),
        (books.where { $0.pages <= 400 }, plain.whereField("pages", isLessThanOrEqualTo: 400)),
        (books.where { $0.pages > 400 }, plain.whereField("pages", isGreaterThan: 400)),
        (books.where { $0.pages >= 400 }, plain.whereField("pages", isGreaterThanOrEqualTo: 400)),
        (books.where { $0.pages.in([1, 2]) }, plain.whereField("pages", in: [1, 2])),
        (books.where { $0.pages.notIn([1, 2]) }, plain.whereField("pages", notIn: [1, 2])),
        (books.where { $0.tags.contains("a") }, plain.whereField("tags", arrayContains: "a")),
        (
          books.where { $0.tags.contains(anyOf: ["a", "b"]) },
          plain.whereField("tags", arrayContainsAny: ["a", "b"])
        ),
        (
          books.where { $0.tags.contains(allOf: ["a", "b"]) },
          plain.whereFilter(.whereField("tags", arrayContainsAll: ["a", "b"]))
        ),
        (
          books.where { $0.pages.inSet(Array(0..<99)) },
          plain.whereFilter(.whereField("pages", inSet: Array(0..<99)))
        ),
        (
          books.where { $0.title.hasPrefix("a") },
          plain.whereFilter(.whereField("title", hasPrefix: "a"))
        ),
        (
          books.where { $0.title.hasSuffix("a") },
          plain.whereFilter(.whereField("title", hasSuffix: "a"))
        ),
        (
          books.where { $0.author.name.contains("a") },
          plain.whereFilter(.whereField(author, containsText: "a"))
        ),
        (
          books.where { $0.title.equalsIgnoringCase("a") },
          plain.whereFilter(.whereField("title", equalsIgnoringCase: "a"))
        ),
        (
          books.where { $0.title.matchesPattern("^a", options: "i") },
          plain.whereFilter(.whereField("title", matchesPattern: "^a", options: "i"))
        ),
        (
          books.where { $0.updated.isOnDays(-1...0, in: .gmt) },
          plain.whereFilter(.whereField("updated", isOnDays: -1...0, in: .gmt))
        ),
        (
          books.where { $0.updated.isAfterNow() },
          plain.whereFilter(.whereField("updated", isAfterNow: .zero))
        ),
        (
          books.where { $0.updated.isBeforeNow(.seconds(-60)) },
          plain.whereFilter(.whereField("updated", isBeforeNow: .seconds(-60)))
        ),
        (
          books.where { $0.place.isWithin(9, metersOf: oslo) },
          plain.whereFilter(.whereField("place", isWithin: 9, metersOf: oslo))
        ),
        (
          books.where { $0.place.isWithinBox(from: oslo, to: bergen) },
          plain.whereFilter(.whereField("place", isWithinBoxFrom: oslo, to: bergen))
        ),
        (
          books.where { $0.place.isWithinPolygon([oslo, bergen, bodo]) },
          plain.whereFilter(.whereField("place", isWithinPolygon: [oslo, bergen, bodo]))
        ),
        (
          books.where { $0.series.isInResults(of: authors.where(\.name == "x")) },
          plain.whereFilter(
            .whereField(
              "series", isInResultsOf: db.collection("authors").whereField("name", isEqualTo: "x")))
        ),
        (
          books.where { $0.pages > 4 && Condition(.exists(in: plain, referringBy: "series")) },
          plain.whereFilter(
            .andFilter([
              .whereField("pages", isGreaterThan: 4), .exists(in: plain, referringBy: "series"),
            ]))
        ),
        (
          books.where { !($0.pages > 4 && $0.title == "a") },
          plain.whereFilter(
            .notFilter(
              .andFilter([
                .whereField("pages", isGreaterThan: 4), .whereField("title", isEqualTo: "a"),
              ])))
        ),
        (books.where { $0.author.name == "x" }, plain.whereField(author, isEqualTo: "x")),
        (
          books.where { $0.editor.name == "x" },
          plain.whereField(FieldPath(["editor", "name"]), isEqualTo: "x")
        ),
        (books.where { $0.genre == .poem }, plain.whereField("genre", isEqualTo: "poem")),
        (books.where { $0.updated == nil }, plain.whereField("updated", isEqualTo: NSNull())),
        (
          books.where { $0.id == "dune" },
          plain.whereField(FieldPath.documentID(), isEqualTo: "dune")
        ),
        (
          books.where { $0.pages > 1 && ($0.title == "a" || $0.genre == .novel) },
          plain.whereFilter(
            .andFilter([
              .whereField("pages", isGreaterThan: 1),
              .orFilter([
                .whereField("title", isEqualTo: "a"), .whereField("genre", isEqualTo: "novel"),
              ]),
            ]))
        ),
        (
          books.order(by: \.title).order(by: \.pages, descending: true).limit(to: 3).offset(2),
          plain.order(by: "title").order(by: "pages", descending: true).limit(to: 3).offset(2)
        ),
        (books.order { $0.author.name }.limit(toLast: 2), plain.order(by: author).limit(toLast: 2)),
        (
          books.order(by: \.title).order(by: \.pages).start(at: "a", 3).end(before: "b"),
          plain.order(by: "title").order(by: "pages").start(at: ["a", 3]).end(before: ["b"])
        ),
        (
          books.order(by: \.genre).start(after: Genre.novel).end(at: Genre.poem),
          plain.order(by: "genre").start(after: ["novel"]).end(at: ["poem"])
        ),
      ]
      for (number, (typed, untyped)) in pairs.enumerated() {
        let (one, other) = (try typed.untyped.checked(), try untyped.checked())
        #expect(one == other, "pair \(number)")
      }
    }
  }

  @Test func `numbers are added and subtracted`() async throws {
    try await withBooks { _, books in
      let dune = books.document("dune")
      try await dune.set(Book("Dune", pages: 10))
      try await dune.update { $0.pages -= 3 }
      try await dune.update { $0.rating -= 0.5 }
      #expect(try await dune.get()?.pages == 7)
      #expect(try await dune.get()?.rating == 3.5)
      try await dune.update { $0.pages += -2 }
      #expect(try await dune.get()?.pages == 5)
    }
  }

  @Test func `all results are changed and deleted`() async throws {
    try await withBooks { _, books in
      for n in 0..<6 { try await books.document("\(n)").set(Book("\(n)", pages: n)) }
      let count = try await books.where(\.pages > 2).updateAll { $0.pages += 10 }
      #expect(count == 3)
      #expect(try await books.where(\.pages > 10).getDocuments().map(\.pages) == [13, 14, 15])
      #expect(try await books.where { !($0.pages > 10) }.deleteAll() == 3)
      #expect(try await books.getDocuments().count == 3)
    }
  }

  @Test func `models go in and come out`() async throws {
    try await withBooks { db, books in
      let dune = books.document("dune")
      #expect(try await dune.get() == nil)
      try await dune.set(Book("Dune", pages: 412, tags: ["sand"]))
      try await books.document("emma").create(Book("Emma", pages: 474))
      let added = try await books.add(Book("Odes", pages: 20, genre: .poem))
      #expect(try await dune.get()?.id == "dune")
      #expect(
        try await books.where(\.pages > 400).order(by: \.pages).getDocuments().map(\.title)
          == ["Dune", "Emma"])
      #expect(try await books.count() == 3)
      #expect(try await books.sum(\.pages) == 906)
      #expect(try await books.where(\.pages > 400).average(\.pages) == 443)
      #expect(try await books.where(\.pages > 4000).average(\.pages) == nil)
      try await added.delete()
      #expect(try await books.getDocuments().map(\.id) == ["dune", "emma"])
      var seen: [Int?] = []
      for try await book in dune.snapshots {
        seen.append(book?.pages)
        if seen.count == 1 { try await dune.update { $0.pages += 6 } }
        if seen.count == 2 { try await dune.delete() }
        if book == nil { break }
      }
      #expect(seen == [412, 418, nil])
      for try await all in books.snapshots {
        #expect(all.map(\.title) == ["Emma"])
        break
      }
    }
  }

  @Test func `an update changes what it names`() async throws {
    try await withBooks { db, books in
      let dune = books.document("dune")
      await #expect(throws: NSError.self) { try await dune.update { $0.pages += 1 } }
      var book = Book("Dune", pages: 412, tags: ["sand", "worm"])
      book.editor = Author(name: "Campbell", born: nil)
      try await dune.set(book)
      let title = "Dune Messiah"
      try await dune.update {
        $0.pages += 6
        $0.rating -= 0.5
        $0.title = title
        $0.tags.formUnion(["spice", "sand"])
        $0.author.name.set("F. Herbert")
        $0.genre = .poem
        $0.editor.delete()
        $0.updated.setServerTimestamp()
      }
      let found = try #require(try await dune.get())
      #expect(found.pages == 418 && found.rating == 3.5 && found.title == title)
      #expect(found.tags == ["sand", "worm", "spice"])
      #expect(found.author == Author(name: "F. Herbert", born: 1920))
      #expect(found.genre == .poem && found.editor == nil && found.updated != nil)
      try await dune.update { $0.tags.subtract(["worm"]) }
      #expect(try await dune.get()?.tags == ["sand", "spice"])
      // Nothing that cannot be stored is, and nothing else of the update.
      await #expect(throws: (any Error).self) {
        try await dune.update {
          $0.rating = .nan
          $0.pages += .min
        }
      }
      #expect(try await dune.get()?.rating == 3.5)
    }
  }

  @Test func `a value that cannot be encoded is the error of the query`() async throws {
    struct Odd: Codable, DocumentModel {
      var number: UInt64

      struct Fields: Sendable { var number: Field<UInt64> { Field("number") } }
      static let fields = Fields()
    }
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/typed.hearth")
    let odd = db.collection("odd", of: Odd.self)
    let error = await #expect(throws: NSError.self) {
      try await odd.where(\.number == UInt64.max).getDocuments()
    }
    #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    try await db.terminate()
  }

  // MARK: Selections, vectors, listeners

  @Test func `a typed reference is a value of a dictionary, of a list and of a filter`()
    async throws
  {
    try await withBooks { db, books in
      let herbert = db.collection("authors", of: Author.self).document("herbert")
      let dune = books.document("dune").untyped
      try await dune.setData(["series": herbert, "all": [herbert]])
      try await dune.updateData(["last": Optional(herbert) as Any])
      let found = try await dune.getDocument()
      for field in ["series", "last"] {
        #expect(found[field] as? DocumentReference == herbert.untyped)
      }
      #expect(found["all"] as? [DocumentReference] == [herbert.untyped])
      let theirs = books.untyped.whereField("series", isEqualTo: herbert)
      #expect(try await theirs.getDocuments().count == 1)
    }
  }

  /// `cancelOnGracefulShutdown()` demands it.
  @Test func `sequences of typed snapshots go to other tasks`() async throws {
    try await withBooks { db, books in
      try await books.document("dune").set(Book("Dune"))
      let (all, one) = (books.snapshots, books.document("dune").snapshots)
      let first = Task { try await all.first { _ in true }?.map(\.title) }
      let second = Task { try await one.first { _ in true }??.title }
      #expect(try await first.value == ["Dune"])
      #expect(try await second.value == "Dune")
    }
  }

  @Test func `a selection reads some fields, with their types`() async throws {
    try await withBooks { db, books in
      var dune = Book("Dune", pages: 412, tags: ["sand"])
      dune.updated = Date(timeIntervalSince1970: 5)
      try await books.document("dune").set(dune)
      try await db.document("books/short").setData(["title": "Short"])
      let rows = try await books.order(by: \.title).select(\.title, \.updated, \.id)
        .getDocuments()
      #expect(rows.map(\.0) == ["Dune", "Short"])
      #expect(rows.map(\.1) == [dune.updated, nil])
      #expect(rows.map(\.2) == ["dune", "short"])
      let selection = books.select(\.title, \.pages)
      #expect(selection.untyped == db.collection("books").select(["title", "pages"]))
      // One lacks its pages, whose type is not optional.
      await #expect(throws: DecodingError.self) { try await selection.getDocuments() }
      #expect(try await books.select(\.id).getDocuments() == ["dune", "short"])
    }
  }

  @Test func `dates in lists and in maps are rounded as documents round them`() async throws {
    struct Day: Codable, DocumentModel {
      var when: Date
      struct Fields: Sendable {
        var when: Field<Date> { Field("when") }
      }
      static var fields: Fields { Fields() }
    }
    try await withBooks { db, _ in
      let days = db.collection("days", of: Day.self)
      for number in 0..<50 {
        let date = Date(
          timeIntervalSinceReferenceDate: 700_000_000 + Double(number) * 0.123_456_789)
        let day = try await days.add(Day(when: date))
        #expect(try await days.where(\.when == date).count() == 1, "\(number)")
        #expect(try await days.where { $0.when.in([date]) }.count() == 1, "\(number)")
        try await day.delete()
      }
    }
  }

  @Test func `a chain of conditions is one filter`() async throws {
    try await withBooks { db, books in
      let plain = db.collection("books")
      let three = books.where { $0.pages > 1 && $0.pages < 9 && $0.title == "Dune" }
      #expect(
        three.untyped
          == plain.whereFilter(
            .andFilter([
              .whereField("pages", isGreaterThan: 1), .whereField("pages", isLessThan: 9),
              .whereField("title", isEqualTo: "Dune"),
            ])))
    }
  }

  @Test func `typed listeners get values, and the error of one that does not fit`() async throws {
    try await withBooks { db, books in
      let found = Guarded<[Result<[String], any Error>]>([])
      let registration = books.addSnapshotListener(on: DispatchQueue(label: "typed")) { result in
        found.withLock { $0.append(result.map { $0.map(\.title) }) }
      }
      // Writes between two callbacks are one event: each is waited for.
      try await eventually { found.withLock(\.count) == 1 }
      try await books.document("dune").set(Book("Dune"))
      try await eventually { found.withLock(\.count) == 2 }
      try await db.document("books/odd").setData(["title": 5])
      try await eventually { found.withLock(\.count) == 3 }
      registration.remove()
      let results = found.withLock(\.self)
      #expect(try results[0].get() == [] && results[1].get() == ["Dune"])
      #expect(throws: DecodingError.self) { try results[2].get() }
    }
  }
}
