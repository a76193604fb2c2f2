import Foundation
import LMDB
import ProcessorTime
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Agreement: what the index of the change log leads to is what a walk over the whole log finds.
@Suite struct ChangeLogIndexTests {
  private typealias Scope = StructuredQuery.Scope

  private struct Seen: Equatable {
    var sequence: UInt64
    var path: ResourcePath
    var kind: Change.Kind
    var before: UInt64?
  }

  private static let collections = [
    "books", "films", "books/1/notes", "films/1/notes", "notes",
    "books/\(String(repeating: "long", count: 20))/notes",
    "books/\(String(repeating: "long", count: 20))é/notes",
  ]
  private static let scopes: [Scope] =
    collections.map { .collection(ResourcePath(relative: $0)) } + [
      .collection(ResourcePath(["none"])), .group("notes", below: .root),
      .group("notes", below: ResourcePath(["books", "1"])), .group("books", below: .root),
      .subtree(below: .root), .subtree(below: ResourcePath(["books", "1"])),
    ]

  private func seen(
    _ read: ((Change) throws -> Bool) throws -> Void
  ) throws -> [Seen] {
    var seen: [Seen] = []
    try read { change in
      let before = try change.before.map { try DocumentRecord(parsing: $0).sequence }
      seen.append(
        Seen(sequence: change.sequence, path: change.path, kind: change.kind, before: before))
      return true
    }
    return seen
  }

  private func commit(_ fixture: StoreFixture, _ mutations: [Mutation]) throws {
    for outcome in fixture.commitTogether([mutations]) { _ = try outcome.get() }
  }

  enum Keys: CaseIterable {
    case whole, truncated, colliding

    var limit: KeyLimit {
      switch self {
      case .whole: .standard
      case .truncated: KeyLimit(24)
      case .colliding: KeyLimit(24) { _ in 7 }
      }
    }
  }

  @Test(arguments: Keys.allCases)
  func `the changes of a scope are those that a walk over the log finds`(keys: Keys) throws {
    for seed in Soak.seeds(from: 17) {
      var random = SeededGenerator(seed: seed)
      let fixture = try StoreFixture {
        $0.keyLimit = keys.limit
        $0.retention.limitBytes = 64 << 10
      }
      for round in 0..<600 {
        let count = random.next() % 20 == 0 ? 60 : Int(random.next() % 3) + 1
        let mutations = try (0..<count).map { _ in
          let collection = Self.collections[Int(random.next() % 7)]
          let path = "\(collection)/\(random.next() % 9)"
          return random.next() % 4 == 0
            ? fixture.delete(path)
            : try fixture.set(
              path, ("n", .integer(Int64(random.next() % 5))),
              ("text", .string(String(repeating: "x", count: Int(random.next() % 120)))))
        }
        try commit(fixture, mutations)
        if round % 200 == 150 { try fixture.reopen() }
        guard round % 20 == 19 else { continue }
        try fixture.store.read { snapshot in
          let state = try snapshot.state()
          #expect(state.lastSequence - state.indexedSequence < ChangeLogIndex.distance)
          let begin = state.firstLoggedSequence - 1
          for scope in Self.scopes {
            let sequence = UInt64.random(in: begin...state.lastSequence, using: &random)
            let found = try seen { try snapshot.changes(after: sequence, in: scope, $0) }
            let all = try seen { try snapshot.changes(after: sequence, $0) }
            #expect(found == all.filter { scope.contains($0.path) }, "seed \(seed), \(scope)")
          }
        }
        #expect(try fixture.store.check().problems == [])
      }
      let state = try fixture.store.read { try $0.state() }
      // The log was trimmed, and its index with it.
      #expect(state.firstLoggedSequence > 500)
      fixture.close()
    }
  }

  @Test func `a reader that has enough stops`() throws {
    let fixture = try StoreFixture()
    for number in 0..<300 { try commit(fixture, [try fixture.set("a/\(number)", ("n", .null))]) }
    try fixture.store.read { snapshot in
      for wanted in [1, 50, 280] {
        var count = 0
        try snapshot.changes(after: 10, in: .collection(ResourcePath(["a"]))) { _ in
          count += 1
          return count < wanted
        }
        #expect(count == wanted)
      }
    }
  }

