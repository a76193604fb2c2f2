import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A copy is the source's state, whatever happens meanwhile.
@Suite(.timeLimit(patience)) struct DatabaseCopyTests {
  private let folder = TemporaryFolder()

  private func open(
    _ name: String, _ change: (FirestoreSettings) -> Void = { _ in }
  ) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.mapSizeBytes = 1 << 30
    change(settings)
    return try Firestore.open(at: "\(folder.path)/\(name).hearth", settings: settings)
  }

  /// Documents of all types of values, at any depth, with names of every kind.
  private func fill(_ db: Firestore, seed: UInt64, _ count: Int) async throws {
    var values = RandomValues(seed: seed)
    var mutations: [Mutation] = []
    for number in 0..<count {
      var path = values.documentPath()
      if number % 50 == 0 {
        // Four ids of 1,400 bytes, near the limit of a name.
        for _ in 0..<2 {
          let long = String(repeating: "ü", count: 700) + "\(number)"
          path = path.appending(long).appending(long)
        }
        guard path.segments.count <= 10, path.text.utf8.count < 6000 else { continue }
      }
      mutations.append(Mutation(path: path, operation: try .set(encoding: values.map())))
    }
    let backend = try db.database().backend
    for start in stride(from: 0, to: mutations.count, by: 40) {
      try await backend.commit(
        Array(mutations[start..<min(start + 40, mutations.count)]), areChecked: true)
    }
  }

  /// Some changes: new documents, changed ones, deleted ones, and some that are deleted and made again.
  private func change(_ db: Firestore, _ values: inout RandomValues) async throws {
    let backend = try db.database().backend
    let known = try await documents(db).map(\.path)
    for _ in 0..<10 {
      var mutations: [Mutation] = []
      for _ in 0..<1 + values.generator.below(8) {
        let path =
          known.isEmpty || values.generator.one(in: 3)
          ? values.documentPath() : values.generator.pick(known)
        if mutations.contains(where: { $0.path == path }) { continue }
        let isDeleted = values.generator.one(in: 3)
        if isDeleted { mutations.append(Mutation(path: path, operation: .delete)) }
        if isDeleted, values.generator.one(in: 2) { continue }
        mutations.append(Mutation(path: path, operation: try .set(encoding: values.map())))
      }
      try await backend.commit(mutations, areChecked: true)
    }
  }

  private struct Line: Hashable {
    var path: String
    var created: Instant
    var updated: Instant
    var body: DocumentBody
  }

  private func documents(_ db: Firestore) async throws -> [StoredDocument] {
    let backend = try db.database().backend
    let limits = PageLimits(count: 100_000, byteCount: 1 << 30)
    return try await backend.awaiting { backend.read(.page(after: nil, limits), $0, $1) }.answer
      .page.documents
  }

  private func lines(_ db: Firestore) async throws -> [Line] {
    try await documents(db).map {
      Line(
        path: $0.path.text, created: $0.createTime, updated: $0.updateTime, body: $0.body)
    }
    .sorted { UTF8Order.compare($0.path, $1.path) < 0 }
  }

  private func expectEqual(
    _ one: Firestore, _ other: Firestore, _ comment: Comment = ""
  ) async throws {
    let (left, right) = (try await lines(one), try await lines(other))
    #expect(left.count == right.count, comment)
    for (line, copy) in zip(left, right) where line != copy {
      Issue.record("\(line.path) is \(copy.path): \(comment)")
      return
    }
  }

  // MARK: Equal

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a copy has the same documents with the same times`(seed: UInt64) async throws {
    let (old, new) = (try open("old"), try open("new"))
    try await fill(old, seed: seed, 700)
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    let seen = Guarded<[DatabaseCopy.Progress]>([])
    try await copy.copyDocuments { progress in seen.withLock { $0.append(progress) } }
    #expect(copy.hasDocuments)
    try await copy.copyIndexes()
    let verification = try await copy.verify()
    #expect(verification.isEqual, "seed \(seed): \(verification.differences)")
    try await copy.finish()
    try await expectEqual(old, new, "seed \(seed)")
    let count = try await lines(old).count
    #expect(verification.collections.reduce(0) { $0 + $1.documents } == count)
    let done = seen.withLock(\.self).map(\.done)
    #expect(done == done.sorted() && done.last == count, "seed \(seed): \(done)")
    #expect(seen.withLock(\.self).allSatisfy { $0.done <= $0.total })
    // Nothing is left of the copy itself.
    let collections = try await new.listCollections().map(\.collectionID)
    #expect(!collections.contains { $0.hasPrefix("__hearth") })
    await expectRefused(.failedPrecondition) {
      _ = try await DatabaseCopy.begin(from: old, to: new)
    }
  }

  @Test(.embedded("checks the file"))
  func `a copied file is whole, and later writes have later times`() async throws {
    let (old, new) = (try open("old"), try open("new"))
    try await fill(old, seed: 4, 100)
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    try await copy.copyDocuments()
    try await copy.finish()
    #expect(try await new.maintenance.check().problems == [])
    let document = try #require(
      try await new.allDocuments().limit(to: 1).getDocuments().documents.first)
    let path = document.reference.resourcePath
    let backend = try new.database().backend
    try await backend.commit(
      [Mutation(path: path, operation: try .set(encoding: MapValue([("n", .integer(1))])))],
      areChecked: true)
    let later = try #require(try await backend.document(at: path))
    #expect(Timestamp(later.createTime) == document.createTime)
    #expect(Instant(try #require(document.updateTime)) < later.updateTime)
    #expect(try await new.maintenance.check().problems == [])
  }

  @Test func `an empty database is copied, and changes after that`() async throws {
    let (old, new) = (try open("old"), try open("new"))
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    try await copy.copyDocuments()
    #expect(try await copy.verify().isEqual)
    try await old.document("a/b").setData(["n": 1])
    #expect(try await copy.hasMissingChanges())
    try await copy.catchUp()
    #expect(try await !copy.hasMissingChanges())
    #expect(try await copy.verify().isEqual)
    try await copy.finish()
    try await expectEqual(old, new)
  }

  // MARK: Interrupted

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `an interrupted copy goes on, also if the source has changed`(seed: UInt64) async throws {
    let (old, new) = (try open("old"), try open("new"))
    try await fill(old, seed: seed, 900)
    var values = RandomValues(seed: seed &+ 100)
    var interruptions = 0
    while true {
      let copy = try await DatabaseCopy.begin(from: old, to: new)
      let left = Guarded(1 + values.generator.below(3))
      let task = Task {
        try await copy.copyDocuments { _ in
          let isOver = left.withLock { left in
            left -= 1
            return left < 0
          }
          if isOver { withUnsafeCurrentTask { $0?.cancel() } }
        }
      }
      do {
        try await task.value
        #expect(try await copy.verify().isEqual, "seed \(seed)")
        try await copy.finish()
        break
      } catch is CancellationError {
        interruptions += 1
        try #require(interruptions < 100, "seed \(seed)")
        try await change(old, &values)
      }
    }
    #expect(interruptions > 0)
    try await expectEqual(old, new, "seed \(seed)")
  }

  @Test func `two copies to one target do not both go on`() async throws {
    let (old, new) = (try open("old"), try open("new"))
    try await fill(old, seed: 5, 300)
    let first = try await DatabaseCopy.begin(from: old, to: new)
    let second = try await DatabaseCopy.begin(from: old, to: new)
    try await first.copyDocuments()
    await expectRefused(.failedPrecondition) { try await second.copyDocuments() }
    try await first.finish()
    await expectRefused(.failedPrecondition) { try await second.finish() }
    try await expectEqual(old, new)
  }

  // MARK: Followed

  private final class End: Sendable {
    private let state = Guarded(false)
    var isOver: Bool { state.withLock(\.self) }
    func come() { state.withLock { $0 = true } }
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `a copy that follows four writers misses nothing`(seed: UInt64) async throws {
    let (old, new) = (try open("old"), try open("new"))
    try await fill(old, seed: seed, 500)
    let end = End()
    let writers = Task {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in 0..<4 as Range<UInt64> {
          group.addTask {
            var values = RandomValues(seed: seed &* 10 &+ writer)
            while !end.isOver {
              try await change(old, &values)
              try await Task.sleep(for: .milliseconds(10))
            }
          }
        }
        try await group.waitForAll()
      }
    }
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    try await copy.copyDocuments()
    try await copy.copyIndexes()
    #expect(try await copy.verify().isEqual, "seed \(seed)")
    let verified = copy.token
    let caughtUp = Guarded(0)
    let batches = Guarded(0)
    let following = Task {
      try await copy.follow { lag in
        if lag.changes == 0 { caughtUp.withLock { $0 += 1 } }
        batches.withLock { $0 += 1 }
        return true
      }
    }
    try await eventually { batches.withLock(\.self) >= 10 }
    end.come()
    try await writers.value
    try await eventually { try await !copy.hasMissingChanges() }
    // One more, when nothing else is to be done.
    try await old.document("last/one").setData(["n": 1])
    try await eventually { try await new.document("last/one").getDocument().exists }
    following.cancel()
    await #expect(throws: CancellationError.self) { try await following.value }
    try await copy.catchUp()
    #expect(caughtUp.withLock(\.self) > 0)
    #expect(try await copy.verifyChanges(since: verified).isEqual, "seed \(seed)")
    #expect(try await copy.verify().isEqual, "seed \(seed)")
    try await copy.finish()
    try await expectEqual(old, new, "seed \(seed)")
  }

  /// Changes are applied between two pages: the second one must not be older.
  @Test func `documents that change ahead of the copy's position stay changed`() async throws {
    let (old, new) = (try open("old"), try open("new"))
    let count = 1200
    for start in stride(from: 0, to: count, by: 400) {
      let batch = old.batch()
      for n in start..<start + 400 { batch.setData(["n": n], forDocument: old.document("c/\(n)")) }
      try await batch.commit()
    }
    let (source, target) = (try old.database().backend, try new.database().backend)
    let copy = try await DocumentCopy.begin(from: source, to: target, changeInterval: .zero)
    let calls = Guarded(0)
    try await copy.copyDocuments { progress in
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      // The first call is before the first page.
      guard call > 1 else { return }
      do {
        // Once each: a later change would mend an earlier one that was lost.
        var mutations: [Mutation] = []
        for n in 0..<count where n % 8 == call - 2 {
          mutations.append(
            Mutation(
              path: ResourcePath(["c", "\(n)"]),
              operation: try n % 16 < 8
                ? .delete : .set(encoding: MapValue([("n", .integer(Int64(-n)))]))))
        }
        guard !mutations.isEmpty else { return }
        let request = CommitRequest(mutations)
        _ = try source.waiting { source.commit(request, .blocked, $0) }
      } catch {
        Issue.record(error)
      }
    }
    #expect(calls.withLock(\.self) > 3)
    #expect(try await copy.verify().differences == [])
    try await copy.finish()
    try await expectEqual(old, new)
  }

  @Test func `a commit is applied as a whole, also a large one`() async throws {
    let (old, new) = (try open("old"), try open("new"))
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    try await copy.copyDocuments()
    let token = try await new.changeToken()
    let text = String(repeating: "x", count: 10_000)
    for round in 0..<3 {
      let batch = old.batch()
      for n in 0..<300 {
        batch.setData(["round": round, "text": text], forDocument: old.document("c/\(n)"))
      }
      try await batch.commit()
    }
    try await copy.catchUp()
    var rounds: [Int: Int] = [:]
    for try await change in new.changes(since: token) {
      if let round = change.after?["round"] as? Int { rounds[round, default: 0] += 1 }
      if change.endsCommit {
        #expect(rounds.values.allSatisfy { $0.isMultiple(of: 300) })
        if rounds[2] == 300 { break }
      }
    }
    #expect(try await copy.verify().isEqual)
  }

  // MARK: Refused

  @Test func `a target with documents, of another copy, or the source itself is refused`()
    async throws
  {
    let (old, new, other) = (try open("old"), try open("new"), try open("other"))
    try await old.document("a/b").setData(["n": 1])
    try await other.document("a/b").setData(["n": 1])
    await expectRefused(.invalidArgument) { _ = try await DatabaseCopy.begin(from: old, to: old) }
    let sentence = await expectRefused(.failedPrecondition) {
      _ = try await DatabaseCopy.begin(from: old, to: other)
    }
    #expect(sentence?.contains("has documents") == true)
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    await expectRefused(.failedPrecondition) {
      _ = try await DatabaseCopy.begin(from: other, to: new)
    }
    await expectRefused(.failedPrecondition) {
      _ = try await DatabaseCopy.begin(from: new, to: try open("third"))
    }
    await expectRefused(.failedPrecondition) { try await copy.finish() }
  }

  @Test(.embedded("trims its log"))
  func `a copy whose changes are no longer in the log is refused`() async throws {
    let old = try open("old") { $0.changeLogLimitBytes = 64 << 10 }
    let new = try open("new")
    try await fill(old, seed: 6, 200)
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    try await copy.copyDocuments()
    let text = String(repeating: "x", count: 10_000)
    for n in 0..<100 { try await old.document("c/\(n % 10)").setData(["n": n, "text": text]) }
    let sentence = await expectRefused(.outOfRange) { try await copy.catchUp() }
    #expect(sentence?.contains("does not reach back") == true)
    await expectRefused(.outOfRange) { _ = try await DatabaseCopy.begin(from: old, to: new) }
  }

  // MARK: Compared

  @Test func `a comparison finds what was changed, added and removed in the copy`() async throws {
    let (old, new) = (try open("old"), try open("new"))
    try await fill(old, seed: 7, 300)
    for n in 0..<50 { try await old.document("c/\(n)").setData(["n": n]) }
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    try await copy.copyDocuments()
    #expect(try await copy.verify().isEqual)
    let token = copy.token
    try await new.document("c/7").updateData(["n": 8])
    try await new.document("c/9").delete()
    try await new.document("d/new").setData(["n": 1])
    // The source moves on, which is no difference.
    try await old.document("c/11").updateData(["n": 12])
    try await old.document("c/12").delete()
    try await old.document("c/new").setData(["n": 1])
    let verification = try await copy.verify()
    #expect(!verification.isEqual && verification.differenceCount == 3)
    #expect(Set(verification.differences) == ["c/7", "c/9", "d/new"])
    // Among the changed documents there is none of these.
    try await copy.catchUp()
    #expect(try await copy.verifyChanges(since: token).isEqual)
    try await old.document("c/7").updateData(["n": 9])
    try await copy.catchUp()
    #expect(try await copy.verifyChanges(since: token).isEqual)
    try await new.document("c/7").updateData(["n": 8])
    #expect(try await copy.verifyChanges(since: token).differences == ["c/7"])
  }

  // MARK: Rules

  @Test func `unique indexes and references hold in the copy, and are no obstacle to it`()
    async throws
  {
    let (old, new) = (try open("old"), try open("new"))
    try await old.indexes.declare(
      FirestoreIndex(unique: "users", .ascending("email")),
      FirestoreIndex("users", .ascending("age"), .descending("email")))
    try await old.references.declare(
      FirestoreReferenceRule("books", field: "author", to: "users", onDelete: .restrict),
      FirestoreReferenceRule("books", field: "author", to: "robots", onDelete: .nullify),
      FirestoreReferenceRule("reviews", field: "book", to: "books", onDelete: .cascade))
    for n in 0..<200 {
      try await old.document("users/\(n)").setData(["email": "\(n)@example.com", "age": n % 7])
      try await old.document("books/\(n)").setData(["author": old.document("users/\(n)")])
      try await old.document("reviews/\(n)").setData(["book": old.document("books/\(n)")])
    }
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    try await copy.copyDocuments()
    try await copy.copyIndexes()
    #expect(try await copy.verify().isEqual)
    // Two swap their values; a book is deleted with its reviews, and then its author.
    let batch = old.batch()
    batch.updateData(["email": "1@example.com"], forDocument: old.document("users/0"))
    batch.updateData(["email": "0@example.com"], forDocument: old.document("users/1"))
    try await batch.commit()
    try await old.document("books/2").delete()
    try await old.document("users/2").delete()
    try await copy.catchUp()
    #expect(try await copy.verify().isEqual)
    try await copy.finish()
    try await expectEqual(old, new)
    let (before, after) = (try await old.indexes.list(), try await new.indexes.list())
    #expect(Set(before.map(\.description)) == Set(after.map(\.description)))
    #expect(after.allSatisfy { $0.state == .ready })
    await expectRefused(.alreadyExists) {
      try await new.document("users/x").setData(["email": "7@example.com"])
    }
    await expectRefused(.failedPrecondition) { try await new.document("users/7").delete() }
    try await new.document("books/7").delete()
    #expect(try await !new.document("reviews/7").getDocument().exists)
  }

  @Test(.embedded("has TTL policies"))
  func `documents that expire are copied, and then their policy`() async throws {
    let (old, new) = (try open("old"), try open("new"))
    try await old.ttl.setPolicy(collectionGroup: "sessions", field: "until")
    for n in 0..<20 {
      let until = Timestamp(date: Date(timeIntervalSinceNow: n < 10 ? -60 : 3600))
      try await old.document("sessions/\(n)").setData(["until": until])
    }
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    try await copy.copyDocuments()
    #expect(try await new.ttl.policies().isEmpty)
    #expect(try await copy.verify().isEqual)
    let expired = try await old.ttl.deleteExpired()
    try await copy.catchUp()
    #expect(try await copy.verify().isEqual)
    try await copy.finish()
    #expect(try await new.ttl.policies().map(\.field) == ["until"])
    #expect(expired <= 10)
    try await expectEqual(old, new)
  }

  // MARK: Pages

  @Test(arguments: [1, 2] as [UInt64])
  func `the pages of a walk are all documents, whatever their limits`(seed: UInt64) async throws {
    let db = try open("old")
    try await fill(db, seed: seed, 200)
    let backend = try db.database().backend
    let all = Set(
      try await db.allDocuments().getDocuments().documents.map(\.reference.path))
    #expect(
      try await backend.awaiting { backend.read(.documentCount, $0, $1) }.answer.count == all.count)
    for (count, bytes) in [(1, 1 << 20), (7, 1 << 20), (1000, 1 << 20), (50, 200)] {
      var found: [String] = []
      var position: [UInt8]?
      let limits = PageLimits(count: count, byteCount: bytes)
      repeat {
        let start = position
        let page = try await backend.awaiting { backend.read(.page(after: start, limits), $0, $1) }
          .answer.page
        #expect(page.documents.count <= count)
        found += page.documents.map(\.path.text)
        position = page.next
      } while position != nil
      #expect(found.count == all.count && Set(found) == all, "seed \(seed), \(count) a page")
    }
  }
}
