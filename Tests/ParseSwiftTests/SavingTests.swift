import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Synchronization
import TestSupport
import Testing

/// Has properties whose stored values differ from what the type writes.
private struct Contact: ParseObject {
  struct Address: Codable, Hashable {
    var city: String?
    var street: String?
  }

  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var title: String?
  var address: Address?
  var height: Double?
  var tags: Set<String>?
}

/// Lists of objects, ids of one's own, files, access, and changes of values.
@Suite struct SavingTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var firestore: Firestore { database.firestore }

  private func withDatabase<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    try ParseSwift.withFirestore(firestore) { try body() }
  }

  private func code<Answer>(_ body: () throws -> Answer) -> ParseError.Code? {
    do {
      _ = try body()
      return nil
    } catch { return (error as? ParseError)?.code }
  }

  @Test func `lists are saved, fetched and deleted in order, with one result each`() async throws {
    try await firestore.indexes.declare(FirestoreIndex(unique: "ISBN", .ascending("value")))
    try await ParseSwift.withFirestore(firestore) {
      let genre = Genre(name: "fiction")
      let books = (0..<20).map { Book(title: "\($0)", genre: genre, isbn: ISBN(value: "\($0)")) }
      let saved = try await books.saveAll().map { try $0.get() }
      #expect(saved.map(\.title) == books.map(\.title))
      #expect(saved.allSatisfy { $0.isbn?.objectId != nil && $0.genre?.objectId != nil })
      let genres = try await Genre.query().count()
      // Each occurrence of a structure is an object of its own.
      #expect(genres == 20)
      #expect(Set(saved.compactMap(\.updatedAt)).count == 1, "one commit")
      // One of them fails: the others are saved.
      let mixed = [
        Book(title: "new", isbn: ISBN(value: "new")), Book(title: "bad", isbn: ISBN(value: "3")),
        saved[4].set(\.title, to: "changed"), Book(title: "last"),
      ]
      let results = try await mixed.saveAll()
      #expect(results.map { (try? $0.get())?.title } == ["new", nil, "changed", "last"])
      guard case .failure(let error) = results[1] else {
        Issue.record("not refused")
        return
      }
      #expect(error.code == .duplicateValue)
      let before = try await Book.query().count()
      let thrown = await #expect(throws: ParseError.self) {
        try await [Book(title: "a"), Book(title: "b", isbn: ISBN(value: "3"))]
          .saveAll(transaction: true)
      }
      #expect(thrown?.code == .duplicateValue)
      let tooMany = await #expect(throws: ParseError.self) {
        try await [Book(), Book()].saveAll(batchLimit: 1, transaction: true)
      }
      #expect(tooMany?.code == .operationForbidden)
      let after = try await Book.query().count()
      #expect(after == before && before == 22)
      let parts = try await [Book(title: "p"), Book(title: "q")].saveAll(batchLimit: 1)
      #expect(Set(parts.compactMap { try? $0.get().updatedAt }).count == 2)

      let unsaved = Book(title: "unsaved")
      let fetched = try await ([saved[7], unsaved, saved[2]] + [saved[7]]).fetchAll(
        includeKeys: ["isbn"])
      #expect(fetched.map { (try? $0.get())?.isbn?.value } == ["7", nil, "2", "7"])
      try await saved[2].delete()
      let deleted = try await [saved[1], saved[2], unsaved, saved[3], saved[3]].deleteAll()
      let codes = deleted.map { result -> ParseError.Code? in
        guard case .failure(let error) = result else { return nil }
        return error.code
      }
      #expect(codes == [nil, .objectNotFound, .missingObjectId, nil, .objectNotFound])
      let left = try await [saved[1], saved[2], saved[3]].fetchAll()
      #expect(left.allSatisfy { (try? $0.get()) == nil })
      let forbidden = await #expect(throws: ParseError.self) {
        try await [saved[5], saved[1]].deleteAll(transaction: true)
      }
      #expect(forbidden?.code == .objectNotFound)
      let kept = try await saved[5].fetch()
      #expect(kept.title == "5")
      let none: [Book] = []
      let nothing = try await none.saveAll()
      #expect(nothing.isEmpty)
    }
  }

  @Test func `an object of a class in several of a list is saved once`() throws {
    final class Series: ParseObject, @unchecked Sendable {
      // Unchecked: one thread uses it.
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var name: String?
      static func == (lhs: Series, rhs: Series) -> Bool { lhs === rhs }
      func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }
    struct Volume: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var number: Int?
      var series: Series?
      var broken: Author?
    }
    struct Shelf: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var volume: Volume?
      var series: Series?
    }
    try withDatabase {
      let series = Series()
      series.name = "Dune"
      let saved = try (0..<3).map { Volume(number: $0, series: series) }.saveAll(batchLimit: 1)
      let ids = try saved.map { try $0.get().series?.objectId }
      #expect(ids.count == 3 && Set(ids).count == 1 && !ids.contains(nil))
      // Each of them knows it: another save creates no second one.
      for volume in saved { try volume.get().set(\.number, to: 9).save() }
      #expect(try Series.query().count() == 1)
      // Also if the first commit of all fails, or cannot be made.
      for bad in [
        Volume(objectId: "missing", number: 4), Volume(number: 4, broken: Author(objectId: "a/b")),
      ] {
        let other = Series()
        let before = try Series.query().count()
        let results = try [
          Volume(number: 3, series: other), bad.set(\.series, to: other),
          Volume(number: 5, series: other),
        ].saveAll()
        #expect(results.map { (try? $0.get())?.number } == [3, nil, 5])
        let ids = [results[0], results[2]].map { (try? $0.get())?.series?.objectId }
        #expect(ids[0] != nil && ids[0] == ids[1])
        #expect(try Series.query().count() == before + 1)
        #expect(try Volume.query("series" == Series.query()).count() == 5 + (before - 1) * 2)
      }
      // Wherever it comes last, all have it whole.
      let shared = Series()
      shared.name = "Foundation"
      let count = try Series.query().count()
      let shelf = try Shelf(volume: Volume(number: 1, series: shared), series: shared).save()
      #expect(shelf.series?.name == "Foundation" && shelf.volume?.series?.name == "Foundation")
      #expect(shelf.series?.objectId == shelf.volume?.series?.objectId)
      #expect(try Series.query().count() == count + 1)
      let same = Series()
      let twice = try [same, same].saveAll(batchLimit: 1).map { try $0.get().objectId }
      #expect(twice.count == 2 && twice[0] != nil && twice[0] == twice[1])
      series.name = nil
    }
  }

  @Test func `a save keeps what another writer stores in properties that it does not change`()
    async throws
  {
    struct Fields: Codable, Equatable {
      var address: [String: String]?
      var height: Int?
      var tags: [String]?
    }
    try await ParseSwift.withFirestore(firestore) {
      let many = (0..<40).map { "t\($0)" }
      let values: [(field: String, stored: Any, other: Any)] = [
        ("address", ["city": "Linz", "zip": "4020"], ["city": "Linz", "zip": "4030"]),
        ("height", 5, 6), ("tags", many, many + ["other"]),
      ]
      for (field, stored, other) in values {
        let document = firestore.document("Contact/\(field)")
        try await document.setData(["title": "before", field: stored])
        let read = try await Contact.query("objectId" == field).first()
        let before = try await document.getDocument()
        _ = try await read.save()
        let after = try await document.getDocument()
        #expect(after.updateTime == before.updateTime, "\(field): nothing is written")
        try await document.updateData([field: other])
        let written = try await document.getDocument().data(as: Fields.self)
        let saved = try await read.set(\.title, to: "after").save()
        #expect(saved.title == "after")
        let kept = try await document.getDocument().data(as: Fields.self)
        #expect(kept == written, "\(field)")
      }
    }
  }

  @Test func `a changed map keeps the keys that its type does not know`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let document = firestore.document("Contact/a")
      try await document.setData([
        "address": ["city": "Linz", "street": "Ring", "zip": "4020"], "tags": ["a", "b"],
      ])
      let read = try await Contact.query("objectId" == "a").first()
      let saved = try await read.set(\.address, to: Contact.Address(city: "Wien"))
        .set(\.tags, to: ["b", "c"]).save()
      #expect(saved.address == Contact.Address(city: "Wien") && saved.tags == ["b", "c"])
      let stored = try await document.getDocument()
      #expect(stored["address"] as? [String: String] == ["city": "Wien", "zip": "4020"])
      _ = try await saved.set(\.address, to: nil).save()
      let without = try await document.getDocument()
      #expect(without["address"] == nil && without["tags"] != nil)
    }
  }

  @Test func `a part of a map is selected with all of it, so that a save keeps it`() throws {
    try withDatabase {
      let address = Contact.Address(city: "Linz", street: "Ring")
      let saved = try Contact(title: "x", address: address).save()
      let selected = try Contact.query().select("address.city").first()
      #expect(selected.address == address && selected.title == nil)
      try selected.set(\.title, to: "y").save()
      try selected.set(\.address, to: Contact.Address(city: "Wien", street: "Ring")).save()
      let after = try saved.fetch()
      #expect(after.title == "y")
      #expect(after.address == Contact.Address(city: "Wien", street: "Ring"))
      // Properties are read as a whole.
      #expect(try Contact.query().exclude("address.street").first().address == after.address)
      #expect(try Contact.query().exclude("address").first().address == nil)
      #expect(code { try Contact.query().select("address..city").find() } == .invalidKeyName)
    }
  }

  @Test func `objects are created with ids of their own, and replaced as a whole`() throws {
    try withDatabase {
      let created = try Author(objectId: "ann", name: "Ann").create()
      #expect(created.objectId == "ann" && created.createdAt != nil)
      #expect(code { try Author(objectId: "ann", name: "Bob").create() } == .duplicateValue)
      #expect(code { try Author(objectId: "bob", name: "Bob").save() } == .objectNotFound)
      #expect(code { try Author(objectId: "bob", name: "Bob").replace() } == .objectNotFound)
      #expect(code { try Author(name: "Bob").replace() } == .missingObjectId)
      #expect(try Author(name: "Cid").create().objectId != nil)
      let batch = firestore.batch()
      batch.updateData(
        ["name": "changed", "extra": 1], forDocument: firestore.document("Author/ann"))
      try firestore.blocking.commit(batch)
      // A save writes what was changed; a replacement everything.
      #expect(try created.save().name == "changed")
      #expect(try created.replace().name == "Ann")
      #expect(try created.set(\.name, to: nil).replace().name == nil)
      #expect(
        try firestore.blocking.getDocument(firestore.document("Author/ann"))["extra"] as? Int == 1)
      let results = try [Author(objectId: "dan"), Author(objectId: "ann")].createAll()
      #expect((try? results[0].get())?.objectId == "dan")
      guard case .failure(let error) = results[1] else {
        Issue.record("not refused")
        return
      }
      #expect(error.code == .duplicateValue)
      #expect(try [created].replaceAll(transaction: true).count == 1)
    }
  }

  @Test func `values are set, read and reverted`() throws {
    try withDatabase {
      let saved = try Book(title: "Dune", publishingYear: 1965).save()
      let changed = saved.set(\.title, to: "Emma").set(\.publishingYear, to: nil)
      #expect(changed.title == "Emma" && changed.mergeable == changed)
      #expect(try changed.revertKeyPath(\.title).title == "Dune")
      #expect(try changed.revertObject() == saved)
      #expect(try changed.get(\.title) == "Emma")
      #expect(code { try changed.get(\.publishingYear) } == .unknownError)
      #expect(code { try Book(title: "x").revertObject() } == .missingObjectId)
      #expect(changed.shouldRestoreKey(\.publishingYear, original: saved))
      #expect(!changed.shouldRestoreKey(\.title, original: saved))
    }
  }

  @Test func `elements are appended, and properties are forced`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let new = try await Place(tags: ["a"]).operation.add("tags", objects: ["a", "b"]).save()
      #expect(new.tags == ["a", "a", "b"])
      let place = try await Place(name: "x", tags: ["a"]).save()
      let saved = try await place.operation.add("tags", objects: ["a", "b"])
        .add("tags", objects: ["b"]).save()
      #expect(saved.tags == ["a", "a", "b", "b"])
      // The order of elements is kept, and those that are there are not added.
      let unique = try await saved.operation.addUnique("tags", objects: ["z", "b", "c"]).save()
      #expect(unique.tags == ["a", "a", "b", "b", "z", "c"])
      #expect(throws: ParseError.self) {
        try saved.operation.add("tags", objects: ["a"]).addUnique("tags", objects: ["b"]).save()
      }
      _ = try await saved.operation.set("name", value: "changed").save()
      let unforced = try await place.operation.set(("name", \.name), to: "x").save()
      #expect(unforced.name == "changed")
      let forced = try await place.operation.forceSet(("name", \.name), value: "x").save()
      #expect(forced.name == "x")
      let removed = try await place.operation.set(("name", \.name), to: nil).save()
      #expect(removed.name == nil)
      // Sixteen tasks append at once: nothing is lost.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<16 {
          group.addTask { _ = try await place.operation.add("tags", objects: ["\(task)"]).save() }
        }
        try await group.waitForAll()
      }
      let after = try await place.fetch()
      #expect(Set(after.tags?.dropFirst(6) ?? []) == Set((0..<16).map { "\($0)" }))
      #expect(after.tags?.count == 22)
    }
  }

  @Test func `the last of several values of a chain is set, also if the target has it`() throws {
    try withDatabase {
      let place = try Place(name: "A").save()
      let again = try place.operation.set(("name", \.name), to: "B").set(("name", \.name), to: "A")
        .save()
      #expect(again.name == "A")
      let restored = try place.operation.unset("name").set(("name", \.name), to: "A").save()
      #expect(restored.name == "A")
    }
  }

  @Test func `elements are appended to an array in a map, and to one of any key`() throws {
    struct Shelf: ParseObject {
      struct Spot: Codable, Hashable { var tags: [String]? }
      enum CodingKeys: String, CodingKey {
        case objectId, createdAt, updatedAt, ACL, originalData, spot
        case codes = "codes/all"
      }

      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var spot: Spot?
      var codes: [String]?
    }
    try withDatabase {
      let new = try Shelf(spot: Shelf.Spot(tags: ["a"]), codes: ["a"]).operation
        .add("spot.tags", objects: ["b"]).add("codes/all", objects: ["b"]).save()
      #expect(new.spot?.tags == ["a", "b"] && new.codes == ["a", "b"])
      let saved = try new.operation.add("spot.tags", objects: ["c"])
        .add("codes/all", objects: ["c"]).save()
      #expect(saved.spot?.tags == ["a", "b", "c"] && saved.codes == ["a", "b", "c"])
    }
  }

  @Test func `an operation that removes the caller's own access returns the object`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      var own = ParseACL()
      own.setReadAccess(objectId: "ann", value: true)
      own.setWriteAccess(objectId: "ann", value: true)
      let place = try await Place(ACL: own, name: "x").save()
      try await ParseSwift.withIdentity(ParseIdentity(user: "ann")) {
        let saved = try await place.operation.set("ACL", value: ParseACL()).save()
        #expect(saved.ACL == ParseACL() && saved.name == "x")
        let error = await #expect(throws: ParseError.self) { try await saved.fetch() }
        #expect(error?.code == .objectNotFound)
      }
    }
  }

  @Test(.timeLimit(patience))
  func `relations of an object are hidden with it, in both directions`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let author = try await Author(name: "Ann").save()
      let secret = try await Author(ACL: ParseACL(), name: "secret").save()
      let hidden = try await Place(ACL: ParseACL(), name: "hidden").save()
      let open = try await Place(name: "open").save()
      _ = try await hidden.relation?.add("authors", objects: [author]).save()
      _ = try await open.relation?.add("authors", objects: [author, secret]).save()
      try await ParseSwift.withIdentity(ParseIdentity(user: "bob")) {
        for query in [
          try Author.queryRelations("authors", parent: hidden),
          Author.query(related(key: "authors", object: hidden)),
        ] {
          let (found, page) = (try await query.find(), try await query.limit(5).find())
          let count = try await query.count()
          #expect(found == [] && page == [] && count == 0)
        }
        for query in [
          try Place.queryRelations("authors", child: secret),
          Place.query(related(key: "authors", of: Place.self, to: secret)),
        ] {
          let (found, page) = (try await query.find(), try await query.limit(5).find())
          let count = try await query.count()
          #expect(found == [] && page == [] && count == 0)
        }
        let shown = try await Author.queryRelations("authors", parent: open).find()
        #expect(shown == [author])
        let places = try await Place.queryRelations("authors", child: author).find()
        #expect(places.map(\.name) == ["open"])
        // They are shown when the object is.
        var results = try Author.queryRelations("authors", parent: hidden).results
          .makeAsyncIterator()
        #expect(try await results.next() == [])
        try await firestore.document("Place/\(hidden.id)").updateData(["ACL": FieldValue.delete()])
        #expect(try await results.next() == [author])
      }
      let all = try await Author.queryRelations("authors", parent: open).count()
      #expect(all == 2)
    }
  }

  @Test func `files of any length are stored with their objects`() async throws {
    struct Cover: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var title: String?
      var image: ParseFile?
      var more: [ParseFile]?
    }
    try await ParseSwift.withFirestore(firestore) {
      for size in [0, 1, 512 * 1024, 512 * 1024 + 1, 6_000_000] {
        var random = SeededGenerator(seed: UInt64(size))
        let bytes = Data((0..<size).map { _ in UInt8.random(in: 0...255, using: &random) })
        let file = ParseFile(name: "a/b.png", data: bytes, mimeType: "image/png")
        let saved = try await Cover(
          title: "\(size)", image: file, more: [ParseFile(data: Data([1])), file]
        ).save()
        let image = try #require(saved.image)
        #expect(image.isSaved && image.name.hasSuffix("_a_b.png") && image.data == nil)
        let read = try await Cover.query("objectId" == saved.id).first()
        #expect(read == saved)
        let fetched = try await image.fetch()
        #expect(fetched.data == bytes && fetched.mimeType == "image/png")
        let another = try await saved.more?[1].fetch()
        #expect(another?.data == bytes && another?.name != image.name)
        // Nothing changed: nothing is written.
        let again = try await saved.save()
        #expect(again.updatedAt == saved.updatedAt)
        try await image.delete()
        let gone = await #expect(throws: ParseError.self) { try await image.fetch() }
        #expect(gone?.code == .objectNotFound)
        let twice = await #expect(throws: ParseError.self) { try await image.delete() }
        #expect(twice?.code == .objectNotFound)
      }
      let alone = try await ParseFile(name: "x", data: Data([7])).save()
      let same = try await alone.save()
      #expect(same == alone)
      let unsaved = await #expect(throws: ParseError.self) {
        try await ParseFile(data: Data()).fetch()
      }
      #expect(unsaved?.code == .objectNotFound)
    }
    try withDatabase {
      let file = try ParseFile(name: "x", data: Data([7])).save()
      #expect(try file.fetch().data == Data([7]))
      try file.delete()
    }
  }

  @Test func `a file that lacks a part is not found, and can be deleted`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      for missing in 0...3 {
        let file = try await ParseFile(data: Data(count: 3 * 512 * 1024)).save()
        let parts = firestore.collection("_File").document(file.name).collection("parts")
        let documents = try await parts.getDocuments().documents
        try #require(documents.count == 4, "How many parts there are, and the parts.")
        try await documents[missing].reference.delete()
        let error = await #expect(throws: ParseError.self) { try await file.fetch() }
        #expect(error?.code == .objectNotFound, "without document \(missing)")
        try await file.delete()
        let left = try await parts.getDocuments().documents
        #expect(left.isEmpty)
      }
    }
  }

  @Test func `an object that may not be read is related no more than one that does not exist`()
    async throws
  {
    try await ParseSwift.withFirestore(firestore) {
      var shown = ParseACL()
      shown.publicRead = true
      let secret = try await Author(ACL: ParseACL(), name: "secret").save()
      let visible = try await Author(ACL: shown, name: "visible").save()
      let gone = try await Author(name: "gone").save()
      try await gone.delete()
      let place = try await Place(name: "x").save()
      try await ParseSwift.withIdentity(ParseIdentity(user: "bob")) {
        var refusals: [ParseError] = []
        for object in [secret, gone] {
          for operation in [
            try place.operation.addRelation("authors", objects: [visible, object]),
            try Place(name: "new").operation.addRelation("authors", objects: [object]),
          ] {
            let error = await #expect(throws: ParseError.self) { try await operation.save() }
            #expect(error?.code == .objectNotFound)
            refusals += [error].compactMap(\.self)
          }
        }
        #expect(Set(refusals.map(\.message)).count == 1)
        // Who may read an object may relate it, without the right to change it.
        _ = try await place.operation.addRelation("authors", objects: [visible]).save()
      }
      let related = try await Author.queryRelations("authors", parent: place).find()
      #expect(related.map(\.name) == ["visible"])
      #expect(try await Place.query().count() == 1)
    }
  }

  @Test func `access is checked in every request of an identity`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      var own = ParseACL()
      own.setReadAccess(objectId: "ann", value: true)
      own.setWriteAccess(objectId: "ann", value: true)
      var shown = ParseACL()
      shown.publicRead = true
      shown.setWriteAccess(roleName: "editors", value: true)
      let secret = try await Author(ACL: own, name: "secret").save()
      let visible = try await Author(ACL: shown, name: "visible").save()
      let open = try await Author(name: "open").save()
      let hidden = try await Author(ACL: ParseACL(), name: "hidden").save()
      let place = try await Place(name: "x", number: 1, author: secret).save()
      _ = try await place.relation?.add("authors", objects: [secret, visible]).save()
      let names = { @Sendable (identity: ParseIdentity) async throws -> Set<String> in
        try await ParseSwift.withIdentity(identity) {
          let found = try await Author.query().find()
          let count = try await Author.query().count()
          #expect(count == found.count)
          return Set(found.compactMap(\.name))
        }
      }
      let ann = ParseIdentity(user: "ann")
      let bob = ParseIdentity(user: "bob", roles: ["editors"])
      let nobody = ParseIdentity(user: nil)
      #expect(try await names(ann) == ["secret", "visible", "open"])
      #expect(try await names(bob) == ["visible", "open"])
      #expect(try await names(nobody) == ["visible", "open"])
      let all = try await Author.query().count()
      #expect(all == 4)
      try await ParseSwift.withIdentity(bob) {
        let related = try await Author.queryRelations("authors", parent: place).limit(5).find()
        #expect(related.map(\.name) == ["visible"])
        let included = try await Place.query().include("author").first()
        #expect(included.author?.objectId == secret.objectId && included.author?.name == nil)
        let through = try await Place.query("author" == Author.query("name" == "secret")).count()
        #expect(through == 0)
        for object in [secret, hidden] {
          for call in [
            { @Sendable in _ = try await object.fetch() },
            { @Sendable in _ = try await object.set(\.name, to: "y").save() },
            { @Sendable in try await object.delete() },
            { @Sendable in _ = try await object.operation.unset("name").save() },
          ] {
            let error = await #expect(throws: ParseError.self) { try await call() }
            #expect(error?.code == .objectNotFound)
          }
        }
        // A member of the role may write.
        let changed = try await visible.set(\.name, to: "visible").replace()
        #expect(changed.name == "visible")
        try await open.set(\.name, to: "open").replace()
      }
      try await ParseSwift.withIdentity(ann) {
        let error = await #expect(throws: ParseError.self) {
          try await visible.set(\.name, to: "y").save()
        }
        #expect(error?.code == .operationForbidden)
        let mine = try await secret.set(\.name, to: "secret 2").save()
        #expect(mine.name == "secret 2")
        let results = try await [secret, visible, open].deleteAll()
        #expect(results.map { (try? $0.get()) == nil } == [false, true, false])
      }
      // Without an identity everything is possible.
      try await hidden.delete()
      let left = try await Author.query().find()
      #expect(left.map(\.name) == ["visible"])
    }
  }

  @Test func `an included object is shown to those who may read it, and to no others`()
    async throws
  {
    try await ParseSwift.withFirestore(firestore) {
      var readable = ParseACL()
      readable.publicRead = true
      readable.setWriteAccess(objectId: "ann", value: true)
      var writable = ParseACL()
      writable.publicWrite = true
      writable.setReadAccess(objectId: "ann", value: true)
      let shown = try await Author(ACL: readable, name: "shown").save()
      let hidden = try await Author(ACL: writable, name: "hidden").save()
      let place = try await Place(name: "x", author: shown, authors: [shown, hidden]).save()
      for (user, names) in [("ann", ["shown", "hidden"]), ("bob", ["shown", nil])] {
        try await ParseSwift.withIdentity(ParseIdentity(user: user)) {
          let found = try await Place.query().include("author", "authors").first()
          #expect(found.author?.name == "shown", "\(user)")
          #expect(found.authors?.map(\.name) == names, "\(user)")
          #expect(found.authors?.map(\.objectId) == [shown.objectId, hidden.objectId])
          let fetched = try await place.fetch(includeKeys: ["author", "authors"])
          #expect(fetched.author?.name == "shown", "\(user)")
          #expect(fetched.authors?.map(\.name) == names, "\(user)")
        }
      }
    }
  }

  @Test func `a live query of an identity follows the access`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      var acl = ParseACL()
      acl.setReadAccess(objectId: "ann", value: true)
      let author = try await Author(ACL: acl, name: "Ann").save()
      var results = ParseSwift.withIdentity(ParseIdentity(user: "bob")) {
        Author.query().results.makeAsyncIterator()
      }
      #expect(try await results.next() == [])
      acl.setReadAccess(objectId: "bob", value: true)
      let shared = try await author.set(\.ACL, to: acl).save()
      #expect(try await results.next() == [shared])
      _ = try await shared.set(\.ACL, to: ParseACL()).save()
      #expect(try await results.next() == [])
    }
  }

  @Test func `writes of an identity are not lost between the check and the commit`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      var acl = ParseACL()
      acl.setReadAccess(objectId: "ann", value: true)
      acl.setWriteAccess(objectId: "ann", value: true)
      let place = try await Place(ACL: acl, number: 0).save()
      try await ParseSwift.withIdentity(ParseIdentity(user: "ann")) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<16 {
            group.addTask { _ = try await place.operation.increment("number", by: 1).save() }
          }
          try await group.waitForAll()
        }
      }
      let after = try await place.fetch()
      #expect(after.number == 16)
    }
  }

  @Test func `an included object that cannot be read is reported by its own error`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let author = try await Author(name: "Ann").save()
      let place = try await Place(name: "x", author: author).save()
      try await firestore.document("Author/\(author.id)").updateData(["name": 5])
      let error = await #expect(throws: ParseError.self) {
        try await Place.query().include("author").find()
      }
      #expect(error?.code == .incorrectType && error?.message.contains("name") == true)
      // Without it, the object is only referred to.
      let found = try await place.fetch()
      #expect(found.author?.objectId == author.objectId)
    }
  }
}
