import Dispatch
import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Synchronization
import TestSupport
import Testing

/// Says when it is read from a document.
private struct Visit: ParseObject {
  struct Number: Codable, Hashable, Sendable {
    /// Called by what is read in the task, and in those that it starts.
    @TaskLocal static var whenRead: (@Sendable () -> Void)?

    var value: Int

    init(_ value: Int) { self.value = value }

    init(from decoder: any Decoder) throws {
      value = try decoder.singleValueContainer().decode(Int.self)
      Self.whenRead?()
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?
  var number: Number?
}

/// Occupies all threads for tasks of one priority.
///
///     thread 1   the task that calls begin()  │ waits
///     thread 2   waits                        │
///     queue      wait, wait, …, what became ready after begin()
private final class TrafficJam: Sendable {
  private static let count = 4 * ProcessInfo.processInfo.activeProcessorCount

  private let gate = DispatchSemaphore(value: 0)
  private let state = Mutex((isPlanned: false, waiting: 0))

  /// The next call of `begin()` has an effect.
  func plan() { state.withLock { $0.isPlanned = true } }

  /// Starts more tasks of the task's priority than there are threads. They wait until `end()`.
  func begin() {
    let isPlanned = state.withLock { state in
      defer { state.isPlanned = false }
      return state.isPlanned
    }
    if isPlanned { for _ in 0..<Self.count { Task { wait() } } }
  }

  private func wait() {
    state.withLock { $0.waiting += 1 }
    gate.wait()
  }

  /// Returns when no thread is left that could run another task.
  func isComplete() async throws {
    try await eventually { state.withLock { $0.waiting > 0 } }
    _ = try await settled(for: .milliseconds(200)) { state.withLock(\.waiting) }
  }

  func end() { for _ in 0..<Self.count { gate.signal() } }
}

@Suite struct LiveQueryTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var firestore: Firestore { database.firestore }

