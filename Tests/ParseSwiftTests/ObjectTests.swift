import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Testing

/// Saves, reads and relations: what the tutorial promises. Each test has a database of its own.
@Suite struct ObjectTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var firestore: Firestore { database.firestore }

  /// Not suspending: the synchronous forms.
  private func withDatabase<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    try ParseSwift.withFirestore(firestore) { try body() }
  }

  private func documents(_ collection: String) throws -> [DocumentSnapshot] {
    try firestore.blocking.getDocuments(firestore.collection(collection)).documents
  }

  @Test func `a new object is saved with an id and both times`() throws {
    try withDatabase {
      let saved = try Author(name: "John Doe").save()
      #expect(saved.objectId?.isEmpty == false && saved.name == "John Doe")
      #expect(saved.createdAt != nil && saved.createdAt == saved.updatedAt)
      #expect(try Author.query("objectId" == saved.objectId ?? "").first() == saved)
      #expect(try documents("Author").count == 1)
    }
  }

  @Test func `a child is saved before its parent, once, as a reference`() throws {
    try withDatabase {
      let genre = try Genre(name: "science fiction").save()
      let book = try Book(
        title: "Dune", publishingYear: 1965, genre: genre, isbn: ISBN(value: "978-0441013593")
      ).save()
      let isbn = try #require(book.isbn)
      #expect(isbn.objectId != nil && isbn.value == "978-0441013593" && isbn.createdAt != nil)
      #expect(book.genre == genre)
      let stored = try #require(try documents("Book").first?.data())
      #expect((stored["isbn"] as? DocumentReference)?.path == "ISBN/\(isbn.objectId ?? "")")
      #expect((stored["genre"] as? DocumentReference)?.path == "Genre/\(genre.objectId ?? "")")
      #expect(stored["originalData"] == nil && stored["objectId"] == nil)
      #expect(try documents("ISBN").first?.updateTime == documents("Book").first?.updateTime)
      // A saved child is referred to, and not written.
      try book.save()
      #expect(try documents("ISBN").count == 1)
      #expect(try Genre.query().first().updatedAt == genre.updatedAt)
    }
  }

  @Test func `each unsaved structure is an object of its own, also if it equals another`() throws {
    struct Shelf: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?

      var first: ISBN?
      var others: [ISBN]?
    }
    try withDatabase {
      let isbn = ISBN(value: "1")
      let shelf = try Shelf(first: isbn, others: [isbn, isbn]).save()
      #expect(try documents("ISBN").count == 3)
      #expect(shelf.others?.map(\.value) == ["1", "1"])
      let found = try Shelf.query().include("others").first()
      #expect(found.others?.map(\.value) == ["1", "1"] && found.first?.value == nil)
      #expect(Set(found.others?.compactMap(\.objectId) ?? []).count == 2)
    }
  }

  @Test func `objects of a class that refer to each other are saved together`() throws {
    final class Person: ParseObject, @unchecked Sendable {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var name: String?
      var friend: Person?

      static func == (lhs: Person, rhs: Person) -> Bool { lhs === rhs }
      func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }
    try withDatabase {
      let (one, other) = (Person(), Person())
      (one.name, other.name) = ("Ann", "Bob")
      (one.friend, other.friend) = (other, one)
      let saved = try one.save()
      #expect(try Person.query().count() == 2)
      let found = try Person.query("name" == "Bob").include("friend.friend").first()
      #expect(found.friend?.name == "Ann" && found.friend?.friend?.name == "Bob")
      #expect(found.friend?.objectId == saved.objectId)
      // A cycle of values would never be destroyed.
      (one.friend, saved.friend, found.friend) = (nil, nil, nil)
    }
  }

  @Test func `a save writes only what was changed since the object was read`() throws {
    try withDatabase {
      let saved = try Book(title: "Dune", publishingYear: 1965).save()
      var mine = try Book.query().first()
      // Another writer, through Firestore's interface.
      let batch = firestore.batch()
      batch.updateData(
        ["title": "Dune, revised", "shelf": 3],
        forDocument: firestore.document("Book/\(saved.objectId ?? "")"))
      try firestore.blocking.commit(batch)
      mine.publishingYear = 1966
      let after = try mine.save()
      #expect(after.title == "Dune, revised" && after.publishingYear == 1966)
      #expect(try documents("Book").first?["shelf"] as? Int == 3)
      // Nothing was changed: nothing is written.
      #expect(try after.save().updatedAt == after.updatedAt)
      var without = after
      without.publishingYear = nil
      #expect(try without.save().publishingYear == nil)
      #expect(try documents("Book").first?["publishingYear"] == nil)
    }
  }

  @Test func `an object that does not exist is not updated, fetched or deleted`() throws {
    try withDatabase {
      let saved = try Author(name: "Ann").save()
      try saved.delete()
      var changed = saved
      changed.name = "Bob"
      for call in [{ _ = try changed.save() }, { _ = try saved.fetch() }, { try saved.delete() }] {
        let error = #expect(throws: ParseError.self) { try call() }
        #expect(error?.code == .objectNotFound)
      }
      #expect(try Author.query().find() == [])
      let error = #expect(throws: ParseError.self) { try Author(name: "Cid").fetch() }
      #expect(error?.code == .missingObjectId)
    }
  }

  @Test func `a class with an invalid name is refused`() throws {
    struct Invalid: ParseObject {
      static var className: String { "_Join:a:b" }
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
    }
    withDatabase {
      let error = #expect(throws: ParseError.self) { try Invalid().save() }
      #expect(error?.code == .invalidClassName)
    }
  }

  @Test func `include reads children, and without it only their ids are there`() throws {
    try withDatabase {
      for number in 0..<5 {
        try Book(title: "book \(number)", isbn: ISBN(value: "\(number)")).save()
      }
      let with = try Book.query().order([.ascending("title")]).include("isbn").find()
      #expect(with.map { $0.isbn?.value } == (0..<5).map { "\($0)" })
      let without = try Book.query().order([.ascending("title")]).find()
      #expect(without.allSatisfy { $0.isbn?.objectId != nil && $0.isbn?.value == nil })
      // A child that was deleted keeps its id.
      try with[2].isbn?.delete()
      let after = try Book.query().order([.ascending("title")]).include("isbn").find()
      #expect(after[2].isbn?.objectId == with[2].isbn?.objectId && after[2].isbn?.value == nil)
      #expect(after[3].isbn?.value == "3")
    }
  }

  @Test func `conditions compare, combine and follow pointers`() throws {
    try withDatabase {
      let genres = try ["a", "b"].map { try Genre(name: $0).save() }
      for number in 0..<10 {
        try Book(
          title: number == 9 ? nil : "title \(number)", publishingYear: 1960 + number,
          genre: genres[number % 2], isbn: ISBN(value: "\(number)")
        ).save()
      }
      func years(_ constraints: QueryConstraint...) throws -> [Int] {
        let query = Book.query(constraints).order([.ascending("publishingYear")])
        let found = try query.find().compactMap(\.publishingYear)
        #expect(try query.count() == found.count)
        return found.map { $0 - 1960 }
      }
      #expect(try years("publishingYear" > 1965, "publishingYear" <= 1968) == [6, 7, 8])
      #expect(try years("publishingYear" >= 1969) == [9])
      #expect(try years("publishingYear" < 1962) == [0, 1])
      #expect(try years("title" == "title 3") == [3])
      #expect(try years("title" != "title 3") == [0, 1, 2, 4, 5, 6, 7, 8, 9])
      #expect(try years("genre" == genres[1]) == [1, 3, 5, 7, 9])
      #expect(try years("genre" == genres[1].toPointer()) == [1, 3, 5, 7, 9])
      #expect(try years("genre" == Genre.query("name" == "a")) == [0, 2, 4, 6, 8])
      #expect(try years("genre" != Genre.query("name" == "a")) == [1, 3, 5, 7, 9])
      #expect(
        try years("isbn" == ISBN.query(containedIn(key: "value", array: ["4", "5"]))) == [4, 5])
      #expect(try years(containedIn(key: "publishingYear", array: [1960, 1969, 7])) == [0, 9])
      #expect(try years(notContainedIn(key: "publishingYear", array: Array(1960...1968))) == [9])
      #expect(try years(exists(key: "title")) == Array(0..<9))
      #expect(try years(doesNotExist(key: "title")) == [9])
      #expect(try years(hasPrefix(key: "title", prefix: "title")) == Array(0..<9))
      #expect(try years(hasSuffix(key: "title", suffix: " 4")) == [4])
      #expect(try years(containsString(key: "title", substring: "tle 5")) == [5])
      #expect(try years(or("publishingYear" == 1961, "title" == "title 2")) == [1, 2])
      #expect(try years(and("publishingYear" > 1961, "publishingYear" < 1963)) == [2])
      #expect(
        try years(nor("publishingYear" > 1961, "title" == "title 0"), exists(key: "title")) == [1])
      let page = Book.query().order([.descending("publishingYear")]).skip(2).limit(3)
      #expect(try page.find().compactMap(\.publishingYear) == [1967, 1966, 1965])
      #expect(try Book.query().limit(0).find() == [])
      let error = #expect(throws: ParseError.self) { try Book.query().limit(0).first() }
      #expect(error?.code == .objectNotFound)
      let unsaved = #expect(throws: ParseError.self) { try Book.query("genre" == Genre()).find() }
      #expect(unsaved?.code == .missingObjectId)
    }
  }

  @Test func `a unique index refuses a second object`() async throws {
    try await firestore.indexes.declare(FirestoreIndex(unique: "ISBN", .ascending("value")))
    try withDatabase {
      try Book(title: "Dune", isbn: ISBN(value: "1")).save()
      let error = #expect(throws: ParseError.self) {
        try Book(title: "Emma", isbn: ISBN(value: "1")).save()
      }
      #expect(error?.code == .duplicateValue)
      // All or nothing.
      #expect(try Book.query().count() == 1 && ISBN.query().count() == 1)
    }
  }

  @Test func `the forms with a completion call it once, without a main queue`() async throws {
    // A task of Swift's concurrency, and so the value of the task, is inherited by the completion's.
    try await ParseSwift.withFirestore(firestore) {
      let saved = try await withCheckedThrowingContinuation { continuation in
        Author(name: "Ann").save { continuation.resume(with: $0) }
      }
      let found = try await withCheckedThrowingContinuation { continuation in
        Author.query().find { continuation.resume(with: $0) }
      }
      #expect(found == [saved])
      let queue = DispatchQueue(label: "completions")
      let key = DispatchSpecificKey<Bool>()
      queue.setSpecific(key: key, value: true)
      let count = try await withCheckedThrowingContinuation { continuation in
        Author.query().count(callbackQueue: queue) { result in
          #expect(DispatchQueue.getSpecific(key: key) == true)
          continuation.resume(with: result)
        }
      }
      #expect(count == 1)
      let again = try await saved.fetch()
      #expect(again == saved)
      try await again.delete()
      let left = try await Author.query().count()
      #expect(left == 0)
    }
  }
}
