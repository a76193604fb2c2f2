import Foundation
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Fails calls of the storage below by number.
private final class Saboteur: Sendable {
  struct State {
    var calls = 0
    var failing: Range<Int> = 0..<0
    var code: Int32 = 0
    var hits = 0
  }
  let state = Guarded(State())

  @Sendable func fail(_ call: StorageCall) -> Int32 {
    state.withLock { state in
      guard call != .open else { return 0 }
      defer { state.calls += 1 }
      guard state.failing.contains(state.calls) else { return 0 }
      state.hits += 1
      return state.code
    }
  }

  /// Counts from zero again; these calls fail.
  func arm(_ failing: Range<Int>, code: Int32 = 0) {
    state.withLock { $0 = State(failing: failing, code: code) }
  }

  var calls: Int { state.withLock(\.calls) }
  var hits: Int { state.withLock(\.hits) }
}

private final class RunCount: Sendable {
  private let count = Guarded(0)
  var value: Int { count.withLock { $0 } }
  func add() { count.withLock { $0 += 1 } }
}

@Suite(.ownThreads) struct WriterFaultTests {
  /// Groups that make, change, delete and make again, in two collections, by every kind of write.
  private func groups(_ fixture: StoreFixture) throws -> [[[Mutation]]] {
    [
      [
        [try fixture.set("a/1", ("n", .integer(1))), try fixture.set("a/2", ("n", .integer(1)))],
        [try fixture.set("a/1/b/3", ("n", .integer(1)))],
      ],
      [
        [try fixture.set("a/1", ("n", .integer(2))), fixture.delete("a/2")],
        [fixture.delete("a/1/b/3")],
      ],
      [
        [
          try fixture.set("a/2", ("n", .integer(3))),
          try fixture.set("a/1/b/3", ("n", .integer(3))),
        ]
      ],
      // What is looked at before, and what is worked out from it.
      [
        [
          fixture.patch("a/1", to: 4, .exists(true)),
          fixture.adding(5, to: "a/2"), fixture.adding(6, to: "a/9"),
        ],
        [fixture.adding(1, to: "a/1"), fixture.delete("a/2"), fixture.patch("a/2", to: 7, .none)],
        [fixture.patch("a/1/b/3", to: 8, .exists(true)), fixture.verify("a/9")],
        [fixture.patch("a/10", to: 9, .exists(false)), fixture.delete("a/1/b/3")],
        [
          try fixture.set("a/11", ("n", .integer(1))),
          fixture.delete("a/10", .updateTime(.earliest)),
        ],
      ],
      // With every transform, entries of indexes, and a time to go.
      [
        [
          fixture.transforming(
            "a/1",
            [
              ("n", .increment(.integer(3))), ("m", .maximum(.double(2.5))),
              ("due", .serverTimestamp), ("t", .arrayUnion([.integer(1), .integer(2)])),
            ]),
          try fixture.set(
            "a/12", ("n", .integer(12)), ("t", .array([.integer(2)])),
            ("due", .timestamp(fixture.clock.now))),
        ],
        [
          fixture.transforming(
            "a/1",
            [
              ("n", .minimum(.integer(4))), ("t", .arrayRemove([.integer(2)])),
              ("t", .arrayUnion([.null])),
            ]),
          fixture.patch("a/12", to: 13, .exists(true)),
        ],
      ],
      [[fixture.delete("a/12"), fixture.patch("a/1", to: 14, .none)], [fixture.delete("a/1")]],
    ]
  }

  private func contents(_ fixture: StoreFixture) throws -> [String: Int64] {
    var contents: [String: Int64] = [:]
    try fixture.store.read { snapshot in
      let scan = try SubtreeScan(below: .root, in: snapshot)
      while let found = try scan.next() {
        let fields = try snapshot.fields(ofRecord: found.record)
        guard case .integer(let n)? = try fields.value()["n"] else { continue }
        contents[found.path.text] = n
      }
    }
    return contents
  }

