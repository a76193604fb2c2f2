import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Blocks of transactions run on threads of their own.
@Suite(.ownThreads) struct TransactionThreadTests {
  private let folder = TemporaryFolder()

  private func open(_ name: String = "a") throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: "\(folder.path)/\(name).hearth", settings: settings)
  }

  @Test func `two hundred blocks that wait for the last of them stop nobody`() async throws {
    let db = try open()
    let (all, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let count = 200
    let transactions = (0..<count).map { number in
      Task { () async throws -> Void in
        _ = try await db.runTransaction { transaction, _ in
          all.signal()
          go.wait()
          transaction.setData(["n": number], forDocument: db.document("books/\(number)"))
          return nil
        }
      }
    }
    _ = try await onBlockingThread { for _ in 0..<count { all.wait() } }
    // All of them block, and nothing else does.
    try await db.document("other/a").setData(["n": 1])
    #expect(try await db.document("other/a").getDocument().exists)
    let snapshot = try await db.collection("other").snapshots.first { _ in true }
    #expect(snapshot?.count == 1)
    let other = try open("b")
    try await other.write { try $0.setData(["n": 1], forDocument: other.document("a/b")) }
    try await other.terminate()
    for _ in 0..<count { go.signal() }
    for transaction in transactions { try await transaction.value }
    #expect(try await db.collection("books").getDocuments().count == count)
    try await db.terminate()
  }

  @Test func `a cancelled transaction commits nothing, and does not run again`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    let (isRunning, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let runs = Guarded(0)
    let transaction = Task {
      _ = try await db.runTransaction { transaction, _ in
        runs.withLock { $0 += 1 }
        isRunning.signal()
        go.wait()
        transaction.setData(["n": 1], forDocument: document)
        return nil
      }
    }
    _ = try await onBlockingThread { isRunning.wait() }
    transaction.cancel()
    go.signal()
    await #expect(throws: CancellationError.self) { try await transaction.value }
    #expect(runs.withLock(\.self) == 1)
    #expect(try await !document.getDocument().exists)
    try await db.terminate()
  }

  @Test func `in a block the database's own synchronous forms are refused, and another's are not`()
    async throws
  {
    let (db, other) = (try open(), try open("b"))
    let codes = Guarded<[Int?]>([])
    _ = try await db.runTransaction { transaction, _ in
      func code(_ body: () throws -> Void) {
        do {
          try body()
          codes.withLock { $0.append(nil) }
        } catch let error as NSError { codes.withLock { $0.append(error.code) } }
      }
      code { _ = try db.read { _ in } }
      code { _ = try db.write { _ in } }
      code { _ = try other.read { _ in } }
      code {
        try other.write { try $0.setData(["n": 1], forDocument: other.document("a/b")) }
      }
      transaction.setData(["n": 1], forDocument: db.document("a/b"))
      return nil
    }
    let refused = FirestoreErrorCode.Code.failedPrecondition.rawValue
    #expect(codes.withLock(\.self) == [refused, refused, nil, nil])
    #expect(try await other.document("a/b").getDocument().exists)
    // The thread serves others afterwards.
    #expect(try await db.read { try $0.getDocument(db.document("a/b")).exists })
    try await db.terminate()
    try await other.terminate()
  }
}

@Suite struct BlockingThreadsTests {
  @Test func `work is never held up by work that blocks, and threads are used again`() async throws
  {
    let threads = BlockingThreads()
    let (all, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let done = DispatchGroup()
    for _ in 0..<100 {
      done.enter()
      threads.run {
        all.signal()
        go.wait()
        done.leave()
      }
    }
    for _ in 0..<100 { all.wait() }
    #expect(threads.count == 100)
    for _ in 0..<100 { go.signal() }
    done.wait()
    for _ in 0..<1000 {
      done.enter()
      threads.run { done.leave() }
      done.wait()
    }
    #expect(threads.count <= 100)
    try await eventually { threads.count == 0 }
  }
}
