import Foundation
import GRDB
import Hearth
import Synchronization
import Workloads

extension Bench {
  /// A thousand observers, each of another author's books; one commit changes one book. From its start
  /// until the last that is called has been called.
  func listening() async throws {
    guard wants("listeners1000-vs-grdb") else { return }
    let observers = 1000
    let count = 10_000
    let hearth = try await HearthEngine(path: path("listening"))
    try await hearth.load(0..<count, group: 1000)
    let records = try await GRDBEngine(path: path("listening"))
    try await records.load(0..<count, group: 1000)
    let authors = (0..<observers).map { "Observed \($0)" }

    let told = Calls()
    var listeners: [ListenerRegistration] = []
    for author in authors {
      listeners.append(
        hearth.database.collection("books").whereField("author", isEqualTo: author)
          .addSnapshotListener { _, _ in told.add() })
    }
    try await told.wait(for: observers)

    let observed = Calls()
    var observations: [AnyDatabaseCancellable] = []
    for author in authors {
      let observation = ValueObservation.tracking {
        try GRDBEngine.Row.filter(Column("author") == author).fetchAll($0)
      }
      observations.append(
        observation.start(
          in: records.pool, scheduling: .async(onQueue: .global()),
          onError: { _ in }, onChange: { _ in observed.add() }))
    }
    try await observed.wait(for: observers)

    var race = Race()
    var next = 0
    func book() -> (Book, String) {
      next += 1
      var book = Book(next)
      book.author = authors[next % observers]
      return (book, Book.id(next))
    }
    // GRDB asks every observer again, and calls every one; Hearth calls the one that has news.
    race.add(HearthEngine.name) {
      let (book, id) = book()
      return try await Race.nanoseconds(1) {
        let before = told.count
        try await hearth.put(book, id)
        try await told.wait(for: before + 1)
      }
    }
    race.add(GRDBEngine.name) {
      let (book, id) = book()
      return try await Race.nanoseconds(1) {
        let before = observed.count
        try await records.put(book, id)
        try await observed.wait(for: before + observers)
      }
    }
    tell(
      "listeners1000-vs-grdb", "news to the last of 1,000 listeners",
      try await race.run(rounds: rounds), against: GRDBEngine.name, aim: 50, unit: "ns")
    for listener in listeners { listener.remove() }
    for observation in observations { observation.cancel() }
    try await hearth.close()
    try await records.close()
  }
}

/// Counts calls, and lets one wait for a number of them.
private final class Calls: Sendable {
  private struct State {
    var count = 0
    var waiting: (count: Int, continuation: CheckedContinuation<Void, Never>)?
  }

  private let state = Mutex(State())

  var count: Int { state.withLock(\.count) }

  func add() {
    let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.count += 1
      guard let waiting = state.waiting, state.count >= waiting.count else { return nil }
      state.waiting = nil
      return waiting.continuation
    }
    continuation?.resume()
  }

  func wait(for count: Int) async throws {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.count >= count { return true }
        state.waiting = (count, continuation)
        return false
      }
      if isThere { continuation.resume() }
    }
  }
}
