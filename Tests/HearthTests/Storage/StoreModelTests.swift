import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A long run of random requests against a plain dictionary.
@Suite struct StoreModelTests {
  enum World: String, CaseIterable, CustomTestStringConvertible {
    case whole, truncated, colliding, poisoned, cutAndPoisoned

    var testDescription: String { rawValue }

    func configure(_ configuration: inout StoreConfiguration) {
      switch self {
      case .whole, .poisoned: break
      case .truncated, .cutAndPoisoned: configuration.keyLimit = KeyLimit(24)
      case .colliding: configuration.keyLimit = KeyLimit(24) { _ in 7 }
      }
      configuration.poisonsBorrowedBytes = self == .poisoned || self == .cutAndPoisoned
      configuration.retention.limitBytes = 48 << 10
    }
  }

  @Test(arguments: World.allCases)
  func `a long run of random requests equals a plain dictionary`(_ world: World) async throws {
    let rounds = Soak.isOn ? 5000 : 250
    for seed in Soak.seeds(from: UInt64(world.rawValue.utf8.count)) {
      let fixture = try StoreFixture(world.configure)
      var run = ModelRun(seed: seed, fixture)
      do {
        for round in 0..<rounds { try await run.step(round) }
      } catch {
        Issue.record("seed \(seed): \(error)")
      }
    }
  }
}

extension StoreModelTests {
  @Test func `names with one hash, made, deleted and made again in one group, stay apart`() throws {
    let fixture = try StoreFixture(World.colliding.configure)
    let names = (0..<20).map { "a-collection-with-a-long-name/\($0)" }
    func commit(_ mutations: [Mutation]) throws {
      for outcome in fixture.commitTogether(mutations.map { [$0] }) { _ = try outcome.get() }
      #expect(try fixture.store.check().problems == [])
    }
    try commit(names.map { try fixture.set($0, ("n", .string($0))) })
    for name in names {
      #expect(try fixture.document(name)?.body.map() == MapValue([("n", .string(name))]))
    }
    try commit(
      names.prefix(10).map { fixture.delete($0) }
        + names.prefix(5).map { try fixture.set($0, ("n", .null)) }
        + (20..<30).map { try fixture.set("a-collection-with-a-long-name/\($0)", ("n", .null)) })
    #expect(try fixture.store.check().documents == 25)
    #expect(try fixture.store.check().tombstones == 5)
  }
}

/// What the store is held against: everything in dictionaries, nothing clever.
private struct Model {
  struct Document: Equatable {
    var fields: MapValue
    var createTime: Instant
    var updateTime: Instant
    var sequence: UInt64
  }

  struct Entry {
    var sequence: UInt64
    var path: ResourcePath
    var kind: Change.Kind
    var time: Instant
    var before: Document?
  }

  var documents: [ResourcePath: Document] = [:]
  var lastTime = Instant(microseconds: 0)
  /// Sequence n is at n - 1.
  var log: [Entry] = []

  struct Refusal: Error { var code: Status.Code }

  /// Does a request, or refuses it with nothing done.
  mutating func commit(_ request: [ModelWrite], now: Instant) throws(Refusal) {
    let time = max(now, Instant(microseconds: lastTime.microseconds + 1))
    var after: [ResourcePath: MapValue] = documents.mapValues(\.fields)
    var renewed: Set<ResourcePath> = []
    var order: [ResourcePath] = []
    for write in request {
      if !order.contains(write.path) { order.append(write.path) }
      switch write.exists {
      case true? where after[write.path] == nil: throw Refusal(code: .notFound)
      case false? where after[write.path] != nil: throw Refusal(code: .alreadyExists)
      default: break
      }
      switch write.what {
      case .set(let fields): after[write.path] = fields
      case .merge(let name, let value):
        var fields = after[write.path] ?? MapValue()
        fields[name] = value
        after[write.path] = fields
      case .increment(let name):
        var fields = after[write.path] ?? MapValue()
        if case .integer(let number)? = fields[name] {
          fields[name] = .integer(number &+ 1)
        } else {
          fields[name] = .integer(1)
        }
        after[write.path] = fields
      case .delete:
        after[write.path] = nil
        renewed.insert(write.path)
      }
    }
    for path in order {
      let before = documents[path]
      if before?.fields == after[path], before == nil || !renewed.contains(path) { continue }
      let sequence = UInt64(log.count) + 1
      documents[path] = after[path].map {
        Document(
          fields: $0, createTime: renewed.contains(path) ? time : before?.createTime ?? time,
          updateTime: time, sequence: sequence)
      }
      let kind: Change.Kind =
        before == nil ? .created : (documents[path] == nil ? .deleted : .updated)
      log.append(Entry(sequence: sequence, path: path, kind: kind, time: time, before: before))
    }
    // A time of its own, even if nothing has changed.
    if !request.isEmpty { lastTime = time }
  }
}

