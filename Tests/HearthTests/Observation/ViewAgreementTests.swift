import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// Every incremental view = the query run again; every chain of changes = the result.
///
/// Random worlds, queries and commits; listeners that are slow, come late, go, and go on by a token after
/// the file was closed and opened again. Tiny thresholds, so that limits run out of spare results
/// and bursts are merged.
@Suite(.ownThreads) struct ViewAgreementTests {
  static let scenarios = Soak.isOn ? 10_000 : 120
  static let lanes: UInt64 = 4

  @Test(arguments: [ListeningFixture.Kind.store, .memory, .late])
  func `every snapshot is the query run again at its commit, and its changes lead there`(
    _ kind: ListeningFixture.Kind
  ) async {
    let tally = await withTaskGroup { group in
      for lane in 0..<Self.lanes { group.addTask { Self.run(lane: lane, kind) } }
      return await group.reduce(into: Tally()) { $0.add($1) }
    }
    print("views in agreement over \(kind): \(tally)")
    #expect(tally.told > 2 * Self.scenarios)
    #expect(tally.changed > 0 && tally.refills > 0 && tally.resumed > 0 && tally.skipped > 0)
  }

  private static func run(lane: UInt64, _ kind: ListeningFixture.Kind) -> Tally {
    var tally = Tally()
    for number in 0..<(scenarios / Int(lanes)) {
      let seed = UInt64(number) &* lanes &+ lane
      do {
        var scenario = try ViewScenario(seed: seed, kind)
        try scenario.run()
        tally.add(scenario.tally)
      } catch {
        Issue.record("seed \(seed): \(error)")
        if Issue.isTooMany(&tally.failures) { break }
      }
    }
    return tally
  }

  struct Tally {
    var told = 0
    var changed = 0
    var totals = 0
    var skipped = 0
    var refills = 0
    var resumed = 0
    var resets = 0
    var failures = 0

    mutating func add(_ other: Tally) {
      told += other.told
      changed += other.changed
      totals += other.totals
      skipped += other.skipped
      refills += other.refills
      resumed += other.resumed
      resets += other.resets
      failures += other.failures
    }
  }
}

extension Issue {
  fileprivate static func isTooMany(_ failures: inout Int) -> Bool {
    failures += 1
    return failures > 3
  }
}

private struct ViewScenario {
  struct Mismatch: Error, CustomStringConvertible { var description: String }

  /// A document as the reference has it.
  struct Version {
    var document: ReferenceQuery.Document
    var time: Instant
  }

  typealias State = [ResourcePath: Version]

  struct Watch {
    var query: StructuredQuery
    var aggregations: [Aggregation]?
    var asker: Asker
    var told: [StoredDocument]?
    var toldValues: [Value]?
    /// Of what it was told last; before, of what was committed when it began.
    var sequence: UInt64
    /// It goes on from this, and has not been told anything yet.
    var resumes = false
  }

  let seed: UInt64
  var random: RandomQueries
  let fixture: ListeningFixture
  var registry: ListenerRegistry
  /// After each commit that changed something.
  var states: [(sequence: UInt64, state: State)] = [(0, [:])]
  var watches: [Watch] = []
  var paths: [ResourcePath]
  let first: [(path: ResourcePath, fields: MapValue)]
  var tally = ViewAgreementTests.Tally()

  init(seed: UInt64, _ kind: ListeningFixture.Kind) throws {
    self.seed = seed
    random = RandomQueries(seed: seed &* 7919 &+ 13)
    // Some collections are full, so that most queries find something, and limits run out.
    var world = random.world(14)
    for id in 0..<10 {
      let collection = ["a", "books", "b"][id % (1 + Int(seed % 3))]
      world.append((ResourcePath([collection, "d\(id)"]), random.fields()))
    }
    first = world
    paths = first.map(\.path)
    fixture = try ListeningFixture(
      kind == .store && seed % 5 == 0 ? .shortKeys : kind, seed: seed, isLogShort: seed % 7 == 3)
    registry = Self.registry(fixture)
  }

