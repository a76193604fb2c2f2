import Foundation
import Testing

@testable import HearthEngine

@Suite struct DocumentQueuesTests {
  private let path = ResourcePath(["a", "b"])

  /// As that of a client that has gone. Its turn would never end.
  @Test func `a transaction that ends while it waits gets no turn`() {
    let queues = DocumentQueues(patience: .seconds(600))
    let (ended, next) = (DocumentQueues.Turn(), DocumentQueues.Turn())
    let calls = Guarded<[String]>([])
    let first = Guarded<DocumentQueues.Turn?>(nil)
    queues.whenTurn(at: [path]) { turn in first.withLock { $0 = turn } }
    queues.whenNext(at: path, ended) { calls.withLock { $0.append("ended") } }
    queues.whenNext(at: path, next) { calls.withLock { $0.append("next") } }
    queues.end(ended)
    #expect(calls.withLock { $0 } == [])
    if let first = first.withLock(\.self) { queues.end(first) }
    // Its read is answered all the same.
    #expect(calls.withLock { $0 } == ["ended", "next"])
    #expect(queues.count == 1)
    queues.end(next)
    #expect(queues.count == 0)
  }
}

@Suite struct PresentReadTests {
  /// Another process that has the file's write lock has chosen the time of its commit already.
  @Test func `a read at the present waits for commits that have begun`() async throws {
    let backend = try EmbeddedBackend(
      inMemory: EmbeddedBackend.Settings(), logger: .init(label: "test"))
    defer { backend.close() }
    let isReleased = Guarded(false)
    let hasLock = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      do {
        let transaction = try backend.store.beginWriting()
        hasLock.signal()
        Thread.sleep(forTimeInterval: 0.3)
        isReleased.withLock { $0 = true }
        _ = consume transaction
      } catch {
        Issue.record(error)
        hasLock.signal()
      }
    }
    try await onBlockingThread { hasLock.wait() }
    let now = Timestamp(Instant.now())
    _ = try await backend.versioned(.documents(at: [ResourcePath(["a", "b"])]), at: now).answer
      .documents
    #expect(isReleased.withLock { $0 })
    // Reads of a time that is past do not.
    _ = try await backend.commit([
      Mutation(path: ResourcePath(["a", "b"]), operation: try .set(encoding: MapValue([])))
    ])
    let found = try await backend.versioned(.documents(at: [ResourcePath(["a", "b"])]), at: now)
      .answer.documents
    #expect(found[0] == nil)
  }
}
