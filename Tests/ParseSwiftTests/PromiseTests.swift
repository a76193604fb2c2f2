import Dispatch
import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Synchronization
import TestSupport
import Testing

/// Promises of the tutorial, and of the original's users, that no other test is about.
@Suite struct PromiseTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var firestore: Firestore { database.firestore }

  private func withDatabase<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    try ParseSwift.withFirestore(firestore) { try body() }
  }

  @Test func `models are coded and hashed without a line of their own`() throws {
    try withDatabase {
      let book = try Book(title: "Dune", isbn: ISBN(value: "1")).save()
      let copy = try JSONDecoder().decode(Book.self, from: JSONEncoder().encode(book))
      #expect(copy == book && Set([book, copy]).count == 1)
      #expect(try copy.set(\.title, to: "Emma").save().isbn?.objectId == book.isbn?.objectId)
    }
  }

  @Test func `every object of a class is found, in a stable order, and none is no error`() throws {
    try withDatabase {
      #expect(try Author.query().find() == [])
      #expect((try? Author.query().first()) == nil)
      // More than the hundred of the original.
      let saved = try (0..<150).map { Author(name: "\($0)") }.saveAll().map { try $0.get() }
      let found = try Author.query().find()
      #expect(found == saved.sorted { $0.id < $1.id })
      // Their ids are in the order of creation.
      #expect(found == saved)
      #expect(try Author.query().find() == found && Author.query().count() == 150)
      #expect(try firestore.blocking.getDocuments(firestore.collection("Author")).count == 150)
    }
  }

  @Test func `a count reads no objects`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      _ = try await (0..<50).map { Author(name: "\($0 % 5)") }.saveAll()
      try await firestore.indexes.declare(FirestoreIndex("Author", .ascending("name")))
      try await firestore.indexes.waitUntilReady()
      let count = try await Author.query("name" == "3").count()
      let plan = try await Author.query("name" == "3").countExplain(analyze: true)
      #expect(count == 10 && (!TestStore.isFile || plan.execution?.documentsRead == 0))
    }
  }

  @Test func `an unsaved object has one identity`() {
    let author = Author(name: "Ann")
    #expect(author.id == author.id && Set([author, author]).count == 1)
    #expect(Author(name: "Bob").id != author.id && !author.isSaved)
  }

  @Test func `properties may have values of their own, and references may be pointers`() throws {
    struct Loan: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var book: Pointer<Book>?
      var days = 14
      var notes: [String] = []
    }
    try withDatabase {
      let book = try Book(title: "Dune").save()
      let loan = try Loan(book: book.toPointer()).save()
      let found = try Loan.query("book" == book, "days" == 14).first()
      #expect(found == loan && found.notes == [])
      #expect(try found.book?.fetch().title == "Dune")
      #expect(found.book?.toObject().hasSameObjectId(as: book) == true)
      #expect(try found.set(\.book, to: nil).save().days == 14)
      let error = #expect(throws: ParseError.self) { try Pointer(Book()) }
      #expect(error?.code == .missingObjectId)
    }
  }

  @Test func `a pointer's object is read with what it refers to`() async throws {
    let pointer = try await ParseSwift.withFirestore(firestore) {
      let book = try await Book(
        title: "Dune", genre: Genre(name: "fiction"), isbn: ISBN(value: "1")
      ).save()
      let pointer = try book.toPointer()
      let plain = try await pointer.fetch()
      #expect(plain.isbn?.objectId == book.isbn?.objectId && plain.isbn?.value == nil)
      let found = try await pointer.fetch(includeKeys: ["isbn"])
      #expect(found.title == "Dune" && found.isbn?.value == "1" && found.genre?.name == nil)
      let both = try await pointer.fetch(includeKeys: ["isbn", "genre"])
      #expect(both.isbn?.value == "1" && both.genre?.name == "fiction")
      return pointer
    }
    try withDatabase {
      let (plain, found) = try (pointer.fetch(), pointer.fetch(includeKeys: ["isbn"]))
      #expect(plain.isbn?.value == nil && found.isbn?.value == "1")
    }
  }

  @Test func `a pointer is decoded for its own class only`() throws {
    let pointer = Pointer<Book>(objectId: "1")
    let json = try JSONEncoder().encode(pointer)
    #expect(try JSONDecoder().decode(Pointer<Book>.self, from: json) == pointer)
    let other = #expect(throws: ParseError.self) {
      try JSONDecoder().decode(Pointer<Author>.self, from: json)
    }
    #expect(other?.code == .invalidPointer)
    for text in [
      #"{"__type":"File","className":"Book","objectId":"1"}"#,
      #"{"__type":"Pointer","objectId":"1"}"#, #"{"__type":"Pointer","className":"Book"}"#,
    ] {
      #expect(throws: ParseError.self) {
        try JSONDecoder().decode(Pointer<Book>.self, from: Data(text.utf8))
      }
    }
  }

  @Test func `an id with a slash leads to no other collection`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let id = "a/Secret/b"
      try await firestore.document("Book/a/Secret/b").setData(["title": "hidden"])
      let book = Pointer<Book>(objectId: id).toObject()
      for call: @Sendable () async throws -> Void in [
        { _ = try await book.fetch() }, { _ = try await book.save() },
        { try await book.delete() }, { _ = try await Pointer<Book>(objectId: id).fetch() },
        { _ = try await Book(title: "x", isbn: ISBN(objectId: id)).save() },
        { _ = try await Author.queryRelations("authors", parent: book).find() },
        { _ = try await Author.query(related(key: "authors", object: book)).find() },
        { _ = try await Book.query().after(book).find() },
      ] {
        let error = await #expect(throws: ParseError.self) { try await call() }
        #expect(error?.code == .missingObjectId)
      }
      let byId = await #expect(throws: ParseError.self) {
        try await Book.query("objectId" == id).find()
      }
      #expect(byId?.code == .invalidValue)
      let hidden = try await firestore.document("Book/a/Secret/b").getDocument()
      #expect(hidden["title"] as? String == "hidden")
    }
  }

  @Test func `a class begins with its first object, and its child is seen by all`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let before = try await firestore.listCollections().map(\.collectionID)
      #expect(before.isEmpty)
      let book = try await Book(title: "Dune", isbn: ISBN(value: "1")).save()
      let after = try await firestore.listCollections().map(\.collectionID)
      #expect(after == ["Book", "ISBN"])
      try await firestore.document("ISBN/\(book.isbn?.id ?? "")").updateData(["value": "2"])
      let found = try await Book.query().include("isbn").first()
      #expect(found.isbn?.value == "2")
      let ids = try await ISBN.query().count()
      #expect(ids == 1)
    }
  }

  @Test func `every error is one of the wing's own, also after the database is closed`()
    async throws
  {
    let saved = try await ParseSwift.withFirestore(firestore) {
      try await Author(name: "Ann").save()
    }
    let book = try await ParseSwift.withFirestore(firestore) {
      try await Book(title: "Dune").save()
    }
    try await firestore.terminate()
    await ParseSwift.withFirestore(firestore) {
      for call: @Sendable () async throws -> Void in [
        { _ = try await saved.set(\.name, to: "x").save() }, { _ = try await saved.fetch() },
        { try await saved.delete() }, { _ = try await Author.query().find() },
        { _ = try await Author.query().count() }, { _ = try await Author.query().withCount() },
        { _ = try await [saved.set(\.name, to: "x")].saveAll(transaction: true) },
        { _ = try await book.operation.addRelation("authors", objects: [saved]).save() },
        { _ = try await Author.queryRelations("authors", parent: book).limit(1).find() },
        { _ = try await ParseFile(data: Data()).save() },
        { _ = try await ParseSwift.schema(of: Author.self) },
        { for try await _ in Author.query().results {} },
      ] {
        let error = await #expect(throws: ParseError.self) { try await call() }
        #expect(error?.message.isEmpty == false)
      }
    }
  }

  @Test(.timeLimit(patience))
  func `synchronous calls of 32 threads end`() throws {
    let firestore = firestore
    let failures = Mutex(0)
    let threads = (0..<32).map { number in
      Thread {
        do {
          try ParseSwift.withFirestore(firestore) {
            for round in 0..<3 {
              let author = try Author(name: "\(number) \(round)").save()
              guard try Author.query("objectId" == author.id).first() == author else {
                throw ParseErrorOfTest.isOther
              }
            }
          }
        } catch { failures.withLock { $0 += 1 } }
      }
    }
    for thread in threads { thread.start() }
    try blockUntil { threads.allSatisfy(\.isFinished) }
    #expect(failures.withLock(\.self) == 0)
    #expect(try withDatabase { try Author.query().count() } == 96)
  }

  private enum ParseErrorOfTest: Error { case isOther }

  @Test func `one of many who insert the same unique value wins`() async throws {
    try await firestore.indexes.declare(FirestoreIndex(unique: "ISBN", .ascending("value")))
    try await ParseSwift.withFirestore(firestore) {
      for round in 0..<20 {
        let wins = try await withThrowingTaskGroup(of: Bool.self) { group in
          for _ in 0..<16 {
            group.addTask {
              do {
                _ = try await Book(title: "x", isbn: ISBN(value: "\(round)")).save()
                return true
              } catch let error as ParseError where error.code == .duplicateValue {
                return false
              }
            }
          }
          return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wins == 1)
      }
      let counts = try await (Book.query().count(), ISBN.query().count())
      #expect(counts == (20, 20))
    }
  }

  /// A page that begins at a cursor costs what it returns, however many edges come before or after.
  @Test func `a page of a relation touches what it returns`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let book = try await Book(title: "Dune").save()
      let authors = try await (0..<400).map { Author(name: "\(999 - $0)") }.saveAll()
        .map { try $0.get() }
      _ = try await book.relation?.add("authors", objects: authors).save()
      let sorted = authors.sorted { $0.id < $1.id }
      let query = try Author.queryRelations("authors", parent: book)
      for (position, skip) in [(0, 0), (200, 0), (379, 0), (100, 30)] {
        let last = position == 0 ? nil : sorted[position - 1]
        let page = query.after(last).skip(skip).limit(20)
        let found = try await page.find()
        #expect(found == Array(sorted[(position + skip)...].prefix(20)))
        let edges = try await page.explain(analyze: true)
        let read = try #require(edges.execution)
        // The database in memory has no indexes to count the entries of.
        if !TestStore.isFile { continue }
        #expect(read.indexEntriesRead <= 20 + skip + 10, "\(edges)")
        #expect(read.documentsRead <= 20, "\(edges)")
      }
      let byName = try await query.order([.ascending("name")]).limit(3).find()
      #expect(byName.compactMap(\.name) == ["600", "601", "602"])
      let plan = try await query.order([.ascending("name")]).limit(3).explain()
      #expect(!plan.plan.isEmpty)
      // An edge that somebody wrote by hand is one, too.
      let other = try await Author(name: "by hand").save()
      _ = try await firestore.collection("_Join:authors:Book").addDocument(data: [
        "owner": firestore.document("Book/\(book.id)"),
        "related": firestore.document("Author/\(other.id)"),
      ])
      let all = try await query.find()
      let paged = try await query.limit(500).find()
      #expect(all.count == 401 && paged == all && all.contains(other))
      // Twice the same, or without an object: the page is right nevertheless.
      let second = try await firestore.collection("_Join:authors:Book").addDocument(data: [
        "owner": firestore.document("Book/\(book.id)"),
        "related": firestore.document("Author/\(other.id)"),
      ])
      let twice = try await query.limit(500).find()
      #expect(twice == all)
      try await second.delete()
      _ = try await firestore.collection("_Join:authors:Book").addDocument(data: [
        "owner": firestore.document("Book/\(book.id)"),
        "related": firestore.document("Author/missing"),
      ])
      let repeated = try await query.limit(500).find()
      #expect(repeated == all)
    }
  }
}