  /// I/O error, no space, and LMDB's own that leave the environment usable.
  @Test(arguments: [5, 28, LMDBError.txnFull.code], [false, true])
  func `whichever storage call fails, a request is done or not, and the store is whole`(
    _ code: Int32, _ fromThenOn: Bool
  ) throws {
    var failing = 0
    while true {
      let saboteur = Saboteur()
      let fixture = try StoreFixture { $0.faultInjector = saboteur.fail }
      try fixture.putIndex(
        StoredIndex(
          number: 1, definition: IndexDefinition("a", [.init("n", .ascending)]).stored,
          state: .ready, origin: .declared))
      try fixture.putIndex(
        StoredIndex(
          number: 2, definition: IndexDefinition("a", [.init("t", .contains)]).stored,
          state: .ready, origin: .declared))
      try fixture.setTTL("a", "due")
      let groups = try groups(fixture)
      saboteur.arm(failing..<(fromThenOn ? .max : failing + 1), code: code)
      var outcomes: [[Writer.Outcome]] = []
      for group in groups { outcomes.append(fixture.commitTogether(group)) }
      let hits = saboteur.hits
      saboteur.arm(0..<0)

      // What each request that is not known to have failed cleanly would leave.
      try fixture.reopen()
      let found = try contents(fixture)
      #expect(try fixture.store.check().problems == [], "call \(failing), code \(code)")
      var possible: Set<[String: Int64]> = [[:]]
      for (group, results) in zip(groups, outcomes) {
        for (request, outcome) in zip(group, results) {
          switch outcome {
          case .success: possible = Set(possible.compactMap { after(request, $0) })
          case .failure(let status) where status.message.contains("unknown"):
            possible.formUnion(possible.compactMap { after(request, $0) })
          case .failure: break
          }
        }
      }
      #expect(possible.contains(found), "call \(failing), code \(code): \(outcomes)")
      if hits > 0 {
        let isTold = outcomes.joined().contains { if case .failure = $0 { true } else { false } }
        // One failure in a group is made good by doing its halves.
        #expect(isTold || !fromThenOn, "call \(failing), code \(code): nobody was told")
      }
      // Later writes succeed, in the same process.
      let later = fixture.commitTogether([[try fixture.set("later/1", ("n", .integer(9)))]])
      #expect(throws: Never.self) { try later[0].get() }
      #expect(try contents(fixture)["later/1"] == 9)
      guard hits > 0 else { break }
      failing += 1
    }
    #expect(failing > 80)
  }

  /// Nil if the request is refused there.
  private func after(_ request: [Mutation], _ contents: [String: Int64]) -> [String: Int64]? {
    var contents = contents
    for mutation in request {
      let name = mutation.path.text
      switch mutation.precondition {
      case .none: break
      case .exists(let exists): if (contents[name] != nil) != exists { return nil }
      case .updateTime: return nil
      }
      switch mutation.operation {
      case .verify: continue
      case .delete: contents[name] = nil
      case .set(let body):
        guard case .integer(let n)? = try? body.map()["n"] else { return nil }
        contents[name] = n
      case .patch(let values, _):
        if case .integer(let n)? = try? values.map()["n"] { contents[name] = n }
      }
      for (_, transform) in mutation.transforms {
        switch transform {
        case .increment(.integer(let n)): contents[name, default: 0] += n
        case .minimum(.integer(let n)): contents[name] = min(contents[name] ?? n, n)
        default: break
        }
      }
    }
    return contents
  }

  /// The storage fails at every call in turn; closures, plain requests and one that is refused stand
  /// together in each group.
  @Test(arguments: [5, 28, LMDBError.txnFull.code, LMDBError.mapFull.code], [1, 3])
  func `whichever storage call fails, closures run once, and their requests are done or not`(
    _ code: Int32, _ failures: Int
  ) async throws {
    var failing = 0
    while true {
      let saboteur = Saboteur()
      let fixture = try StoreFixture { $0.faultInjector = saboteur.fail }
      _ = try fixture.commitTogether([[try fixture.set("a/0", ("n", .integer(0)))]])[0].get()
      saboteur.arm(failing..<failing + failures, code: code)
      let (outcomes, runs) = await closures(fixture)
      let hits = saboteur.hits
      saboteur.arm(0..<0)
      #expect(runs.allSatisfy { $0 <= 1 }, "call \(failing): \(runs)")
      try fixture.reopen()
      #expect(try fixture.store.check().problems == [], "call \(failing), code \(code)")
      let found = try contents(fixture)
      // Each counts the documents it finds, and writes that down: a chain that shows what was seen.
      var known = 1
      for (index, outcome) in outcomes.enumerated() {
        let count = found["a/\(index + 1)"]
        switch outcome {
        case .success:
          #expect(count == Int64(known), "call \(failing), code \(code): \(found) \(outcomes)")
        case .failure(let status) where status.message.contains("unknown"):
          #expect(count == nil || count == Int64(known))
        case .failure: #expect(count == nil)
        }
        if count != nil { known += 1 }
      }
      guard hits > 0 else {
        #expect(known == 5 && runs == [1, 1, 1, 1])
        break
      }
      failing += 1
    }
    #expect(failing > 20)
  }