  private static func registry(_ fixture: ListeningFixture) -> ListenerRegistry {
    var tuning = MaterializedQueryTuning()
    tuning.minimumLookahead = 1
    tuning.stepLimit = 5
    return fixture.registry(tuning)
  }

  private mutating func below(_ bound: Int) -> Int { random.values.generator.below(bound) }

  mutating func run() throws {
    defer { registry.close() }
    try commit([first.map { .some(($0.path, $0.fields)) }].map { $0.compactMap { $0 } })
    for _ in 0..<40 {
      switch below(14) {
      case 0, 1: if watches.count < 5 { listen() }
      case 2:
        guard !watches.isEmpty else { continue }
        let watch = watches.remove(at: below(watches.count))
        registry.remove(watch.asker.listener, watching: watch.asker.target)
        if try watch.asker.take() != nil { throw Mismatch(description: "told after removal") }
      case 3: registry.settle()
      case 4, 5, 6:
        registry.settle()
        for index in watches.indices where below(3) > 0 { try take(index) }
      case 7: if below(4) == 0 { try reopen() }
      default:
        try commit(
          (0..<(1 + below(3))).map { _ in
            (0..<(1 + below(3))).map { _ in (path(), fields()) }
          })
      }
    }
    registry.settle()
    for index in watches.indices {
      while try take(index) {}
      try expectNewest(index)
    }
    let figures = registry.readStatistics()
    tally.refills += figures.refills
    tally.skipped += figures.snapshotsSkipped
  }

  /// Nil to delete; mostly what another document had, so that results change.
  private mutating func fields() -> MapValue? {
    if below(4) == 0 { return nil }
    return below(3) == 0 ? random.fields() : random.values.generator.pick(first).fields
  }

  private mutating func path() -> ResourcePath {
    if below(6) == 0 || paths.isEmpty { paths.append(random.path()) }
    return random.values.generator.pick(paths)
  }

  private mutating func commit(_ requests: [[(ResourcePath, MapValue?)]]) throws {
    let mutations = try requests.map { request in
      try request.map { path, fields in
        Mutation(
          path: path,
          operation: try fields.map { .set(try DocumentBody(encoding: $0)) } ?? .delete)
      }
    }
    fixture.clock.advance(by: Int64(below(3)))
    for (request, outcome) in zip(requests, fixture.commitTogether(mutations)) {
      let result = try outcome.get()
      var state = states[states.count - 1].state
      var isChanged = false
      for ((path, fields), told) in zip(request, result.results) {
        if state[path]?.time != told.updateTime { isChanged = true }
        guard let time = told.updateTime else {
          state[path] = nil
          continue
        }
        // The last write of the request to the document counts; the time is the same for all.
        guard let fields else { continue }
        state[path] = Version(document: ReferenceQuery.Document((path, fields)), time: time)
      }
      if isChanged { states.append((result.sequence, state)) }
    }
  }

  // MARK: Listening

  private mutating func listen() {
    let world = states[states.count - 1].state.values.map { ($0.document.path, $0.document.fields) }
    for attempt in 0..<40 {
      var query = random.query(world.map { (path: $0.0, fields: $0.1) })
      if below(2) == 0, query.limit == nil { query.limit = 1 + below(4) }
      if query.limit == 0 || query.isLimitToLast && query.orders.isEmpty { continue }
      var aggregations: [Aggregation]?
      if below(5) == 0 {
        query.projection = []
        aggregations = random.aggregations()
      }
      do {
        try aggregations.map { try query.check($0) } ?? query.check()
      } catch {
        continue
      }
      // Mostly of several documents: they come and go.
      let found = results(of: query, states[states.count - 1].state).count
      if found < min(query.limit ?? 3, 3), attempt < 30 { continue }
      let effective = EffectiveQuery(query)
      let target = aggregations.map { Listener.Target.totals(effective, $0) } ?? .query(effective)
      watches.append(
        Watch(
          query: query, aggregations: aggregations, asker: Asker(target, registry),
          sequence: states[states.count - 1].sequence))
      return
    }
  }

