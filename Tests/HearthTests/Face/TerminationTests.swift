import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// What was handed over before `terminate` is done.
@Suite struct TerminationTests {
  private let folder = TemporaryFolder()

  private func open() throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: "\(folder.path)/a.hearth", settings: settings)
  }

  private func stored(_ collection: String) async throws -> Int {
    let db = try open()
    let count = try await db.collection(collection).getDocuments().count
    try await db.terminate()
    return count
  }

  @Test(.embedded("It looks at the writer."))
  func `write closures that run and that wait are done`() async throws {
    let db = try open()
    let (isRunning, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let running = Task {
      try await db.write { session in
        isRunning.signal()
        go.wait()
        // Names, queries and references are worked out while the database is being closed.
        _ = try session.getDocuments(db.collection("books").whereField("n", isGreaterThan: 0))
        try session.setData(["n": 0], forDocument: db.document("books/running"))
      }
    }
    _ = try await onBlockingThread { isRunning.wait() }
    let waiting = (0..<20).map { number in
      Task {
        try await db.write { session in
          let document = db.document("books/waiting\(number)")
          guard try !session.getDocument(document).exists else { return }
          try session.setData(["n": number], forDocument: document)
        }
      }
    }
    let database = try db.database().embedded
    try await eventually { database.writer.waitingCount == 20 }
    async let end: Void = db.terminate()
    try await eventually { (try? db.database()) == nil }
    go.signal()
    try await running.value
    for task in waiting { try await task.value }
    try await end
    #expect(try await stored("books") == 21)
  }

  @Test(.embedded("Others do not wait for reads."))
  func `the first result of a listener is not waited for, and one that left is not read`()
    async throws
  {
    let db = try open()
    let title = String(repeating: "The Hitchhiker's Guide to the Galaxy. ", count: 25)
    for begin in stride(from: 0, to: 30_000, by: 1000) {
      let batch = db.batch()
      for number in begin..<begin + 1000 {
        batch.setData(["title": "\(title)\(number)"], forDocument: db.document("books/\(number)"))
      }
      try await batch.commit()
    }
    try await db.terminate()
    // Reads that are waited for are slow each time. On a busy machine, any may be slow.
    var times: [(whole: Duration, next: Duration, end: Duration)] = []
    for _ in 0..<10 {
      let time = try await timesOfListeners()
      if time.next < time.whole * 10, time.end < time.whole * 10 { return }
      times.append(time)
    }
    Issue.record("\(times)")
  }

  /// How long it takes to read all books, to read one behind forty listeners that were removed, and to terminate
  /// with forty others.
  private func timesOfListeners() async throws -> (whole: Duration, next: Duration, end: Duration) {
    let db = try open()
    let query = db.collection("books").order(by: "title")
    let clock = ContinuousClock()
    let whole = try await clock.measure { _ = try await query.getDocuments() }
    // Each has a read of its own; they would follow each other.
    func listeners() -> [any ListenerRegistration] {
      (1...40).map { query.limit(to: 30_000 + $0).addSnapshotListener { _, _ in } }
    }
    for listener in listeners() { listener.remove() }
    let next = try await clock.measure {
      for try await _ in db.document("books/1").snapshots { break }
    }
    _ = listeners()
    let end = try await clock.measure { try await db.terminate() }
    return (whole, next, end)
  }

  @Test func `transactions that run are done, with their further attempts`() async throws {
    let db = try open()
    let document = db.document("books/dune")
    try await document.setData(["n": 0])
    let (isRunning, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let attempts = Guarded(0)
    let transaction = Task {
      _ = try await db.runTransaction { transaction, error in
        do {
          let n = try transaction.getDocument(document)["n"] as? Int ?? -1
          if attempts.withLock({ count in
            count += 1
            return count == 1
          }) {
            isRunning.signal()
            go.wait()
          }
          transaction.updateData(["n": n + 1], forDocument: document)
        } catch let caught as NSError { error?.pointee = caught }
        return nil
      }
    }
    _ = try await onBlockingThread { isRunning.wait() }
    // The first attempt has read what is no longer so.
    try await document.updateData(["n": 10])
    async let end: Void = db.terminate()
    try await eventually { (try? db.database()) == nil }
    go.signal()
    try await transaction.value
    try await end
    #expect(attempts.withLock(\.self) == 2)
    let again = try open()
    #expect(try await again.document("books/dune").getDocument()["n"] as? Int == 11)
    try await again.terminate()
  }

  @Test func `a transaction with a completion is done, however soon the end comes`() async throws {
    for _ in 0..<20 {
      let db = try open()
      let failure = Guarded<String?>(nil)
      let done = DispatchGroup()
      done.enter()
      handOver {
        db.runTransaction { transaction, _ in
          transaction.updateData(["n": FieldValue.increment(1)], forDocument: db.document("a/b"))
          return nil
        } completion: { _, error in
          failure.withLock { $0 = error.map { "\($0)" } }
          done.leave()
        }
      }
      try await db.terminate()
      _ = try await onBlockingThread { done.wait() }
      // There is no document, and that it says.
      #expect(failure.withLock(\.self)?.contains("No document to update") == true)
    }
  }

  private func handOver(_ body: () -> Void) { body() }

  @Test func `a bulk writer's queue is written, also what waits for room`() async throws {
    let db = try open()
    let failures = Guarded<[String]>([])
    let bulk = db.bulkWriter(limitBytes: 2000) { failure in
      failures.withLock { $0.append("\(failure.error)") }
    }
    let (isRunning, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let blocker = Task {
      try await db.write { _ in
        isRunning.signal()
        go.wait()
      }
    }
    _ = try await onBlockingThread { isRunning.wait() }
    let writes = (0..<50).map { number in
      Task {
        let text = String(repeating: "x", count: 400)
        await bulk.enqueueSet(["text": text], forDocument: db.document("books/\(number)"))
      }
    }
    try await eventually { bulk.progress.writes == 50 }
    async let end: Void = db.terminate()
    try await eventually { (try? db.database()) == nil }
    go.signal()
    try await blocker.value
    for write in writes { await write.value }
    try await end
    #expect(await bulk.finish().done == 50)
    #expect(failures.withLock(\.self).isEmpty)
    #expect(try await stored("books") == 50)
  }

  /// Every form with a completion, each with documents that it finds or writes.
  private typealias Form = (
    name: String,
    call: @Sendable (Firestore, @escaping @Sendable ((any Error)?) -> Void) -> Void
  )

  private static let forms: [Form] = [
    ("getDocument", { db, done in db.document("a/1").getDocument { done($1) } }),
    (
      "getDocument from a source",
      { db, done in db.document("a/1").getDocument(source: .server) { done($1) } }
    ),
    (
      "getDocument as a type",
      { db, done in
        db.document("a/1").getDocument(as: [String: Int].self) { result in
          if case .failure(let error) = result { done(error) } else { done(nil) }
        }
      }
    ),
    ("getDocuments", { db, done in db.collection("a").getDocuments { done($1) } }),
    (
      "getDocuments from a source",
      { db, done in db.collection("a").getDocuments(source: .cache) { done($1) } }
    ),
    (
      "a filter",
      { db, done in
        db.collection("a").whereField("n", isEqualTo: 3).order(by: "n").getDocuments { done($1) }
      }
    ),
    ("a group", { db, done in db.collectionGroup("a").getDocuments { done($1) } }),
    (
      "a search",
      { db, done in
        db.collection("a").search("dune", in: SearchFields("t")).getDocuments { done($1) }
      }
    ),
    (
      "nearest",
      { db, done in
        db.collection("a").findNearest(
          vectorField: "v", queryVector: VectorValue([1, 2]), limit: 3, distanceMeasure: .euclidean
        ).getDocuments { done($1) }
      }
    ),
    (
      "count",
      { db, done in db.collection("a").count.getAggregation(source: .server) { done($1) } }
    ),
    (
      "sum",
      { db, done in
        db.collection("a").aggregate([.sum("n"), .average("n")]).getAggregation(source: .server) {
          done($1)
        }
      }
    ),
    (
      "transaction",
      { db, done in
        db.runTransaction { transaction, failure in
          do {
            _ = try transaction.getDocument(db.document("a/1"))
            transaction.setData(["n": 1], forDocument: db.document("b/transaction"))
          } catch { failure?.pointee = error as NSError }
          return nil
        } completion: {
          done($1)
        }
      }
    ),
    ("set", { db, done in db.document("b/set").setData(["n": 1], completion: done) }),
    ("merge", { db, done in db.document("a/1").setData(["m": 1], merge: true, completion: done) }),
    ("update", { db, done in db.document("a/2").updateData(["n": 9], completion: done) }),
    ("delete", { db, done in db.document("a/3").delete(completion: done) }),
    (
      "batch",
      { db, done in
        let batch = db.batch()
        batch.setData(["n": 1], forDocument: db.document("b/batch"))
        batch.commit(completion: done)
      }
    ),
    ("waitForPendingWrites", { db, done in db.waitForPendingWrites(completion: done) }),
    (
      "setIndexConfiguration",
      { db, done in
        db.setIndexConfiguration("{\"indexes\": [], \"fieldOverrides\": []}", completion: done)
      }
    ),
  ]

  /// Under any name, an error that tells of what the database is made of is none that users know.
  private func isForeign(_ error: any Error) -> Bool {
    ["environment", "LMDB", "MDB_"].contains { "\(error)".contains($0) }
  }

  @Test(.embedded("It calls what only a file has."), arguments: 0..<2)
  func `what is begun with a completion is done, however soon the end comes`(
    round: Int
  ) async throws {
    for (name, call) in Self.forms {
      // Several at once, as their reads follow each other.
      for number in 0..<2 {
        let settings = FirestoreSettings()
        settings.durability = .unsafeWithoutFlushing
        let db = try Firestore.open(
          at: "\(folder.path)/\(round)-\(number)-\(name).hearth", settings: settings)
        for n in 0..<5 {
          try await db.document("a/\(n)").setData(["n": n])
        }
        let outcomes = Guarded<[String?]>([])
        let ended = DispatchGroup()
        for _ in 0..<3 {
          ended.enter()
          call(db) { error in
            outcomes.withLock { $0.append(error.map { "\($0)" }) }
            ended.leave()
          }
        }
        let listened = Guarded<[any Error]>([])
        for query in [db.collection("a"), db.collectionGroup("a")] {
          query.addSnapshotListener { _, error in
            if let error { listened.withLock { $0.append(error) } }
          }
          query.aggregate([.count()]).addSnapshotListener { _, error in
            if let error { listened.withLock { $0.append(error) } }
          }
        }
        // Not ordered with the end: they succeed, or the database is terminated.
        let finished = Guarded<[Int]>([])
        let others = Self.others.indices.map { (index: Int) in
          Task { @Sendable in
            defer { finished.withLock { $0.append(index) } }
            try await Self.others[index](db)
          }
        }
        ended.enter()
        terminate(db) { ended.leave() }
        _ = try await onBlockingThread { ended.wait() }
        #expect(outcomes.withLock(\.self) == [nil, nil, nil], "\(name)")
        #expect(listened.withLock { $0.isEmpty }, "\(name)")
        _ = try await becomesTrue { finished.withLock(\.count) == others.count }
        let endless = Set(others.indices).subtracting(finished.withLock(\.self))
        #expect(endless.isEmpty, "\(name): calls \(endless.sorted()) do not end.")
        for (index, other) in others.enumerated() where !endless.contains(index) {
          if case .failure(let error) = await other.result {
            #expect(
              error.localizedDescription == "The client has already been terminated."
                && !isForeign(error), "\(name): \(error)")
          }
        }
      }
    }
  }

  private func terminate(_ db: Firestore, _ done: @escaping @Sendable () -> Void) {
    db.terminate { _ in done() }
  }

  private static let others: [@Sendable (Firestore) async throws -> Void] = [
    { db in try await db.document("a/1").getDocument() },
    { db in _ = try await db.document("a/1").getDocument(as: [String: Int].self) },
    { db in try await db.collection("a").getDocuments() },
    { db in _ = try await db.collection("a").getDocuments(as: [String: Int].self) },
    { db in try await db.collection("a").count.getAggregation(source: .server) },
    { db in _ = try await db.collection("a").group(by: ["n"]).getGroups() },
    { db in _ = try await db.collection("a").explain(analyze: true) },
    { db in _ = try await db.read { try $0.getDocument(db.document("a/1")) } },
    { db in try await db.write { try $0.setData(["n": 1], forDocument: db.document("b/write")) } },
    { db in _ = try await db.listCollections() },
    { db in _ = try await db.statistics() },
    { db in _ = try await db.changeToken() },
    { db in _ = try await db.maintenance.check() },
    { db in _ = try await db.indexes.list() },
    { db in try await db.indexes.declare(FirestoreIndex("a", .ascending("n"), .ascending("m"))) },
    { db in try await db.ttl.setPolicy(collectionGroup: "a", field: "until") },
    { db in _ = try await db.ttl.deleteExpired() },
    { db in for try await _ in db.collection("a").snapshots { break } },
    { db in for try await _ in db.changes() { break } },
    { db in try await db.recursiveDelete(db.collection("z")) },
  ]

  @Test func `what comes after is refused`() async throws {
    let db = try open()
    try await db.document("books/dune").setData(["n": 1])
    try await db.terminate()
    let code = FirestoreErrorCode.Code.failedPrecondition
    await #expect { try await db.write { _ in } } throws: { code ~= $0 }
    await #expect { _ = try await db.runTransaction { _, _ in nil } } throws: { code ~= $0 }
    let bulk = db.bulkWriter { _ in }
    await bulk.enqueueSet(["n": 1], forDocument: db.document("books/emma"))
    #expect(await bulk.finish().failed == 1)
  }

  @Test(.embedded("It calls what only a file has."))
  func `what has nothing to do is refused too, with Firebase's sentence`() async throws {
    let db = try open()
    let manager = try #require(db.persistentCacheIndexManager)
    try await db.batch().commit()
    try await db.disableNetwork()
    try await db.enableNetwork()
    _ = try await db.runTransaction { _, _ in nil }
    try db.file().learnIndexes(true)
    try await db.terminate()
    let calls: [(String, () async throws -> Void)] = [
      ("enableNetwork", { try await db.enableNetwork() }),
      ("disableNetwork", { try await db.disableNetwork() }),
      ("waitForPendingWrites", { try await db.waitForPendingWrites() }),
      ("an empty batch", { try await db.batch().commit() }),
      ("an empty transaction", { _ = try await db.runTransaction { _, _ in nil } }),
      ("an empty write", { try await db.write { _ in } }),
      ("an empty read", { try await db.read { _ in } }),
      ("getAll", { _ = try await db.getAll([]) }),
      ("listCollections", { _ = try await db.listCollections() }),
      ("setIndexConfiguration", { try await db.setIndexConfiguration("{}") }),
      ("a configuration that is none", { try await db.setIndexConfiguration("x") }),
      ("declare", { try await db.indexes.declare([]) }), ("drop", { try await db.indexes.drop() }),
      ("list", { _ = try await db.indexes.list() }),
      ("waitUntilReady", { try await db.indexes.waitUntilReady() }),
      ("configuration", { _ = try await db.indexes.configurationJSON() }),
      ("the index manager", { try report { try db.file().dropLearnedIndexes() } }),
      ("loadBundle", { _ = try await db.loadBundle(Data()) }),
      ("changeToken", { _ = try await db.changeToken() }),
      ("changes", { for try await _ in db.changes() { break } }),
      ("statistics", { _ = try await db.statistics() }),
      ("listenerStatistics", { _ = try await db.listenerStatistics() }),
      ("expiryFields", { _ = try await db.ttl.policies() }),
      ("setExpiry", { try await db.ttl.removePolicy(collectionGroup: "books") }),
      ("deleteExpiredDocuments", { try await db.ttl.deleteExpired() }),
      ("check", { _ = try await db.maintenance.check() }),
      ("recursiveDelete", { try await db.recursiveDelete(db.collection("books")) }),
      ("count", { try await db.collection("books").count.getAggregation(source: .server) }),
      ("explain", { _ = try await db.collection("books").explain() }),
      ("getDocuments", { try await db.collection("books").getDocuments() }),
      ("documents", { for try await _ in db.collection("books").documents() { break } }),
      ("listDocuments", { _ = try await db.collection("books").listDocuments() }),
      ("getDocument", { try await db.document("books/dune").getDocument() }),
      ("delete", { try await db.document("books/dune").delete() }),
    ]
    for (name, call) in calls { try await expectTerminated(name) { try await call() } }

    // Those that call back.
    func error(_ call: (@escaping @Sendable ((any Error)?) -> Void) -> Void) async -> (any Error)? {
      await withCheckedContinuation { done in call { done.resume(returning: $0) } }
    }
    let forms: [(String, (@escaping @Sendable ((any Error)?) -> Void) -> Void)] = [
      ("enableNetwork", { db.enableNetwork(completion: $0) }),
      ("disableNetwork", { db.disableNetwork(completion: $0) }),
      ("waitForPendingWrites", { db.waitForPendingWrites(completion: $0) }),
      ("an empty batch", { db.batch().commit(completion: $0) }),
      ("setIndexConfiguration", { db.setIndexConfiguration("{}", completion: $0) }),
      (
        "an empty transaction",
        { done in db.runTransaction({ _, _ in nil }, completion: { done($1) }) }
      ),
      (
        "a listener",
        { done in _ = db.collection("books").addSnapshotListener(on: .global()) { done($1) } }
      ),
    ]
    for (name, form) in forms {
      let failure = await error(form)
      try await expectTerminated(name) { if let failure { throw failure } }
    }

    // Without a way to report it, the calls return, and log it.
    callUnheard(db, manager)
    #expect(await db.getQuery(named: "mine") == nil)
    // And what may be called.
    try await db.terminate()
    #expect(db.persistentCacheIndexManager === manager)
  }

  @Test func `an empty batch that nobody awaits reports the refusal`() async throws {
    let db = try open()
    try await db.terminate()
    let heard = Guarded<[String]>([])
    db.unobservedWriteFailureHandler = { error in
      heard.withLock { $0.append(error.localizedDescription) }
    }
    commitOnly(db.batch())
    #expect(heard.withLock(\.self) == ["The client has already been terminated."])
  }

  private func callUnheard(_ db: Firestore, _ manager: PersistentCacheIndexManager) {
    manager.enableIndexAutoCreation()
    manager.deleteAllIndexes()
    db.enableNetwork()
    db.setIndexConfiguration("{}")
    db.addSnapshotsInSyncListener {}.remove()
  }

  private func commitOnly(_ batch: WriteBatch) { batch.commit() }

  private func report(_ call: () throws -> Void) throws {
    do { try call() } catch let status as Status { throw status.nsError }
  }

  private func expectTerminated(
    _ name: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ call: () async throws -> Void
  ) async throws {
    do {
      try await call()
      Issue.record("\(name) succeeds.", sourceLocation: sourceLocation)
    } catch let error as NSError {
      #expect(
        error.code == FirestoreErrorCode.failedPrecondition.rawValue
          && error.localizedDescription == "The client has already been terminated.",
        "\(name): \(error)", sourceLocation: sourceLocation)
    }
  }
}
