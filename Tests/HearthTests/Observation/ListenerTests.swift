import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A listener that is asked, so that it is as slow as the test wants.
final class Asker: Sendable {
  let listener: Listener
  let target: Listener.Target

  /// - Parameter eventLimit: 0: a newer commit takes the place of one that waits.
  init(
    _ target: Listener.Target, _ registry: ListenerRegistry, since sequence: UInt64? = nil,
    eventLimit: Int = 0
  ) {
    self.target = target
    listener = Listener(.ask {}, eventLimit: eventLimit, callback: { _ in })
    registry.add(listener, watching: target, from: sequence.map { .after($0) } ?? .now)
  }

  func take() throws -> ResultEvent? { try listener.take()?.get() }
}

/// What a listener should be told, by the rules of `listens.json`.
struct ExpectedChange: Equatable {
  var kind: DocumentChangeType
  var path: ResourcePath
  var oldIndex: Int?
  var newIndex: Int?

  init(_ change: ResultChange) {
    kind = change.kind
    path = change.document.path
    oldIndex = change.oldIndex
    newIndex = change.newIndex
  }

  private init(_ kind: DocumentChangeType, _ path: ResourcePath, _ old: Int?, _ new: Int?) {
    (self.kind, self.path, oldIndex, newIndex) = (kind, path, old, new)
  }

  typealias Told = [(path: ResourcePath, time: Instant)]

  static func between(_ old: Told, _ new: Told) -> [ExpectedChange] {
    var changes: [ExpectedChange] = []
    var working = old.map(\.path)
    for (path, _) in old where !new.contains(where: { $0.path == path }) {
      guard let index = working.firstIndex(of: path) else { continue }
      working.remove(at: index)
      changes.append(ExpectedChange(.removed, path, index, nil))
    }
    for (path, _) in new where !old.contains(where: { $0.path == path }) {
      let index = working.firstIndex { ResourcePath.compare($0, path) > 0 } ?? working.count
      working.insert(path, at: index)
      changes.append(ExpectedChange(.added, path, nil, index))
    }
    for (path, time) in new {
      guard let before = old.first(where: { $0.path == path }), before.time != time,
        let index = working.firstIndex(of: path)
      else { continue }
      changes.append(ExpectedChange(.modified, path, index, index))
    }
    return changes
  }
}

extension Listener.Target {
  static func collection(_ path: ResourcePath) -> Listener.Target {
    .query(EffectiveQuery(StructuredQuery(.collection(path))))
  }

  static func group(_ id: String) -> Listener.Target {
    .query(EffectiveQuery(StructuredQuery(.group(id, below: .root))))
  }
}

extension ResultEvent {
  fileprivate var told: ExpectedChange.Told { list.documents.map { ($0.path, $0.updateTime) } }

  /// The changes; those of a first event are all of its documents.
  var allChanges: [ResultChange] {
    changes
      ?? list.documents.enumerated().map { index, document in
        ResultChange(kind: .added, document: document, newIndex: index)
      }
  }
}

extension ListenerRegistry {
  /// Until what is committed by now stands in the mailboxes.
  func settle() {
    let done = DispatchSemaphore(value: 0)
    // A listener that was added waits for these, too.
    source.whenWritesAreDone(touching: .everything) { [self] in
      afterEvents { done.signal() }
    }
    done.wait()
  }
}

@Suite(.ownThreads) struct ListenerTests {
  private func commit(_ fixture: StoreFixture, _ mutations: Mutation...) throws {
    for outcome in fixture.commitTogether([mutations]) { _ = try outcome.get() }
  }

  private func commit(_ fixture: ListeningFixture, _ mutations: Mutation...) throws {
    for outcome in fixture.commitTogether([mutations]) { _ = try outcome.get() }
  }

  private func registry(_ fixture: StoreFixture) -> ListenerRegistry {
    ListenerRegistry(fixture.store, fixture.writer, logger: .silent)
  }

  // MARK: Agreement