  /// Four closures in one group. Each counts the collection and writes a document with the count.
  private func closures(
    _ fixture: StoreFixture
  ) async -> (outcomes: [Writer.Outcome], runs: [Int]) {
    let query = EffectiveQuery(StructuredQuery(.collection(ResourcePath(["a"]))))
    let gate = DispatchSemaphore(value: 0)
    await withCheckedContinuation { held in
      fixture.writer.submit([]) { _ in
        held.resume()
        gate.wait()
      }
    }
    var tasks: [Task<CommitResult, any Error>] = []
    let counts = (0..<4).map { _ in RunCount() }
    for index in 0..<4 {
      let count = counts[index]
      tasks.append(
        Task {
          try await fixture.writer.perform { live in
            count.add()
            let seen = try live.answer(.results(query)).results.count
            try live.write(try fixture.set("a/\(index + 1)", ("n", .integer(Int64(seen)))))
            _ = try live.answer(.documents(at: [fixture.path("a/\(index)")]))
          }
        })
      // In this order.
      while fixture.writer.waitingCount < index + 1 { await Task.yield() }
    }
    gate.signal()
    var outcomes: [Writer.Outcome] = []
    for task in tasks {
      do {
        outcomes.append(.success(try await task.value))
      } catch {
        outcomes.append(.failure(error as? Status ?? Status(.internal, "\(error)")))
      }
    }
    return (outcomes, counts.map(\.value))
  }

