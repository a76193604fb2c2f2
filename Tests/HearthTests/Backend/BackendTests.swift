import Dispatch
import Foundation
import Logging
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// The promises of the verbs, one by one, over each backend.
@Suite(.timeLimit(patience)) struct BackendTests {
  enum Kind: CaseIterable {
    case embedded, memory
    /// The backend that the tests are run with.
    case chosen

    static var allCases: [Kind] {
      TestStore.isFile ? [.embedded, .memory] : [.chosen]
    }
  }

  private let folder = TemporaryFolder()

  private func open(_ kind: Kind, queueLimitBytes: Int = 64 << 20) throws -> any StoreBackend {
    switch kind {
    case .embedded:
      var settings = EmbeddedBackend.Settings()
      settings.store.durability = .unsafeWithoutFlushing
      settings.queueLimitBytes = queueLimitBytes
      let path = folder.path + "/verbs.hearth"
      return try EmbeddedBackend(
        at: path, named: path, settings, logger: Logger(label: "test"))
    case .memory:
      let clock = TestClock()
      return MemoryBackend(
        history: Instant(microseconds: 1), queueLimitBytes: queueLimitBytes, now: { clock.now },
        logger: Logger(label: "test"))
    case .chosen:
      let settings = FirestoreSettings()
      settings.queueLimitBytes = queueLimitBytes
      let db = try Firestore.open(at: folder.path + "/verbs.hearth", settings: settings)
      return try #require(db.database().backend as? any StoreBackend)
    }
  }

  private let paths = (0..<4).map { ResourcePath(["a", "\($0)"]) }

  private func set(_ path: ResourcePath, _ n: Int64, filler: Int = 0) throws -> Mutation {
    Mutation(
      path: path,
      operation: try .set(
        encoding: MapValue([
          ("n", .integer(n)), ("filler", .string(String(repeating: "x", count: filler))),
        ])))
  }

  private func n(_ document: StoredDocument?) throws -> Int64? {
    guard case .integer(let n)? = try document?.body.map().value(at: ["n"]) else { return nil }
    return n
  }

  /// Holds all writes until the answer is called.
  private func hold(_ backend: any StoreBackend) async throws -> @Sendable () -> Void {
    var start = TransactionStart(at: CallSite(file: #file, line: #line))
    start.isExclusive = true
    let id = try await backend.awaiting { backend.beginTransaction(start, .busy, $0) }
    return { backend.end(id, isRetried: false) }
  }

  /// Otherwise a run over the reference would prove nothing about it.
  @Test func `the public API is tested over the store that was asked for`() throws {
    let backend = try BackendFixture().backend
    switch TestStore.name {
    case "memory": #expect(backend is MemoryBackend)
    case "postgres": #expect(backend is RemoteBackend)
    default: #expect(backend is EmbeddedBackend)
    }
  }

  @Test(arguments: Kind.allCases)
  func `a read does not wait for a commit whose caller waits`(kind: Kind) async throws {
    let backend = try open(kind)
    var isFound = true
    // The transaction holds up writes for at most a second: on a busy machine, the read may come later.
    for round in 0..<20 where isFound {
      let letGo = try await hold(backend)
      let path = ResourcePath(["a", "round \(round)"])
      let (written, outcome) = AsyncStream.makeStream(of: Void.self)
      // In line when this returns.
      backend.commit(CommitRequest([try set(path, 1)]), .busy) { _ in outcome.finish() }
      isFound = try await backend.document(at: path) != nil
      letGo()
      for await _ in written {}
      #expect(try await backend.document(at: path) != nil)
    }
    #expect(!isFound)
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `every read shows what was handed over before it`(kind: Kind) async throws {
    let backend = try open(kind)
    let query = StructuredQuery(.collection(ResourcePath(["a"])))
    for n in 1...20 as ClosedRange<Int64> {
      let letGo = try await hold(backend)
      backend.submit([try set(paths[0], n)], completesAfterListeners: false) { _ in }
      let release = Task {
        try await Task.sleep(for: .milliseconds(5))
        letGo()
      }
      switch n % 4 {
      case 0:
        let sum = Aggregation(.sum(FieldSegments(["n"])))
        let values = try await backend.awaiting {
          backend.read(.values(of: [sum], over: query), .lent, $0)
        }.answer.values
        #expect(values == [.integer(n)])
      case 1: #expect(try self.n(await backend.document(at: paths[0])) == n)
      case 2:
        #expect(try self.n(await backend.read(.results(EffectiveQuery(query))).results.first) == n)
      default:
        let token = try await backend.newestToken()
        #expect(token.sequence == UInt64(n))
      }
      try await release.value
    }
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `what nobody waits for is refused once too much waits`(kind: Kind) async throws {
    let backend = try open(kind, queueLimitBytes: 10_000)
    let began = ContinuousClock.now
    let letGo = try await hold(backend)
    let refused = Guarded<[Status.Code]>([])
    for n in 0..<20 {
      backend.submit([try set(paths[0], Int64(n), filler: 2_000)], completesAfterListeners: false) {
        if let status = $0 { refused.withLock { $0.append(status.code) } }
      }
    }
    // Writes are held for a second at most.
    let isHeld = ContinuousClock.now - began < .milliseconds(900)
    letGo()
    await withCheckedContinuation { continuation in backend.drain { continuation.resume() } }
    let codes = refused.withLock(\.self)
    #expect(codes.count < 20 && (codes.count >= 10 || !isHeld))
    #expect(codes.allSatisfy { $0 == .resourceExhausted })
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `an exclusive transaction that is released holds nobody up, and commits no more`(
    kind: Kind
  ) async throws {
    let backend = try open(kind)
    var times: [Duration] = []
    for n in 0..<20 {
      var start = TransactionStart(at: CallSite(file: #file, line: #line))
      start.isExclusive = true
      let id = try await backend.awaiting { backend.beginTransaction(start, .busy, $0) }
      let began = ContinuousClock.now
      backend.end(id, isRetried: true)
      try await backend.commit([set(paths[1], Int64(n))])
      times.append(ContinuousClock.now - began)
      let request = CommitRequest([try set(paths[2], 1)], in: id)
      await #expect(throws: Status.self) { try await backend.commit(request) }
    }
    #expect(try await backend.document(at: paths[2]) == nil)
    // Alone it would end after a second.
    #expect(try #require(times.min()) < .milliseconds(500))
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `an exclusive transaction reads and commits while a delete that may cascade waits for it`(
    kind: Kind
  ) async throws {
    let backend = try open(kind)
    try await backend.declare([
      IndexDefinition(
        "books", scope: .group, [.init("a", .ascending)],
        constraint: .reference(ReferenceRule(.cascade, target: "a")))
    ])
    var isDone = false
    // If the read waited, each transaction would have ended after a second. On a busy machine, one may take so long
    // though it does not wait.
    for _ in 0..<20 where !isDone {
      let began = ContinuousClock.now
      var start = TransactionStart(at: CallSite(file: #file, line: #line))
      start.isExclusive = true
      let id = try await backend.awaiting { backend.beginTransaction(start, .busy, $0) }
      backend.submit(
        [Mutation(path: paths[0], operation: .delete)], completesAfterListeners: false
      ) { _ in }
      let context = RequestContext(thread: .lent, transaction: id)
      _ = try await backend.awaiting { backend.read(.documents(at: paths), context, $0) }.answer
        .documents
      let request = CommitRequest([try set(paths[1], 1)], in: id)
      do {
        _ = try await backend.commit(request)
        isDone = true
      } catch let status as Status
        where status.code == .aborted && ContinuousClock.now - began >= .seconds(1)
      {}
    }
    #expect(isDone)
    #expect(try self.n(await backend.document(at: paths[1])) == 1)
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `a transaction that was rolled back is forgotten`(kind: Kind) async throws {
    let backend = try open(kind)
    let start = TransactionStart(at: CallSite(file: #file, line: #line))
    let id = try await backend.awaiting { backend.beginTransaction(start, .lent, $0) }
    let context = RequestContext(thread: .lent, transaction: id)
    _ = try await backend.awaiting { backend.read(.documents(at: paths), context, $0) }.answer
      .documents
    backend.end(id, isRetried: false)
    await #expect(throws: Status.self) {
      try await backend.awaiting { backend.read(.documents(at: self.paths), context, $0) }.answer
        .documents
    }
    let request = CommitRequest([try set(paths[0], 1)], in: id)
    await #expect(throws: Status.self) { try await backend.commit(request) }
    #expect(try await backend.document(at: paths[0]) == nil)
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `changes are those after the token, each once`(kind: Kind) async throws {
    let backend = try open(kind)
    for n in 0..<5 { try await backend.commit([set(paths[n % 4], Int64(n))]) }
    var token = backend.token(after: 0)
    var seen: [UInt64] = []
    while true {
      let from = token
      let changes = try await backend.awaiting { backend.changes(since: from, .lent, $0) }
      guard let last = changes.last else { break }
      seen += changes.map(\.sequence)
      token = backend.token(after: last.sequence)
    }
    #expect(seen == [1, 2, 3, 4, 5])
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `whoever observes changes is called for each commit, until it observes no more`(
    kind: Kind
  ) async throws {
    let backend = try open(kind)
    let calls = Guarded(0)
    let observation = backend.observeChanges { calls.withLock { $0 += 1 } }
    for n in 0..<3 {
      let before = calls.withLock(\.self)
      try await backend.commit([set(paths[0], Int64(n))])
      try await eventually { calls.withLock(\.self) > before }
    }
    observation.end()
    let otherCalls = Guarded(0)
    let other = backend.observeChanges { otherCalls.withLock { $0 += 1 } }
    func commit(_ n: Int64) async throws {
      let before = otherCalls.withLock(\.self)
      try await backend.commit([set(paths[1], n)])
      try await eventually { otherCalls.withLock(\.self) > before }
    }
    // What was under way has arrived by then.
    for n in 0..<3 as Range<Int64> { try await commit(n) }
    let before = calls.withLock(\.self)
    for n in 3..<6 as Range<Int64> { try await commit(n) }
    #expect(calls.withLock(\.self) == before)
    other.end()
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `closures that wait and closures that block read the state of their time`(
    kind: Kind
  ) async throws {
    let backend = try #require(try open(kind) as? any LocalBackend)
    try await backend.commit([set(paths[0], 1)])
    let then = try await backend.newestVersion().time
    try await backend.commit([set(paths[0], 2)])
    let path = paths[0]
    let read: @Sendable (any DocumentState) throws -> Value? = { state in
      try state.answer(.documents(at: [path])).documents[0]?.body.map().value(at: ["n"])
    }
    #expect(try await backend.read(at: then, read) == .integer(1))
    #expect(try await backend.read(at: nil, read) == .integer(2))
    let blocking = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          returning: Result {
            [try backend.readBlocking(at: then, read), try backend.readBlocking(at: nil, read)]
          })
      }
    }
    #expect(try blocking.get() == [.integer(1), .integer(2)])
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `a query that is explained and run tells what it returned, documents or values`(
    kind: Kind
  ) async throws {
    let backend = try open(kind)
    try await backend.commit([set(paths[0], 1), set(paths[1], 2), set(paths[2], 3)])
    let query = EffectiveQuery(StructuredQuery(.collection(ResourcePath(["a"]))))
    let count = Aggregation(.count(upTo: nil))
    let requests: [(ReadRequest, Int)] = [
      (.results(query), 3), (.values([count], over: query), 1),
    ]
    for (request, returned) in requests {
      let found = try await backend.awaiting {
        backend.read(.explanation(of: request, analyzes: true), .lent, $0)
      }.answer.explanation
      #expect(found.execution?.resultsReturned == returned)
      #expect(!found.plan.isEmpty)
    }
    let planned = try await backend.awaiting {
      backend.read(.explanation(of: .results(query)), .lent, $0)
    }.answer.explanation
    #expect(planned.execution == nil)
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `a measured answer is the answer, and has the counts of an explanation`(
    kind: Kind
  ) async throws {
    let backend = try open(kind)
    try await backend.commit([set(paths[0], 1), set(paths[1], 2), set(paths[2], 3)])
    var query = StructuredQuery(.collection(ResourcePath(["a"])))
    query.orders = [StructuredQuery.Order(field: FieldSegments(["n"]))]
    query.offset = 1
    let count = Aggregation(.count(upTo: nil))
    let requests: [(ReadRequest, Int)] = [
      (.results(EffectiveQuery(query)), 2), (.values(of: [count], over: query), 1),
    ]
    var context = RequestContext.lent
    context.isMeasured = true
    for (request, returned) in requests {
      let found = try await backend.awaiting { [context] in backend.read(request, context, $0) }
      let plain = try await backend.awaiting { backend.read(request, .lent, $0) }
      let explanation = try await backend.awaiting {
        backend.read(.explanation(of: request, analyzes: true), .lent, $0)
      }.answer.explanation
      let (execution, wanted) = (
        try #require(found.execution), try #require(explanation.execution)
      )
      #expect(execution.resultsReturned == returned && wanted.resultsReturned == returned)
      #expect(execution.documentsRead == wanted.documentsRead)
      #expect(execution.indexEntriesRead == wanted.indexEntriesRead)
      #expect(execution.keysRead == wanted.keysRead)
      #expect(plain.execution == nil)
      #expect(found.version == plain.version)
      #expect(found.answer.resultCount == plain.answer.resultCount)
    }
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `several documents come in the order of their paths, those that are not there too`(
    kind: Kind
  ) async throws {
    let backend = try open(kind)
    try await backend.commit([set(paths[0], 0), set(paths[2], 2)])
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 2]] {
      let found = try await backend.read(.documents(at: order.map { paths[$0] })).documents
      #expect(try found.map(n) == order.map { $0 == 1 ? nil : Int64($0) })
      let again = try await backend.awaiting {
        backend.read(.documents(at: order.map { paths[$0] }), .busy, $0)
      }.answer.documents
      #expect(again.map { $0?.path } == found.map { $0?.path })
    }
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `a listener goes on from its token, and hears no more once it has stopped`(
    kind: Kind
  ) async throws {
    let backend = try open(kind)
    try await backend.commit([set(paths[0], 1), set(paths[1], 1)])
    let token = try backend.committedToken()
    try await backend.commit([set(paths[1], 2)])
    let target = Listener.Target.results(of: StructuredQuery(.collection(ResourcePath(["a"]))))
    let heard = Guarded<[(changes: Int, documents: Int)]>([])
    let queue = DispatchQueue(label: "test")
    let listener = Listener(.schedule { listener in queue.async { listener.deliver() } }) {
      guard case .success(let event) = $0 else { return }
      let changes = event.changes?.count ?? -1
      heard.withLock { $0.append((changes, event.list.documents.count)) }
    }
    backend.listen(to: target, from: token, listener)
    let synced = Guarded<[UInt64]>([])
    let observation = backend.observeSyncs { sequence in synced.withLock { $0.append(sequence) } }
    try await eventually { heard.withLock { !$0.isEmpty } }
    // What has changed since the token, and not all there is.
    #expect(heard.withLock { $0.first?.changes } == 1)
    #expect(heard.withLock { $0.first?.documents } == 2)
    try await backend.commit([set(paths[2], 1)])
    try await eventually { synced.withLock { $0.last } == 4 }
    observation.end()
    let documents = Guarded(0)
    let other = Listener(.schedule { listener in queue.async { listener.deliver() } }) {
      guard case .success(let event) = $0 else { return }
      documents.withLock { $0 = event.list.documents.count }
    }
    backend.listen(to: target, from: token, other)
    try await eventually { documents.withLock(\.self) == 3 }
    backend.stopListening(to: target, listener)
    let count = heard.withLock(\.count)
    try await backend.commit([set(paths[3], 1)])
    try await eventually { documents.withLock(\.self) == 4 }
    backend.stopListening(to: target, other)
    #expect(heard.withLock { $0.count } == count)
    backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `a blocked thread's commit does not wait for callbacks that belong there`(
    kind: Kind
  ) async throws {
    let backend = try open(kind)
    let queue = DispatchQueue(label: "test")
    // As an actor's, of which nobody can tell on which thread it is.
    let listener = Listener(.schedule { listener in queue.async { listener.deliver() } }) { _ in }
    backend.listen(to: .document(paths[0]), from: nil, listener)
    let least = try await leastTime(below: Acknowledgements.patience) { n in
      let request = CommitRequest([try set(paths[0], Int64(n))])
      return await withCheckedContinuation { continuation in
        queue.async {
          let began = ContinuousClock.now
          let result = Result { try backend.waiting { backend.commit(request, .blocked, $0) } }
          if case .failure(let error) = result { Issue.record(error) }
          continuation.resume(returning: ContinuousClock.now - began)
        }
      }
    }
    #expect(least < Acknowledgements.patience)
    backend.stopListening(to: .document(paths[0]), listener)
    backend.close()
  }
}
