import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Synchronization
import TestSupport
import Testing

@Suite struct RelationTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private func withDatabase<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    try ParseSwift.withFirestore(database.firestore) { try body() }
  }

  @Test func `objects are related in both directions, without duplicates`() throws {
    try withDatabase {
      let authors = try ["Ann", "Bob", "Cid"].map { try Author(name: $0).save() }
      let publisher = try Publisher(name: "Chilton").save()
      let genre = try Genre(name: "science fiction").save()
      let book = try Book(title: "Dune", publishingYear: 1965).save()
      let operation = try #require(try book.relation?.add("authors", objects: authors))
      let updated = try operation.save()
      #expect(updated.title == "Dune" && updated.publishingYear == 1965)
      let (before, after) = (try #require(book.updatedAt), try #require(updated.updatedAt))
      #expect(after > before)
      try book.relation?.add("authors", objects: [authors[0]]).save()
      try book.relation?.add("publishers", objects: [publisher]).save()
      try genre.relation?.add("books", objects: [book]).save()
      let found = try Author.queryRelations("authors", parent: book).order([.ascending("name")])
      #expect(try found.find().map(\.name) == ["Ann", "Bob", "Cid"])
      #expect(try found.count() == 3)
      #expect(try found.where("name" > "Ann").limit(1).find().map(\.name) == ["Bob"])
      #expect(try Publisher.queryRelations("publishers", parent: book).find() == [publisher])
      #expect(
        try Book.queryRelations("books", parent: genre).find().map(\.objectId) == [book.objectId])
      #expect(
        try Book.query(related(key: "authors", of: Book.self, to: authors[1])).find().map(\.title)
          == ["Dune"])
      #expect(try Author.queryRelations("publishers", parent: book).find() == [])
      // The other direction of many to many.
      let other = try Book(title: "Emma").save()
      try other.relation?.add("authors", objects: [authors[1]]).save()
      try book.relation?.remove("authors", objects: [authors[1]]).save()
      #expect(try found.find().map(\.name) == ["Ann", "Cid"])
      #expect(try Author.queryRelations("authors", parent: other).find() == [authors[1]])
      #expect(try Author.query().count() == 3)
    }
  }

  @Test func `no objects are no edges, and an unsaved parent has no relation`() throws {
    try withDatabase {
      #expect(Book(title: "Dune").relation == nil)
      let book = try Book(title: "Dune").save()
      let none: [Author] = []
      #expect(try book.relation?.add("authors", objects: none).save().title == "Dune")
      #expect(try Author.queryRelations("authors", parent: book).count() == 0)
      let unsaved = #expect(throws: ParseError.self) {
        try book.relation?.add("authors", objects: [Author(name: "Ann")])
      }
      #expect(unsaved?.code == .missingObjectId)
      let author = try Author(name: "Ann").save()
      try book.relation?.add("authors", objects: [author]).save()
      let publisher = try Publisher(name: "Chilton").save()
      let otherClass = #expect(throws: ParseError.self) {
        try book.relation?.add("authors", objects: [publisher]).save()
      }
      #expect(otherClass?.code == .incorrectType)
      for id in ["", "a/b", "a/b/c"] {
        let invalid = #expect(throws: ParseError.self) {
          try Book.query("author" == Pointer<Author>(objectId: id)).find()
        }
        #expect(invalid?.code == .missingObjectId)
        var wrong = author
        wrong.objectId = id
        #expect(throws: ParseError.self) { try wrong.save() }
      }
      let key = #expect(throws: ParseError.self) {
        try Author.queryRelations("a/b", parent: book)
      }
      #expect(key?.code == .invalidKeyName)
    }
  }

  @Test func `a new object is saved with its relations, in one commit`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      let known = try await Author(name: "Ann").save()
      let book = try await Book(title: "Dune", isbn: ISBN(value: "1")).operation
        .addRelation("authors", objects: [known, Author(name: "Bob")])
        .addRelation("publishers", objects: [Publisher(name: "Chilton")])
        .set("publishingYear", value: 1965).save()
      #expect(book.title == "Dune" && book.publishingYear == 1965 && book.isbn?.value == "1")
      let authors = try await Author.queryRelations("authors", parent: book)
        .order([.ascending("name")]).find()
      #expect(authors.map(\.name) == ["Ann", "Bob"] && authors[0] == known)
      let edges = try await database.firestore.collection("_Join:authors:Book").getDocuments()
      let times = try await (Publisher.query().first().createdAt, ISBN.query().first().createdAt)
      #expect(times.0 == book.createdAt && times.1 == book.createdAt && edges.count == 2)
      #expect(throws: ParseError.self) {
        try book.operation.removeRelation("authors", objects: [Author(name: "Cid")])
      }
      // Nothing of it is there if one part fails.
      let failing = await #expect(throws: ParseError.self) {
        try await Book(title: "Emma").operation
          .addRelation("authors", objects: [Author(name: "Dan"), Author(objectId: "a/b")]).save()
      }
      #expect(failing?.code == .missingObjectId)
      let counts = try await (Book.query().count(), Author.query().count())
      #expect(counts == (1, 2))
    }
  }

  @Test func `edges end with their objects, so that pages count right`() throws {
    try withDatabase {
      let book = try Book(title: "Dune").save()
      let authors = try (0..<20).map { try Author(name: "author \($0)").save() }
      try book.relation?.add("authors", objects: authors).save()
      for author in authors.prefix(7) { try author.delete() }
      let page = try Author.queryRelations("authors", parent: book).limit(10)
      #expect(try page.find().count == 10)
      #expect(try Author.queryRelations("authors", parent: book).count() == 13)
      // Through Firestore's interface, too.
      let batch = database.firestore.batch()
      batch.deleteDocument(database.firestore.document("Book/\(book.objectId ?? "")"))
      try database.firestore.blocking.commit(batch)
      let edges = database.firestore.collection("_Join:authors:Book")
      #expect(try database.firestore.blocking.getDocuments(edges).isEmpty)
    }
  }

  @Test func `an object that does not exist is not related`() throws {
    try withDatabase {
      let book = try Book(title: "Dune").save()
      let authors = try ["Ann", "Bob"].map { try Author(name: $0).save() }
      try authors[1].delete()
      let error = #expect(throws: ParseError.self) {
        try book.relation?.add("authors", objects: authors).save()
      }
      #expect(error?.code == .objectNotFound)
      #expect(try Author.queryRelations("authors", parent: book).count() == 0)
      let new = #expect(throws: ParseError.self) {
        try Book(title: "Emma").operation.addRelation("authors", objects: [authors[1]]).save()
      }
      #expect(new?.code == .objectNotFound)
      #expect(try Book.query().count() == 1)
      // An object that exists is related, and not changed.
      let document = database.firestore.document("Author/\(authors[0].id)")
      let before = try database.firestore.blocking.getDocument(document).updateTime
      try book.relation?.add("authors", objects: [authors[0]]).save()
      #expect(try database.firestore.blocking.getDocument(document).updateTime == before)
      #expect(try Author.queryRelations("authors", parent: book).find() == [authors[0]])
      try book.relation?.remove("authors", objects: authors).save()
      #expect(try Author.queryRelations("authors", parent: book).count() == 0)
    }
  }

  @Test func `operations of one key compose, or are refused`() throws {
    struct Counter: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?

      var count: Int?
      var tags: [String]?
    }
    try withDatabase {
      let counter = try Counter(count: 1, tags: ["a"]).save()
      let after = try counter.operation.increment("count", by: 2).increment("count", by: 3)
        .addUnique("tags", objects: ["b", "a"]).addUnique("tags", objects: ["c"]).save()
      #expect(after.count == 6 && after.tags == ["a", "b", "c"])
      #expect(try after.operation.remove("tags", objects: ["b"]).save().tags == ["a", "c"])
      #expect(try after.operation.set("count", value: 1).unset("tags").save().tags == nil)
      let mixed = #expect(throws: ParseError.self) {
        try counter.operation.increment("count", by: 1).addUnique("count", objects: ["x"]).save()
      }
      #expect(mixed?.code == .operationForbidden)
      let large = counter.operation.increment("count", by: Int.max - 1).increment(
        "count", by: 1)
      #expect(try counter.operation.set("count", value: 0).save().count == 0)
      #expect(try large.save().count == Int.max)
      let overflow = #expect(throws: ParseError.self) { try large.increment("count", by: 1).save() }
      #expect(overflow?.code == .invalidValue)
      let book = try Book(title: "Dune").save()
      let author = try Author(name: "Ann").save()
      try book.operation.addRelation("authors", objects: [author])
        .removeRelation("authors", objects: [author]).save()
      #expect(try Author.queryRelations("authors", parent: book).count() == 0)
    }
  }

  @Test func `increments by fractions add up, in any order`() throws {
    struct Account: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?

      var balance: Double?
    }
    try withDatabase {
      let account = try Account(balance: 1).save()
      // Binary fractions, whose sums are exact.
      for amounts in [[0.5, 0.25], [0.25, 0.5], [-0.5, -0.25], [0.5, -2, 0.125]] {
        var operation = try account.operation.set("balance", value: 1.0).save().operation
        for amount in amounts { operation = operation.increment("balance", by: amount) }
        #expect(try operation.save().balance == amounts.reduce(1, +), "\(amounts)")
      }
      let new = try Account().operation.increment("balance", by: 0.5)
        .increment("balance", by: 0.25).save()
      #expect(new.balance == 0.75)
      let mixed = #expect(throws: ParseError.self) {
        try account.operation.increment("balance", by: 0.5).increment("balance", by: 1).save()
      }
      #expect(mixed?.code == .operationForbidden)
    }
  }

  @Test func `a live query follows relations and included objects`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      let book = try await Book(title: "Dune", isbn: ISBN(value: "1")).save()
      let author = try await Author(name: "Ann").save()
      var authors = try Author.queryRelations("authors", parent: book).results.makeAsyncIterator()
      #expect(try await authors.next() == [])
      var books = Book.query().include("isbn").subscribe().makeAsyncIterator()
      var all = Book.query().include("isbn").results.makeAsyncIterator()
      _ = try await all.next()
      _ = try await book.relation?.add("authors", objects: [author]).save()
      #expect(try await authors.next() == [author])
      var isbn = try #require(book.isbn)
      isbn.value = "2"
      try await isbn.save()
      var seen: [String] = []
      while !seen.contains("2") {
        guard case .updated(let book)? = try await books.next() else { continue }
        seen.append(book.isbn?.value ?? "")
      }
      while try await all.next()?.first?.isbn?.value != "2" {}
      try await author.delete()
      #expect(try await authors.next() == [])
    }
  }

  @Test(.timeLimit(patience))
  func `a live query follows the objects that included objects refer to`() async throws {
    struct Review: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?

      var book: Book?
    }
    try await ParseSwift.withFirestore(database.firestore) {
      let book = try await Book(title: "Dune", isbn: ISBN(value: "first")).save()
      _ = try await Review(book: book).save()
      let seen = Mutex<[String]>([])
      let task = Task {
        for try await event in Review.query().include("book.isbn").subscribe() {
          guard case .updated(let review) = event else { continue }
          seen.withLock { $0.append(review.book?.isbn?.value ?? "") }
        }
      }
      defer { task.cancel() }
      // The first result of the query is no event: changes go on until one is seen.
      var isbn = try #require(book.isbn)
      var round = 0
      try await eventually {
        isbn = try await isbn.set(\.value, to: "\(round)").save()
        round += 1
        return seen.withLock { !$0.isEmpty }
      }
      // Only the second level has changed.
      let first = seen.withLock(\.first)
      let value = try #require(first)
      #expect(Int(value) != nil, "\(value)")
    }
  }

  @Test(.timeLimit(patience))
  func `a live query says whether an object entered, left, or was created or deleted`()
    async throws
  {
    try await ParseSwift.withFirestore(database.firestore) {
      let subscription = try #require(Author.query("name" == "Ann").subscribeCallback)
      var events = await subscription.events().makeAsyncIterator()
      var author = try await Author(name: "Ann").save()
      guard case .created(let created)? = await events.next() else {
        Issue.record("not created")
        return
      }
      #expect(created == author)
      author.name = "Bob"
      author = try await author.save()
      guard case .left(let left)? = await events.next() else {
        Issue.record("not left")
        return
      }
      #expect(left.objectId == author.objectId)
      author.name = "Ann"
      author = try await author.save()
      guard case .entered(author)? = await events.next() else {
        Issue.record("not entered")
        return
      }
      try await author.delete()
      guard case .deleted(author)? = await events.next() else {
        Issue.record("not deleted")
        return
      }
      subscription.unsubscribe()
    }
  }
}
