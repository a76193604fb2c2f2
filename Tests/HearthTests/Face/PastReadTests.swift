import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Reads of the database as it was.
@Suite struct PastReadTests {
  private let folder = TemporaryFolder()
  private let clock = TestClock()

  private func open(retainedBytes: Int = 64 << 20) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.changeLogRetention = .seconds(1 << 30)
    settings.changeLogLimitBytes = retainedBytes
    settings.clock = { [clock] in Timestamp(clock.now) }
    return try Firestore.open(at: folder.path + "/past.hearth", settings: settings)
  }

  private func timestamp(_ microseconds: Int64) -> Timestamp {
    Timestamp(Instant(microseconds: microseconds))
  }

  /// What a state holds: the field `n` of each document, by path.
  private typealias Model = [String: Int]

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `at any time of any history the answers are those of the state then`(
    seed: UInt64
  ) async throws {
    let db = try open()
    var random = SeededGenerator(seed: seed)
    let beginning = try await db.changeToken()
    let start = clock.now.microseconds
    var states: [Model] = [[:]]
    for _ in 0..<300 {
      // Now and then the clock stands still, or goes back.
      let step = Int64.random(in: -3...20, using: &random)
      clock.advance(by: step)
      var state = states[states.count - 1]
      let batch = db.batch()
      for path in paths.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)) {
        if Int.random(in: 0..<3, using: &random) == 0 {
          batch.deleteDocument(db.document(path))
          state[path] = nil
        } else {
          let number = Int.random(in: 0..<5, using: &random)
          batch.setData(["n": number], forDocument: db.document(path))
          state[path] = number
        }
      }
      try await batch.commit()
      // What changes nothing is no commit.
      if state != states[states.count - 1] { states.append(state) }
    }
    var times: [Int64] = [.min]
    for try await change in db.changes(since: beginning) where change.endsCommit {
      times.append(Instant(change.commitTime).microseconds)
      if times.count == states.count { break }
    }
    let end = times[times.count - 1]
    clock.now = max(clock.now, Instant(microseconds: end))
    for _ in 0..<(seed == 1 ? 1_000 : 200) {
      let time = Int64.random(in: (start - 5)...end, using: &random)
      let index = times.lastIndex { $0 <= time } ?? 0
      try await check(db, time, states[index], &random)
    }
    try await db.terminate()
  }

  private let paths = ["books", "books/1/notes", "films"].flatMap { collection in
    (0..<8).map { "\(collection)/\($0)" }
  }

  private func check(
    _ db: Firestore, _ time: Int64, _ expected: Model, _ random: inout SeededGenerator
  ) async throws {
    let path = paths.randomElement(using: &random) ?? paths[0]
    let limit = Int.random(in: 1...4, using: &random)
    let notes = db.collectionGroup("notes").whereField("n", isGreaterThan: 1).limit(to: limit)
    let (one, all, some, count) =
      if Bool.random(using: &random) {
        try await db.read(at: timestamp(time)) { reader in
          (
            try reader.getDocument(db.document(path)), try reader.getDocuments(db.allDocuments()),
            try reader.getDocuments(notes), try reader.getAggregation(db.collection("books").count)
          )
        }
      } else {
        try await answers(db.snapshot(at: timestamp(time)), path, db.allDocuments(), notes)
      }
    #expect(one["n"] as? Int == expected[path], "\(path) at \(time)")
    let found = Dictionary(
      uniqueKeysWithValues: all.documents.map { ($0.reference.path, $0["n"] as? Int ?? -1) })
    #expect(found == expected, "at \(time)")
    let matching = expected.filter { $0.key.hasPrefix("books/1/notes/") && $0.value > 1 }
    #expect(some.count == min(limit, matching.count), "at \(time)")
    let books = expected.keys.count { $0.hasPrefix("books/") && !$0.contains("notes") }
    #expect(count.count.intValue == books, "at \(time)")
  }

  private func answers(
    _ state: DatabaseSnapshot, _ path: String, _ all: Query, _ some: Query
  ) async throws -> (DocumentSnapshot, QuerySnapshot, QuerySnapshot, AggregateQuerySnapshot) {
    let db = all.firestore
    return (
      try await state.getDocument(db.document(path)), try await state.getDocuments(all),
      try await state.getDocuments(some),
      try await state.getAggregation(db.collection("books").count)
    )
  }

  @Test func `a state stays as it was, however many reads are awaited in between`() async throws {
    let db = try open()
    let (a, b) = (db.document("a/1"), db.document("a/2"))
    try await a.setData(["n": 1])
    try await b.setData(["n": 1])
    // Nobody awaits it, and the state has it.
    a.updateData(["n": 2]) { _ in }
    let state = try await db.snapshot()
    for n in 3..<200 {
      let batch = db.batch()
      batch.setData(["n": n], forDocument: a)
      if n % 3 == 0 { batch.deleteDocument(b) } else { batch.setData(["n": n], forDocument: b) }
      try await batch.commit()
      guard n % 20 == 0 else { continue }
      #expect(try await state.getDocument(a, as: [String: Int].self) == ["n": 2])
      #expect(try await state.getDocument(b)["n"] as? Int == 1)
      #expect(
        try await state.getAll([b, a, db.document("a/3")]).map(\.exists) == [true, true, false])
      #expect(
        try await state.getDocuments(db.collection("a").order(by: "n"), as: [String: Int].self)
          == [["n": 1], ["n": 2]])
      #expect(
        try await state.getAggregation(db.collection("a").aggregate([.sum("n")])).get(.sum("n"))
          as? Int == 3)
    }
    let other = try await db.snapshot()
    #expect(try await other.getDocument(a)["n"] as? Int == 199)
    #expect(other.time.compare(state.time) == .orderedDescending)
    #expect(try await db.snapshot(at: state.time).getDocument(a)["n"] as? Int == 2)
    try await db.terminate()
    await expectRefused(.failedPrecondition) { _ = try await state.getDocument(a) }
    await expectRefused(.failedPrecondition) { _ = try await db.snapshot() }
  }

  @Test func `a state of an empty database is empty`() async throws {
    let db = try open()
    let state = try await db.snapshot()
    try await db.document("a/1").setData(["n": 1])
    #expect(try await state.getDocuments(db.collection("a")).isEmpty)
    #expect(try await !state.getDocument(db.document("a/1")).exists)
    try await db.terminate()
  }

  @Test(.embedded("The reference keeps all of its log."))
  func `a time that the log does not reach, or that has yet to come, is refused`()
    async throws
  {
    let db = try open(retainedBytes: 4_096)
    let first = clock.now.microseconds
    let text = String(repeating: "x", count: 500)
    for number in 0..<100 {
      clock.advance(by: 10)
      try await db.document("a/\(number % 3)").setData(["n": number, "text": text])
    }
    let last = clock.now.microseconds
    await expectRefused(.outOfRange) {
      _ = try await db.read(at: timestamp(first + 5)) { try $0.getDocument(db.document("a/1")) }
    }
    await expectRefused(.invalidArgument) {
      _ = try await db.read(at: timestamp(last + 1)) { _ in }
    }
    await expectRefused(.outOfRange) {
      _ = try await db.snapshot(at: timestamp(first + 5)).getDocuments(db.collection("a"))
    }
    await expectRefused(.invalidArgument) {
      _ = try await db.snapshot(at: timestamp(last + 1)).getDocument(db.document("a/1"))
    }
    let now = try await db.read(at: timestamp(last)) { try $0.getDocument(db.document("a/0")) }
    #expect(now["n"] as? Int == 99)
    let before = try await db.read(at: timestamp(last - 1)) {
      try $0.getDocument(db.document("a/0"))
    }
    #expect(before["n"] as? Int == 96)
    try await db.terminate()
  }

  @Test func `what a closure read in the past stays as it was while others write`() async throws {
    let db = try open()
    try await db.document("a/b").setData(["n": 1])
    let then = try #require(try await db.document("a/b").getDocument().updateTime)
    clock.advance(by: 1_000)
    try await db.document("a/b").setData(["n": 2])
    try await db.document("a/c").setData(["n": 3])
    let (document, all) = try await db.read(at: then) { reader in
      (
        try reader.getDocument(db.document("a/b"), as: [String: Int].self),
        try reader.getDocuments(db.collection("a"), as: [String: Int].self)
      )
    }
    #expect(document == ["n": 1] && all == [["n": 1]])
    try await db.terminate()
  }
}
