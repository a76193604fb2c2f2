import Foundation
import HearthTesting
import ParseSwift
import TestSupport
import Testing

// The programs of the pages on data of Parse's playground, in our own words. A line that differs
// from what the page does has a comment that begins with "Changed".

private struct GameScore: ParseObject, ParseQueryScorable {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var score: Double?
  var originalData: Data?

  var points: Int? = 0
  var oldScore: Int?
  var isHighest: Bool?
  var timeStamp: Date? = Date()
  var location: ParseGeoPoint?
  var picture: ParseFile?
  var myData: ParseFile?

  func merge(with object: Self) throws -> Self {
    var updated = try mergeParse(with: object)
    if updated.shouldRestoreKey(\.points, original: object) { updated.points = object.points }
    if updated.shouldRestoreKey(\.oldScore, original: object) { updated.oldScore = object.oldScore }
    if updated.shouldRestoreKey(\.location, original: object) { updated.location = object.location }
    return updated
  }
}

extension GameScore {
  init(points: Int) { self.points = points }
  init(objectId: String?) { self.objectId = objectId }

  init(objectId: String, points: Int) {
    self.objectId = objectId
    self.points = points
  }
}

private struct GameData: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var polygon: ParsePolygon?
  var bytes: ParseBytes?

  func merge(with object: Self) throws -> Self {
    var updated = try mergeParse(with: object)
    if updated.shouldRestoreKey(\.polygon, original: object) { updated.polygon = object.polygon }
    if updated.shouldRestoreKey(\.bytes, original: object) { updated.bytes = object.bytes }
    return updated
  }
}

extension GameData {
  init(bytes: ParseBytes?, polygon: ParsePolygon) {
    self.bytes = bytes
    self.polygon = polygon
  }
}

private struct Novel: ParseObject, ParseQueryScorable {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var score: Double?
  var originalData: Data?

  var title: String?
  var related: Pointer<Novel>?

  func merge(with object: Self) throws -> Self {
    var updated = try mergeParse(with: object)
    if updated.shouldRestoreKey(\.title, original: object) { updated.title = object.title }
    if updated.shouldRestoreKey(\.related, original: object) { updated.related = object.related }
    return updated
  }
}

extension Novel {
  init(title: String) { self.title = title }
}

private struct Writer: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
  var book: Novel?
  var otherBooks: [Novel]?
}

extension Writer {
  init(name: String, book: Novel) {
    self.name = name
    self.book = book
  }
}

/// Waits for a completion.
private func result<Value: Sendable>(
  _ body: (@escaping @Sendable (Result<Value, ParseError>) -> Void) -> Void
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    body { continuation.resume(with: $0) }
  }
}

