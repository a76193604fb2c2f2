import FirebaseFirestore
import Foundation
import HearthTesting
import Testing

@Suite struct SnapshotRecorderTests {
  /// What a slow machine may take.
  private let patience = Duration.seconds(120)

  @Test func `snapshots of a query come in the order of commits`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    let recorder = SnapshotRecorder(books)
    #expect(try await recorder.next(timeout: patience).isEmpty)
    try await books.document("dune").setData(["title": "Dune"])
    let added = try await recorder.next(timeout: patience)
    #expect(added.documentChanges.map(\.type) == [.added])
    try await books.document("dune").updateData(["pages": 412])
    try await books.document("dune").delete()
    // Where the listener falls behind it skips: the last is what counts.
    var last = try await recorder.next(timeout: patience)
    while !last.isEmpty { last = try await recorder.next(timeout: patience) }
    #expect(last.documentChanges.map(\.type) == [.removed])
  }

  @Test func `snapshots of a document are asked for by number`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    let recorder = SnapshotRecorder(dune)
    async let both = recorder.snapshots(count: 2, timeout: patience)
    // One that listens later is called later.
    let other = SnapshotRecorder(dune)
    _ = try await other.next(timeout: patience)
    try await dune.setData(["title": "Dune"])
    let seen = try await both
    #expect(seen.map(\.exists) == [false, true])
    #expect(try await recorder.snapshots(count: 0).isEmpty)
    #expect(try await recorder.snapshots(count: -1).isEmpty)
  }

  @Test func `too few in time is told, and they stay for later`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    let recorder = SnapshotRecorder(dune)
    // One that listens later is called later: the first snapshot has come.
    let other = SnapshotRecorder(dune)
    _ = try await other.next(timeout: patience)
    let timeout = await #expect(throws: SnapshotTimeout.self) {
      try await recorder.snapshots(count: 2, timeout: .milliseconds(300))
    }
    #expect(timeout?.description == "1 of 2 expected snapshots came within 0.3 seconds.")
    #expect(try await !recorder.next(timeout: patience).exists)
  }

  @Test func `an error and a cancellation end the wait`() async throws {
    let database = try TemporaryDatabase()
    let failing = SnapshotRecorder(database.firestore.collection("no/collection"))
    await #expect(throws: NSError.self) { try await failing.next(timeout: patience) }

    let recorder = SnapshotRecorder(database.firestore.document("books/dune"))
    _ = try await recorder.next(timeout: patience)
    let waiting = Task { try await recorder.next(timeout: .seconds(600)) }
    try await Task.sleep(for: .milliseconds(20))
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  @Test func `stopped, it hears no more`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    let recorder = SnapshotRecorder(dune)
    _ = try await recorder.next(timeout: patience)
    recorder.stop()
    try await dune.setData(["title": "Dune"])
    await #expect(throws: SnapshotTimeout.self) {
      try await recorder.next(timeout: .milliseconds(50))
    }
  }
}