  /// The law of cost: in records of the log, which is what a read pays for.
  @Test func `the past of a collection costs its own changes, whatever else is written`() throws {
    let fixture = try StoreFixture { $0.retention.limitBytes = 1 << 30 }
    let mine = ResourcePath(["mine"])
    for number in 0..<20 {
      try commit(fixture, [try fixture.set("mine/\(number)", ("n", .integer(0)))])
    }
    let then = try fixture.store.read { try $0.state().lastSequence }
    try commit(fixture, [try fixture.set("mine/3", ("n", .integer(1)))])
    let others = Soak.isOn ? 100_000 : 20_000
    for start in stride(from: 0, to: others, by: 100) {
      // One record each: they are commits of one group.
      _ = fixture.commitTogether(
        try (start..<start + 100).map {
          [try fixture.set("others/\($0 % 1000)", ("n", .integer(Int64($0))))]
        })
    }
    var query = StructuredQuery(.collection(mine))
    query.limit = 20
    let effective = EffectiveQuery(query)
    try fixture.store.read { snapshot in
      let past = try StoreView(snapshot, .asOf(then)).answer(.results(effective))
        .results
      #expect(past.count == 20)
      for document in past {
        #expect(try document.body.map() == MapValue([("n", .integer(0))]))
      }
      let rounds = Soak.isOn ? 50 : 5
      let ratio = try ProcessorTime.ratio(
        of: {
          for _ in 0..<rounds {
            _ = try StoreView(snapshot, .asOf(then)).answer(.results(effective))
              .results
          }
        },
        to: { for _ in 0..<rounds { _ = try snapshot.documents(matching: effective) } }, below: 4)
      print("after \(others) other changes: before and now \(ratio)")
      if !hasSanitizer { #expect(ratio < 4) }
    }
    #expect(try fixture.store.check().problems == [])
  }

  /// However often its own documents have changed: what is kept are the versions that can be results.
  @Test func `the past of a collection that has changed a lot keeps few versions`() throws {
    let fixture = try StoreFixture { $0.retention.limitBytes = 1 << 30 }
    let changes = Soak.isOn ? 100_000 : 5_000
    func change(_ path: (Int) -> String, _ n: (Int) -> Int) throws {
      for start in stride(from: 0, to: changes, by: 100) {
        _ = fixture.commitTogether(
          try (start..<start + 100).map {
            [try fixture.set(path($0), ("n", .integer(Int64(n($0)))))]
          })
      }
    }
    // Each document once, in the reverse order later; and one again and again.
    try change({ "mine/\($0 + 1_000_000)" }, { $0 })
    let then = try fixture.store.read { try $0.state().lastSequence }
    try change({ "mine/\($0 + 1_000_000)" }, { -$0 })
    try change({ _ in "mine/2000000" }, { $0 })
    var query = StructuredQuery(.collection(ResourcePath(["mine"])))
    query.orders = [StructuredQuery.Order(field: FieldSegments(["n"]))]
    query.limit = 20
    let effective = EffectiveQuery(query)
    try fixture.store.read { snapshot in
      let began = ContinuousClock.now
      let found = try StoreView(snapshot, .asOf(then)).answer(.results(effective))
        .results
      print("\(2 * changes) changes of its own: \(ContinuousClock.now - began)")
      #expect(found.map(\.path.id) == (0..<20).map { "\($0 + 1_000_000)" })
      var overlay = try snapshot.overlay(backTo: then, for: effective)
      // All but the one that was 0 and is -0, and the one that came later.
      #expect(overlay.count == changes)
      #expect(overlay.keptVersions <= 64)
      #expect(try overlay.results().count == 20)
    }
  }

  @Test func `a damaged record of the log keeps nobody from writing`() throws {
    let fixture = try StoreFixture()
    for number in 0..<40 { try commit(fixture, [try fixture.set("a/\(number)", ("n", .null))]) }
    var transaction = try fixture.store.environment.beginWrite()
    try transaction.put(
      fixture.store.tables.changes, KeyLayout.sequenceKey(20), [1, 2, 3, 4, 5, 6, 7])
    try transaction.commit()
    for number in 0..<200 { try commit(fixture, [try fixture.set("b/\(number)", ("n", .null))]) }
    try fixture.store.read { snapshot in
      #expect(try snapshot.state().indexedSequence == 19)
      for scope: Scope in [.collection(ResourcePath(["b"])), .subtree(below: .root)] {
        #expect {
          try snapshot.changes(after: 0, in: scope) { _ in true }
        } throws: { ($0 as? Status)?.code == .dataLoss }
      }
      var count = 0
      try snapshot.changes(after: 40, in: .collection(ResourcePath(["b"]))) { _ in
        count += 1
        return true
      }
      #expect(count == 200)
    }
  }

