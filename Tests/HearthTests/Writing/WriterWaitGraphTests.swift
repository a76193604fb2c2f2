import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Write closures of several databases, nested and crossed.
@Suite struct WriterWaitGraphTests {
  private let folder = TemporaryFolder()

  private func open(_ name: String) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: "\(folder.path)/\(name).hearth", settings: settings)
  }

  @Test func `closures nested in two databases and back are refused, not waited for`() async throws
  {
    let (a, b) = (try open("a"), try open("b"))
    let refusals = Guarded<[Int]>([])
    try await a.write { _ in
      try b.write { session in
        try session.setData(["n": 1], forDocument: b.document("books/dune"))
        for body in [
          { _ = try a.write { _ in } }, { _ = try b.write { _ in } },
          { _ = try b.read { _ in } },
        ] {
          do { try body() } catch let error as NSError {
            refusals.withLock { $0.append(error.code) }
          }
        }
      }
    }
    let code = FirestoreErrorCode.Code.failedPrecondition.rawValue
    #expect(refusals.withLock(\.self) == [code, code, code])
    #expect(try await b.document("books/dune").getDocument().exists)
    try await a.terminate()
    try await b.terminate()
  }

  @Test(arguments: [2, 3])
  func `closures that cross each other never hang, and are done or refused`(
    count: Int
  ) async throws {
    let databases = try (0..<count).map { try open("d\($0)") }
    let rounds = Soak.isOn ? 2000 : 100
    let counts = Counts()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in databases.indices {
        let (database, next) = (databases[number], databases[(number + 1) % count])
        group.addTask { try await cross(database, next, rounds, counts) }
      }
      try await group.waitForAll()
    }
    #expect(counts.done.withLock(\.self) > 0)
    let all = counts.done.withLock(\.self) + counts.refused.withLock(\.self)
    #expect(all == count * rounds)
    for database in databases { try await database.terminate() }
  }

  private final class Counts: Sendable {
    let done = Guarded(0)
    let refused = Guarded(0)
  }

  private func cross(
    _ database: Firestore, _ next: Firestore, _ rounds: Int, _ counts: Counts
  ) async throws {
    for round in 0..<rounds {
      do {
        try await database.write { session in
          try session.setData(["n": round], forDocument: database.document("a/\(round)"))
          _ = try next.write { inner in
            try inner.setData(["n": round], forDocument: next.document("b/\(round)"))
          }
        }
        counts.done.withLock { $0 += 1 }
      } catch let error as NSError {
        #expect(error.code == FirestoreErrorCode.Code.failedPrecondition.rawValue)
        #expect(error.localizedDescription.contains("wait for each other"))
        counts.refused.withLock { $0 += 1 }
      }
    }
  }

  @Test func `a listener is removed inside a write closure while its callback waits to write`()
    async throws
  {
    let db = try open("a")
    let queue = DispatchQueue(label: "callbacks")
    let isWriting = DispatchSemaphore(value: 0)
    let callbacks = Guarded(0)
    let registration = db.collection("books").addSnapshotListener(on: queue) { _, _ in
      callbacks.withLock { $0 += 1 }
      isWriting.signal()
      _ = try? db.write { _ in }
    }
    try await db.write { session in
      isWriting.wait()
      registration.remove()
      try session.setData(["n": 1], forDocument: db.document("books/dune"))
    }
    try await db.waitForPendingWrites()
    queue.sync {}
    #expect(callbacks.withLock(\.self) == 1)
    try await db.terminate()
  }
}