  private static func name(_ event: LiveQueryEvent<Place>) -> String {
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

  @Test(.timeLimit(patience))
  func `callbacks receive the events of their kinds, until the end`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let seen = Mutex<[String]>([])
      let subscription = try #require(
        Place.query("number" > 0).order([.ascending("number")]).limit(2).subscribeCallback)
      let (signals, signal) = AsyncStream<Void>.makeStream()
      var next = signals.makeAsyncIterator()
      subscription.handleSubscribe { _, isNew in
        seen.withLock { $0.append("new \(isNew)") }
        signal.yield()
      }
      subscription.handle(.created) { _, place in
        seen.withLock { $0.append("only created \(place.name ?? "")") }
      }
      subscription.handleEvent { _, event in
        seen.withLock { $0.append(Self.name(event)) }
        signal.yield()
      }
      subscription.handleUnsubscribe { _ in
        seen.withLock { $0.append("over") }
        signal.yield()
      }
      _ = await next.next()
      var first = try await Place(name: "a", number: 5).save()
      _ = await next.next()
      _ = try await Place(name: "b", number: 1).save()
      _ = await next.next()
      first.number = 2
      _ = try await first.save()
      while seen.withLock({ !$0.contains("updated a") }) { _ = await next.next() }
      subscription.unsubscribe()
      while seen.withLock({ !$0.contains("over") }) { _ = await next.next() }
      // Another subscription hears of the next change.
      let heard = Mutex(0)
      let other = try #require(Place.query("number" > 0).subscribeCallback)
      await other.begun()
      other.handleEvent { _, _ in heard.withLock { $0 += 1 } }
      _ = try await Place(name: "late", number: 1).save()
      try await eventually { heard.withLock(\.self) > 0 }
      other.unsubscribe()
      #expect(
        seen.withLock(\.self) == [
          "new true", "only created a", "created a", "only created b", "created b", "updated a",
          "over",
        ])
    }
  }

  /// The event was handed over, and its task waits for a thread, when the live query ends.
  @Test(.timeLimit(patience))
  func `an event that was on its way is not reported after the end`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let seen = Mutex<[Int]>([])
      let isOver = Mutex(false)
      let jam = TrafficJam()
      defer { jam.end() }
      let subscription = try #require(Visit.query().subscribeCallback)
      // Of a priority that no other test has. Waiting for this task would raise it.
      Task(priority: .utility) {
        Visit.Number.$whenRead.withValue({ jam.begin() }) {
          subscription.handleUnsubscribe { _ in isOver.withLock { $0 = true } }
          subscription.handleEvent { _, event in
            seen.withLock { $0.append(event.object.number?.value ?? 0) }
          }
        }
      }
      // The first result of the query is no event: changes go on until the last one is seen.
      var visit = try await Visit(number: .init(0)).save()
      var last = 0
      try await eventually {
        last += 1
        visit = try await visit.set(\.number, to: .init(last)).save()
        return seen.withLock { !$0.isEmpty }
      }
      last += 1
      visit = try await visit.set(\.number, to: .init(last)).save()
      try await eventually { seen.withLock { $0.last == last } }

      jam.plan()
      _ = try await visit.set(\.number, to: .init(last + 1)).save()
      try await jam.isComplete()
      let before = seen.withLock(\.self)
      subscription.unsubscribe()
      jam.end()
      try await eventually { isOver.withLock(\.self) }
      #expect(seen.withLock(\.self) == before)
    }
  }

  @Test(.timeLimit(patience))
  func `changes continue from a state, also after a restart`() async throws {
    var token: ChangeToken?
    try await ParseSwift.withFirestore(firestore) {
      let places = try await ["a", "b", "c", "d"].enumerated().map {
        Place(name: $1, number: $0 + 1)
      }.saveAll(transaction: true).map { try $0.get() }
      token = try await firestore.changeToken()
      _ = try await places[0].set(\.number, to: 10).save()
      _ = try await places[1].set(\.number, to: -1).save()
      try await places[2].delete()
      _ = try await Place(name: "e", number: 5).save()
      _ = try await Place(name: "f", number: -5).save()
    }
    try await database.reopen()
    try await ParseSwift.withFirestore(database.firestore) {
      let kept = try JSONEncoder().encode(token)
      let state = try JSONDecoder().decode(ChangeToken.self, from: kept)
      var seen: Set<String> = []
      var last: ChangeToken?
      var changes = Place.query("number" > 0).changes(since: state).makeAsyncIterator()
      for _ in 0..<4 {
        let change = try #require(try await changes.next())
        seen.insert(Self.name(change.event))
        last = change.token
      }
      #expect(seen == ["updated a", "left b", "deleted c", "created e"])
      // A program that stops after any of them misses none.
      for count in 1...3 {
        var taken: Set<String> = []
        var token: ChangeToken?
        var some = Place.query("number" > 0).changes(since: state).makeAsyncIterator()
        for _ in 0..<count {
          let change = try #require(try await some.next())
          taken.insert(Self.name(change.event))
          token = change.token
        }
        var rest = Place.query("number" > 0).changes(since: token).makeAsyncIterator()
        while taken != seen, let change = try await rest.next() {
          taken.insert(Self.name(change.event))
        }
      }
      var again = Place.query("number" > 0).changes(since: last).makeAsyncIterator()
      let place = try await Place.query("name" == "f").first()
      _ = try await place.set(\.number, to: 7).save()
      #expect(try await again.next().map { Self.name($0.event) } == "entered f")
      #expect(try await changes.next().map { Self.name($0.event) } == "entered f")
      let refused = await #expect(throws: ParseError.self) {
        for try await _ in Place.query().include("author").changes(since: last) {}
      }
      #expect(refused?.code == .operationForbidden)
    }
  }

  @Test(.timeLimit(patience))
  func `an older object that follows into a limit has entered, unchanged as it is`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      let places = try await ["a", "b", "c"].enumerated().map { Place(name: $1, number: $0 + 1) }
        .saveAll(transaction: true).map { try $0.get() }
      let query = Place.query("number" > 0).order([.ascending("number")]).limit(2)
      let token = try await firestore.changeToken()
      // The first result of a live query is no event: it begins when a probe has been seen.
      let (signals, signal) = AsyncStream<String>.makeStream()
      let firestore = firestore
      let isReady = Mutex(false)
      let task = Task {
        try await ParseSwift.withFirestore(firestore) {
          for try await event in query.subscribe() {
            isReady.withLock { $0 = true }
            signal.yield(Self.name(event))
          }
        }
      }
      let probe = places[0]
      var round = 0
      try await eventually {
        round += 1
        _ = try await probe.operation.forceSet(("tags", \.tags), value: ["\(round)"]).save()
        return isReady.withLock(\.self)
      }
      var events = signals.makeAsyncIterator()
      func next() async -> String? {
        while let name = await events.next() { if name != "updated a" { return name } }
        return nil
      }
      try await places[0].delete()
      #expect(await next() == "deleted a")
      #expect(await next() == "entered c")
      _ = try await Place(name: "d", number: 1).save()
      #expect(await next() == "left c")
      #expect(await next() == "created d")
      task.cancel()

      // From a state: of "d" there was nothing then, and "c" was there.
      var seen: Set<String> = []
      let wide = Place.query("number" > 1).order([.ascending("number")]).limit(2)
      try await places[1].delete()
      _ = try await Place(name: "e", number: 9).save().set(\.number, to: 8).save()
      for try await change in wide.changes(since: token) {
        seen.insert(Self.name(change.event))
        if seen.count == 2 { break }
      }
      #expect(seen == ["deleted b", "created e"])
    }
  }

  @Test(.timeLimit(patience))
  func `a live query before the database is initialized fails`() async throws {
    try await database.firestore.terminate()
    let error = await #expect(throws: ParseError.self) {
      try await ParseSwift.withFirestore(database.firestore) {
        for try await _ in Place.query().subscribe() {}
      }
    }
    #expect(error != nil)
  }
}