private struct ModelWrite {
  enum What {
    case set(MapValue)
    case merge(String, Value)
    case increment(String)
    case delete
  }

  var path: ResourcePath
  var what: What
  var exists: Bool?

  func mutation(_ fixture: StoreFixture) throws -> Mutation {
    var mutation = Mutation(path: fixture.name(path).path, operation: .delete)
    switch what {
    case .set(let fields): mutation.operation = .set(try DocumentBody(encoding: fields))
    case .merge(let name, let value):
      mutation.operation = .patch(MapValue([(name, value)]), mask: [FieldSegments([name])])
    case .increment(let name):
      mutation.operation = .patch(.empty, mask: [])
      mutation.transforms = [(FieldSegments([name]), .increment(.integer(1)))]
    case .delete: break
    }
    if let exists { mutation.precondition = .exists(exists) }
    return mutation
  }
}

private struct ModelRun {
  private struct Mismatch: Error, CustomStringConvertible { var description: String }

  private var generator: SeededGenerator
  private let fixture: StoreFixture
  private var model = Model()
  private let paths: [ResourcePath]

  init(seed: UInt64, _ fixture: StoreFixture) {
    self.fixture = fixture
    generator = SeededGenerator(seed: seed)
    let long = String(repeating: "items", count: 8)
    let collections = [
      "items", "item", "items2", "é", "e\u{301}", long, long, long, "it\u{1}",
    ]
    let ids = ["a", "b", "c1", "__id7__", "__id-7__", "é", long, long + "1", "a\u{0}"]
    var paths: Set<ResourcePath> = []
    while paths.count < 60 {
      var path = ResourcePath([generator.pick(collections), generator.pick(ids)])
      while generator.one(in: 2), path.segments.count < 8 {
        let again = generator.one(in: 2) ? path.segments[0] : generator.pick(collections)
        path = path.appending(again).appending(generator.pick(ids))
      }
      paths.insert(path)
    }
    self.paths = paths.sorted { ResourcePath.compare($0, $1) < 0 }
  }

  mutating func step(_ round: Int) async throws {
    fixture.clock.advance(by: Int64(generator.below(2_000_000)) - 200_000)
    let group = (0..<(1 + generator.below(4))).map { _ in request() }
    let outcomes = fixture.commitTogether(
      try group.map { try $0.map { try $0.mutation(fixture) } })
    for (request, outcome) in zip(group, outcomes) {
      var refused: Status.Code?
      do { try model.commit(request, now: fixture.clock.now) } catch { refused = error.code }
      switch outcome {
      case .success(let result):
        guard refused == nil else { throw Mismatch(description: "not refused: \(request)") }
        guard result.sequence == UInt64(model.log.count) else {
          throw Mismatch(description: "sequence \(result.sequence), not \(model.log.count)")
        }
      case .failure(let status):
        guard status.code == refused else { throw Mismatch(description: "\(status)") }
      }
    }
    if round % 50 == 49 { try fixture.reopen() }
    try fixture.store.read { snapshot in
      try compareScans(snapshot)
      try compareHistory(snapshot)
      if round % 10 == 9 { try compareDocuments(snapshot) }
    }
    if round % 10 == 9 {
      let report = try fixture.store.check()
      guard report.problems.isEmpty, report.documents == model.documents.count else {
        throw Mismatch(description: "\(report)")
      }
    }
  }

  private mutating func request() -> [ModelWrite] {
    let count = generator.one(in: 3) ? 1 + generator.below(6) : 1
    var latest = generator.pick(paths)
    return (0..<count).map { _ in
      switch generator.below(3) {
      case 0: latest = generator.pick(paths)
      // The next in order, often of the same collection and run.
      case 1: latest = paths[((paths.firstIndex(of: latest) ?? 0) + 1) % paths.count]
      default: break
      }
      let what: ModelWrite.What =
        switch generator.below(8) {
        case 0...2: .set(fields())
        case 3: .merge(generator.pick(["a", "b"]), .integer(Int64(generator.below(3))))
        case 4: .increment(generator.pick(["a", "b"]))
        default: .delete
        }
      return ModelWrite(
        path: latest, what: what,
        exists: generator.one(in: 6) ? generator.one(in: 2) : nil)
    }
  }

  private mutating func fields() -> MapValue {
    var fields = [("a", Value.integer(Int64(generator.below(3))))]
    if generator.one(in: 3) { fields.append(("b", .string(String(repeating: "x", count: 700)))) }
    if generator.one(in: 30) { fields.append(("c", .string(String(repeating: "y", count: 9000)))) }
    return MapValue(fields)
  }

  private func sorted(_ isWanted: (ResourcePath) -> Bool) -> [ResourcePath] {
    model.documents.keys.filter(isWanted).sorted { ResourcePath.compare($0, $1) < 0 }
  }

