import Foundation
import HearthTesting
import ParseSwift
import Testing

// The first snippet of the guide.
struct Book: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var title: String?
  var publishingYear: Int?
  var genre: Genre?
  var isbn: ISBN?
}

/// The snippets of the guide, in the order in which it shows them.
@Suite struct GuideTests {
  @Test func `the guide's snippets do what it says`() throws {
    let database = try TemporaryDatabase()
    try ParseSwift.withFirestore(database.firestore) {
      let genre = try Genre(name: "science fiction").save()
      let authors = try ["Herbert", "Anderson"].map { try Author(name: $0).save() }
      let saved = try Book(
        title: "Dune", publishingYear: 1965, genre: genre, isbn: ISBN(value: "978-0441013593")
      ).save()
      print(saved.isbn?.objectId ?? "")
      try saved.relation?.add("authors", objects: authors).save()
      let related = try Author.queryRelations("authors", parent: saved)
        .order([.ascending("name")]).find()
      #expect(related.map(\.name) == ["Anderson", "Herbert"])
      let emma = try Book(title: "Emma").operation
        .addRelation("authors", objects: [Author(name: "Jane Austen")]).save()
      #expect(emma.isSaved && emma.title == "Emma")
      try inOtherDirection(authors)
      let found = try Book.query(
        "publishingYear" > 1960, "isbn" == ISBN.query("value" == "978-0441013593")
      )
      .order([.descending("publishingYear")]).limit(20).include("isbn", "genre").find()
      let byTitle = try Book.query(exists(key: "title"))
        .order([.ascending("title")]).limit(20).find()
      #expect(byTitle.map(\.title) == ["Dune", "Emma"])
      #expect(found.map { $0.isbn?.value } == ["978-0441013593"])
      #expect(found.map { $0.genre?.name } == ["science fiction"])
      try pages(genre, saved)
    }
  }

  private func pages(_ genre: Genre, _ saved: Book) throws {
    let recent = Book.query(
      relative("createdAt" > "12 days ago"), containedIn(key: "genre", array: [genre])
    )
    .order([.ascending("title")]).limit(20)
    let (page, total) = try recent.withCount()
    let next = try recent.after(page.last).find()
    let years: [Int] = try Book.query().distinct("publishingYear")
    #expect(page.map(\.title) == ["Dune"] && total == 1 && next == [] && years == [1965])
    let firstAuthors = try Author.queryRelations("authors", parent: saved).limit(20).find()
    let moreAuthors = try Author.queryRelations("authors", parent: saved).limit(20)
      .after(firstAuthors.last).find()
    #expect(firstAuthors.count == 2 && moreAuthors == [])
    let all = try Book.query().findReadable()
    for failure in all.failures {
      print(failure.objectId ?? "", failure.key ?? "", failure.message)
    }
    print(all.objects.count)
    #expect(all.failures.isEmpty && all.objects.count == 2)
    let results = try [Author(name: "Asimov"), Author(name: "Austen")].saveAll()
    let added = try results.map { try $0.get() }
    #expect(added.map(\.isSaved) == [true, true])
    try ParseSwift.withIdentity(ParseIdentity(user: "ann", roles: ["editors"])) {
      let readable = try Book.query().find()
      print(readable.count)
    }
  }

  @Test func `an object with many edges is deleted after them`() async throws {
    let database = try TemporaryDatabase()
    let firestore = database.firestore
    try await ParseSwift.withFirestore(firestore) {
      let authors = try await (0..<3).map { Author(name: "\($0)") }.saveAll().map { try $0.get() }
      let book = try await Book(title: "Dune").operation
        .addRelation("authors", objects: authors).save()
      let edges = firestore.collection("_Join:authors:Book")
        .whereField("owner", isEqualTo: firestore.document("Book/\(book.id)"))
      while try await edges.limit(to: 5000).deleteAll() > 0 {}
      try await book.delete()
      #expect(try await firestore.collection("_Join:authors:Book").getDocuments().isEmpty)
      #expect(try await Author.query().count() == 3)
    }
  }

  private func inOtherDirection(_ authors: [Author]) throws {
    let books = try Book.query(related(key: "authors", of: Book.self, to: authors[0])).find()
    #expect(books.map(\.title) == ["Dune"])
  }

  /// Compiled, and not called: it ends with its task.
  private func follow(_ saved: Book) async throws {
    for try await event in try Author.queryRelations("authors", parent: saved).subscribe() {
      switch event {
      case .created(let author), .entered(let author): print("new:", author.name ?? "")
      case .left(let author), .deleted(let author): print("gone:", author.name ?? "")
      case .updated(let author): print("changed:", author.name ?? "")
      }
    }
  }
}