  @Test(arguments: ListeningFixture.Kind.allCases)
  func `every snapshot is the result as of some commit, in order, with right changes`(
    _ kind: ListeningFixture.Kind
  ) throws {
    let isStored = kind == .store || kind == .shortKeys
    let seeds = 0..<(Soak.isOn ? 20_000 : isStored ? 400 : 100)
    // Every answer of the memory backend examines all documents: it gets a new database at times.
    for start in stride(from: 0, to: seeds.count, by: isStored ? seeds.count : 250) {
      let fixture = try ListeningFixture(kind)
      let registry = fixture.registry()
      for seed in seeds.dropFirst(start).prefix(isStored ? seeds.count : 250) {
        do {
          try scenario(UInt64(seed), fixture, registry)
        } catch {
          Issue.record("seed \(seed), \(kind): \(error)")
        }
      }
      registry.close()
    }
  }

  private struct Mismatch: Error, CustomStringConvertible { var description: String }

  private struct Watch {
    var asker: Asker
    /// The first commit whose state it may be told.
    var earliest: Int
    var told: ExpectedChange.Told?
  }

  private func scenario(
    _ seed: UInt64, _ fixture: ListeningFixture, _ registry: ListenerRegistry
  ) throws {
    var generator = SeededGenerator(seed: seed)
    let root = "c\(seed)"
    let group = "g\(seed)"
    let paths = [
      "\(root)/a", "\(root)/b", "\(root)/c", "\(root)/a/\(group)/1", "\(root)/b/\(group)/1",
      "\(root)/b/\(group)/1/\(group)/2", "\(root)/b/\(group)/3", "\(root)/other/\(root)/a",
    ].map { ResourcePath(relative: $0) }
    // State n is after n commits that changed something.
    var states: [[ResourcePath: Instant]] = [[:]]
    var watches: [Watch] = []

    func take(_ watch: inout Watch) throws {
      guard let event = try watch.asker.take() else { return }
      let told = event.told
      let changes = event.allChanges.map(ExpectedChange.init)
      let expected = ExpectedChange.between(watch.told ?? [], told)
      guard changes == expected else {
        throw Mismatch(description: "\(changes), not \(expected)")
      }
      if watch.told != nil, changes.isEmpty { throw Mismatch(description: "no news") }
      guard
        let index = states.indices.dropFirst(watch.earliest).first(where: {
          result(watch.asker.target, states[$0]).elementsEqual(told, by: ==)
        })
      else {
        throw Mismatch(
          description: "\(told) was never so after \(watch.earliest) of \(states)")
      }
      watch.told = told
      watch.earliest = index
    }

    for _ in 0..<12 {
      switch generator.below(6) {
      case 0 where watches.count < 4:
        let targets: [Listener.Target] = [
          .document(generator.pick(paths)), .collection(ResourcePath([root])), .group(group),
          .collection(generator.pick(paths).parent), .group(root),
        ]
        watches.append(
          Watch(
            asker: Asker(
              generator.pick(targets), registry, eventLimit: generator.pick([0, 1, 16])),
            earliest: states.count - 1))
      case 1 where !watches.isEmpty:
        let watch = watches.remove(at: generator.below(watches.count))
        registry.remove(watch.asker.listener, watching: watch.asker.target)
        if try watch.asker.take() != nil { throw Mismatch(description: "told after removal") }
      case 2: registry.settle()
      case 3 where !watches.isEmpty: try take(&watches[generator.below(watches.count)])
      default:
        let requests = try (0..<(1 + generator.below(3))).map { _ in
          try (0..<(1 + generator.below(3))).map { _ in
            let path = generator.pick(paths)
            return generator.one(in: 3)
              ? fixture.delete(path.text)
              : try fixture.set(path.text, ("n", .integer(Int64(generator.below(3)))))
          }
        }
        let outcomes = fixture.commitTogether(requests)
        for (request, outcome) in zip(requests, outcomes) {
          var state = states[states.count - 1]
          for (mutation, result) in zip(request, try outcome.get().results) {
            state[mutation.path] = result.updateTime
          }
          if state != states[states.count - 1] { states.append(state) }
        }
      }
    }
    registry.settle()
    for index in watches.indices {
      for _ in 0..<Listener.eventLimit + 3 { try take(&watches[index]) }
      let latest = result(watches[index].asker.target, states[states.count - 1])
      guard let told = watches[index].told, told.elementsEqual(latest, by: ==) else {
        throw Mismatch(description: "\(watches[index].told as Any) is not the latest, \(latest)")
      }
      registry.remove(watches[index].asker.listener, watching: watches[index].asker.target)
    }
  }