  /// As after the end of the process: listeners to queries go on by their tokens, others begin anew.
  private mutating func reopen() throws {
    registry.settle()
    tally.refills += registry.readStatistics().refills
    registry.close()
    try fixture.reopen()
    registry = Self.registry(fixture)
    // While nobody listens.
    if below(2) == 0 { try commit([[(path(), fields())]]) }
    for index in watches.indices {
      let isResumed = watches[index].told != nil && watches[index].aggregations == nil
      watches[index].asker = Asker(
        watches[index].asker.target, registry, since: isResumed ? watches[index].sequence : nil)
      watches[index].resumes = isResumed
      if !isResumed {
        watches[index].told = nil
        watches[index].toldValues = nil
        watches[index].sequence = states[states.count - 1].sequence
      }
    }
  }

  // MARK: Judging

  @discardableResult
  private mutating func take(_ index: Int) throws -> Bool {
    guard let event = try watches[index].asker.take() else { return false }
    let watch = watches[index]
    tally.told += 1
    let note = "\(watch.query), told at \(event.sequence)"
    guard event.sequence >= watch.sequence else {
      throw Mismatch(description: "back from \(watch.sequence): \(note)")
    }
    guard let state = states.last(where: { $0.sequence <= event.sequence })?.state else {
      throw Mismatch(description: "never: \(note)")
    }
    watches[index].sequence = event.sequence
    watches[index].resumes = false
    if let aggregations = watch.aggregations {
      tally.totals += 1
      try expect(event.values, aggregations, watch.query, state, note)
      if let told = watch.toldValues, told == event.values {
        throw Mismatch(description: "no news: \(note)")
      }
      watches[index].toldValues = event.values
      return true
    }
    let documents = event.list.documents
    try expect(documents, watch.query, state, note)
    if watch.resumes {
      tally.resumed += 1
      if event.isFullResync { tally.resets += 1 }
    }
    if event.isFullResync != (watch.resumes && event.changes == nil) {
      throw Mismatch(description: "reset \(event.isFullResync): \(note)")
    }
    if let changes = event.changes {
      guard let told = watch.told else {
        throw Mismatch(description: "changes of nothing: \(note)")
      }
      if changes.isEmpty, !watch.resumes { throw Mismatch(description: "no news: \(note)") }
      tally.changed += changes.count
      try apply(changes, to: told, leadingTo: documents, watch.query, note)
    } else if watch.told != nil, !event.isFullResync {
      throw Mismatch(description: "all of it again: \(note)")
    }
    watches[index].told = documents
    return true
  }

  /// What the reference finds in the state, whole documents.
  private func results(of query: StructuredQuery, _ state: State) -> [Version] {
    ReferenceQuery(query: query).run(state.values.map(\.document)).compactMap { state[$0.path] }
  }

  private func expect(
    _ documents: [StoredDocument], _ query: StructuredQuery, _ state: State, _ note: String
  ) throws {
    let expected = results(of: query, state)
    let isRight = documents.elementsEqual(expected) { document, version in
      document.path == version.document.path && document.updateTime == version.time
        && (try? document.body.map()) == version.document.fields
    }
    guard isRight else {
      throw Mismatch(
        description: """
          \(documents.map { "\($0.path.text) \($0.updateTime)" }) instead of \
          \(expected.map { "\($0.document.path.text) \($0.time)" }): \(note)
          """)
    }
  }

