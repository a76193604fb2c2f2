import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Synchronization
import TestSupport
import Testing

private struct Score: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
  var points: Int?
  var tags: [String]?
  var level: Level?
  var place: Spot?

  enum Level: Int, Codable { case low = 1, high = 2 }

  struct Spot: Codable, Hashable {
    var row: Int
    var column: Int
  }
}

private struct Match: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var first: Score?
  var scores: [Score]?
}

/// Operations that would leave an object that its class cannot read, and objects that others have left so.
@Suite struct UnreadableObjectTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var firestore: Firestore { database.firestore }

  private func document(_ score: Score) -> DocumentReference {
    firestore.document("Score/\(score.objectId ?? "")")
  }

  // MARK: Operations

  @Test func `an operation of another type than its property is refused, and writes nothing`()
    throws
  {
    try ParseSwift.withFirestore(firestore) {
      let score = try Score(
        name: "a", points: 1, tags: ["x"], level: .high, place: Score.Spot(row: 1, column: 2)
      ).save()
      let operations: [(String, (ParseOperation<Score>) throws -> ParseOperation<Score>)] = [
        ("name", { $0.increment("name", by: 1) }),
        ("points", { try $0.set("points", value: "text") }),
        ("points", { $0.increment("points", by: 0.5) }),
        ("tags.1", { $0.add("tags", objects: [1]) }),
        ("tags.1", { $0.addUnique("tags", objects: [1]) }),
        ("name", { $0.remove("name", objects: ["a"]) }),
        // Only the sum is no level.
        ("level", { $0.increment("level", by: 1) }),
        ("place.column", { $0.unset("place.column") }),
        ("points", { try $0.set("name", value: "b").set("points", value: [1]) }),
      ]
      let before = try firestore.blocking.getDocument(document(score))
      for (key, operation) in operations {
        let refused = #expect(throws: ParseError.self, "\(key)") {
          try operation(score.operation).save()
        }
        #expect(refused?.code == .incorrectType, "\(key): \(refused.debugDescription)")
        #expect(refused?.className == "Score" && refused?.objectId == score.objectId)
        #expect(refused?.key == key, "\(refused?.message ?? "")")
        #expect(refused?.message.contains("Nothing is written") == true)
      }
      let after = try firestore.blocking.getDocument(document(score))
      #expect(after == before && after.updateTime == before.updateTime)
      #expect(try Score.query().find() == [score])
    }
  }

  @Test func `an operation whose result is of the property's type is not refused`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let score = try await Score(name: "a", points: 1, tags: [], level: .low).save()
      let saved = try await score.operation.increment("points", by: 2.0)
        .increment("level", by: 1).add("tags", objects: ["x"])
        .set("place", value: ["row": 1, "column": 2]).increment("unknown", by: 0.5).save()
      #expect(saved.points == 3 && saved.level == .high && saved.tags == ["x"])
      #expect(saved.place == Score.Spot(row: 1, column: 2))
    }
  }

  @Test func `an operation that creates its object is refused, too`() throws {
    try ParseSwift.withFirestore(firestore) {
      let refused = #expect(throws: ParseError.self) {
        try Score(name: "a").operation.increment("name", by: 1).save()
      }
      #expect(refused?.code == .incorrectType)
      let count = try Score.query().count()
      #expect(count == 0)
    }
  }

  @Test func `a save of an object that another interface has made unreadable writes nothing`()
    async throws
  {
    try await ParseSwift.withFirestore(firestore) {
      var (one, other) = (try await Score(name: "a").save(), try await Score(name: "b").save())
      try await document(one).updateData(["points": "text"])
      (one.name, other.name) = ("c", "d")
      let refused = await #expect(throws: ParseError.self) { try await one.save() }
      #expect(refused?.code == .incorrectType && refused?.key == "points")
      await #expect(throws: ParseError.self) {
        try await [other, one].saveAll(transaction: true)
      }
      #expect(try await other.fetch().name == "b")
      let results = try await [other, one].saveAll()
      #expect(try results[0].get().name == "d")
      let failure = #expect(throws: ParseError.self) { try results[1].get() }
      #expect(failure?.code == .incorrectType && failure?.objectId == one.objectId)
      #expect(try await document(one).getDocument()["name"] as? String == "a")
      // What is wrong can be mended.
      one.points = 1
      #expect(try await one.save().points == 1)
    }
  }

  @Test func `operations at once are all counted, and none is refused for another`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let score = try await Score(name: "a", points: 0).save()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<20 {
          group.addTask {
            if number.isMultiple(of: 2) {
              try await score.operation.increment("points", by: 1).save()
            } else {
              _ = try? await score.operation.increment("name", by: 1).save()
            }
          }
        }
        try await group.waitForAll()
      }
      let after = try await score.fetch()
      #expect(after.points == 10 && after.name == "a")
    }
  }

  // MARK: Reading

  /// Three scores, of which the second one cannot be read.
  private func damaged() async throws -> [Score] {
    let scores = try await [Score(name: "a"), Score(name: "b"), Score(name: "c")].saveAll()
      .map { try $0.get() }
    try await document(scores[1]).updateData(["tags": ["x", 1]])
    return scores
  }

  @Test func `the error of an object that cannot be read names its class, its id and its key`()
    async throws
  {
    try await ParseSwift.withFirestore(firestore) {
      let scores = try await damaged()
      let id = scores[1].objectId
      let reads: [(String, () async throws -> Void)] = [
        ("find", { _ = try await Score.query().find() }),
        ("first", { _ = try await Score.query("name" == "b").first() }),
        ("withCount", { _ = try await Score.query().withCount() }),
        ("fetch", { _ = try await scores[1].fetch() }),
        ("include", { _ = try await Match.query().include("first").find() }),
        ("relation", { _ = try await Score.queryRelations("all", parent: scores[0]).find() }),
        (
          "page",
          { _ = try await Score.queryRelations("all", parent: scores[0]).limit(5).find() }
        ),
      ]
      _ = try await Match(first: scores[1]).save()
      _ = try await scores[0].operation.addRelation("all", objects: scores).save()
      for (name, read) in reads {
        let error = await #expect(throws: ParseError.self, "\(name)") { try await read() }
        #expect(error?.code == .incorrectType, "\(name)")
        #expect(error?.className == "Score" && error?.objectId == id, "\(name)")
        #expect(error?.key == "tags.1", "\(name)")
        #expect(error?.message.contains("Score/\(id ?? "-")") == true, "\(name)")
      }
      #expect(try await Score.query().count() == 3)
    }
  }

  @Test func `a value of a group that cannot be read names its class and its key`() throws {
    try ParseSwift.withFirestore(firestore) {
      _ = try Score(name: "a").save()
      let distinct = #expect(throws: ParseError.self) {
        let _: [Int] = try Score.query().distinct("name")
      }
      #expect(distinct?.className == "Score" && distinct?.key == "name")
      struct Row: Decodable, Sendable {
        var name: Int
      }
      let row = #expect(throws: ParseError.self) {
        try Score.query().aggregate(by: ["name"], ["n": .count], as: Row.self)
      }
      #expect(row?.className == "Score" && row?.key == "name")
    }
  }

  @Test func `a list delivers the objects that can be read, and the failures beside them`()
    async throws
  {
    try await ParseSwift.withFirestore(firestore) {
      let scores = try await damaged()
      let found = try await Score.query().findReadable()
      #expect(found.objects.map(\.name) == ["a", "c"])
      #expect(found.failures.map(\.objectId) == [scores[1].objectId])
      #expect(
        try await Score.query().order([.descending("name")]).limit(2).findReadable().objects.count
          == 1)
      _ = try await Match(first: scores[1], scores: scores).save()
      let matches = try await Match.query().include("first", "scores").findReadable()
      #expect(matches.objects.map { $0.scores?.map(\.name) } == [["a", nil, "c"]])
      #expect(matches.objects.first?.first?.objectId == scores[1].objectId)
      // Included twice, it fails once.
      #expect(matches.failures.map(\.objectId) == [scores[1].objectId])
      let fetched = try await scores.fetchAll()
      #expect(fetched.map { (try? $0.get())?.name } == ["a", nil, "c"])
      #expect(throws: ParseError.self) { try fetched[1].get() }
    }
  }

  @Test func `a failure shows nothing of an object that the identity may not read`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let secret = try await Score(ACL: ParseACL(), name: "secret").save()
      _ = try await Match(first: secret).save()
      try await document(secret).updateData(["points": "text"])
      try await ParseSwift.withIdentity(ParseIdentity(user: "bob")) {
        let found = try await Match.query().include("first").findReadable()
        #expect(found.failures.isEmpty)
        #expect(found.objects.map { $0.first?.objectId } == [secret.objectId])
        #expect(try await Match.query().include("first").find().count == 1)
      }
    }
  }

  // MARK: Live queries

  @Test(.timeLimit(patience))
  func `a live query goes on without an object that cannot be read, and reports it`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let score = try await Score(name: "a", points: 1).save()
      var results = Score.query().readableResults.makeAsyncIterator()
      var plain = Score.query().results.makeAsyncIterator()
      #expect(try await results.next()?.objects == [score])
      #expect(try await plain.next() == [score])
      try await document(score).updateData(["points": "text"])
      let damaged = try await results.next()
      #expect(damaged?.objects == [] && damaged?.failures.map(\.key) == ["points"])
      #expect(try await plain.next() == [])
      try await document(score).updateData(["points": 2])
      #expect(try await results.next()?.objects.map(\.points) == [2])
      #expect(try await plain.next()?.map(\.points) == [2])
    }
  }

  @Test(.timeLimit(patience))
  func `events skip an object that cannot be read, until it can be read or is gone`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let score = try await Score(name: "a", points: 1).save()
      let subscription = try #require(Score.query().subscribeCallback)
      let (failures, failure) = AsyncStream<ParseError>.makeStream()
      var events = await subscription.events().makeAsyncIterator()
      subscription.handleError { _, error in failure.yield(error) }
      var reported = failures.makeAsyncIterator()
      try await document(score).updateData(["points": "text"])
      #expect(await reported.next()?.objectId == score.objectId)
      try await document(score).updateData(["points": 2])
      guard case .updated(let mended)? = await events.next() else {
        Issue.record("The object that can be read again is not updated.")
        return
      }
      #expect(mended.points == 2)
      try await document(score).updateData(["points": "text"])
      #expect(await reported.next()?.key == "points")
      try await document(score).delete()
      guard case .deleted(let gone)? = await events.next() else {
        Issue.record("The deletion of an object that cannot be read is no event.")
        return
      }
      #expect(gone.objectId == score.objectId)
      subscription.unsubscribe()
    }
  }

  @Test(.timeLimit(patience))
  func `changes since a state go on after an object that cannot be read`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let token = try await firestore.changeToken()
      let failures = Mutex<[String?]>([])
      let score = try await Score(name: "a", points: 1).save()
      try await document(score).updateData(["points": "text"])
      _ = try await Score(name: "b").save()
      var changes = Score.query().changes(since: token) { failure in
        failures.withLock { $0.append(failure.objectId) }
      }.makeAsyncIterator()
      #expect(try await changes.next()?.event.object.name == "b")
      #expect(failures.withLock { $0 } == [score.objectId])
      try await document(score).delete()
      let gone = try await changes.next()?.event
      #expect(gone?.object.objectId == score.objectId)
    }
  }
}