  private func result(
    _ target: Listener.Target, _ state: [ResourcePath: Instant]
  ) -> ExpectedChange.Told {
    let wanted = state.filter { path, _ in
      switch target {
      case .document(let document): path == document
      case .query(let query), .totals(let query, _): query.scope.contains(path)
      case .groups, .joined: false
      }
    }
    return wanted.sorted { ResourcePath.compare($0.key, $1.key) < 0 }.map { ($0.key, $0.value) }
  }

  // MARK: Promises

  @Test(arguments: ListeningFixture.Kind.allCases)
  func `an idle listener gets each commit as its own snapshot`(_ kind: ListeningFixture.Kind) throws
  {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    let asker = Asker(.collection(ResourcePath(["a"])), registry)
    registry.settle()
    #expect(try asker.take()?.told.count == 0)
    #expect(try asker.take() == nil)
    for number in 0..<50 {
      try commit(fixture, try fixture.set("a/\(number % 7)", ("n", .integer(Int64(number)))))
      try commit(fixture, try fixture.set("b/\(number)", ("n", .null)))
      registry.settle()
      let event = try #require(try asker.take())
      #expect(event.allChanges.count == 1)
      #expect(try asker.take() == nil)
    }
  }

  @Test(arguments: ListeningFixture.Kind.allCases)
  func `a burst that comes to nothing is no news`(_ kind: ListeningFixture.Kind) throws {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    try commit(fixture, try fixture.set("a/1", ("n", .null)))
    let asker = Asker(.collection(ResourcePath(["a"])), registry)
    registry.settle()
    #expect(try asker.take()?.allChanges.count == 1)
    try commit(fixture, try fixture.set("a/2", ("n", .null)))
    registry.settle()
    try commit(fixture, fixture.delete("a/2"))
    registry.settle()
    #expect(try asker.take() == nil)
    // Nothing is stuck: the next change comes.
    try commit(fixture, try fixture.set("a/3", ("n", .null)))
    registry.settle()
    #expect(try asker.take()?.allChanges.map(\.newIndex) == [1])
  }

  @Test(arguments: ListeningFixture.Kind.allCases)
  func `a snapshot shows the end of its commit, whoever watches the rest of it`(
    _ kind: ListeningFixture.Kind
  ) throws {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    let asker = Asker(.collection(ResourcePath(["a"])), registry)
    registry.settle()
    #expect(try asker.take()?.sequence == 0)
    try commit(
      fixture, try fixture.set("b/1", ("n", .null)), try fixture.set("a/1", ("n", .null)),
      try fixture.set("b/2", ("n", .null)), try fixture.set("b/3", ("n", .null)))
    registry.settle()
    #expect(try asker.take()?.sequence == 4)
  }

