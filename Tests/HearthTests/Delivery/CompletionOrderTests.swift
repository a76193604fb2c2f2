import Dispatch
import Foundation
import Logging
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A write is complete when the listeners that it concerns have been called.
@Suite(.serialized, .timeLimit(patience)) struct CompletionOrderTests {
  private let folder = TemporaryFolder()
  private static let rounds = Soak.isOn ? 10_000 : 500

  private func open(_ settings: FirestoreSettings = FirestoreSettings()) throws -> Firestore {
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: "\(folder.path)/a.hearth", settings: settings)
  }

  /// Writes, and checks that `listeners` have seen it then. Where the machine is so busy that callbacks take longer
  /// than writes wait for them, they are waited for here, and so are those of `others`, which hear of the write too:
  /// the next write would not wait for a listener that is late.
  private func write(
    _ n: Int, to listeners: [Seen], and others: [Seen] = [],
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
  ) async throws {
    let began = ContinuousClock.now
    try await body()
    guard ContinuousClock.now - began < Acknowledgements.patience else {
      return try await waitForCallbacks(of: listeners + others, with: n)
    }
    for (index, listener) in listeners.enumerated() where listener.newest < n {
      Issue.record("Write \(n) returned before listener \(index) was called.")
    }
  }

  /// Waits until listeners have seen a write, or a first result (0), and their callbacks have returned: a callback
  /// that still runs is not waited for by the next write.
  private func waitForCallbacks(
    of listeners: [Seen], with n: Int = 0, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await eventually { listeners.allSatisfy { $0.newest >= n } }
    _ = try await settled(for: .milliseconds(50)) { listeners.map(\.calls) }
  }

  /// Without waiting.
  private func handOver(_ n: Int, to document: DocumentReference) { document.setData(["n": n]) }

  /// The newest `n` that a listener was told.
  private final class Seen: Sendable {
    private let state = Guarded((newest: -1, calls: 0))

    var newest: Int { state.withLock(\.newest) }
    var calls: Int { state.withLock(\.calls) }

    func note(_ snapshot: DocumentSnapshot?) {
      note(snapshot?["n"] as? Int ?? 0)
    }

    func note(_ number: Int) {
      state.withLock { $0 = (max($0.newest, number), $0.calls + 1) }
    }
  }

  // MARK: Order

  @Test func `a deletion returns after the listeners of documents that it deletes by rules`()
    async throws
  {
    let db = try open()
    let book = db.document("books/dune")
    try await db.references.declare(
      FirestoreReferenceRule("books", field: "author", to: "authors", onDelete: .cascade))
    let seen = Seen()
    book.addSnapshotListener { snapshot, _ in seen.note(snapshot?.exists == false ? 1 : 0) }
    try await waitForCallbacks(of: [seen])
    // A listener that was late is not awaited until it has been called.
    var isLate = false
    for round in 0..<100 {
      let author = db.document("authors/\(round)")
      let began = ContinuousClock.now
      try await author.setData(["n": round])
      try await book.setData(["author": author])
      let calls = seen.calls
      try await author.delete()
      if ContinuousClock.now - began >= Acknowledgements.patience { isLate = true }
      #expect(seen.calls > calls || isLate, "round \(round)")
      if seen.calls > calls { isLate = false }
    }
    try await eventually { seen.newest == 1 }
    try await db.terminate()
  }

  @Test func `the listeners were called when an awaited write returns`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    let seen = (0..<6).map { _ in Seen() }
    document.addSnapshotListener { snapshot, _ in seen[0].note(snapshot) }
    document.parent.whereField("n", isGreaterThan: 0).addSnapshotListener { snapshot, _ in
      seen[1].note(snapshot?.documents.first)
    }
    document.parent.aggregate([.sum("n")]).addSnapshotListener { snapshot, _ in
      seen[2].note((snapshot?.get(.sum("n")) as? Int) ?? 0)
    }
    document.addSnapshotListener(options: SnapshotListenOptions().withOwnQueue(true)) {
      snapshot, _ in seen[3].note(snapshot)
    }
    document.addSnapshotListener(on: DispatchQueue(label: "given")) { snapshot, _ in
      seen[4].note(snapshot)
    }
    document.addSnapshotListener(on: DispatchQueue(label: "wide", attributes: .concurrent)) {
      snapshot, _ in seen[5].note(snapshot)
    }
    try await waitForCallbacks(of: seen)
    // Writes take long where callbacks do.
    let end = ContinuousClock.now + .seconds(600)
    for n in 1...Self.rounds where n <= 100 || ContinuousClock.now < end {
      try await write(n, to: seen) { try await document.setData(["n": n]) }
    }
    try await db.terminate()
  }

  @Test @MainActor func `on the main actor, too`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    let seen = Seen()
    document.addSnapshotListener { snapshot, _ in
      MainActor.preconditionIsolated()
      seen.note(snapshot)
    }
    try await waitForCallbacks(of: [seen])
    for n in 1...Self.rounds {
      try await write(n, to: [seen]) { try await document.setData(["n": n]) }
    }
    try await db.terminate()
  }

  @Test func `completion handlers on the listener's queue come after it`() async throws {
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "given")
    let db = try open(settings)
    let document = db.document("books/dune")
    let seen = Seen()
    document.addSnapshotListener { snapshot, _ in seen.note(snapshot) }
    // A first result that takes long to read is not waited for by writes.
    try await eventually { seen.newest == 0 }
    let early = Guarded(0)
    let done = DispatchGroup()
    // Some wait for each other, some do not.
    for n in 1...Self.rounds {
      done.enter()
      let began = ContinuousClock.now
      document.setData(["n": n]) { _ in
        if seen.newest < n, ContinuousClock.now - began < Acknowledgements.patience {
          early.withLock { $0 += 1 }
        }
        done.leave()
      }
      if n.isMultiple(of: 7) { try await db.waitForPendingWrites() }
    }
    try await onBlockingThread { done.wait() }
    #expect(early.withLock(\.self) == 0)
    try await db.terminate()
  }

  @Test func `every form of write tells the listeners first`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    let seen = Seen()
    document.addSnapshotListener { snapshot, _ in seen.note(snapshot) }
    let own = Seen()
    document.addSnapshotListener(options: SnapshotListenOptions().withOwnQueue(true)) {
      snapshot, _ in own.note(snapshot)
    }
    try await waitForCallbacks(of: [seen, own])
    for n in 0..<Self.rounds / 10 {
      let first = 10 * n + 1
      try await write(first, to: [seen], and: [own]) { try await document.setData(["n": first]) }
      try await write(first + 1, to: [seen], and: [own]) {
        try await document.updateData(["n": first + 1])
      }
      try await write(first + 2, to: [seen], and: [own]) {
        let batch = db.batch()
        batch.setData(["n": first + 2], forDocument: document)
        try await batch.commit()
      }
      try await write(first + 3, to: [seen], and: [own]) {
        try await db.write { try $0.setData(["n": first + 3], forDocument: document) }
      }
      try await write(first + 4, to: [seen], and: [own]) {
        _ = try await db.runTransaction { transaction, _ in
          transaction.setData(["n": first + 4], forDocument: document)
          return nil
        }
      }
      try await write(first + 5, to: [seen, own]) {
        try await onBlockingThread {
          try db.write { try $0.setData(["n": first + 5], forDocument: document) }
        }
      }
      try await write(first + 6, to: [seen, own]) {
        try await onBlockingThread {
          let batch = db.batch()
          batch.setData(["n": first + 6], forDocument: document)
          try db.blocking.commit(batch)
        }
      }
    }
    try await db.terminate()
  }

  @Test func `the completion handler of every form comes after the listeners`() async throws {
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "given")
    let db = try open(settings)
    let document = db.document("books/dune")
    let newest = Guarded(0)
    document.addSnapshotListener { snapshot, _ in
      let n = snapshot?["n"] as? Int ?? -1
      newest.withLock { $0 = n }
    }
    typealias Done = @Sendable ((any Error)?) -> Void
    let forms: [(String, (Int, @escaping Done) -> Void)] = [
      ("setData", { document.setData(["n": $0], completion: $1) }),
      ("updateData", { document.updateData(["n": $0], completion: $1) }),
      ("a merge", { document.setData(["n": $0], merge: true, completion: $1) }),
      (
        "a batch",
        { n, done in
          db.batch().setData(["n": n], forDocument: document).commit(completion: done)
        }
      ),
      (
        "a transaction",
        { n, done in
          db.runTransaction { transaction, _ in
            transaction.setData(["n": n], forDocument: document)
            return nil
          } completion: {
            done($1)
          }
        }
      ),
    ]
    for round in 0..<Self.rounds / 10 {
      for (place, (name, form)) in forms.enumerated() {
        let n = round * forms.count + place + 1
        let began = ContinuousClock.now
        let told = await withCheckedContinuation { continuation in
          form(n) { error in
            #expect(error == nil, "\(name)")
            continuation.resume(returning: newest.withLock(\.self))
          }
        }
        // Otherwise the callback may have been late.
        if ContinuousClock.now - began < Acknowledgements.patience {
          #expect(told == n, "\(name)")
        }
      }
    }
    try await db.terminate()
  }

  @Test(arguments: ["document", "collection", "group", "count"])
  func `whatever is listened to is waited for, also if nothing else is`(_ target: String)
    async throws
  {
    let db = try open()
    // Of the group in a subcollection.
    let document = db.document("libraries/north/books/dune")
    let seen = Seen()
    let note = { @Sendable (snapshot: QuerySnapshot?) in seen.note(snapshot?.documents.first) }
    switch target {
    case "document": document.addSnapshotListener { snapshot, _ in seen.note(snapshot) }
    case "collection": document.parent.addSnapshotListener { snapshot, _ in note(snapshot) }
    case "group": db.collectionGroup("books").addSnapshotListener { snapshot, _ in note(snapshot) }
    default:
      document.parent.aggregate([.sum("n")]).addSnapshotListener { snapshot, _ in
        seen.note(snapshot?.get(.sum("n")) as? Int ?? 0)
      }
    }
    try await waitForCallbacks(of: [seen])
    for n in 1...Self.rounds / 5 {
      try await write(n, to: [seen]) { try await document.setData(["n": n]) }
    }
    try await db.terminate()
  }

  @Test func `commits that are delivered as one event are complete after it`() async throws {
    let fixture = try StoreFixture()
    let registry = ListenerRegistry(
      fixture.store, fixture.writer, logger: .silent, tuning: MaterializedQueryTuning(stepLimit: 2))
    let told = Seen()
    let queue = DispatchQueue(label: "given")
    let listener = Listener(.queue(CallbackQueue.of(queue))) { result in
      // Long enough for a completion that does not wait.
      Thread.sleep(forTimeInterval: 0.01)
      told.note((try? result.get().list.count) ?? 0)
    }
    registry.add(listener, watching: .collection(ResourcePath(["books"])))
    registry.settle()
    for round in 0..<10 {
      // No callback runs: it would not be waited for.
      try await eventually { told.newest == 8 * round }
      queue.sync {}
      let (isHeld, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      fixture.writer.submit([]) { _ in
        isHeld.signal()
        gate.wait()
      }
      try await onBlockingThread { isHeld.wait() }
      let (began, count) = (ContinuousClock.now, 8 * (round + 1))
      let early = Guarded(0)
      let done = DispatchGroup()
      for n in 8 * round..<count {
        done.enter()
        let mutation = try fixture.set("books/\(n)", ("n", .integer(Int64(n))))
        fixture.writer.submit([mutation], completesAfterListeners: true) { _ in
          if told.newest < count { early.withLock { $0 += 1 } }
          done.leave()
        }
      }
      gate.signal()
      try await onBlockingThread { done.wait() }
      if ContinuousClock.now - began < Acknowledgements.patience {
        #expect(early.withLock(\.self) == 0)
      }
    }
    #expect(listener.counts.delivered < 40)
    registry.close()
    fixture.writer.close()
  }

  private actor Shelf {
    func listen(_ document: DocumentReference, _ seen: Seen) {
      document.addSnapshotListener { snapshot, _ in
        self.preconditionIsolated()
        seen.note(snapshot)
      }
    }
  }

  @Test func `listeners of an actor were called, too`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    let (shelf, seen) = (Shelf(), Seen())
    await shelf.listen(document, seen)
    try await waitForCallbacks(of: [seen])
    for n in 1...Self.rounds {
      try await write(n, to: [seen]) { try await document.setData(["n": n]) }
    }
    try await db.terminate()
  }

  @Test func `a listener that was just added has its first result`() async throws {
    let db = try open()
    var early = 0
    for n in 1...Self.rounds / 5 {
      let document = db.document("books/\(n)")
      let seen = Seen()
      let registration = document.parent.whereField("n", isEqualTo: n).addSnapshotListener {
        snapshot, _ in
        seen.note(snapshot?.documents.first)
      }
      let began = ContinuousClock.now
      try await document.setData(["n": n])
      if ContinuousClock.now - began < Acknowledgements.patience, seen.newest < n { early += 1 }
      try await eventually { seen.newest >= n }
      registration.remove()
    }
    // The callback with the empty result may run just then: what runs is not waited for. Half of the rounds, at most.
    #expect(early < Self.rounds / 10)
    try await db.terminate()
  }

  // MARK: Who is not waited for

  @Test func `a callback may wait for its own write`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    let echo = db.document("books/echo")
    let ended = Seen()
    // Others on the same queue hear of the write as well, and cannot be called meanwhile.
    echo.addSnapshotListener { _, _ in }
    document.addSnapshotListener { snapshot, _ in
      guard let n = snapshot?["n"] as? Int, snapshot?["echo"] == nil else { return }
      do {
        try db.write { try $0.setData(["n": n], forDocument: echo) }
        try db.write { try $0.setData(["n": n, "echo": true], forDocument: document) }
      } catch {
        Issue.record(error)
      }
      let done = DispatchSemaphore(value: 0)
      Task {
        try await echo.setData(["n": -n])
        done.signal()
      }
      done.wait()
      ended.note(n)
    }
    for n in 1...5 { try await document.setData(["n": n]) }
    try await eventually { ended.newest == 5 }
    try await db.terminate()
  }

  @Test(arguments: [false, true])
  func `a blocking write of a callback does not wait for its queue`(isBatch: Bool) async throws {
    let db = try open()
    let (document, echo) = (db.document("books/dune"), db.document("books/echo"))
    echo.addSnapshotListener { _, _ in }
    let times = Guarded<[Duration]>([])
    document.addSnapshotListener { snapshot, _ in
      guard let n = snapshot?["n"] as? Int else { return }
      let began = ContinuousClock.now
      if isBatch {
        let batch = db.batch()
        batch.setData(["n": n], forDocument: echo)
        try? db.blocking.commit(batch)
      } else {
        _ = try? db.write { try $0.setData(["n": n], forDocument: echo) }
      }
      let time = ContinuousClock.now - began
      times.withLock { $0.append(time) }
    }
    // Any may be slow on a busy machine. One that waits for its own queue is slow every time.
    let limit = Acknowledgements.patience / 2
    let least = try await leastTime(below: limit) { n in
      try await document.setData(["n": n])
      // Each is an event of its own.
      try await eventually { times.withLock { $0.count } == n }
      return times.withLock { $0[n - 1] }
    }
    #expect(least < limit)
    try await db.terminate()
  }

  @Test func `nor does a write with a completion handler, which the callback may wait for`()
    async throws
  {
    let db = try open()
    let (document, echo) = (db.document("books/dune"), db.document("books/echo"))
    // Not the queue that the completion handler is called on.
    let queue = DispatchQueue(label: "given")
    echo.addSnapshotListener(on: queue) { _, _ in }
    let times = Guarded<[Duration]>([])
    document.addSnapshotListener(on: queue) { snapshot, _ in
      guard let n = snapshot?["n"] as? Int else { return }
      let began = ContinuousClock.now
      let done = DispatchSemaphore(value: 0)
      echo.setData(["n": n]) { _ in done.signal() }
      done.wait()
      let time = ContinuousClock.now - began
      times.withLock { $0.append(time) }
    }
    let limit = Acknowledgements.patience / 2
    let least = try await leastTime(below: limit) { n in
      try await document.setData(["n": n])
      try await eventually { times.withLock { $0.count } == n }
      return times.withLock { $0[n - 1] }
    }
    #expect(least < limit)
    try await db.terminate()
  }

  @Test func `a callback that runs already is not waited for`() async throws {
    let fixture = try StoreFixture()
    let registry = ListenerRegistry(fixture.store, fixture.writer, logger: .silent)
    let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let listener = Listener(.queue(.of(DispatchQueue(label: "given")))) { _ in
      begun.signal()
      gate.wait()
    }
    registry.add(listener, watching: .document(ResourcePath(["books", "dune"])))
    let limit = Acknowledgements.patience / 2
    let least = try await leastTime(below: limit) { n in
      // The first result, or the write before.
      try await onBlockingThread { begun.wait() }
      let mutation = try fixture.set("books/dune", ("n", .integer(Int64(n))))
      let began = ContinuousClock.now
      _ = try await fixture.writer.commit([mutation])
      let time = ContinuousClock.now - began
      gate.signal()
      return time
    }
    #expect(least < limit)
    gate.signal()
    registry.close()
    fixture.writer.close()
  }

  @Test func `a listener that is removed lets go of the writes that wait for it`() async throws {
    let fixture = try StoreFixture()
    let registry = ListenerRegistry(fixture.store, fixture.writer, logger: .silent)
    let target = Listener.Target.document(ResourcePath(["books", "dune"]))
    let limit = Acknowledgements.patience / 2
    let least = try await leastTime(below: limit) { n in
      let queue = DispatchQueue(label: "given")
      let listener = Listener(.queue(CallbackQueue.of(queue))) { _ in }
      registry.add(listener, watching: target)
      registry.settle()
      queue.sync {}
      queue.suspend()
      defer { queue.resume() }
      let mutation = try fixture.set("books/dune", ("n", .integer(Int64(n))))
      let write = Task { try await fixture.writer.commit([mutation]) }
      try await eventually { listener.isBehind }
      let began = ContinuousClock.now
      registry.remove(listener, watching: target)
      _ = try await write.value
      return ContinuousClock.now - began
    }
    #expect(least < limit)
    registry.close()
    fixture.writer.close()
  }

  @Test func `writes that begin to wait one after another are all completed`() async throws {
    let fixture = try StoreFixture()
    let registry = ListenerRegistry(fixture.store, fixture.writer, logger: .silent)
    let queues = (0..<5).map { DispatchQueue(label: "given \($0)") }
    for (n, queue) in queues.enumerated() {
      let listener = Listener(.queue(CallbackQueue.of(queue))) { _ in }
      registry.add(listener, watching: .document(ResourcePath(["books", "\(n)"])))
    }
    registry.settle()
    for queue in queues {
      queue.sync {}
      queue.suspend()
    }
    defer { for queue in queues { queue.resume() } }
    let done = DispatchGroup()
    for n in queues.indices {
      done.enter()
      let mutation = try fixture.set("books/\(n)", ("n", .integer(1)))
      fixture.writer.submit([mutation], completesAfterListeners: true) { _ in done.leave() }
      // Before the one before gives up.
      try await Task.sleep(for: Acknowledgements.patience / 4)
    }
    let result = try await onBlockingThread { done.wait(timeout: .now() + 120) }
    #expect(result == .success, "A write waits for ever.")
    registry.close()
    fixture.writer.close()
  }

  /// There may be a hundred thousand, and the queue that warns is the one that delivers.
  @Test func `of very many late listeners, a few queries are named with their numbers`()
    async throws
  {
    let lines = LogRecorder()
    let fixture = try StoreFixture()
    let registry = ListenerRegistry(
      fixture.store, fixture.writer, logger: Logger(label: "test") { _ in lines })
    let queue = CallbackQueue.of(DispatchQueue(label: "given"))
    var late: [Listener] = []
    let seen = Seen()
    for number in 0..<20 {
      for _ in 0..<(number == 0 ? 3000 : 2) {
        let listener = Listener(.queue(queue)) { _ in seen.note(0) }
        registry.add(listener, watching: .document(ResourcePath(["books", "\(number)"])))
        late.append(listener)
      }
    }
    let waiting = Listener(.queue(queue)) { _ in }
    registry.add(waiting, watching: .document(ResourcePath(["books", "0"])))
    try await eventually { seen.calls == late.count }
    late.append(Listener(.queue(queue)) { _ in })
    func count(_ line: Logger.Metadata) throws -> Int {
      try #require(line["callbacks"].flatMap { Int("\($0)") })
    }
    registry.warn(ofLate: late)
    registry.settle()
    let warnings = lines.metadata(ofLinesWith: "listener's callback")
    // Eight queries, and the rest.
    #expect(warnings.count == 9)
    #expect(try warnings.reduce(0) { try $0 + count($1) } == late.count)
    let last = try #require(warnings.last)
    #expect(last["listener"] == "13 others")
    registry.warn(ofLate: [late[0], late[3000], late[3001]])
    registry.settle()
    let others = lines.metadata(ofLinesWith: "listener's callback").dropFirst(9)
    let named = try others.map { "\(try #require($0["listener"])) \(try count($0))" }
    #expect(Set(named) == ["document books/0 1", "document books/1 2"])
    registry.warn(ofLate: Array(late.suffix(1)))
    registry.settle()
    let removed = try #require(lines.metadata(ofLineWith: "listener's callback"))
    #expect(try removed["listener"] == "removed" && count(removed) == 1)
    registry.close()
    fixture.writer.close()
  }

  @Test func `a callback that sleeps delays its writes once, and is named`() async throws {
    let lines = LogRecorder()
    let fixture = try StoreFixture()
    let registry = ListenerRegistry(
      fixture.store, fixture.writer, logger: Logger(label: "test") { _ in lines })
    let gate = DispatchSemaphore(value: 0)
    let begun = DispatchSemaphore(value: 0)
    let queue = DispatchQueue(label: "given")
    let room = CallbackQueue.of(queue)
    let sleeper = Listener(.queue(room)) { _ in
      begun.signal()
      gate.wait()
      gate.signal()
    }
    let told = Seen()
    let behind = Listener(.queue(room)) { _ in told.note(0) }
    registry.add(sleeper, watching: .document(ResourcePath(["books", "dune"])))
    try await onBlockingThread { begun.wait() }
    registry.add(behind, watching: .collection(ResourcePath(["books"])))
    func write(_ n: Int64) async throws -> Duration {
      let began = ContinuousClock.now
      _ = try await fixture.writer.commit([try fixture.set("books/dune", ("n", .integer(n)))])
      return ContinuousClock.now - began
    }
    #expect(try await write(0) >= Acknowledgements.patience)
    // The queue is known to be held up, whoever is behind.
    let least = try await leastTime(below: Acknowledgements.patience) { try await write(Int64($0)) }
    #expect(least < Acknowledgements.patience)
    try await eventually { lines.metadata(ofLineWith: "listener's callback") != nil }
    #expect(lines.all.count { $0.contains("listener's callback") } == 1)
    let metadata = try #require(lines.metadata(ofLineWith: "listener's callback"))
    #expect(metadata["listener"] == "document books/dune")
    // It is waited for again once it has returned.
    gate.signal()
    try await eventually { told.calls > 1 && !sleeper.isBehind && !behind.isBehind }
    queue.sync {}
    let calls = told.calls
    if try await write(1000) < Acknowledgements.patience {
      #expect(told.calls > calls)
    } else {
      try await eventually { told.calls > calls }
    }
    registry.close()
    fixture.writer.close()
  }

  @Test func `the main actor may be blocked for as long as it likes`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    let seen = Seen()
    await listenOnMain(document, seen)
    try await document.setData(["n": 0])
    let (began, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    DispatchQueue.main.async {
      began.signal()
      go.wait()
    }
    try await onBlockingThread { began.wait() }
    var last = 0
    let least = try await leastTime(below: Acknowledgements.patience) { n in
      last = n
      let start = ContinuousClock.now
      try await document.setData(["n": n])
      return ContinuousClock.now - start
    }
    #expect(least < Acknowledgements.patience)
    go.signal()
    try await eventually { seen.newest == last }
    try await db.terminate()
  }

  @MainActor private func listenOnMain(_ document: DocumentReference, _ seen: Seen) {
    document.addSnapshotListener { snapshot, _ in seen.note(snapshot) }
  }

  @Test func `a write that concerns no listener completes on the writer's thread`() async throws {
    let fixture = try StoreFixture()
    let registry = ListenerRegistry(fixture.store, fixture.writer, logger: .silent)
    let queue = CallbackQueue.of(DispatchQueue(label: "given"))
    let listener = Listener(.queue(queue)) { _ in }
    registry.add(listener, watching: .document(ResourcePath(["books", "dune"])))
    let asker = Listener(.ask {}, callback: { _ in })
    registry.add(asker, watching: .collection(ResourcePath(["loans"])))
    registry.settle()
    func completesOnWriter(_ path: String) async throws -> Bool {
      let mutation = try fixture.set(path, ("n", .integer(.random(in: 0...Int64.max))))
      return await withCheckedContinuation { continuation in
        fixture.writer.submit([mutation], completesAfterListeners: true) { _ in
          continuation.resume(returning: WriterWaitGraph.isOnWritersThread)
        }
      }
    }
    for _ in 0..<20 {
      #expect(try await completesOnWriter("books/emma"))
      #expect(try await completesOnWriter("loans/1"))
      _ = try await completesOnWriter("books/dune")
    }
    registry.remove(listener, watching: .document(ResourcePath(["books", "dune"])))
    registry.settle()
    #expect(try await completesOnWriter("books/dune"))
    #expect(fixture.writer.acknowledgements.isIdle)
    registry.close()
    fixture.writer.close()
  }

  // MARK: One event for each commit

  @Test func `three writes in a row are three events`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    for _ in 0..<Self.rounds / 10 {
      let told = Guarded<[Int]>([])
      let registration = document.addSnapshotListener { snapshot, _ in
        told.withLock { $0.append(snapshot?["n"] as? Int ?? 0) }
      }
      try await eventually { told.withLock { $0.count } == 1 }
      for n in 1...3 { handOver(n, to: document) }
      try await eventually { told.withLock { $0.last } == 3 }
      #expect(told.withLock { $0.dropFirst() } == [1, 2, 3])
      registration.remove()
      try await document.delete()
    }
    try await db.terminate()
  }

  @Test func `sixteen commits wait as events of their own, further ones as one`() async throws {
    let db = try open()
    let books = db.collection("books")
    let told = Guarded<[[String]]>([])
    let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let registration = books.addSnapshotListener { snapshot, _ in
      let changes = snapshot?.documentChanges.map { "\($0.document.documentID)" } ?? []
      told.withLock { $0.append(changes.sorted()) }
      begun.signal()
      gate.wait()
      gate.signal()
    }
    try await onBlockingThread { begun.wait() }
    let count = Listener.eventLimit + 10
    for n in 1...count { handOver(n, to: books.document("\(n + 100)")) }
    try await db.waitForPendingWrites()
    // The registry has handed all of them out.
    try await db.listenersInSync()
    gate.signal()
    let last = (Listener.eventLimit + 1...count).map { "\($0 + 100)" }
    try await eventually { told.withLock { $0.last } == last }
    let events = told.withLock(\.self)
    #expect(events == [[]] + (1...Listener.eventLimit).map { ["\($0 + 100)"] } + [last])
    registration.remove()
    try await db.terminate()
  }

  // MARK: The end

  @Test func `terminating tells no listener, and ends sequences`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    let (seen, errors) = (Seen(), Seen())
    let queue = DispatchQueue(label: "given")
    document.addSnapshotListener(on: queue) { snapshot, error in
      if error != nil { errors.note(1) } else { seen.note(snapshot) }
    }
    document.parent.addSnapshotListener(on: queue) { _, error in
      if error != nil { errors.note(1) }
    }
    let told = Seen()
    // A child task, which the time limit cancels: the loop ends then, also where `terminate` does not end it.
    async let count: Int = {
      var count = 0
      for try await snapshot in document.snapshots {
        told.note(snapshot)
        count += 1
      }
      return count
    }()
    try await eventually { told.calls > 0 }
    try await waitForCallbacks(of: [seen])
    try await write(1, to: [seen]) { try await document.setData(["n": 1]) }
    try await db.terminate()
    #expect(try await count >= 1)
    try await onBlockingThread { queue.sync {} }
    #expect(errors.calls == 0)
    // What is added afterwards hears of it: there is no other way to say so.
    document.addSnapshotListener(on: queue) { _, error in
      if error != nil { errors.note(2) }
    }
    try await eventually { errors.newest == 2 }
  }
}

extension Firestore {
  /// Waits until everything committed so far is in the listeners' mailboxes.
  fileprivate func listenersInSync() async throws {
    let registry = try database().registry
    await withCheckedContinuation { continuation in
      registry.afterEvents { continuation.resume() }
    }
  }
}