  @Test func `what a request rests on is looked at when it is done`() async throws {
    let fixture = try StoreFixture()
    let query = EffectiveQuery(StructuredQuery(.collection(ResourcePath(["a"]))))
    let write = try fixture.set("b/1", ("n", .integer(1)))
    func readSet() throws -> ReadSet {
      try fixture.store.read { snapshot in
        var readSet = ReadSet()
        readSet.documents[fixture.path("c/1")] = .some(
          try snapshot.updateTime(of: fixture.name("c/1")))
        readSet.results = [
          try observed(query, in: snapshot)
        ]
        return readSet
      }
    }
    _ = try await fixture.writer.commit([write], on: readSet())
    // Nothing that was looked at: elsewhere, another document below, the same again.
    for mutation in [
      try fixture.set("d/1", ("n", .integer(1))), try fixture.set("a/x/y/z", ("n", .integer(1))),
      fixture.delete("c/1"),
    ] {
      let seen = try readSet()
      _ = try await fixture.writer.commit([mutation])
      _ = try await fixture.writer.commit([write], on: seen)
    }
    // A phantom, a change, a document that went; a document that came.
    for mutation in [
      try fixture.set("a/1", ("n", .integer(1))), try fixture.set("a/1", ("n", .integer(2))),
      fixture.delete("a/1"), try fixture.set("c/1", ("n", .integer(1))),
    ] {
      let seen = try readSet()
      _ = try await fixture.writer.commit([mutation])
      let error = await #expect(throws: Status.self) {
        try await fixture.writer.commit([write], on: seen)
      }
      #expect(error?.code == .aborted, "\(mutation)")
    }
    // Gone and made again as it was, by another time.
    _ = try await fixture.writer.commit([try fixture.set("a/1", ("n", .integer(1)))])
    let seen = try readSet()
    _ = try await fixture.writer.commit([fixture.delete("a/1")])
    _ = try await fixture.writer.commit([try fixture.set("a/1", ("n", .integer(1)))])
    let error = await #expect(throws: Status.self) {
      try await fixture.writer.commit([write], on: seen)
    }
    #expect(error?.code == .aborted)
  }

  /// Two that read, then write what the other has read: of one group, only the first is done.
  @Test(arguments: [true, false])
  func `what a request rests on may also go by another of its group`(byQuery: Bool) async throws {
    let fixture = try StoreFixture()
    let query = EffectiveQuery(StructuredQuery(.collection(ResourcePath(["a"]))))
    _ = try await fixture.writer.commit([try fixture.set("b/1", ("n", .integer(1)))])
    let readSet = try fixture.store.read { snapshot in
      var readSet = ReadSet()
      if byQuery {
        readSet.results = [
          try observed(query, in: snapshot)
        ]
      } else {
        for name in ["a/0", "a/1"] {
          readSet.documents[fixture.path(name)] = .some(
            try snapshot.updateTime(of: fixture.name(name)))
        }
      }
      return readSet
    }
    let gate = DispatchSemaphore(value: 0)
    await withCheckedContinuation { held in
      fixture.writer.submit([]) { _ in
        held.resume()
        gate.wait()
      }
    }
    var tasks: [Task<CommitResult, any Error>] = []
    for index in 0..<2 {
      let write = try fixture.set("a/\(index)", ("n", .integer(1)))
      tasks.append(Task { try await fixture.writer.commit([write], on: readSet) })
      while fixture.writer.waitingCount < index + 1 { await Task.yield() }
    }
    gate.signal()
    _ = try await tasks[0].value
    let error = await #expect(throws: Status.self) { try await tasks[1].value }
    #expect(error?.code == .aborted)
    #expect(try contents(fixture) == ["a/0": 1, "b/1": 1])
  }

  private func observed(
    _ query: EffectiveQuery, in snapshot: StoreSnapshot
  ) throws -> ObservedAnswer {
    let request = ReadRequest.results(query)
    return ObservedAnswer(
      request, try StoreView(snapshot).answer(request), at: try snapshot.state().lastSequence)
  }

  @Test func `a closure that makes nothing of damage fails all the same`() async throws {
    let fixture = try StoreFixture { $0.verifiesChecksumsOnRead = true }
    _ = try await fixture.writer.commit([try fixture.set("a/1", ("n", .integer(1)))])
    try fixture.damage(fixture.store.tables.documents, fixture.name("a/1").key.bytes)
    let error = await #expect(throws: Status.self) {
      try await fixture.writer.perform { live in
        #expect(throws: Status.self) { try live.answer(.documents(at: [fixture.path("a/1")])) }
        try live.write(try fixture.set("a/2", ("n", .integer(2))))
      }
    }
    #expect(error?.code == .dataLoss)
    #expect(try fixture.document("a/2") == nil)
  }

  /// When a group is planned again, closures are not run again: what they were told has to hold.
  @Test func `what a closure was told of time and sums stands, or its request is refused`() throws {
    let fixture = try StoreFixture()
    let query = EffectiveQuery(StructuredQuery(.collection(ResourcePath(["a"]))))
    try fixture.commit(try fixture.set("a/1", ("n", .integer(1))))
    let early = fixture.clock.now
    fixture.clock.advance(by: 60_000_000)
    let now = fixture.clock.now

    func readSet(
      isAlone: Bool = false, _ body: (PlannedState) throws -> Void
    ) throws -> ReadSet {
      try fixture.store.read { snapshot in
        let file = try FileState(snapshot)
        var plan = CommitPlan(
          file, file.state, now: now, notAfter: .latest, documentCount: 1)
        return try withUnsafeMutablePointer(to: &plan) { plan in
          let live = PlannedState(plan, isAlone: isAlone)
          defer { live.drop() }
          try body(live)
          return live.request.reads
        }
      }
    }
    func isRefused(_ readSet: ReadSet) throws -> Bool {
      try fixture.store.read { snapshot in
        let file = try FileState(snapshot)
        var plan = CommitPlan(
          file, file.state, now: now, notAfter: .latest, documentCount: 1)
        do {
          try plan.check(readSet)
          return false
        } catch let status as Status {
          #expect(status.code == .aborted)
          return true
        }
      }
    }
    let time = try readSet { try $0.write(try fixture.set("b/1", ("n", .null))) }
    let sum = try readSet {
      _ = try $0.answer(.values([Aggregation(.count(upTo: nil))], over: query))
    }
    // Others read for it what was committed, as an exclusive transaction does.
    let alone = try readSet(isAlone: true) { try $0.write(try fixture.set("b/1", ("n", .null))) }
    #expect(try !isRefused(time) && !isRefused(sum) && !isRefused(alone))
    // By another process, whose clock is behind: the time to come is the same.
    fixture.clock.now = Instant(microseconds: early.microseconds + 1000)
    try fixture.commit(try fixture.set("a/2", ("n", .integer(1))))
    #expect(try !isRefused(time) && isRefused(sum) && isRefused(alone))
    fixture.clock.now = Instant(microseconds: now.microseconds + 1000)
    try fixture.commit(try fixture.set("a/3", ("n", .integer(1))))
    #expect(try isRefused(time))
  }

  @Test func `a closure's writes are within the limits of one request`() async throws {
    let fixture = try StoreFixture()
    var half = Mutation(path: fixture.name("a/1").path, operation: .patch(.empty, mask: []))
    half.transforms = (0..<300).map { _ in (FieldSegments(["n"]), .increment(.integer(1))) }
    let mutation = half
    _ = try await fixture.writer.perform { try $0.write(mutation) }
    let error = await #expect(throws: Status.self) {
      try await fixture.writer.perform { live in
        for _ in 0..<2 { try live.write(mutation) }
      }
    }
    #expect(
      error?.message == "A request has more than 500 transforms of one document: a/1")
    #expect(try contents(fixture) == ["a/1": 300])
  }

  @Test func `who follows commits is told of each that changed something, and of no other`() throws
  {
    let fixture = try StoreFixture()
    let told = Guarded<[UInt64]>([])
    fixture.store.commitObserver.withLock { [store = fixture.store] observer in
      observer = {
        let sequence = try? store.read { try $0.state().lastSequence }
        told.withLock { $0.append(sequence ?? 0) }
      }
    }
    for outcome in fixture.commitTogether([
      [try fixture.set("a/1", ("n", .integer(1)))], [try fixture.set("a/2", ("n", .integer(1)))],
    ]) { _ = try outcome.get() }
    _ = try fixture.commitTogether([[fixture.delete("a/9")]])[0].get()
    _ = try fixture.commitTogether([[fixture.delete("a/1")]])[0].get()
    fixture.store.commitObserver.withLock { $0 = nil }
    #expect(told.withLock(\.self) == [2, 3])
  }

  @Test func `a failed flush is told as unknown, and the same writer goes on`() throws {
    let saboteur = Saboteur()
    let fixture = try StoreFixture {
      $0.faultInjector = { call in call == .commit ? saboteur.fail(call) : 0 }
    }
    saboteur.arm(0..<1, code: 5)
    let outcomes = fixture.commitTogether([
      [try fixture.set("a/1", ("n", .integer(1)))],
      [Mutation(path: fixture.name("a/2").path, operation: .delete, precondition: .exists(true))],
    ])
    #expect(throws: Status.self) { try outcomes[0].get() }
    // A refused request has nothing unknown about it.
    if case .failure(let status) = outcomes[1] {
      #expect(status.code == .notFound)
      #expect((status.nsError as? FirestoreErrorCode)?.isOutcomeUnknown == false)
    }
    let later = fixture.commitTogether([[try fixture.set("a/3", ("n", .integer(1)))]])
    #expect(throws: Never.self) { try later[0].get() }
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `a TTL policy that could not be flushed may be set, and the next one is`() throws {
    let saboteur = Saboteur()
    let fixture = try StoreFixture {
      $0.faultInjector = { call in call == .commit ? saboteur.fail(call) : 0 }
    }
    saboteur.arm(0..<1, code: 5)
    let due = FieldSegments(["due"])
    let status = #expect(throws: Status.self) { try fixture.store.setTTL("a", due) }
    #expect(status?.code == .resourceExhausted && status?.mayBeDone == true)
    #expect((status?.nsError as? FirestoreErrorCode)?.isOutcomeUnknown == true)
    #expect(throws: Never.self) { try fixture.store.setTTL("a", due) }
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `a full map grows, and nothing is lost`() throws {
    let fixture = try StoreFixture { $0.mapSizeBytes = 1 << 20 }
    let text = Value.string(String(repeating: "x", count: 20_000))
    for round in 0..<12 {
      let outcomes = fixture.commitTogether(
        try (0..<5).map { request in
          try (0..<20).map { try fixture.set("big/\(round)-\(request)-\($0)", ("t", text)) }
        })
      for outcome in outcomes { #expect(throws: Never.self) { try outcome.get() } }
    }
    let report = try fixture.store.check()
    #expect(report.problems == [] && report.documents == 1200)
  }

  @Test func `where the map cannot grow, only what does not fit fails`() throws {
    let fixture = try StoreFixture {
      $0.mapSizeBytes = 1 << 20
      $0.faultInjector = { $0 == .setMapSize ? 12 : 0 }
    }
    let long = Value.string(String(repeating: "x", count: 900_000))
    var requests = try (0..<10).map { [try fixture.set("a/\($0)", ("n", .integer(1)))] }
    requests[5] = try (0..<3).map { try fixture.set("big/\($0)", ("t", long)) }
    for (index, outcome) in fixture.commitTogether(requests).enumerated() {
      switch outcome {
      case .success: #expect(index != 5)
      case .failure(let status): #expect(index == 5, "\(status)")
      }
    }
    let report = try fixture.store.check()
    #expect(report.problems == [] && report.documents == 9)
  }

  @Test(arguments: [UInt64.max, UInt64.max - 1, UInt64(1) << 63])
  func `a stored sequence that no commit has given refuses writes as damage`(_ sequence: UInt64)
    throws
  {
    let fixture = try StoreFixture()
    try fixture.commit(try fixture.set("a/1", ("n", .integer(1))))
    var state = try fixture.store.read { try $0.state() }
    state.lastSequence = sequence
    try fixture.store.replaceRecord(fixture.store.tables.meta, StoreState.key) {
      $0 = state.encoded()
    }
    let error = #expect(throws: Status.self) {
      try fixture.commit(try fixture.set("a/2", ("n", .integer(1))))
    }
    #expect(error?.code == .dataLoss)
  }

  @Test(arguments: [(.max, 0), (0, .max), (.min, 0), (0, .min)] as [(Int64, Int64)])
  func `a stored sum of words that overflows refuses the write as damage`(
    documents: Int64, length: Int64
  ) throws {
    let fixture = try StoreFixture()
    let words = WordFields([.init(field: FieldSegments(["text"]), weight: 1)], .english)
    let keeper = IndexManager(fixture.store, policy: .declared, logger: .silent)
    try keeper.declare([IndexDefinition("books", [.init(words: words)])])
    try fixture.commit(try fixture.set("books/1", ("text", .string("sand"))))
    var sum = WordStatistic()
    (sum.documents, sum.length) = (documents, length)
    let table = fixture.store.tables.entries
    let keys = try fixture.store.read { snapshot in
      var keys: [[UInt8]] = []
      var cursor = try snapshot.lmdb.cursor(table)
      while try cursor.next() {
        if cursor.key.first == WordStatistic.marker { keys.append(Array(cursor.key)) }
      }
      return keys
    }
    #expect(!keys.isEmpty)
    for key in keys { try fixture.store.replaceRecord(table, key) { $0 = sum.encoded } }
    let isNegative = documents < 0 || length < 0
    let error = #expect(throws: Status.self) {
      try fixture.commit(
        isNegative
          ? fixture.delete("books/1") : fixture.set("books/2", ("text", .string("sand"))))
    }
    #expect(error?.code == .dataLoss)
  }

  @Test func `a request of very many documents is done in one piece`() throws {
    let fixture = try StoreFixture()
    let count = Soak.isOn ? 400_000 : 10_000
    // Spread over the whole table, so that each finds its own page.
    let names = (0..<count).map { fixture.name("a/\($0 &* 7919 % count)/b/\($0)") }
    let body = try DocumentBody(encoding: MapValue([("n", .null)]))
    let (made, gone) = (
      names.map { Mutation(path: $0.path, operation: .set(body)) },
      names.map { Mutation(path: $0.path, operation: .delete) }
    )
    #expect(throws: Never.self) { try fixture.commitTogether([made])[0].get() }
    #expect(try fixture.store.check().documents == count)
    #expect(throws: Never.self) { try fixture.commitTogether([gone])[0].get() }
    let report = try fixture.store.check()
    #expect(report.documents == 0 && report.problems == [])
  }

  @Test func `a document too large or too deep fails alone in its group`() throws {
    let fixture = try StoreFixture()
    var deep = Value.integer(1)
    for _ in 0..<21 { deep = .map(MapValue([("m", deep)])) }
    let long = Value.string(String(repeating: "x", count: 600_000))
    let outcomes = fixture.commitTogether([
      [try fixture.set("a/1", ("n", .integer(1)))],
      [try fixture.set("a/2", ("x", long), ("y", long))],
      [try fixture.set("a/3", ("deep", deep))],
      [
        try fixture.set("a/4", ("n", .integer(1))),
        Mutation(
          path: fixture.name("a/4").path,
          operation: .patch(
            MapValue([("x", long), ("y", long)]),
            mask: [
              FieldSegments(["x"]), FieldSegments(["y"]),
            ])),
      ],
      [try fixture.set("a/5", ("n", .integer(1)))],
    ])
    let codes = outcomes.map { outcome -> Status.Code? in
      if case .failure(let status) = outcome { status.code } else { nil }
    }
    #expect(codes == [nil, .invalidArgument, .invalidArgument, .invalidArgument, nil])
    #expect(try fixture.store.check().documents == 2)
  }

  @Test func `where the storage refuses a group, the culprit fails alone`() throws {
    // The record of one collection is damaged: only requests that need it fail.
    let fixture = try StoreFixture()
    for outcome in fixture.commitTogether([
      [try fixture.set("a/1", ("n", .integer(1)))], [try fixture.set("bad/1", ("n", .integer(1)))],
    ]) { _ = try outcome.get() }
    try fixture.damage(
      fixture.store.tables.collections, KeyLayout.catalogueKey(ResourcePath(["bad"])))
    let outcomes = fixture.commitTogether(
      try (2..<12).map { [try fixture.set($0 == 7 ? "bad/7" : "a/\($0)", ("n", .integer(1)))] })
    for (index, outcome) in outcomes.enumerated() {
      switch outcome {
      case .success: #expect(index != 5)
      case .failure(let status): #expect(index == 5 && status.code == .dataLoss)
      }
    }
    #expect(try fixture.store.check().problems.count == 2)
  }
}