  @Test(arguments: ListeningFixture.Kind.allCases)
  func `a group below a document hears nothing of the group elsewhere`(
    _ kind: ListeningFixture.Kind
  ) throws {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    let query = EffectiveQuery(StructuredQuery(.group("c", below: ResourcePath(["a", "1"]))))
    let asker = Asker(.query(query), registry)
    let count = Asker(.totals(query, [Aggregation(.count(upTo: nil))]), registry)
    registry.settle()
    #expect(try asker.take()?.list.isEmpty == true)
    #expect(try count.take()?.values == [.integer(0)])
    for path in ["a/1/c/1", "a/2/c/1", "c/1", "a/1/b/1/c/2", "a/11/c/1"] {
      try commit(fixture, try fixture.set(path, ("n", .null)))
    }
    registry.settle()
    #expect(
      try asker.take()?.list.documents.map(\.path.text) == ["a/1/b/1/c/2", "a/1/c/1"])
    #expect(try count.take()?.values == [.integer(2)])
  }

  @Test func `that the log was too short is told even to who is slow`() throws {
    let fixture = try StoreFixture { $0.retention.limitBytes = 0 }
    let registry = registry(fixture)
    for number in 0..<5 {
      try commit(fixture, try fixture.set("a/1", ("n", .integer(Int64(number)))))
    }
    let asker = Asker(.collection(ResourcePath(["a"])), registry, since: 1)
    registry.settle()
    try commit(fixture, try fixture.set("a/2", ("n", .null)))
    registry.settle()
    let event = try #require(try asker.take())
    #expect(event.isFullResync && event.changes == nil && event.list.count == 2)
    try commit(fixture, fixture.delete("a/2"))
    registry.settle()
    #expect(try asker.take()?.isFullResync == false)
  }

  @Test func `listeners that come while much is committed miss nothing`() throws {
    let fixture = try StoreFixture()
    var tuning = MaterializedQueryTuning()
    // Everything that comes together is merged.
    tuning.stepLimit = 1
    let registry = ListenerRegistry(fixture.store, fixture.writer, logger: .silent, tuning: tuning)
    let all = Asker(.collection(ResourcePath(["a"])), registry)
    let count = Aggregation(.count(upTo: nil))
    var step = 0
    for round in 0..<(Soak.isOn ? 20_000 : 50) {
      let committed = DispatchGroup()
      var askers: [(query: EffectiveQuery, asker: Asker)] = []
      for number in 0..<12 {
        step += 1
        let value = Value.integer(Int64(step * 7 % 5))
        committed.enter()
        fixture.writer.submit([try fixture.set("a/\(step % 3)", ("n", value))]) { _ in
          committed.leave()
        }
        guard number % 3 == 1 else { continue }
        var query = StructuredQuery(.collection(ResourcePath(["a"])))
        query.add(
          .comparison(
            StructuredQuery.Comparison(
              field: FieldSegments(["n"]), operator: .equal, operand: .integer(Int64(number / 3)))))
        let effective = EffectiveQuery(query)
        askers.append((effective, Asker(.totals(effective, [count]), registry)))
      }
      committed.wait()
      registry.settle()
      for (query, asker) in askers {
        var told: [Value]?
        // It comes when the writes before it have settled, which may be a little later.
        try blockUntil {
          told = try asker.take()?.values
          return told != nil
        }
        registry.settle()
        while let event = try asker.take() { told = event.values }
        let now = try fixture.store.read { try $0.aggregate([count], over: query) }
        #expect(told == now, "round \(round)")
        registry.remove(asker.listener, watching: asker.target)
      }
    }
    #expect(try all.take()?.list.count == 3)
  }

  @Test func `a view is right when another comes from the middle of what it was told at once`()
    throws
  {
    let fixture = try StoreFixture()
    var tuning = MaterializedQueryTuning()
    tuning.stepLimit = 1
    let mayLoad = DispatchSemaphore(value: 0)
    let loads = Guarded(0)
    let loaded = DispatchSemaphore(value: 0)
    let registry = ListenerRegistry(fixture.store, fixture.writer, logger: .silent, tuning: tuning)
    { _ in
      let load = loads.withLock { count in
        count += 1
        return count
      }
      loaded.signal()
      if load == 2 { mayLoad.wait() }
    }
    func askedSoFar() {
      let done = DispatchSemaphore(value: 0)
      fixture.writer.whenWritesAreDone(touching: .everything) {
        registry.statistics { _ in done.signal() }
      }
      done.wait()
    }
    var query = StructuredQuery(.collection(ResourcePath(["a"])))
    query.add(
      .comparison(
        StructuredQuery.Comparison(
          field: FieldSegments(["n"]), operator: .equal, operand: .integer(2))))
    try commit(fixture, try fixture.set("a/1", ("n", .integer(0))))
    try commit(fixture, try fixture.set("a/2", ("n", .integer(2))))
    let count = [Aggregation(.count(upTo: nil))]
    let twos = Asker(.totals(EffectiveQuery(query), count), registry)
    registry.settle()
    loaded.wait()

    // One that holds up the other's first result until a commit is behind.
    let early = Asker(.collection(ResourcePath(["b"])), registry)
    let middle = Asker(.collection(ResourcePath(["a"])), registry)
    loaded.wait()
    askedSoFar()
    let mayHearNews = DispatchSemaphore(value: 0)
    let isHeldUp = DispatchSemaphore(value: 0)
    let token = registry.addInSync { _ in
      isHeldUp.signal()
      mayHearNews.wait()
    }
    isHeldUp.wait()
    try commit(fixture, try fixture.set("a/1", ("n", .integer(2))))
    mayLoad.signal()
    loaded.wait()
    // The two come at once, and by the two the first view is as it was.
    try commit(fixture, try fixture.set("a/1", ("n", .integer(0))))
    for _ in 0..<100 { mayHearNews.signal() }
    registry.settle()
    registry.removeInSync(token)
    #expect(try early.take()?.list.isEmpty == true)
    #expect(try middle.take()?.list.count == 2)
    #expect(try twos.take()?.values == [.integer(1)] as [Value])
    let now = try fixture.store.read { try $0.aggregate(count, over: EffectiveQuery(query)) }
    #expect(now == [.integer(1)])
  }

  @Test func `a consumer that sleeps holds up neither the writer nor other listeners`() throws {
    let fixture = try StoreFixture()
    let registry = registry(fixture)
    let gate = DispatchSemaphore(value: 0)
    let began = DispatchSemaphore(value: 0)
    let calls = Guarded(0)
    let counts = Guarded<[Int]>([])
    let target = Listener.Target.collection(ResourcePath(["a"]))
    let queue = DispatchQueue(label: "sleeper")
    let sleeper = Listener(.queue(.of(queue)), eventLimit: 2) { result in
      guard let event = try? result.get() else { return }
      counts.withLock { $0.append(event.list.count) }
      if calls.withLock({ calls in
        calls += 1
        return calls == 1
      }) {
        began.signal()
        gate.wait()
      }
    }
    registry.add(sleeper, watching: target)
    began.wait()
    let asker = Asker(target, registry)
    for number in 0..<200 {
      try commit(fixture, try fixture.set("a/\(number)", ("n", .null)))
    }
    registry.settle()
    #expect(try asker.take()?.told.count == 200)
    gate.signal()
    queue.sync {}
    queue.sync {}
    // The first, as many as may wait, and the newest state; what was between took no memory.
    #expect(counts.withLock { $0 } == [0, 1, 2, 200])
    registry.remove(sleeper, watching: target)
  }

  @Test(arguments: [false, true])
  func `removing is final, from inside the callback and from outside`(_ inside: Bool) throws {
    let fixture = try StoreFixture()
    let registry = registry(fixture)
    let target = Listener.Target.collection(ResourcePath(["a"]))
    let queue = DispatchQueue(label: "removal")
    for round in 0..<50 {
      let state = Guarded<(listener: Listener?, isRemoved: Bool, late: Int, calls: Int)>(
        (nil, false, 0, 0))
      let listener = Listener(.queue(.of(queue))) { _ in
        let mustRemove = state.withLock { state in
          if state.isRemoved { state.late += 1 }
          state.calls += 1
          return inside && state.calls == 2 ? state.listener : nil
        }
        if let mustRemove {
          registry.remove(mustRemove, watching: target)
          state.withLock { $0.isRemoved = true }
        }
      }
      state.withLock { $0.listener = listener }
      registry.add(listener, watching: target)
      for number in 0..<10 {
        fixture.writer.submit([try fixture.set("a/\(number)", ("n", .integer(Int64(round))))]) {
          _ in
        }
        if !inside, number == round % 10 {
          registry.remove(listener, watching: target)
          state.withLock { $0.isRemoved = true }
        }
      }
      try commit(fixture, try fixture.set("a/x", ("n", .integer(Int64(round)))))
      registry.settle()
      queue.sync {}
      #expect(state.withLock { $0.late } == 0)
      state.withLock { $0.listener = nil }
      registry.remove(listener, watching: target)
    }
  }

  @Test func `listeners that begin among concurrent writes have no gap and no double`()
    async throws
  {
    let fixture = try StoreFixture()
    let registry = registry(fixture)
    let target = Listener.Target.group("a")
    let total = 400
    let mutations = try (0..<total).map { number in
      try fixture.set("a/\(10_000 + number)", ("n", .integer(Int64(number))))
    }
    let written = Guarded(0)
    let writing = Task.detached {
      for mutation in mutations {
        _ = try await fixture.writer.commit([mutation])
        written.withLock { $0 += 1 }
      }
    }
    let faults = Guarded<[String]>([])
    var listeners: [(Listener, DispatchSemaphore)] = []
    for number in 0..<30 {
      let told = Guarded<Int?>(nil)
      let isDone = DispatchSemaphore(value: 0)
      let queue = DispatchQueue(label: "listener \(number)")
      let listener = Listener(.queue(.of(queue))) { result in
        guard let event = try? result.get() else { return }
        let count = event.list.count
        let ids = event.list.documents.map(\.path.id)
        told.withLock { before in
          let isGrowing =
            ids == (0..<count).map { "\(10_000 + $0)" } && (before.map { $0 < count } ?? true)
            && event.allChanges.compactMap(\.newIndex)
              == Array((before ?? 0)..<max(count, before ?? 0))
          if !isGrowing { faults.withLock { $0.append("\(before as Any) then \(ids)") } }
          before = count
        }
        if count == total { isDone.signal() }
      }
      registry.add(listener, watching: target)
      listeners.append((listener, isDone))
      try await eventually { written.withLock(\.self) >= number * 10 }
    }
    try await writing.value
    registry.settle()
    for (listener, isDone) in listeners {
      Self.wait(isDone)
      registry.remove(listener, watching: target)
    }
    #expect(faults.withLock { $0 } == [])
  }

  private static func wait(_ semaphore: DispatchSemaphore) {
    if semaphore.wait(timeout: .now() + 120) == .timedOut { Issue.record("never told the end") }
  }

  @Test func `a log trimmed behind a slow registry loses nothing: views are read anew`() throws {
    let fixture = try StoreFixture { $0.retention.limitBytes = 0 }
    let registry = registry(fixture)
    try commit(
      fixture, try fixture.set("a/1", ("n", .null)), try fixture.set("a/2", ("n", .null)),
      try fixture.set("a/3", ("n", .null)))
    let asker = Asker(.collection(ResourcePath(["a"])), registry)
    registry.settle()
    _ = try asker.take()
    let gate = DispatchSemaphore(value: 0)
    registry.afterEvents { gate.wait() }
    try commit(fixture, fixture.delete("a/1"))
    try commit(fixture, try fixture.set("a/2", ("n", .integer(2))))
    try commit(fixture, try fixture.set("a/0", ("n", .integer(2))))
    try commit(fixture, try fixture.set("b/0", ("n", .integer(2))))
    let state = try fixture.store.read { try $0.state() }
    #expect(state.firstLoggedSequence > 5)
    gate.signal()
    registry.settle()
    let event = try #require(try asker.take())
    #expect(event.told.map(\.path.id) == ["0", "2", "3"])
    #expect(event.allChanges.map(\.kind) == [.removed, .added, .modified])
    #expect(event.allChanges.map(\.oldIndex) == [0, nil, 1])
    #expect(event.allChanges.map(\.newIndex) == [nil, 0, 1])
    #expect(try asker.take() == nil)
  }

  @Test(arguments: ListeningFixture.Kind.allCases)
  func `large steps go to the latest state at once`(_ kind: ListeningFixture.Kind) throws {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    let asker = Asker(.collection(ResourcePath(["a"])), registry)
    registry.settle()
    _ = try asker.take()
    let count = MaterializedQueryTuning().stepLimit + 10
    let gate = DispatchSemaphore(value: 0)
    registry.afterEvents { gate.wait() }
    for outcome in fixture.commitTogether([
      try (0..<count).map { try fixture.set("a/\(10_000 + $0)", ("n", .null)) }
    ]) { _ = try outcome.get() }
    try commit(fixture, fixture.delete("a/10000"))
    gate.signal()
    registry.settle()
    let event = try #require(try asker.take())
    #expect(event.list.count == count - 1)
    #expect(event.allChanges.compactMap(\.newIndex) == Array(0..<count - 1))
    #expect(try asker.take() == nil)
  }

  @Test(arguments: ListeningFixture.Kind.allCases)
  func `canonically equal ids are two groups and two collections`(_ kind: ListeningFixture.Kind)
    throws
  {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    let composed = Asker(.group("é"), registry)
    let decomposed = Asker(.group("e\u{301}"), registry)
    registry.settle()
    _ = try (composed.take(), decomposed.take())
    try commit(fixture, try fixture.set("é/1", ("n", .null)))
    registry.settle()
    #expect(try composed.take()?.allChanges.count == 1)
    #expect(try decomposed.take() == nil)
  }

  @Test(arguments: ListeningFixture.Kind.allCases)
  func `closing ends every listener, and tells none`(_ kind: ListeningFixture.Kind) throws {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    let asker = Asker(.group("a"), registry)
    registry.settle()
    _ = try asker.take()
    registry.close()
    #expect(try asker.take() == nil)
    #expect(asker.listener.isRemoved)
  }
}