  private mutating func compareScans(_ snapshot: StoreSnapshot) throws {
    let collection = generator.pick(paths).parent
    var found: [ResourcePath] = []
    let scan = try CollectionScan(collection, in: snapshot)
    while let next = try scan.next() { found.append(next.path) }
    let inCollection = sorted { $0.parent == collection }
    guard found == inCollection else {
      throw Mismatch(description: "collection \(collection.text): \(found), not \(inCollection)")
    }
    let count = try snapshot.documentCount(inCollection: collection)
    guard count == UInt64(inCollection.count) else {
      throw Mismatch(description: "count of \(collection.text): \(count)")
    }

    let id = generator.pick(paths).parent.id
    found = []
    let group = try GroupScan(id, in: snapshot)
    while let next = try group.next() { found.append(next.path) }
    let inGroup = sorted { $0.parent.id.utf8.elementsEqual(id.utf8) }
    guard found == inGroup else {
      throw Mismatch(description: "group \(id): \(found), not \(inGroup)")
    }

    let bounds = [generator.pick(paths), generator.pick(paths)]
      .sorted { ResourcePath.compare($0, $1) < 0 }
    func isWithinBounds(_ path: ResourcePath) -> Bool {
      ResourcePath.compare(bounds[0], path) <= 0 && ResourcePath.compare(path, bounds[1]) <= 0
    }
    found = []
    let bounded = try GroupScan(id, in: snapshot, from: bounds[0], to: bounds[1])
    while let next = try bounded.next() {
      if isWithinBounds(next.path) { found.append(next.path) }
    }
    let withinBounds = inGroup.filter(isWithinBounds)
    guard found == withinBounds else {
      throw Mismatch(description: "group \(id) within \(bounds): \(found), not \(withinBounds)")
    }

    let ancestor = generator.one(in: 4) ? ResourcePath.root : generator.pick(paths)
    found = []
    let tree = try SubtreeScan(below: ancestor, in: snapshot)
    while let next = try tree.next() {
      found.append(next.path)
      try DocumentRecord(parsing: next.record).verifyChecksum(key: next.key)
    }
    let below = sorted { $0 != ancestor && $0.hasPrefix(ancestor) }
    guard found == below else {
      throw Mismatch(description: "below \(ancestor.text): \(found), not \(below)")
    }

    found = []
    let part = try SubtreeScan(below: ancestor, in: snapshot, from: bounds[0], to: bounds[1])
    while let next = try part.next() {
      if isWithinBounds(next.path) { found.append(next.path) }
    }
    let partBelow = below.filter(isWithinBounds)
    guard found == partBelow else {
      throw Mismatch(
        description: "below \(ancestor.text) within \(bounds): \(found), not \(partBelow)")
    }
  }

  private func compareDocuments(_ snapshot: StoreSnapshot) throws {
    for path in paths {
      let found = try snapshot.document(fixture.name(path)).map {
        Model.Document(
          fields: try $0.body.map(), createTime: $0.createTime, updateTime: $0.updateTime,
          sequence: $0.sequence)
      }
      guard found == model.documents[path] else {
        throw Mismatch(
          description:
            "\(path.text): \(found as Any), not \(model.documents[path] as Any)")
      }
    }
  }

  /// Walks back along one document, and through the whole log.
  private mutating func compareHistory(_ snapshot: StoreSnapshot) throws {
    let state = try snapshot.state()
    let path = generator.pick(paths)
    var history = model.log.filter { $0.path == path }
    history.removeAll { $0.sequence < state.firstLoggedSequence }
    var sequence = history.last?.sequence ?? 0
    while let expected = history.popLast() {
      guard let change = try snapshot.change(sequence) else {
        throw Mismatch(description: "\(sequence) is not in the log")
      }
      try compare(change, expected, in: snapshot)
      sequence = change.previousSequence
    }
    guard sequence < state.firstLoggedSequence else {
      throw Mismatch(description: "\(path.text) has an older change: \(sequence)")
    }

    var expected = state.firstLoggedSequence
    try snapshot.changes(after: state.firstLoggedSequence - 1) { change in
      try compare(change, model.log[Int(expected) - 1], in: snapshot)
      expected += 1
      return true
    }
    guard expected == UInt64(model.log.count) + 1 else {
      throw Mismatch(description: "the log ends before \(expected)")
    }
  }

  private func compare(
    _ change: Change, _ expected: Model.Entry, in snapshot: StoreSnapshot
  ) throws {
    let before = try snapshot.version(before: change).map {
      Model.Document(
        fields: try $0.body.map(), createTime: $0.createTime, updateTime: $0.updateTime,
        sequence: $0.sequence)
    }
    guard change.sequence == expected.sequence, change.path == expected.path,
      change.kind == expected.kind, change.commitTime == expected.time, before == expected.before
    else { throw Mismatch(description: "\(change), not \(expected)") }
  }
}