extension StoreFixture {
  fileprivate func patch(
    _ text: String, to number: Int64, _ precondition: Mutation.Precondition
  ) -> Mutation {
    Mutation(
      path: name(text).path,
      operation: .patch(MapValue([("n", .integer(number))]), mask: [FieldSegments(["n"])]),
      precondition: precondition)
  }

  fileprivate func adding(_ number: Int64, to text: String) -> Mutation {
    Mutation(
      path: name(text).path, operation: .patch(.empty, mask: []),
      transforms: [(FieldSegments(["n"]), .increment(.integer(number)))])
  }

  /// Each field by a transform of its own; `n` is the one that is looked at.
  fileprivate func transforming(
    _ text: String, _ transforms: [(field: String, transform: FieldTransform)]
  ) -> Mutation {
    Mutation(
      path: name(text).path, operation: .patch(.empty, mask: []),
      transforms: transforms.map { (FieldSegments([$0.field]), $0.transform) })
  }

  fileprivate func delete(_ text: String, _ precondition: Mutation.Precondition) -> Mutation {
    Mutation(path: name(text).path, operation: .delete, precondition: precondition)
  }

  fileprivate func verify(_ text: String) -> Mutation {
    Mutation(path: name(text).path, operation: .verify, precondition: .exists(true))
  }

  /// Turns a bit of a stored record.
  func damage(_ table: Table, _ key: [UInt8]) throws {
    var transaction = try store.environment.beginWrite()
    try key.withUnsafeBytes { key in
      var value = try transaction.snapshot.get(table, key).map { Array($0) } ?? []
      value[value.count - 1] ^= 1
      try value.withUnsafeBytes { try transaction.put(table, key, $0) }
    }
    try transaction.commit()
  }
}
