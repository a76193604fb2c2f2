import FirebaseFirestore
import Foundation
import HearthTesting
import TestSupport
import Testing

/// The snippets of the page on listening, word for word.
@Suite struct ListenersGuideTests {
  private final class Output: Sendable {
    private let printed = Guarded<[String]>([])

    var lines: [String] { printed.withLock(\.self) }

    func add(_ line: String) { printed.withLock { $0.append(line) } }
  }

  private let output = Output()

  private func print(_ items: Any...) {
    output.add(items.map { "\($0)" }.joined(separator: " "))
  }

  @Test func `a callback receives changes`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    try await books.document("dune").setData(["pages": 412])
    let registration = books.whereField("pages", isGreaterThan: 400)
      .addSnapshotListener { snapshot, error in
        guard let snapshot else {
          print("The listener has ended:", error?.localizedDescription ?? "")
          return
        }
        for change in snapshot.documentChanges {
          print(change.type, change.document.documentID)
        }
      }
    try await eventually { output.lines == ["added dune"] }
    try await books.document("emma").setData(["pages": 474])
    try await books.document("dune").updateData(["pages": 1])
    try await eventually { output.lines == ["added dune", "added emma", "removed dune"] }
    registration.remove()
    try await books.document("emma").delete()
    #expect(output.lines.count == 3)
  }

  @Test func `a sequence ends with its task`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    let following = Task {
      do {
        for try await snapshot in books.snapshots {
          print(snapshot.count, "books")
        }
        print("The task was cancelled, or the database terminated.")
      } catch {
        print("The listener has ended:", error.localizedDescription)
      }
    }
    try await eventually { output.lines == ["0 books"] }
    try await books.document("dune").setData([:])
    try await eventually { output.lines == ["0 books", "1 books"] }
    following.cancel()
    await following.value
    #expect(output.lines.last == "The task was cancelled, or the database terminated.")
  }

  actor Shelf {
    private(set) var titles: [String] = []
    private var registration: (any ListenerRegistration)?

    func follow(_ query: Query) {
      registration = query.addSnapshotListener { snapshot, _ in
        self.titles = snapshot?.documents.compactMap { $0["title"] as? String } ?? []
      }
    }

    func stop() { registration?.remove() }
  }

  @Test func `an actor's callback runs on the actor`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    try await books.document("dune").setData(["title": "Dune"])
    let shelf = Shelf()
    await shelf.follow(books)
    try await eventually { await shelf.titles == ["Dune"] }
    await shelf.stop()
  }

  @Test func `a slow callback has a queue of its own`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    try await books.document("dune").setData([:])
    @Sendable func index(_ changes: [DocumentChange]) { print(changes.count, "changes") }
    let slow = books.addSnapshotListener(options: SnapshotListenOptions().withOwnQueue(true)) {
      snapshot, _ in
      index(snapshot?.documentChanges ?? [])
    }
    try await eventually { output.lines == ["1 changes"] }
    slow.remove()
  }

  // MARK: Resuming

  /// A copy of a collection, with its position.
  private actor Copy {
    private(set) var ids: Set<String> = []
    private(set) var position: Data?
    private(set) var resyncs = 0

    func removeAll() {
      ids = []
      resyncs += 1
    }

    func apply(_ type: DocumentChangeType, _ document: QueryDocumentSnapshot) {
      if type == .removed {
        ids.remove(document.documentID)
      } else {
        ids.insert(document.documentID)
      }
    }

    func save(position: Data?) { self.position = position }
  }

  private let copy = Copies()

  /// `Copy`, whose calls a snippet writes with `try`.
  private struct Copies: Sendable {
    let copy = Copy()

    func removeAll() async throws { await copy.removeAll() }
    func apply(_ type: DocumentChangeType, _ document: QueryDocumentSnapshot) async throws {
      await copy.apply(type, document)
    }
    func save(position: Data?) async throws { await copy.save(position: position) }
  }

  func mirror(_ books: Query, from saved: Data?) async throws {
    let token = try saved.map { try ChangeToken(bytes: $0) }
    for try await snapshot in books.snapshots(resumingFrom: token) {
      if snapshot.isFullResync { try await copy.removeAll() }
      for change in snapshot.documentChanges {
        try await copy.apply(change.type, change.document)
      }
      try await copy.save(position: snapshot.token?.bytes)
    }
  }

  @Test func `a sequence resumes from a token`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    try await books.document("dune").setData([:])
    try await books.document("emma").setData([:])
    let first = Task { try await mirror(books, from: nil) }
    try await eventually { await copy.copy.ids == ["dune", "emma"] }
    try await eventually { await copy.copy.position != nil }
    first.cancel()
    try await first.value
    try await books.document("dune").delete()
    try await books.document("ulysses").setData([:])
    let saved = await copy.copy.position
    let second = Task { try await mirror(books, from: saved) }
    try await eventually { await copy.copy.ids == ["emma", "ulysses"] }
    second.cancel()
    try await second.value
    #expect(await copy.copy.resyncs == 0)
  }

  @Test(.embedded("Statistics are those of a file's listeners."))
  func `listeners are counted`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let recorder = SnapshotRecorder(db.collection("books"))
    _ = try await recorder.next()
    let statistics = try await db.listenerStatistics()
    print(statistics.listeners, "listeners hold", statistics.documents, "documents")
    #expect(output.lines == ["1 listeners hold 0 documents"])
    recorder.stop()
  }
}