  private func expect(
    _ values: [Value]?, _ aggregations: [Aggregation], _ query: StructuredQuery, _ state: State,
    _ note: String
  ) throws {
    let expected = ReferenceQuery(query: query).aggregate(
      aggregations, state.values.map(\.document))
    let fields = aggregations.compactMap(\.field)
    // Of all documents: a limit counts those that have the fields.
    let magnitude = state.values.reduce(1) { sum, version in
      fields.reduce(sum) { $0 + version.document.magnitude(at: $1) }
    }
    let isRight = (values ?? []).elementsEqual(expected) { one, other in
      guard case .double(let a) = one, case .double(let b) = other else { return one == other }
      // Sums that cancel or overflow depend on their order.
      return one == other || !a.isFinite || !b.isFinite || abs(a - b) <= 1e-9 * magnitude
    }
    guard isRight else {
      throw Mismatch(
        description: "\(values as Any) instead of \(expected) of \(aggregations): \(note)")
    }
  }

  /// By the rules of `listens.json`: removed, added, modified, each kind in order; the working list is in
  /// the query's order at every step, documents whose change is to come with their old fields.
  private func apply(
    _ changes: [ResultChange], to told: [StoredDocument], leadingTo documents: [StoredDocument],
    _ query: StructuredQuery, _ note: String
  ) throws {
    let reference = ReferenceQuery(query: query)
    func isBefore(_ one: StoredDocument, _ other: StoredDocument) throws -> Bool {
      reference.isBefore(
        .init((one.path, try one.body.map())), .init((other.path, try other.body.map())))
    }
    func check(_ isRight: Bool, _ what: String) throws {
      if !isRight {
        let all = changes.map { "\($0.kind) \($0.document.path.text)" }
        throw Mismatch(description: "\(what) in \(all): \(note)")
      }
    }
    var working = told
    var last: ResultChange?
    for change in changes {
      if let last {
        let ranks: [DocumentChangeType: Int] = [.removed: 0, .added: 1, .modified: 2]
        try check(ranks[last.kind] ?? 0 <= ranks[change.kind] ?? 0, "kinds out of order")
        if last.kind == change.kind {
          try check(isBefore(last.document, change.document), "changes out of order")
        }
      }
      last = change
      if let index = change.oldIndex {
        try check(
          index < working.count && working[index].path == change.document.path, "old index")
        working.remove(at: index)
      }
      if let index = change.newIndex {
        try check(index <= working.count, "new index")
        working.insert(change.document, at: index)
        if index > 0 { try check(isBefore(working[index - 1], working[index]), "place") }
        if index + 1 < working.count {
          try check(isBefore(working[index], working[index + 1]), "place")
        }
      }
      switch change.kind {
      case .removed: try check(change.newIndex == nil && change.oldIndex != nil, "removed")
      case .added:
        try check(change.newIndex != nil && change.oldIndex == nil, "added")
        try check(!told.contains { $0.path == change.document.path }, "added what was there")
      case .modified:
        try check(change.newIndex != nil && change.oldIndex != nil, "modified")
        let before = told.first { $0.path == change.document.path }
        try check(before?.updateTime != change.document.updateTime, "modified without a change")
      }
    }
    try check(
      working.elementsEqual(documents) { $0.path == $1.path && $0.updateTime == $1.updateTime },
      "changes lead elsewhere")
  }

  /// After everything was told, the newest state was.
  private func expectNewest(_ index: Int) throws {
    let watch = watches[index]
    let state = states[states.count - 1].state
    if let aggregations = watch.aggregations {
      try expect(watch.toldValues, aggregations, watch.query, state, "\(watch.query), in the end")
    } else {
      try expect(watch.told ?? [], watch.query, state, "\(watch.query), in the end")
    }
  }
}

extension ReferenceQuery.Document {
  /// Of the number there; 0 if there is none.
  fileprivate func magnitude(at field: FieldSegments) -> Double {
    switch find(field)?.value {
    case .integer(let integer)?: Double(integer).magnitude
    case .double(let double)? where double.isFinite: double.magnitude
    default: 0
    }
  }
}

extension ListenerRegistry {
  func readStatistics() -> ListenerStatistics {
    let result = Guarded(ListenerStatistics())
    let done = DispatchSemaphore(value: 0)
    statistics { statistics in
      result.withLock { $0 = statistics }
      done.signal()
    }
    done.wait()
    return result.withLock { $0 }
  }
}
