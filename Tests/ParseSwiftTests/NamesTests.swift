import CompilerCheck
import Foundation
import Hearth
import HearthTesting
import ParseSwift
import TestSupport
import Testing

/// A page with the score of a search, bytes, and a merge of its own.
private struct Leaflet: ParseObject, ParseQueryScorable {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var score: Double?

  var title: String?
  var points: Int? = 0
  var tags: [String]?
  var bytes: ParseBytes?
  var author: Author?

  func merge(with object: Self) throws -> Self {
    var merged = try mergeParse(with: object)
    if merged.shouldRestoreKey(\.title, original: object) { merged.title = object.title }
    return merged
  }
}

/// Every name of Parse's documentation that a program may use, once.
@Suite(.serialized) struct NamesTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private func withDatabase<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    try ParseSwift.withFirestore(database.firestore) { try body() }
  }

  // MARK: Errors

  @Test func `an error is compared with codes, made by a program, and read from JSON`() throws {
    let error: any Error = ParseError(code: .objectNotFound, message: "There is none.")
    #expect(error.equalsTo(.objectNotFound) && !error.equalsTo(.invalidQuery))
    #expect(error.containedIn([.invalidQuery, .objectNotFound]))
    #expect(error.containedIn(.invalidQuery, .objectNotFound) && !error.containedIn(.invalidQuery))
    let same: ParseError? = error.equalsTo(.objectNotFound)
    let among: ParseError? = error.containedIn(.objectNotFound)
    let none: ParseError? = CancellationError().containedIn([.objectNotFound])
    #expect(same?.message == "There is none." && among == same && none == nil)
    #expect(String(reflecting: error) == "ParseError 101: There is none.")
    let json = Data(#"{"code":101,"error":"There is none."}"#.utf8)
    #expect(try JSONDecoder().decode(ParseError.self, from: json) == same)
    let encoded = try JSONEncoder().encode(#require(same))
    #expect(try JSONDecoder().decode(ParseError.self, from: encoded) == same)
    let unknown = Data(#"{"code":9999,"error":"?"}"#.utf8)
    #expect(try JSONDecoder().decode(ParseError.self, from: unknown).code == .unknownError)
  }

  @Test func `an error of decoding is an error of Parse`() {
    func code<Value: Decodable>(_ type: Value.Type, _ json: String) -> ParseError.Code? {
      do {
        _ = try JSONDecoder().decode(type, from: Data(json.utf8))
        return nil
      } catch { return (error as? ParseError)?.code }
    }
    #expect(code(Pointer<Book>.self, #"{"__type":"Pointer"}"#) == .invalidPointer)
    #expect(code(Pointer<Book>.self, "5") == .invalidPointer)
    #expect(code(ParseACL.self, "[1]") == .incorrectType)
    #expect(code(ParseFile.self, "{}") == .incorrectType)
    #expect(code(ParseBytes.self, #"{"base64":1}"#) == .incorrectType)
    #expect(code(ParseGeoPoint.self, #"{"latitude":1}"#) == .incorrectType)
    #expect(code(ParseGeoPoint.self, #"{"latitude":100,"longitude":0}"#) == .invalidValue)
    #expect(code(ParsePolygon.self, "[]") == .invalidValue)
    #expect(code(ParsePolygon.self, "{}") == .incorrectType)
    #expect(code(ParseError.self, "{}") == .incorrectType)
  }

  @Test func `saving a new object with an id of its own names the call that creates it`() throws {
    try withDatabase {
      let new = Leaflet(objectId: "mine", title: "a")
      let error = #expect(throws: ParseError.self) { try new.save() }
      #expect(error?.code == .objectNotFound && error?.message.contains("create()") == true)
      let results = try [new].saveAll()
      guard case .failure(let failure)? = results.first else { return #expect(results == []) }
      #expect(failure.message.contains("create()"))
      let created = try new.create()
      try created.delete()
      // One that was there is not new.
      let gone = #expect(throws: ParseError.self) { try created.set(\.title, to: "b").save() }
      #expect(gone?.message.contains("create()") == false)
    }
  }

  // MARK: Objects

  @Test func `versions of an object are merged`() throws {
    try withDatabase {
      let saved = try Leaflet(ACL: ParseACL(), title: "a", tags: ["x"]).save()
      var changed = Leaflet(objectId: saved.objectId, points: 5)
      changed.tags = ["y"]
      let merged = try changed.merge(with: saved)
      #expect(merged.title == "a" && merged.points == 5 && merged.tags == ["y"])
      #expect(merged.ACL == saved.ACL && merged.createdAt == saved.createdAt)
      #expect(try changed.mergeParse(with: saved).title == nil)
      let other = #expect(throws: ParseError.self) { try Leaflet().merge(with: saved) }
      #expect(other?.code == .unknownError)
      // A class without a merge of its own has that of Parse.
      #expect(
        try Author(objectId: "1").merge(with: Author(objectId: "1", ACL: ParseACL())).ACL != nil)
    }
  }

  @Test func `objects and pointers are compared by their ids`() throws {
    try withDatabase {
      let (one, two) = try (Author(name: "a").save(), Author(name: "b").save())
      let pointer = try one.toPointer()
      #expect(one.hasSameObjectId(as: pointer) && !two.hasSameObjectId(as: pointer))
      #expect(pointer.hasSameObjectId(as: one) && !pointer.hasSameObjectId(as: two))
      #expect(try pointer.hasSameObjectId(as: one.toPointer()))
      #expect(one.className == "Author" && Author.className == one.className)
      #expect(try Author.query.find().count == 2)
      #expect(try Author.query.where("name" == "a").first() == one)
    }
  }

  @Test func `everything has a description on one line`() throws {
    try withDatabase {
      let author = Author(objectId: "ann", name: "Ann")
      let leaflet = Leaflet(objectId: "x", title: "say \"a\"", tags: ["b"], author: author)
      #expect(
        "\(leaflet)"
          == #"Leaflet {"author":Author("ann"),"objectId":"x","points":0,"tags":["b"],"title":"say \"a\""}"#
      )
      #expect("\(Pointer<Author>(objectId: "ann"))" == #"Author("ann")"#)
      let old = Leaflet(objectId: "y", createdAt: Date(timeIntervalSince1970: 0))
      #expect("\(old)".contains(#""createdAt":"1970-01-01T00:00:00.000Z""#))
      var acl = ParseACL()
      acl.publicRead = true
      #expect("\(acl)" == #"{"*":{"read":true}}"#)
      let point = try ParseGeoPoint(latitude: 48.5, longitude: 14)
      #expect("\(point)" == "(48.5, 14.0)")
      #expect("\(try ParsePolygon(point, point, point))".hasPrefix("[(48.5, 14.0), "))
      #expect("\(ParseFile(name: "a.png", data: Data([1, 2])))" == "a.png (2 bytes)")
      #expect("\(ParseBytes(data: Data([1])))" == "1 bytes")
    }
  }

  /// An object of a final class may refer to itself.
  @Test func `a description of a circle ends`() {
    final class Ring: ParseObject, @unchecked Sendable {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var next: Ring?

      init() {}
      static func == (lhs: Ring, rhs: Ring) -> Bool { lhs === rhs }
      func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }
    let ring = Ring()
    ring.next = ring
    #expect("\(ring)" == #"Ring {"next":Ring(unsaved)}"#)
    ring.next = nil
  }

  @Test func `bytes are stored as bytes, and given back as text`() throws {
    try withDatabase {
      let bytes = ParseBytes(data: Data("hello".utf8))
      let saved = try Leaflet(title: "a", bytes: bytes).save()
      #expect(saved.bytes == bytes && saved.bytes?.base64 == "aGVsbG8=")
      #expect(try Leaflet.query("bytes" == bytes).count() == 1)
      let document = try database.firestore.blocking.getDocument(
        database.firestore.document("Leaflet/\(saved.id)"))
      #expect(document["bytes"] as? Data == Data("hello".utf8))
      #expect(try saved.set(\.title, to: "b").save().bytes == bytes)
      let wrong = #expect(throws: ParseError.self) {
        try Leaflet(bytes: ParseBytes(base64: "?")).save()
      }
      #expect(wrong?.code == .invalidValue)
      let json = try JSONEncoder().encode(bytes)
      #expect(try JSONDecoder().decode(ParseBytes.self, from: json) == bytes)
    }
  }

  // MARK: Operations

  @Test func `operations do not throw, and their first error is that of the save`() throws {
    try withDatabase {
      let saved = try Leaflet(title: "a", points: 1).save()
      let increment = saved.operation.increment("points", by: 2)
      #expect(try increment.save().points == 3)
      let mixed = saved.operation.increment("points", by: 1).add("points", objects: ["x"]).unset("")
      let error = #expect(throws: ParseError.self) { try mixed.save() }
      #expect(error?.code == .operationForbidden)
      #expect(try saved.fetch().points == 3)
      let operation = ParseOperation(target: saved)
      #expect(try operation.unset("points").save().points == nil)
    }
  }

  @Test func `operations take tuples of keys and key paths, or key paths alone`() throws {
    try withDatabase {
      let saved = try Leaflet(title: "a", points: 1, tags: ["x"]).save()
      let tags = try saved.operation.add(("tags", \.tags), objects: ["y"]).save().operation
        .addUnique(("tags", \.tags), objects: ["y", "z"]).save().operation
        .remove(("tags", \.tags), objects: ["x"]).save()
      #expect(tags.tags == ["y", "z"])
      #expect(try saved.operation.unset(("points", \.points)).save().points == nil)
      #expect(try saved.operation.set(("title", \.title), value: "b").save().title == "b")
      let both = try saved.operation.set(\.title, to: "c").set(\.points, value: 7).save()
      #expect(both.title == "c" && both.points == 7)
      #expect(try both.operation.set(\.title, to: nil).save().title == nil)
      let author = try Author(name: "Ann").save()
      let written = try saved.operation.set(\.author, to: author).save()
      #expect(written.author?.objectId == author.objectId)
    }
  }

  // MARK: Queries

  @Test func `places are found by Parse's newer names, and scores are given`() throws {
    try withDatabase {
      let points = try [(0, 0), (0, 10), (10, 10), (10, 0)].map {
        try ParseGeoPoint(latitude: $0.0, longitude: $0.1)
      }
      try Place(name: "in", point: ParseGeoPoint(latitude: 5, longitude: 5)).save()
      try Place(name: "out", point: ParseGeoPoint(latitude: 50, longitude: 5)).save()
      #expect(try Place.query(geoPoint("point", within: points)).find().map(\.name) == ["in"])
      #expect(
        try Place.query(geoPoint("point", within: ParsePolygon(points))).find().map(\.name) == [
          "in"
        ])
      for title in ["sand", "sand and sand", "sea"] { try Leaflet(title: title).save() }
      let found = try Leaflet.query(matchesText(key: "title", text: "sand")).sortByTextScore()
        .find()
      let scores = found.compactMap(\.score)
      #expect(scores.count == 2 && scores == scores.sorted(by: >) && scores[1] > 0)
      // A save of a result does not store its score.
      let changed = try found[0].set(\.points, to: 1).save()
      #expect(changed.score == nil)
      #expect(try Leaflet.query("score" != nil as Double?).count() == 0)
    }
  }

  /// Both modules have a type with the name `Query`.
  @Test func `a query of Parse has a name beside the query of Firestore`() throws {
    try withDatabase {
      let query: ParseQuery<Leaflet> = Leaflet.query("points" == 0)
      let same: ParseSwift.Query<Leaflet> = query
      let found = try same.find()
      #expect(found == [])
    }
  }

  // MARK: Access and files

  @Test func `a default ACL is that of new objects`() throws {
    try withDatabase {
      #expect(throws: ParseError.self) { try ParseACL.defaultACL() }
      var acl = ParseACL()
      acl.publicRead = true
      try ParseACL.setDefaultACL(acl, withAccessForCurrentUser: true)
      #expect(try ParseACL.defaultACL() == acl)
      let open = try Author(name: "a").save()
      #expect(open.ACL == acl)
      let own = try ParseSwift.withIdentity(ParseIdentity(user: "ann")) {
        try Author(name: "b").save()
      }
      #expect(own.ACL?.getWriteAccess(objectId: "ann") == true && own.ACL?.publicRead == true)
      #expect(try Author(ACL: ParseACL(), name: "c").save().ACL == ParseACL())
      // An object that exists keeps its rights.
      try database.firestore.blocking.commit(
        database.firestore.batch().setData(
          ["name": "d"], forDocument: database.firestore.document("Author/d")))
      #expect(try Author(objectId: "d", name: "e").save().ACL == nil)
    }
    let other = try TemporaryDatabase()
    try ParseSwift.withFirestore(other.firestore) {
      let elsewhere = try Author(name: "elsewhere").save()
      #expect(elsewhere.ACL == nil)
    }
  }

  @Test func `a file has addresses, and a local copy`() throws {
    try withDatabase {
      let folder = TemporaryFolder()
      let source = folder.url.appending(path: "a.txt")
      let bytes = Data("hello".utf8)
      try bytes.write(to: source)
      for file in [
        ParseFile(name: "a.txt", localURL: source), ParseFile(name: "a.txt", cloudURL: source),
      ] {
        #expect(file.url == nil && file.cloudURL == source && file.localURL == source)
        let saved = try file.save()
        #expect(saved.isSaved && saved.url?.scheme == "parse-file")
        var stored = try JSONDecoder().decode(
          ParseFile.self, from: JSONEncoder().encode(saved))
        #expect(stored.localURL == nil && stored.url == saved.url)
        stored = try stored.fetch()
        let copy = try #require(stored.localURL)
        #expect(try Data(contentsOf: copy) == bytes)
        try FileManager.default.removeItem(at: copy)
      }
      let missing = #expect(throws: ParseError.self) {
        try ParseFile(localURL: folder.url.appending(path: "missing")).save()
      }
      #expect(missing?.code == .objectNotFound)
      let remote = #expect(throws: ParseError.self) {
        try ParseFile(cloudURL: #require(URL(string: "https://example.com/a"))).save()
      }
      #expect(remote?.code == .operationForbidden)
    }
  }

  // MARK: Compiling

  /// Law: in the mode of Swift 5, a completion may use its object on the main actor, as in Parse's
  /// documentation.
  @Test(.timeLimit(patience))
  func `completions that touch self on the main actor compile in the mode of Swift 5`() throws {
    let snippet = """
      import Foundation
      import ParseSwift

      struct Score: ParseObject {
        var objectId: String?
        var createdAt: Date?
        var updatedAt: Date?
        var ACL: ParseACL?
        var originalData: Data?
        var points: Int?
      }

      @MainActor final class Scores {
        var scores: [Score] = []
        var message = ""

        func load() {
          Score.query("points" > 5).find { result in
            switch result {
            case .success(let found): self.scores = found
            case .failure(let error): self.message = error.message
            }
          }
          Score(points: 1).save { result in
            if case .success(let score) = result { self.scores.append(score) }
          }
          self.scores.saveAll { _ in self.message = "saved" }
        }
      }
      """
    let check = CompilerCheck(besides: .main)
    #expect(try check.errors(in: [snippet], flags: ["-swift-version", "5"])[1].isEmpty)
    // Otherwise the check would find nothing at all.
    let wrong = try check.errors(
      in: [snippet + "\nlet x: Int = \"\""], flags: ["-swift-version", "5"])
    #expect(wrong[1].count == 1)
  }

  @Test(.timeLimit(patience))
  func `what has no meaning is refused by the compiler, with what to do instead`() throws {
    let uses = [
      "polygon(\"a\", contains: try ParseGeoPoint(latitude: 0, longitude: 0))",
      "Score.query().sortByTextScore()", "Score.query().hint(\"_id_\")", "ParseHealth.self",
      "ParseVersion.self", "ParsePush.self", "ParseAnalytics.self",
    ]
    let model = """
      import Foundation
      import ParseSwift
      struct Score: ParseObject {
        var objectId: String?
        var createdAt: Date?
        var updatedAt: Date?
        var ACL: ParseACL?
        var originalData: Data?
      }
      """
    let snippets = uses.map { "import ParseSwift\nfunc use() throws { _ = \($0) }" }
    let errors = try CompilerCheck(besides: .main).errors(in: snippets, models: model)
    for (use, found) in zip(uses, errors.dropFirst()) {
      #expect(found.contains { $0.text.contains("unavailable") }, "\(use): \(found)")
    }
  }
}
