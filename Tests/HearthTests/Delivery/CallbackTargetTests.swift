import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A callback that sleeps delays the callbacks of its own queue, and nothing else.
@Suite(.serialized, .timeLimit(patience)) struct CallbackTargetTests {
  private let folder = TemporaryFolder()

  private func open(_ name: String, _ settings: FirestoreSettings = FirestoreSettings()) throws
    -> Firestore
  {
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: "\(folder.path)/\(name).hearth", settings: settings)
  }

  @Test func `a callback that sleeps delays no callback of another database`() async throws {
    let settings = FirestoreSettings()
    let (slow, quick) = (try open("slow", settings), try open("quick", settings))
    let sleeper = await Sleeper(slow.document("a/1"))
    let told = DispatchSemaphore(value: 0)
    quick.document("a/1").addSnapshotListener { _, _ in told.signal() }
    quick.document("a/1").setData(["n": 1]) { _ in told.signal() }
    quick.document("a/1").getDocument { _, _ in told.signal() }
    quick.collection("a").getDocuments { _, _ in told.signal() }
    for _ in 0..<4 { #expect(await wait(for: told)) }
    sleeper.wake()
    try await slow.terminate()
    try await quick.terminate()
  }

  @Test func `a callback that sleeps delays the callbacks of its database without an actor`()
    async throws
  {
    let db = try open("shared")
    let sleeper = await Sleeper(db.document("a/1"))
    let told = DispatchSemaphore(value: 0)
    db.document("a/1").setData(["n": 1]) { _ in told.signal() }
    try await db.waitForPendingWrites()
    #expect(told.wait(timeout: .now()) == .timedOut)
    sleeper.wake()
    #expect(await wait(for: told))
    try await db.terminate()
  }

  @Test(.embedded("It calls what only a file has."))
  func `no awaited call waits for a callback that sleeps`() async throws {
    let db = try open("awaited")
    let document = db.document("a/1")
    let sleeper = await Sleeper(document)
    try await document.setData(["n": 1])
    try await document.updateData(["n": FieldValue.increment(Int64(1))])
    #expect(try await document.getDocument()["n"] as? Int == 2)
    #expect(try await document.parent.getDocuments().count == 1)
    #expect(try await document.parent.count.getAggregation(source: .server).count == 1)
    let batch = db.batch()
    batch.setData(["n": 3], forDocument: db.document("a/2"))
    try await batch.commit()
    _ = try await db.runTransaction { transaction, _ in
      transaction.setData(["n": 4], forDocument: db.document("a/3"))
      return nil
    }
    // Its progress goes to the callback queue, and its end waits for none of it.
    let bulk = db.bulkWriter { _ in }
    await bulk.enqueueSet(["n": 5], forDocument: db.document("a/4"))
    await bulk.flush()
    #expect(await bulk.finish().done == 1)
    try await db.indexes.setConfigurationJSON(#"{"indexes": []}"#)
    #expect(try await db.maintenance.check().documents == 4)
    await #expect(throws: NSError.self) { try await db.loadBundle(Data()) }
    try await db.enableNetwork()
    try await db.waitForPendingWrites()
    for try await snapshot in document.snapshots {
      #expect(snapshot["n"] as? Int == 2)
      break
    }
    try await db.terminate()
    try await onceAlone { try await db.clearPersistence() }
    #expect(sleeper.isAsleep)
    sleeper.wake()
  }

  @Test func `a database has one callback queue, made when somebody asks for it`() async throws {
    let settings = FirestoreSettings()
    let (one, other) = (try open("one", settings), try open("other", settings))
    #expect(one.settings.dispatchQueue === one.settings.dispatchQueue)
    #expect(one.settings.dispatchQueue !== other.settings.dispatchQueue)
    #expect(one.settings == other.settings)
    let (document, queue) = (one.document("a/1"), one.settings.dispatchQueue)
    let key = DispatchSpecificKey<Int>()
    queue.setSpecific(key: key, value: 7)
    let told = DispatchSemaphore(value: 0)
    let places = Guarded<[Int?]>([])
    document.setData(["n": 1]) { _ in
      let place = DispatchQueue.getSpecific(key: key)
      places.withLock { $0.append(place) }
      told.signal()
    }
    #expect(await wait(for: told))
    #expect(places.withLock { $0 } == [7])
    // Settings of another database do not bring its queue along, but a queue that is named does.
    let third = Firestore(path: folder.path + "/third.hearth", app: .hearthDefault)
    third.settings = one.settings
    #expect(third.settings.dispatchQueue !== queue)
    settings.dispatchQueue = queue
    third.settings = settings
    #expect(third.settings.dispatchQueue === queue)
    try await one.terminate()
    try await other.terminate()
  }

  // MARK: Many that sleep

  struct Crowd: Sendable, CustomTestStringConvertible {
    /// Callbacks that sleep: on the queues of so many databases, and on own queues of one.
    var databases: Int
    var listeners: Int
    var seconds: Double
    /// Dispatch has a thread left for another queue of callbacks.
    var leavesThreads = true

    var testDescription: String { "\(databases) databases, \(listeners) listeners, \(seconds) s" }
  }

  @Test(
    .embedded("It is about the embedded writer's threads."),
    arguments: [
      Crowd(databases: 64, listeners: 0, seconds: Soak.isOn ? 60 : 2),
      Crowd(databases: 1, listeners: 63, seconds: Soak.isOn ? 60 : 1),
      // More than Dispatch has threads for.
      Crowd(databases: 1, listeners: 299, seconds: Soak.isOn ? 10 : 0.5, leavesThreads: false),
    ])
  func `callbacks that sleep on very many queues delay nothing else`(crowd: Crowd) async throws {
    var databases: [Firestore] = []
    var sleepers: [Sleeper] = []
    for number in 0..<crowd.databases {
      databases.append(try open("sleeping-\(crowd.listeners)-\(number)"))
      sleepers.append(Sleeper(adding: databases[number].document("a/1")))
    }
    let own = SnapshotListenOptions().withOwnQueue(true)
    for _ in 0..<crowd.listeners {
      sleepers.append(Sleeper(adding: databases[0].document("a/1"), own))
    }
    // Where Dispatch has no thread left the others never begin.
    let expected = min(sleepers.count, 200)
    #expect(try await Sleeper.reaches(expected, among: sleepers))

    let other = try open("other-\(crowd.databases)-\(crowd.listeners)")
    let arrivals = Arrivals()
    var registrations: [any ListenerRegistration] = []
    let actor = Shelf()
    let inside = databases[0].document("a/2")
    let outside = other.document("a/2")
    var sequences: [Task<Void, any Error>] = []
    for (name, document) in [("same", inside), ("other", outside)] {
      registrations.append(await listenOnMain(document, arrivals.noting("\(name), main actor")))
      registrations.append(await actor.listen(document, arrivals.noting("\(name), actor")))
      let note = arrivals.noting("\(name), sequence")
      sequences.append(
        Task { for try await snapshot in document.snapshots { note(snapshot, nil) } })
      registrations.append(
        document.addSnapshotListener(
          on: DispatchQueue(label: "given"), arrivals.noting("\(name), given queue")))
      guard crowd.leavesThreads else { continue }
      registrations.append(
        document.addSnapshotListener(options: own, listener: arrivals.noting("\(name), own queue")))
    }
    if crowd.leavesThreads {
      registrations.append(
        outside.addSnapshotListener(arrivals.noting("other, queue of its database")))
    }

    let clock = ContinuousClock()
    let end = clock.now + .seconds(crowd.seconds)
    var round = 0
    while clock.now < end || round < 5 {
      round += 1
      for (name, document) in [("same", inside), ("other", outside)] {
        let began = clock.now
        arrivals.begin(round, prefix: name, at: began)
        try await document.setData(["n": round])
        arrivals.add("\(name), awaited set", clock.now - began)
        let asked = clock.now
        #expect(try await document.getDocument()["n"] as? Int == round)
        arrivals.add("\(name), awaited get", clock.now - asked)
        #expect(try await arrivals.reached(round, prefix: name))
      }
    }
    let figures = arrivals.figures
    let worst = Array(figures.sorted { $0.1.p99 > $1.1.p99 }.prefix(1))
    for (name, figures) in Soak.isOn ? figures : worst {
      print("\(crowd.testDescription): \(name): \(figures.text)")
    }
    // On a busy machine everything is late. What waits for a sleeper does not come at all.
    if Soak.isOn {
      for (name, figures) in figures { #expect(figures.p99 < .milliseconds(500), "\(name)") }
    }
    #expect(Sleeper.count(among: sleepers) >= expected)
    for sleeper in sleepers { sleeper.wake() }
    for task in sequences { task.cancel() }
    for registration in registrations { registration.remove() }
    for db in databases + [other] { try await db.terminate() }
  }

  @MainActor private func listenOnMain(
    _ document: DocumentReference,
    _ note: @escaping @Sendable (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    document.addSnapshotListener { snapshot, error in
      MainActor.preconditionIsolated()
      note(snapshot, error)
    }
  }

  @Test func `an actor keeps a registration, and another place removes it`() async throws {
    actor Keeper {
      private(set) var registration: (any ListenerRegistration)?
      func keep(_ registration: any ListenerRegistration) { self.registration = registration }
    }
    let db = try open("a")
    let keeper = Keeper()
    await keeper.keep(db.collection("books").addSnapshotListener(on: .global()) { _, _ in })
    let registration = try #require(await keeper.registration)
    await Task.detached { registration.remove() }.value
    try await db.terminate()
  }

  private actor Shelf {
    func listen(
      _ document: DocumentReference,
      _ note: @escaping @Sendable (DocumentSnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
      document.addSnapshotListener { snapshot, error in
        self.preconditionIsolated()
        note(snapshot, error)
      }
    }
  }

  /// A listener whose first callback sleeps until it is woken.
  private final class Sleeper: Sendable {
    let began = DispatchSemaphore(value: 0)
    private let gate = DispatchSemaphore(value: 0)
    private let state = Guarded(false)

    init(adding document: DocumentReference, _ options: SnapshotListenOptions = .init()) {
      document.addSnapshotListener(options: options) { [self] _, _ in
        state.withLock { $0 = true }
        began.signal()
        gate.wait()
        state.withLock { $0 = false }
        // Nobody sleeps twice.
        gate.signal()
      }
    }

    convenience init(_ document: DocumentReference) async {
      self.init(adding: document)
      #expect(await wait(for: began))
    }

    static func count(among sleepers: [Sleeper]) -> Int { sleepers.count { $0.isAsleep } }

    static func reaches(_ count: Int, among sleepers: [Sleeper]) async throws -> Bool {
      try await becomesTrue { Self.count(among: sleepers) >= count }
    }

    var isAsleep: Bool { state.withLock { $0 } }

    func wake() { gate.signal() }
  }

  /// When news came, by the name of the listener.
  private final class Arrivals: Sendable {
    private struct State {
      var began: [String: ContinuousClock.Instant] = [:]
      var reached: [String: Int] = [:]
      var durations: [String: [Duration]] = [:]
      var round = 0
    }

    struct Figures {
      var median: Duration
      var p99: Duration
      var count: Int

      var text: String { "median \(median), p99 \(p99), \(count) rounds" }
    }

    private let state = Guarded(State())

    func noting(
      _ name: String
    ) -> @Sendable (DocumentSnapshot?, (any Error)?) -> Void {
      state.withLock { $0.reached[name] = 0 }
      return { [self] snapshot, _ in
        let now = ContinuousClock.now
        guard let number = snapshot?["n"] as? Int else { return }
        state.withLock { state in
          state.reached[name] = number
          let prefix = String(name.prefix { $0 != "," })
          if let began = state.began[prefix], state.round == number {
            state.durations[name, default: []].append(now - began)
          }
        }
      }
    }

    func begin(_ round: Int, prefix: String, at time: ContinuousClock.Instant) {
      state.withLock { state in
        state.round = round
        state.began[prefix] = time
      }
    }

    func add(_ name: String, _ duration: Duration) {
      state.withLock { $0.durations[name, default: []].append(duration) }
    }

    /// Waits until every listener of this name has the round's news. False if that takes too long.
    func reached(_ round: Int, prefix: String) async throws -> Bool {
      try await becomesTrue {
        state.withLock { state in
          state.reached.allSatisfy { !$0.key.hasPrefix(prefix) || $0.value == round }
        }
      }
    }

    var figures: [(String, Figures)] {
      state.withLock { $0.durations }.sorted { $0.key < $1.key }.map { name, durations in
        let sorted = durations.sorted()
        let figures = Figures(
          median: sorted[sorted.count / 2],
          p99: sorted[min(sorted.count - 1, sorted.count * 99 / 100)],
          count: sorted.count)
        return (name, figures)
      }
    }
  }
}

/// Without a thread of the cooperative pool.
@discardableResult
private func wait(for semaphore: DispatchSemaphore) async -> Bool {
  (try? await onBlockingThread { semaphore.wait(timeout: .now() + 110) }) == .success
}
