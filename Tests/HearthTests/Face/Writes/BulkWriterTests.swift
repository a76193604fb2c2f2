import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct BulkWriterTests {
  private let folder = TemporaryFolder()
  private let db: Firestore

  init() throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.queueLimitBytes = 1 << 20
    db = try Firestore.open(at: folder.path + "/bulk.hearth", settings: settings)
  }

  private struct Book: Codable { var n: Int }

  private final class Peak: Sendable {
    private let state = Guarded((told: 0, waiting: 0))
    var told: Int { state.withLock(\.told) }
    var waiting: Int { state.withLock(\.waiting) }

    func note(told: Int = 0, waiting: Int = 0) {
      state.withLock { $0 = (max($0.told, told), max($0.waiting, waiting)) }
    }
  }

  @Test func `each write of a bulk is done or fails alone`() async throws {
    let failures = Guarded<[String: FirestoreErrorCode.Code]>([:])
    let bulk = db.bulkWriter { failure in
      failures.withLock {
        $0[failure.document.path] = FirestoreErrorCode.Code(rawValue: failure.error.code)
      }
    }
    let other = try Firestore.open(at: folder.path + "/other.hearth")
    for index in 0..<500 {
      await bulk.enqueueSet(["n": index], forDocument: db.document("a/\(index)"))
    }
    try await bulk.enqueueCreate(from: Book(n: 1), forDocument: db.document("a/0"))
    await bulk.enqueueCreate(["n": 1], forDocument: db.document("b/1"))
    await bulk.enqueueUpdate(["n": 1], forDocument: db.document("c/1"))
    await bulk.enqueueSet(["__n__": 1], forDocument: db.document("d/1"))
    await bulk.enqueueSet([:], forDocument: other.document("e/1"))
    await bulk.enqueueUpdate(
      ["n": 2], forDocument: db.document("a/1"),
      precondition: .lastUpdateTime(Timestamp(seconds: 1, nanoseconds: 0)))
    await bulk.enqueueDelete(db.document("f/1"), precondition: .exists(true))
    await bulk.enqueueDelete(db.document("a/2"))
    await bulk.enqueueSet(["m": 1], forDocument: db.document("a/3"), merge: true)
    try await bulk.enqueueSet(from: Book(n: 9), forDocument: db.document("a/4"))
    let summary = await bulk.finish()
    #expect(
      failures.withLock(\.self) == [
        "a/0": .alreadyExists, "c/1": .notFound, "d/1": .invalidArgument,
        "e/1": .invalidArgument, "a/1": .failedPrecondition, "f/1": .notFound,
      ])
    #expect(summary.writes == 510 && summary.done == 504 && summary.failed == 6)
    #expect(try await db.collection("a").getDocuments().count == 499)
    let three = try await db.document("a/3").getDocument()
    #expect(three["n"] as? Int == 3 && three["m"] as? Int == 1)
    await bulk.enqueueSet([:], forDocument: db.document("g/1"))
    #expect(failures.withLock { $0["g/1"] } == .failedPrecondition)
    #expect(try await !db.document("g/1").getDocument().exists)
  }

  @Test(.embedded("It looks at the writer."))
  func `a bulk waits for room, and its memory stays bounded`() async throws {
    let limit = 200_000
    let most = Peak()
    let bulk = db.bulkWriter(
      limitBytes: limit,
      onProgress: { progress in
        most.note(told: progress.done)
      })
    let text = String(repeating: "x", count: 10_000)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for index in 0..<60 {
            let document = self.db.document("a/\(task)-\(index)")
            await bulk.enqueueSet(["t": text], forDocument: document)
            let waiting = try self.db.database().writer.waitingBytes
            most.note(waiting: waiting)
            if index % 20 == 0 { #expect(try await document.getDocument().exists) }
          }
        }
      }
      try await group.waitForAll()
    }
    // One that waits alone may be larger than the limit.
    await bulk.enqueueSet(
      ["t": String(repeating: "x", count: 2 * limit)], forDocument: db.document("a/large"))
    let summary = await bulk.finish()
    #expect(summary.done == 481 && summary.failed == 0)
    #expect(most.waiting <= 2 * limit + 20_000)
    #expect(try await db.collection("a").getDocuments().count == 481)
    try await eventually { most.told == 481 }
  }

  @Test func `a recursive delete takes all that lies below, and nothing beside`() async throws {
    let bulk = db.bulkWriter()
    for index in 0..<1200 {
      await bulk.enqueueSet(["n": index], forDocument: db.document("books/\(index)"))
      if index % 3 == 0 {
        // Half of them below documents that are not there.
        await bulk.enqueueSet(["n": 1], forDocument: db.document("books/\(index)x/notes/1"))
        await bulk.enqueueSet(["n": 1], forDocument: db.document("books/\(index)/notes/1/deep/1"))
      }
    }
    for path in ["books2/1", "book/1", "a/books", "a/1/books/1", "boo/1"] {
      await bulk.enqueueSet(["n": 1], forDocument: db.document(path))
    }
    #expect(await bulk.finish().failed == 0)
    let one = try await db.recursiveDelete(db.document("books/3"))
    #expect(one == 2)
    let ghost = try await db.recursiveDelete(db.document("books/3x"))
    #expect(ghost == 1)
    let told = Guarded<[Int]>([])
    let count = try await db.recursiveDelete(db.collection("books")) { count in
      told.withLock { $0.append(count) }
    }
    #expect(count == 1997)
    #expect(told.withLock(\.self) == [500, 1000, 1500, 1997])
    let left = try await db.allDocuments().getDocuments().documents.map(\.reference.path)
    #expect(left == ["a/1/books/1", "a/books", "boo/1", "book/1", "books2/1"])
    #expect(try await db.recursiveDelete(db.collection("books")) == 0)
    await expectRefused(.invalidArgument) {
      _ = try await db.recursiveDelete(db.collection("a/b"))
    }
  }

  @Test func `creating and preconditions keep what is there`() async throws {
    let document = db.document("a/b")
    try await document.create(["n": 1])
    await expectRefused(.alreadyExists) { try await document.create(["n": 2]) }
    await expectRefused(.alreadyExists) { try await document.create(committing: Book(n: 2)) }
    let told: NSError? = await withCheckedContinuation { continuation in
      document.create(["n": 2]) { continuation.resume(returning: $0 as NSError?) }
    }
    #expect(told?.code == FirestoreErrorCode.alreadyExists.rawValue)
    let unobserved = Guarded(0)
    db.unobservedWriteFailureHandler = { error in
      if FirestoreErrorCode.alreadyExists ~= error { unobserved.withLock { $0 += 1 } }
    }
    handOver { document.create(["n": 2]) }
    // The handler is called after those who wait for the write have gone on.
    try await eventually { unobserved.withLock(\.self) > 0 }
    #expect(unobserved.withLock(\.self) == 1)
    let first = try await document.getDocument()
    #expect(first["n"] as? Int == 1)
    let time = try #require(first.updateTime)
    try await document.updateData(["n": 2], precondition: .lastUpdateTime(time))
    for refused in [0, 1, 2] {
      await expectRefused(.failedPrecondition) {
        switch refused {
        case 0: try await document.updateData(["n": 3], precondition: .lastUpdateTime(time))
        case 1: try await document.setData(["n": 3], precondition: .lastUpdateTime(time))
        default: try await document.delete(precondition: .lastUpdateTime(time))
        }
      }
    }
    let odd = Timestamp(seconds: time.seconds, nanoseconds: 1)
    await expectRefused(.invalidArgument) {
      try await document.delete(precondition: .lastUpdateTime(odd))
    }
    let future = Timestamp(seconds: time.seconds + 3600, nanoseconds: 0)
    await expectRefused(.invalidArgument) {
      try await document.delete(precondition: .lastUpdateTime(future))
    }
    await expectRefused(.alreadyExists) {
      try await document.setData([:], precondition: .exists(false))
    }
    let missing = db.document("a/missing")
    await expectRefused(.notFound) { try await missing.setData([:], precondition: .exists(true)) }
    await expectRefused(.notFound) { try await missing.delete(precondition: .exists(true)) }
    try await missing.setData([:], precondition: .exists(false))
    await expectRefused(.alreadyExists) {
      try await db.batch().setData(["n": 7], forDocument: document)
        .create(["n": 1], forDocument: missing).commit()
    }
    #expect(try await document.getDocument()["n"] as? Int == 2)
    let now = try #require(try await document.getDocument().updateTime)
    try await db.batch()
      .updateData(["n": 3], forDocument: document, precondition: .lastUpdateTime(now))
      .deleteDocument(missing, precondition: .exists(true))
      .create(["n": 1], forDocument: missing)
      .setData(["n": 4], forDocument: document, precondition: .exists(true))
      .commit()
    #expect(try await document.getDocument()["n"] as? Int == 4)
  }

  private func handOver(_ body: () -> Void) { body() }
}
