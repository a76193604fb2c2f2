import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Synchronization
import TestSupport
import Testing

/// Conditions, orders and events mean what they mean in Parse.
@Suite struct MeaningTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var firestore: Firestore { database.firestore }

  private func withDatabase<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    try ParseSwift.withFirestore(firestore) { try body() }
  }

  private func names(_ query: PlanQuery) throws -> [String] { try query.find().compactMap(\.name) }

  private func names(_ constraints: QueryConstraint...) throws -> [String] {
    let found = try names(Plan.query(constraints))
    #expect(try Plan.query(constraints).count() == found.count)
    let others = try names(Plan.query(nor(and(constraints))))
    #expect(
      try Set(found + others) == Set(names(Plan.query())) && found.count + others.count == all)
    return found.sorted()
  }

  private var all: Int { (try? Plan.query().count()) ?? 0 }

  private func code<Answer>(_ body: () throws -> Answer) -> ParseError.Code? {
    do {
      _ = try body()
      return nil
    } catch { return (error as? ParseError)?.code }
  }

  // MARK: Nil

  @Test func `a key that equals nil is missing or null, and one that does not is there`() throws {
    try withDatabase {
      for (name, points) in [("a", 1), ("b", nil), ("c", 3)] {
        try Plan(name: name, points: points).save()
      }
      try firestore.blocking.commit(
        firestore.batch().setData(
          ["name": "null", "points": NSNull()], forDocument: firestore.document("Plan/null")))
      let none = nil as Int?
      #expect(try names("points" == none) == ["b", "null"])
      #expect(try names("points" != none) == ["a", "c"])
      #expect(try names(equalTo(key: "points", value: none)) == ["b", "null"])
      #expect(try names(containedIn(key: "points", array: [1, none])) == ["a", "b", "null"])
      #expect(try names(containedIn(key: "points", array: [none])) == ["b", "null"])
      #expect(try names(notContainedIn(key: "points", array: [1, none])) == ["c"])
      #expect(try names(isNull(key: "points")) == ["b", "null"])
      #expect(try names("objectId" == nil as String?) == [])
      #expect(try names(exists(key: "objectId")) == ["a", "b", "c", "null"])
    }
  }

  @Test func `a key path that equals nil is missing, too`() throws {
    try withDatabase {
      try Place(name: "a", number: 1).save()
      try Place(number: 2).save()
      #expect(try Place.query(\Place.name == nil).find().map(\.number) == [2])
      #expect(try Place.query(\Place.name != nil).find().map(\.number) == [1])
      #expect(try Place.query(\Place.name == "a").find().map(\.number) == [1])
    }
  }

  // MARK: Orders

  @Test func `an order keeps the objects that lack its key`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      for (name, points) in [("a", 2), ("b", nil), ("c", 1), ("d", nil), ("e", 3)] {
        _ = try await Plan(name: name, points: points).save()
      }
      func names(_ query: PlanQuery) async throws -> String {
        let found = try await query.find()
        var results = query.results.makeAsyncIterator()
        #expect(try await results.next() == found)
        #expect(try ParseSwift.withFirestore(firestore) { try query.find() } == found)
        let (page, count) = try await query.withCount()
        #expect(page == found && count == 5)
        return found.compactMap(\.name).joined()
      }
      let up = Plan.query().order([.ascending("points")])
      let down = Plan.query().order([.descending("points")])
      for isIndexed in [false, true] {
        if isIndexed {
          try await firestore.indexes.declare(FirestoreIndex("Plan", .ascending("points")))
          try await firestore.indexes.waitUntilReady()
        }
        #expect(try await names(up) == "bdcae")
        #expect(try await names(down) == "eacdb")
        #expect(try await names(up.limit(3)) == "bdc")
        #expect(try await names(down.limit(3)) == "eac")
        #expect(try await names(down.limit(4)) == "eacd")
        #expect(try await names(down.skip(1).limit(3)) == "acd")
        #expect(try await names(down.skip(1).limit(2)) == "ac")
        let first = try await (up.first().name, down.first().name)
        #expect(first == ("b", "e"))
        for query in [up, down] {
          var pages: [Plan] = []
          while true {
            let page = try await query.limit(2).after(pages.last).find()
            if page.isEmpty { break }
            pages += page
          }
          #expect(try await pages == query.find())
        }
      }
    }
  }

  @Test(.embedded("Other stores read documents in other ways."))
  func `a page in descending order is read from an index, if enough objects have the key`()
    async throws
  {
    try await ParseSwift.withFirestore(firestore) {
      _ = try await (0..<200).map { number in
        Plan(name: "\(number)", points: number < 100 ? number : nil)
      }.saveAll()
      try await firestore.indexes.declare(FirestoreIndex("Plan", .ascending("points")))
      try await firestore.indexes.waitUntilReady()
      let down = Plan.query().order([.descending("points")]).limit(10)
      let up = Plan.query(exists(key: "points")).order([.ascending("points")]).limit(10)
      for query in [down, up] {
        let plan = try await query.explain(analyze: true)
        let read = try #require(plan.execution)
        #expect(read.documentsRead <= 10 && read.resultsReturned == 10, "\(plan)")
      }
      let found = try await down.skip(95).find()
      #expect(found.count == 10 && found.prefix(5).compactMap(\.points) == [4, 3, 2, 1, 0])
      #expect(found.suffix(5).compactMap(\.points) == [])
    }
  }

  @Test func `an object that was read without the order's key begins no wrong page`() throws {
    try withDatabase {
      for number in 0..<6 { try Plan(name: "\(number)", points: number % 3).save() }
      let query = Plan.query().select("name").order([.ascending("points")])
      let all = try query.find()
      #expect(all.map(\.points) == [0, 0, 1, 1, 2, 2])
      #expect(try query.limit(3).after(all[1]).find() == Array(all[2..<5]))
    }
  }

  // MARK: Counts

  @Test func `a count is of all results, whatever the limit is`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let all = try await (0..<5).map { (number: Int) in
        Plan(name: "\(number)", points: number)
      }.saveAll()
        .map { try $0.get() }
      let query = Plan.query("points" >= 1)
      for part in [
        query, query.limit(2), query.limit(0), query.skip(3), query.after(all[2]),
        query.order([.descending("rank")]).limit(1),
      ] {
        let counts = try await (part.count(), part.withCount().1)
        #expect(counts == (4, 4))
      }
    }
  }

  // MARK: Arrays of maps

  @Test func `a dotted key goes through an array of maps`() throws {
    try withDatabase {
      let ibu = Plan.Dose(drug: "ibu", amount: 2, times: ["morning", "evening"])
      let asa = Plan.Dose(drug: "asa", amount: 1, times: ["noon"])
      try Plan(name: "both", doses: [ibu, asa]).save()
      try Plan(name: "ibu", doses: [ibu]).save()
      try Plan(name: "blank", doses: [Plan.Dose(amount: 5)]).save()
      try Plan(name: "empty", doses: []).save()
      try Plan(
        name: "ward", ward: .init(name: "north", beds: [.init(number: 7), .init(number: 8)])
      ).save()
      try Plan(name: "stock", stock: ["shelf": [asa], "box": [ibu]]).save()
      #expect(try names("doses.drug" == "ibu") == ["both", "ibu"])
      #expect(try names("doses.drug" == "asa", "doses.drug" == "ibu") == ["both"])
      #expect(try names("doses.drug" != "ibu") == ["blank", "empty", "stock", "ward"])
      #expect(try names("doses.drug" == nil as String?) == ["blank", "empty", "stock", "ward"])
      #expect(try names(exists(key: "doses.drug")) == ["both", "ibu"])
      #expect(try names(containedIn(key: "doses.drug", array: ["asa", "x"])) == ["both"])
      #expect(try names("doses.amount" > 1) == ["blank", "both", "ibu"])
      #expect(try names("doses.amount" <= 1) == ["both"])
      #expect(try names("doses.times" == "noon") == ["both"])
      #expect(
        try names(containsAll(key: "doses.times", array: ["morning", "evening"])) == [
          "both", "ibu",
        ])
      #expect(try names(hasPrefix(key: "doses.drug", prefix: "a")) == ["both"])
      #expect(
        try names(matchesRegex(key: "doses.drug", regex: "^I", modifiers: "i")) == ["both", "ibu"])
      #expect(try names("ward.beds.number" == 8) == ["ward"])
      #expect(try names("ward.name" == "north") == ["ward"])
      #expect(try names("stock.shelf.drug" == "asa") == ["stock"])
      #expect(try names("stock.shelf.drug" == "ibu") == [])
      #expect(try names("unknown.shelf.drug" == "ibu") == [])
    }
  }

  @Test func `a dotted key through an array is refused where it has no meaning`() throws {
    try withDatabase {
      try Plan(name: "a", doses: [.init(drug: "ibu")]).save()
      #expect(code { try Plan.query().order([.ascending("doses.drug")]).find() } == .invalidQuery)
      #expect(
        code { try Plan.query().distinct("doses.drug") as [String] } == .invalidQuery)
      #expect(
        code { try Plan.query("doses.drug" == Author.query()).find() } == .invalidQuery)
      #expect(
        code { try Plan.query(relative("doses.drug" > "2 days ago")).find() } == .invalidQuery)
      // Into a map all of it is possible.
      #expect(code { try Plan.query().order([.ascending("ward.name")]).find() } == nil)
    }
  }

  /// Law: a key into a map is a field that an index may serve.
  @Test(.embedded("Other stores read documents in other ways."))
  func `a dotted key into a map is served by an index`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      _ = try await (0..<50).map { Plan(name: "\($0)", ward: .init(name: "\($0)")) }.saveAll()
      try await firestore.indexes.declare(FirestoreIndex("Plan", .ascending("ward.name")))
      try await firestore.indexes.waitUntilReady()
      let plan = try await Plan.query("ward.name" == "7").explain(analyze: true)
      let read = try #require(plan.execution)
      #expect(read.documentsRead == 1 && read.resultsReturned == 1, "\(plan)")
    }
  }

  // MARK: Events

  private static func text(_ event: LiveQueryEvent<Plan>) -> String {
    let kind =
      switch event {
      case .entered: "entered"
      case .left: "left"
      case .created: "created"
      case .updated: "updated"
      case .deleted: "deleted"
      }
    return "\(kind) \(event.object.name ?? "")"
  }

  /// The events of the query until there are `count`, while the changes are made.
  private func events(
    _ query: PlanQuery, _ count: Int,
    _ change: (_ wait: (String) async throws -> Void) async throws -> Void
  ) async throws -> [String] {
    let seen = Mutex<[String]>([])
    let subscription = try #require(query.subscribeCallback)
    await subscription.begun()
    subscription.handleEvent { _, event in seen.withLock { $0.append(Self.text(event)) } }
    try await change { text in try await eventually { seen.withLock { $0.contains(text) } } }
    try await eventually { seen.withLock { $0.count >= count } }
    subscription.unsubscribe()
    return seen.withLock { Array($0.prefix(count)) }
  }

  @Test(.timeLimit(patience))
  func `an object that existed and comes to match has entered, however quiet the query was`()
    async throws
  {
    try await ParseSwift.withFirestore(firestore) {
      let seen = try await events(Plan.query("points" == 1), 3) { wait in
        // Created after the beginning, and no result: nothing is heard of it.
        let late = try await Plan(name: "late", points: 0).save()
        for number in 0..<20 { _ = try await Plan(name: "other", points: 10 + number).save() }
        _ = try await late.set(\.points, to: 1).save()
        let new = try await Plan(name: "new", points: 1).save()
        try await wait("created new")
        _ = try await new.set(\.rank, to: 1).save()
      }
      #expect(seen == ["entered late", "created new", "updated new"])
    }
  }

  @Test(.timeLimit(patience))
  func `a new object behind a limit has entered when the results before it are gone`() async throws
  {
    try await ParseSwift.withFirestore(firestore) {
      let query = Plan.query("points" > 0).order([.ascending("points")]).limit(1)
      let seen = try await events(query, 3) { wait in
        let first = try await Plan(name: "first", points: 1).save()
        _ = try await Plan(name: "behind", points: 2).save()
        try await wait("created first")
        try await quietTime(.milliseconds(200))
        try await first.delete()
      }
      #expect(seen == ["created first", "deleted first", "entered behind"])
    }
  }

  @Test(.timeLimit(patience))
  func `an object that no longer matches has left, also if it is deleted later`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let token = try await firestore.changeToken()
      let one = try await Plan(name: "one", points: 1).save()
      let two = try await Plan(objectId: "two", name: "two", points: 1).create()
      _ = try await Plan(objectId: "three", name: "three", points: 1).create()
      let seen = try await events(Plan.query("points" == 1), 3) { _ in
        let left = try await one.set(\.points, to: 0).save()
        try await left.delete()
        try await two.delete()
        // Another object with its id, which is no result.
        _ = try await Plan(objectId: "two", name: "another", points: 5).create()
        // In the same commit.
        try await firestore.write { tx in
          let three = firestore.document("Plan/three")
          try tx.deleteDocument(three)
          try tx.create(["points": 5], forDocument: three)
        }
      }
      #expect(seen == ["left one", "deleted two", "deleted three"])
      var late: Set<String> = []
      _ = try await Plan(name: "end", points: 1).save()
      for try await change in Plan.query("points" == 1).changes(since: token) {
        late.insert(Self.text(change.event))
        if late.contains("created end") { break }
      }
      #expect(late == ["created end"])
    }
  }

  @Test(.timeLimit(patience))
  func `a condition on other objects tells new objects from older ones`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let author = try await Author(name: "x").save()
      let query = Place.query("author" == Author.query("name" == "Ann"))
      let (events, continuation) = AsyncStream<String>.makeStream()
      let subscription = try #require(query.subscribeCallback)
      await subscription.begun()
      subscription.handleEvent { _, event in
        if case .entered(let place) = event { continuation.yield("entered \(place.name ?? "")") }
        if case .created(let place) = event { continuation.yield("created \(place.name ?? "")") }
      }
      _ = try await Place(name: "old", author: author).save()
      _ = try await author.set(\.name, to: "Ann").save()
      _ = try await Place(name: "new", author: author).save()
      var seen: [String] = []
      for await event in events {
        seen.append(event)
        if seen.count == 2 { break }
      }
      #expect(seen == ["entered old", "created new"])
      subscription.unsubscribe()
    }
  }
}
