import Foundation
import Hearth
import HearthTesting
import ParseSwift
import TestSupport
import Testing

/// Edges that were written by hand, and pages of relations with many edges.
@Suite struct RelationRepairTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var firestore: Firestore { database.firestore }

  @Test func `edges that were written by hand are checked and repaired`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let book = try await Book(title: "Dune").save()
      let authors = try await (0..<5).map { Author(name: "\($0)") }.saveAll().map { try $0.get() }
      _ = try await book.relation?.add("authors", objects: Array(authors[0..<2])).save()
      let edges = firestore.collection("_Join:authors:Book")
      let owner = firestore.document("Book/\(book.id)")
      func author(_ index: Int) -> DocumentReference {
        firestore.document("Author/\(authors[index].id)")
      }
      for (id, fields) in [
        ("a-second", ["owner": owner, "related": author(0)]),
        ("b-own-id", ["owner": owner, "related": author(2), "since": 1999]),
        ("c-no-owner", ["related": author(3)]), ("d-empty", [:]),
        ("e-text", ["owner": "Book/\(book.id)", "related": author(3)]),
        ("f-other-class", ["owner": owner, "related": owner]),
        ("g-missing", ["owner": owner, "related": firestore.document("Author/nobody")]),
        ("h-no-book", ["owner": firestore.document("Book/nothing"), "related": author(4)]),
      ] as [(String, [String: Any])] {
        try await edges.document(id).setData(fields)
      }
      let wanted: [String: RelationProblem.Kind] = [
        "a-second": .otherID, "b-own-id": .otherID, "c-no-owner": .noReference(field: "owner"),
        "d-empty": .noReference(field: "owner"), "e-text": .noReference(field: "owner"),
        "f-other-class": .noReference(field: "related"),
        "g-missing": .missingObject(field: "related"),
        "h-no-book": .missingObject(field: "owner"),
      ]
      func kinds(_ problems: [RelationProblem]) -> [String: RelationProblem.Kind] {
        Dictionary(
          problems.map { (String($0.path.split(separator: "/").last ?? ""), $0.kind) },
          uniquingKeysWith: { first, _ in first })
      }
      let found = try await ParseSwift.checkRelation("authors", of: Book.self, to: Author.self)
      #expect(kinds(found) == wanted)
      let count = try await edges.count.getAggregation(source: .server).count.intValue
      #expect(count == 10, "A check changes nothing.")
      let repaired = try await ParseSwift.repairRelation("authors", of: Book.self, to: Author.self)
      #expect(repaired == found)
      let again = try await ParseSwift.checkRelation("authors", of: Book.self, to: Author.self)
      #expect(again.isEmpty)
      let related = try await Author.queryRelations("authors", parent: book).limit(10).find()
      #expect(related.map(\.name) == ["0", "1", "2"])
      let moved = try await edges.getDocuments().documents
      #expect(moved.compactMap { $0["since"] as? Int } == [1999], "Other fields stay.")
      // The edge is the one that a save writes.
      _ = try await book.relation?.add("authors", objects: [authors[2]]).save()
      let stored = try await edges.getDocuments().documents
      #expect(stored.map(\.documentID) == moved.map(\.documentID) && stored.count == 3)
    }
  }

  @Test func `a relation is checked and repaired to its last edge`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let book = try await Book(title: "Dune").save()
      let author = try await Author(name: "Ann").save()
      _ = try await book.relation?.add("authors", objects: [author]).save()
      let edges = firestore.collection("_Join:authors:Book")
      // Two batches are full, and the proper edge is in the first one.
      let ids = (100..<550).map { "edge-\($0)" }
      let batch = firestore.batch()
      for id in ids { batch.setData([:], forDocument: edges.document(id)) }
      try await batch.commit()
      func names(_ problems: [RelationProblem]) -> [String] {
        problems.map { String($0.path.split(separator: "/").last ?? "") }
      }
      let found = try await ParseSwift.checkRelation("authors", of: Book.self, to: Author.self)
      #expect(names(found) == ids)
      #expect(found.allSatisfy { $0.kind == .noReference(field: "owner") })
      let repaired = try await ParseSwift.repairRelation("authors", of: Book.self, to: Author.self)
      #expect(repaired == found)
      let count = try await edges.count.getAggregation(source: .server).count.intValue
      #expect(count == 1)
      let related = try await Author.queryRelations("authors", parent: book).find()
      #expect(related == [author])
    }
  }

  /// Touched are the index entries and the documents of the page, wherever it begins.
  @Test func `a page in the middle of many edges touches what it returns`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let (books, authors) = Soak.isOn ? (300, 1000) : (12, 300)
      let some = try await (0..<books).map { Book(title: "\($0)") }.saveAll().map { try $0.get() }
      let all = try await (0..<authors).map { Author(name: "\($0)") }.saveAll()
        .map { try $0.get() }
      for book in some { _ = try await book.relation?.add("authors", objects: all).save() }
      let edges = firestore.collection("_Join:authors:Book")
      let count = try await edges.count.getAggregation(source: .server).count.intValue
      #expect(count == books * authors)
      let byId = all.sorted { $0.id < $1.id }
      let booksById = some.sorted { $0.id < $1.id }
      let (book, author) = (some[books / 2], all[authors / 2])
      for position in [0, authors / 2, authors - 25] {
        let last = position == 0 ? nil : byId[position - 1]
        let page = try Author.queryRelations("authors", parent: book).after(last).limit(20)
        let found = try await page.find()
        #expect(found == Array(byId[position..<position + 20]))
        try expectTouched(await page.explain(analyze: true), 20)
      }
      for position in [0, books - 6] {
        let last = position == 0 ? nil : booksById[position - 1]
        let page = try Book.queryRelations("authors", child: author).after(last).limit(5)
        let found = try await page.find()
        #expect(found.map(\.id) == booksById[position..<position + 5].map(\.id))
        try expectTouched(await page.explain(analyze: true), 5)
      }
    }
  }

  @Test func `a count of a relation is of its edges, and reads no objects`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let book = try await Book(title: "Dune").save()
      let authors = try await (0..<200).map { Author(name: "\($0)") }.saveAll().map { try $0.get() }
        .sorted { $0.id < $1.id }
      _ = try await book.relation?.add("authors", objects: authors).save()
      let related = try Author.queryRelations("authors", parent: book)
      func expect(_ query: AuthorQuery, _ count: Int, found: Int? = nil) async throws {
        let (counted, results) = (try await query.count(), try await query.find().count)
        #expect(counted == count && results == found ?? count)
      }
      try await expect(related, 200)
      // A part is found, and the whole is counted.
      try await expect(related.after(authors[49]), 200, found: 150)
      try await expect(related.skip(190), 200, found: 10)
      try await expect(related.limit(30), 200, found: 30)
      try await expect(related.skip(180).limit(30), 200, found: 20)
      try await expect(related.where("name" == "7"), 1)
      let books = try await Book.queryRelations("authors", child: authors[3]).count()
      #expect(books == 1)
      let explained = try await related.countExplain(analyze: true)
      if TestStore.isFile {
        let read = try #require(explained.execution)
        #expect(read.documentsRead == 0 && read.indexEntriesRead <= 200 + 64, "\(explained)")
      }
      try await authors[0].delete()
      try await expect(related, 199)
      let (page, whole) = try await related.limit(5).withCount()
      #expect(page.count == 5 && whole == 199)
      // Edges of another class are of another query.
      let edges = firestore.collection("_Join:authors:Book")
      let owner = firestore.document("Book/\(book.id)")
      try await edges.document("other").setData(["owner": owner, "related": owner])
      try await expect(related, 199)
      try await edges.document("gone").setData([
        "owner": owner, "related": firestore.document("Author/nobody"),
      ])
      let unrepaired = try await related.count()
      #expect(unrepaired == 200)
      _ = try await ParseSwift.repairRelation("authors", of: Book.self, to: Author.self)
      try await expect(related, 199)
    }
  }

  private func expectTouched(_ plan: QueryExplanation, _ returned: Int) throws {
    if !TestStore.isFile { return }
    let read = try #require(plan.execution)
    #expect(read.indexEntriesRead <= returned + 10, "\(plan)")
    #expect(read.documentsRead <= returned, "\(plan)")
  }
}
