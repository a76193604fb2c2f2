import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Synchronization
import TestSupport
import Testing

/// An album equals another one with its id, whatever it contains.
final class Album: ParseObject, @unchecked Sendable {
  // Unchecked: each is used by one task.
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var title: String?

  init() {}

  static func == (lhs: Album, rhs: Album) -> Bool { lhs.objectId == rhs.objectId }
  func hash(into hasher: inout Hasher) { hasher.combine(objectId) }
}

/// Encodes a number as text, and cannot read it back.
private struct Ticket: ParseObject {
  struct Seat: Codable, Hashable {
    var number = 1
    init() {}
    init(from decoder: any Decoder) throws {
      number = try decoder.singleValueContainer().decode(Int.self)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode("seat \(number)")
    }
  }

  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var seat: Seat?
}

private struct Portrait: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var image: ParseFile?
  var others: [ParseFile]?
}

private struct Editor: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var publisher: Publisher?
}

private struct Volume: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var first: Editor?
  var second: Editor?
}

/// Hidden objects, failures after a commit, conditions beyond Firestore's limits, slow receivers.
@Suite struct UnhappyPathTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var firestore: Firestore { database.firestore }

  // MARK: Access

  @Test func `a save that changes nothing shows nobody a hidden object`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      var own = ParseACL()
      own.setReadAccess(objectId: "ann", value: true)
      let secret = try await Author(ACL: own, name: "secret").save()
      try await ParseSwift.withIdentity(ParseIdentity(user: "bob")) {
        let pointer = try secret.toPointer().toObject()
        let error = await #expect(throws: ParseError.self) { try await pointer.save() }
        #expect(error?.code == .objectNotFound)
        let results = try await [pointer].saveAll()
        #expect((try? results[0].get()) == nil)
      }
      let shown = try await ParseSwift.withIdentity(ParseIdentity(user: "ann")) {
        try await secret.toPointer().toObject().save()
      }
      #expect(shown.name == "secret")
    }
  }

  @Test(.timeLimit(patience))
  func `a live query with callbacks keeps the identity that made it`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let subscription = try #require(
        ParseSwift.withIdentity(ParseIdentity(user: "bob")) { Author.query().subscribeCallback })
      var events = await subscription.events().makeAsyncIterator()
      _ = try await Author(ACL: ParseACL(), name: "secret").save()
      _ = try await Author(name: "open").save()
      #expect(await events.next()?.object.name == "open")
      subscription.unsubscribe()
    }
  }

  @Test func `an identity may have more roles than a query of Firestore has alternatives`() throws {
    try ParseSwift.withFirestore(firestore) {
      var acl = ParseACL()
      acl.setReadAccess(roleName: "role 39", value: true)
      _ = try Author(ACL: acl, name: "a").save()
      _ = try Author(ACL: ParseACL(), name: "b").save()
      let roles = (0..<40).map { "role \($0)" }
      try ParseSwift.withIdentity(ParseIdentity(user: "ann", roles: roles)) {
        let found = try Author.query(or("name" == "a", "name" == "b", "name" == "c")).find()
        #expect(found.map(\.name) == ["a"])
      }
    }
  }

  @Test func `a deletion that a rule forbids reports the rule`() throws {
    try ParseSwift.withFirestore(firestore) {
      try firestore.blocking.declare([
        FirestoreReferenceRule("Place", field: "author", to: "Author", onDelete: .restrict)
      ])
      let author = try Author(name: "Ann").save()
      _ = try Place(name: "x", author: author).save()
      // Each attempt reads the object.
      let error = ParseSwift.withIdentity(ParseIdentity(user: "ann")) {
        #expect(throws: ParseError.self) { try author.delete() }
      }
      #expect(error?.code == .operationForbidden)
      #expect(error?.message.contains("Place/") == true)
    }
  }

  // MARK: Saving

  @Test func `an operation stores the bytes of its files`() throws {
    try ParseSwift.withFirestore(firestore) {
      let bytes = Data("portrait".utf8)
      let saved = try Portrait().save()
      let changed = try saved.operation
        .set("image", value: ParseFile(name: "a.png", data: bytes))
        .add("others", objects: [ParseFile(name: "b.png", data: bytes)]).save()
      #expect(try changed.image?.fetch().data == bytes)
      #expect(try changed.others?.first?.fetch().data == bytes)
    }
  }

  @Test func `objects that were saved and cannot be read are not saved again`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let results = try await [Ticket(seat: .init()), Ticket(seat: .init())].saveAll()
      #expect(results.count == 2)
      for result in results {
        #expect(throws: ParseError.self) { try result.get() }
      }
      let count = try await Ticket.query().count()
      #expect(count == 2)
    }
  }

  @Test func `a text of other bytes, and a number of another kind, is a change`() throws {
    try ParseSwift.withFirestore(firestore) {
      var author = try Author(name: "e\u{301}").save()
      author.name = "\u{E9}"
      let saved = try author.save()
      #expect(saved.name?.utf8.count == 2)
      let stored = try firestore.blocking.getDocument(
        firestore.document("Author/\(author.objectId ?? "")"))
      #expect((stored["name"] as? String)?.utf8.count == 2)
    }
  }

  @Test func `an id that is none is the error of its object`() throws {
    try ParseSwift.withFirestore(firestore) {
      let saved = try Author(name: "Ann").save()
      let results = try [Author(objectId: "a/b"), saved, Author(objectId: "")].fetchAll()
      #expect(results.map { (try? $0.get())?.name } == [nil, "Ann", nil])
    }
  }

  // MARK: Queries

  @Test func `conditions on arrays may be as many as one likes`() throws {
    struct Bag: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var tags: [String]?
      var codes: [String]?
    }
    try ParseSwift.withFirestore(firestore) {
      let many = (0..<50).map { "t\($0)" }
      let bag = try Bag(tags: many, codes: ["x"]).save()
      _ = try Bag(tags: ["t1"], codes: ["y"]).save()
      #expect(try Bag.query("tags" == "t1", "tags" == "t2").find() == [bag])
      #expect(try Bag.query("tags" == "t1", "codes" == "x").find() == [bag])
      #expect(try Bag.query(containsAll(key: "tags", array: many)).find() == [bag])
      let late = (40..<90).map { "t\($0)" }
      #expect(try Bag.query(containedIn(key: "tags", array: late)).find() == [bag])
      #expect(try Bag.query("meta.a" == 1, "meta.b" == 2).count() == 0)
      let alternatives: [QueryConstraint] = (2..<60).map { equalTo(key: "tags", value: "t\($0)") }
      #expect(try Bag.query(or(alternatives)).find() == [bag])
    }
  }

  @Test func `one object under two keys has what is included by each of them`() throws {
    try ParseSwift.withFirestore(firestore) {
      let editor = try Editor(publisher: Publisher(name: "Ace")).save()
      _ = try Volume(first: editor, second: editor).save()
      let found = try Volume.query().include("first", "second.publisher").first()
      #expect(found.second?.publisher?.name == "Ace")
    }
  }

  // MARK: Live queries

  @Test(.timeLimit(patience))
  func `an object changes although it equals what it was`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let album = Album()
      album.title = "first"
      let saved = try await album.save()
      let subscription = try #require(Album.query().subscribeCallback)
      var events = await subscription.events().makeAsyncIterator()
      let other = Album()
      other.title = "second"
      _ = try await other.save()
      guard case .created? = await events.next() else {
        Issue.record("Only the new album has changed.")
        return
      }
      saved.title = "third"
      _ = try await saved.save()
      guard case .updated(let changed)? = await events.next() else {
        Issue.record("The album has changed.")
        return
      }
      subscription.unsubscribe()
      #expect(changed.title == "third")
    }
  }

  @Test(.timeLimit(patience))
  func `a search for words is live, and counts its results`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      try await firestore.indexes.declare(
        FirestoreIndex(words: "Author", in: SearchFields("name", language: "simple")))
      try await firestore.indexes.waitUntilReady()
      let query = Author.query(matchesText(key: "name", text: "herbert"))
      var results = query.results.makeAsyncIterator()
      #expect(try await results.next() == [])
      let saved = try await Author(name: "Frank Herbert").save()
      #expect(try await results.next() == [saved])
      let (found, count) = try await query.withCount()
      #expect(found == [saved] && count == 1)
    }
  }

  @Test(.timeLimit(patience))
  func `a slow receiver of a live query holds few states`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      var results = Author.query().results.makeAsyncIterator()
      #expect(try await results.next() == [])
      for number in 0..<300 { _ = try await Author(name: "\(number)").save() }
      var states = 0
      while let authors = try await results.next() {
        states += 1
        if authors.count == 300 { break }
      }
      // Up to 16 commits that wait are delivered singly. On a busy machine, some of the last ones come while
      // the states are received.
      #expect(states <= 150)
    }
  }

  @Test(.timeLimit(patience))
  func `a live query that nobody uses ends, and a cancelled one, too`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      do {
        var results = Author.query().results.makeAsyncIterator()
        #expect(try await results.next() == [])
      }
      let count = Mutex(0)
      let task = Task {
        for try await _ in Author.query().results { count.withLock { $0 += 1 } }
      }
      try await eventually { count.withLock(\.self) == 1 }
      task.cancel()
      try await task.value
      #expect(count.withLock(\.self) == 1)
      // The database in memory and a server have no such statistics.
      guard (try? await firestore.listenerStatistics()) != nil else { return }
      try await eventually { try await firestore.listenerStatistics().listeners == 0 }
    }
  }
}