@Suite struct PlaygroundTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  @Test(.timeLimit(patience))
  func `page 1, the first object`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      let (score, score2) = (GameScore(points: 10), GameScore(points: 3))
      let first: GameScore = try await result { done in
        score.save { result in
          switch result {
          case .success(let savedScore):
            #expect(savedScore.objectId != nil && savedScore.createdAt != nil)
            #expect(savedScore.updatedAt != nil && savedScore.points == 10)
            var changedScore = savedScore.mergeable
            changedScore.points = 200
            changedScore.save { result in
              switch result {
              case .success(let savedChangedScore):
                #expect(savedChangedScore.points == 200)
                #expect(savedScore.hasSameObjectId(as: savedChangedScore))
              case .failure(let error): Issue.record(error)
              }
              done(result)
            }
          case .failure: done(result)
          }
        }
      }
      let several: [Result<GameScore, ParseError>] = try await result { done in
        [score, score2].saveAll { results in
          if case .success(let others) = results {
            others.forEach { other in
              if case .success(let saved) = other {
                print(
                  "Saved \"\(saved.className)\" with points \(String(describing: saved.points))")
              }
            }
          }
          done(results)
        }
      }
      #expect(try several.map { try $0.get().points } == [10, 3])
      try ParseSwift.withFirestore(database.firestore) {
        let scoreToDelete = try GameScore(points: 30).save()
        try scoreToDelete.delete()
        print("Deleted: \(scoreToDelete)")
        let scoreToFetch = GameScore(objectId: first.objectId)
        #expect(try scoreToFetch.fetch().points == 200)
        let fetched = try [scoreToFetch, several[1].get()].fetchAll()
        #expect(try fetched.map { try $0.get().points } == [200, 3])
        try [scoreToFetch].deleteAll().forEach { deleted in
          if case .failure(let error) = deleted { Issue.record(error) }
        }
        let points = try [(0, 0), (0, 1), (1, 1), (1, 0), (0, 0)].map {
          try ParseGeoPoint(latitude: $0.0, longitude: $0.1)
        }
        let polygon = try ParsePolygon(points)
        let bytes = ParseBytes(data: Data("hello world".utf8))
        var gameData = GameData(bytes: bytes, polygon: polygon)
        gameData = try gameData.save()
        #expect(gameData.bytes == bytes && gameData.polygon == polygon)
        print("Saved: \(gameData)")
      }
    }
  }

  @Test(.timeLimit(patience))
  func `page 2, finding objects`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      var score = GameScore()
      score.points = 200
      score.oldScore = 10
      score.isHighest = true
      try await score.save()
      let afterDate = Date().addingTimeInterval(-300)
      let query = GameScore.query("points" > 50, "createdAt" > afterDate)
        .order([.descending("points")])
      let found: [GameScore] = try await result { done in
        query.limit(2).find(callbackQueue: .global()) { results in
          switch results {
          case .success(let scores):
            #expect(scores.count >= 1)
            scores.forEach { #expect($0.createdAt.map { $0 > afterDate } == true) }
          case .failure(let error):
            if error.equalsTo(.objectNotFound) { Issue.record("Not found") }
          }
          done(results)
        }
      }
      #expect(found.count == 1)
      let (page, count): ([GameScore], Int) = try await result { done in
        query.withCount { results in
          if case .failure(let error) = results,
            error.containedIn([.objectNotFound, .invalidQuery])
          {
            Issue.record("The query is invalid, or the object is not found.")
          }
          done(results)
        }
      }
      #expect(page == found && count == 1)
      let none: [GameScore] = try await result {
        GameScore.query(relative("createdAt" < "10 minutes ago")).find(completion: $0)
      }
      #expect(none.isEmpty)
      let selected: GameScore = try await result { query.select("points").first(completion: $0) }
      // A selection of other keys leaves those of the class's own default values, or nil.
      #expect(selected.points == 200 && selected.oldScore == nil)
      let excluded: GameScore = try await result { done in
        query.exclude("oldScore").first { results in
          if case .failure(let error) = results,
            let parseError = error.containedIn(.objectNotFound, .invalidQuery)
          {
            Issue.record(parseError)
          }
          done(results)
        }
      }
      #expect(excluded.oldScore == nil && excluded.isHighest == true)
    }
  }

  @Test(.timeLimit(patience))
  func `page 5, access`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      do {
        var acl = ParseACL()
        acl.publicRead = true
        acl.publicWrite = false
        try ParseACL.setDefaultACL(acl, withAccessForCurrentUser: true)
      } catch { Issue.record(error) }
      let saved: GameScore = try await result { GameScore(points: 40).save(completion: $0) }
      #expect(saved.points == 40 && saved.ACL?.publicRead == true)
      print("Saved with ACL: \(saved)")
    }
  }

  @Test(.timeLimit(patience))
  func `page 7, places`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      var score = GameScore(points: 10)
      try score.location = ParseGeoPoint(latitude: 40.0, longitude: -30.0)
      let saved: GameScore = try await result { score.save(completion: $0) }
      print(saved.location as Any)
      var constraints = [QueryConstraint]()
      let pointToFind = try ParseGeoPoint(latitude: 40.0, longitude: -30.0)
      constraints.append(near(key: "location", geoPoint: pointToFind))
      let query: Query<GameScore> = GameScore.query(constraints)
      let scores: [GameScore] = try await result { query.find(completion: $0) }
      #expect(scores.map(\.points) == [10])
      let sorted = query.order([.descending("points")])
      constraints.append("points" > 9)
      let query2 = GameScore.query(constraints)
      let query3 = GameScore.query("points" > 50, doesNotExist(key: "location"))
      let query3b = GameScore.query("points" > 50, isNull(key: "location"))
      let query4 = GameScore.query("points" > 9, exists(key: "location"))
      let query4b = GameScore.query("points" > 9, isNotNull(key: "location"))
      let query7 = GameScore.query(
        or(queries: [GameScore.query("points" == 50), GameScore.query("points" == 200)]))
      for (query, count) in [
        (sorted, 1), (query2, 1), (query3, 0), (query3b, 0), (query4, 1), (query4b, 1), (query7, 0),
      ] {
        let found: [GameScore] = try await result { query.find(completion: $0) }
        #expect(found.count == count)
      }
      let all: [GameScore] = try await result { GameScore.query().findAll(completion: $0) }
      #expect(all.count == 1)
      // Changed: the planner chooses the index, and `hint` is refused by the compiler.
      let explained: [GameScore] = try await result { query2.find(completion: $0) }
      #expect(explained.count == 1)
    }
  }

  @Test(.timeLimit(patience))
  func `page 8, pointers`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      var newBook = Novel(title: "hello")
      let author: Writer = try await result {
        Writer(name: "Alice", book: newBook).save(completion: $0)
      }
      #expect(author.objectId != nil && author.book?.objectId != nil)
      var author2 = Writer(name: "Bruce", book: newBook)
      author2.otherBooks = [Novel(title: "I like this book"), Novel(title: "I like this one, too")]
      let second: Writer = try await result { author2.save(completion: $0) }
      #expect(second.otherBooks?.count == 2)
      let plain: Writer = try await result { Writer.query("name" == "Bruce").first(completion: $0) }
      #expect(plain.book?.title == nil)
      let included: Writer = try await result {
        Writer.query("name" == "Bruce").include("book").first(completion: $0)
      }
      if let book = included.book { newBook = book }
      #expect(newBook.title == "hello")
      for query in [
        Writer.query("name" == "Bruce").includeAll(), Writer.query("book" == newBook).includeAll(),
      ] {
        let all: Writer = try await result { query.first(completion: $0) }
        #expect(all.otherBooks?.compactMap(\.title).count == 2)
      }
      var modified = newBook.mergeable
      modified.related = try? included.otherBooks?.first?.toPointer()
      let updated: Novel = try await result { modified.save(completion: $0) }
      #expect(updated.related != nil && updated.ACL == nil)
      // Changed: a search includes no objects.
      let found = try Novel.query(matchesText(key: "title", text: "like", options: [:]))
        .sortByTextScore()
      let books: [Novel] = try await result { found.find(completion: $0) }
      #expect(books.count == 2 && books.allSatisfy { $0.score != nil })
    }
  }

  @Test(.timeLimit(patience))
  func `page 9, files`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      var score = GameScore(points: 52)
      let folder = TemporaryFolder()
      let file = folder.url.appending(path: "logo.svg")
      try Data("<svg/>".utf8).write(to: file)
      // Changed: the link is that of a file on this machine.
      let linkToFile = file
      score.picture = ParseFile(name: "profile.svg", cloudURL: linkToFile)
      let saved: GameScore = try await result { score.save(completion: $0) }
      let fetched: GameScore = try await result { saved.fetch(completion: $0) }
      let picture = try #require(fetched.picture)
      print("The name is \(picture.name), the address \(try #require(picture.url)).")
      let again: ParseFile = try await result { picture.fetch(completion: $0) }
      #expect(again.data == Data("<svg/>".utf8) && again.localURL != nil)
      try ParseSwift.withFirestore(database.firestore) {
        let sampleData = Data("Hello World".utf8)
        var score2 = GameScore(points: 105)
        score2.myData = ParseFile(name: "hello.txt", data: sampleData)
        let myData = try #require(try score2.save().fetch().myData)
        #expect(myData.url != nil)
        let fetchedFile = try myData.fetch()
        let local = try #require(fetchedFile.localURL)
        #expect(try Data(contentsOf: local) == sampleData)
        print("All of it: \(fetchedFile)")
      }
    }
  }

  @Test(.timeLimit(patience))
  func `page 13, operations`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      let savedScore = try await GameScore(points: 102).save()
      let increment = savedScore.operation.increment("points", by: 1)
      let once: GameScore = try await result { increment.save(completion: $0) }
      #expect(once.points == 103)
      try ParseSwift.withFirestore(database.firestore) {
        let twice = try increment.save()
        #expect(twice.points == 104)
        let unset = savedScore.operation.unset(("points", \.points))
        #expect(try unset.save().points == nil)
      }
      let operations = savedScore.operation
      _ = operations.add("hello", objects: ["test"])
    }
  }

  @Test(.timeLimit(patience))
  func `page 15, ids of a program's own`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      let score = GameScore(objectId: "myObjectId", points: 10)
      // Changed: a new object with an id of its own is created.
      let savedScore: GameScore = try await result { score.create(completion: $0) }
      #expect(savedScore.createdAt != nil && savedScore.points == 10)
      var changedScore = savedScore.mergeable
      changedScore.points = 200
      let changed: GameScore = try await result { changedScore.save(completion: $0) }
      #expect(changed.points == 200 && changed.objectId == savedScore.objectId)
      let fetched: GameScore = try await result { score.fetch(completion: $0) }
      #expect(fetched.points == 200)
      let found: GameScore = try await result {
        GameScore.query("objectId" == "myObjectId").first(completion: $0)
      }
      #expect(found.points == 200)
      let missing = await #expect(throws: ParseError.self) {
        let _: GameScore = try await result { GameScore(objectId: "hello").fetch(completion: $0) }
      }
      #expect(missing?.code == .objectNotFound)
    }
  }
}