  enum Trimming: CaseIterable { case byAge, bySize }

  /// The head is where every commit trims.
  @Test(arguments: Trimming.allCases)
  func `a damaged record at the head of the log keeps nobody from writing, and leaves`(
    _ trimming: Trimming
  ) throws {
    let fixture = try StoreFixture { $0.retention.age = .seconds(3600) }
    for number in 0..<40 {
      try commit(fixture, [try fixture.set("a/\(number)", ("n", .null))])
    }
    try fixture.store.replaceRecord(fixture.store.tables.changes, KeyLayout.sequenceKey(1)) {
      $0 = [1, 2, 3, 4, 5, 6, 7]
    }
    // A writer that was just made looks at the age with its first commit.
    try fixture.reopen { if trimming == .bySize { $0.retention.limitBytes = 0 } }
    if trimming == .byAge { fixture.clock.advance(by: 2 * 3_600_000_000) }
    for number in 0..<200 {
      try commit(fixture, [try fixture.set("b/\(number)", ("n", .null))])
    }
    let error = #expect(throws: Status.self) {
      try fixture.store.read { try $0.changes(after: 0) { _ in true } }
    }
    #expect(error?.code == .outOfRange)
    try fixture.store.read { snapshot in
      let begin = try snapshot.state().firstLoggedSequence - 1
      var count: UInt64 = 0
      try snapshot.changes(after: begin) { _ in
        count += 1
        return true
      }
      #expect(begin >= 40 && count == 240 - begin)
    }
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `what belongs to a change and is damaged keeps nobody from trimming the log`() throws {
    let fixture = try StoreFixture()
    for number in 0..<200 {
      try commit(fixture, [try fixture.set("a/\(number)", ("n", .null))])
    }
    try commit(fixture, [fixture.delete("a/1")])
    try fixture.store.replaceRecord(
      fixture.store.tables.tombstones, fixture.name("a/1").key.bytes
    ) { $0 = [1, 2, 3, 4, 5, 6, 7] }
    let (key, _) = try fixture.store.read { snapshot in
      var cursor = try snapshot.lmdb.cursor(snapshot.tables.logIndex)
      #expect(try cursor.next())
      return (Array(cursor.key), Array(cursor.value))
    }
    try fixture.store.replaceRecord(fixture.store.tables.logIndex, key) {
      $0 = [1, 2, 3, 4, 5, 6, 7]
    }
    try fixture.reopen { $0.retention.limitBytes = 0 }
    for number in 0..<10 {
      try commit(fixture, [try fixture.set("b/\(number)", ("n", .null))])
    }
    #expect(try fixture.store.read { try $0.state().firstLoggedSequence } > 201)
    // Both are still there.
    #expect(try fixture.store.check().problemCount >= 2)
  }

  @Test func `a check tells a list that lacks a record, has one too many, or is left over`() throws
  {
    let fixture = try StoreFixture()
    for number in 0..<200 {
      try commit(
        fixture,
        [try fixture.set("\(number % 2 == 0 ? "a" : "b")/1", ("n", .integer(Int64(number))))])
    }
    let table = fixture.store.tables.logIndex
    let (key, value) = try fixture.store.read { snapshot in
      var cursor = try snapshot.lmdb.cursor(table)
      #expect(try cursor.next())
      return (Array(cursor.key), Array(cursor.value))
    }
    func write(_ key: [UInt8], _ value: [UInt8]?) throws {
      var transaction = try fixture.store.environment.beginWrite()
      if let value {
        try transaction.put(table, key, value)
      } else {
        try transaction.delete(table, key)
      }
      try transaction.commit()
    }
    func problems() throws -> Bool { try !fixture.store.check().isIntact }
    #expect(try !problems())
    var shorter = Array(value.dropLast())
    RecordFrame.seal(&shorter, key: key)
    var longer = value
    longer.append(1)
    RecordFrame.seal(&longer, key: key)
    let wrongs: [[UInt8]?] = [nil, shorter, longer, Array(value.dropLast()), [], [1]]
    for wrong in wrongs {
      try write(key, wrong)
      #expect(try problems(), "\(String(describing: wrong))")
      try write(key, value)
      #expect(try !problems())
    }
    var stray = key
    stray[0] += 1
    var sealed = value
    RecordFrame.seal(&sealed, key: stray)
    try write(stray, sealed)
    #expect(try problems())
  }
}
