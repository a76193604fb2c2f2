import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct IndexManagerTests {
  private func keeper(
    _ fixture: StoreFixture, _ policy: IndexingPolicy = .automatic
  ) -> IndexManager {
    IndexManager(fixture.store, policy: policy, logger: .silent)
  }

  private let year = IndexDefinition("books", [.init("year", .ascending)])

  private func fill(_ fixture: StoreFixture, _ count: Int) throws {
    for start in stride(from: 0, to: count, by: 100) {
      let mutations = try (start..<min(start + 100, count)).map {
        try fixture.set("books/\($0)", ("year", .integer(Int64($0 % 7))))
      }
      _ = try fixture.commitTogether([mutations])[0].get()
    }
  }

  private func finish(_ fixture: StoreFixture) throws {
    let work = IndexBuilder(store: fixture.store, lease: Lease(.indexes))
    while true {
      let outcome = try work.step()
      try #require(outcome != .leased)
      if outcome == .idle { return }
    }
  }

  @Test func `an index is built behind the writers' back and waited for`() async throws {
    let fixture = try StoreFixture()
    try fill(fixture, 3000)
    let keeper = keeper(fixture)
    keeper.start()
    try keeper.declare([year])
    try await keeper.waitUntilReady(year)
    #expect(try keeper.list().map(\.state) == [.ready])
    #expect(try fixture.store.check().indexEntries == 3000)
    try keeper.drop([year])
    try await keeper.waitUntilReady()
    await #expect(throws: Status.self) { try await keeper.waitUntilReady(year) }
    keeper.close()
  }

  @Test func `an index that a damaged document keeps from being built keeps no other`() async throws
  {
    let fixture = try StoreFixture()
    try fill(fixture, 10)
    try fixture.commit(fixture.set("papers/1", ("year", .integer(1))))
    try fixture.store.replaceRecord(
      fixture.store.tables.documents, fixture.name("books/5").key.bytes
    ) { $0 = [1, 2, 3] }
    let papers = IndexDefinition("papers", [.init("year", .ascending)])
    let keeper = keeper(fixture)
    keeper.start()
    try keeper.declare([year, papers])
    try await keeper.waitUntilReady(papers)
    for wanted in [year, nil] {
      let error = await #expect(throws: Status.self) { try await keeper.waitUntilReady(wanted) }
      #expect(error?.code == .dataLoss)
    }
    // While the first one waits for another attempt.
    let authors = IndexDefinition("papers", [.init("author", .ascending)])
    try keeper.declare([authors])
    try await keeper.waitUntilReady(authors)
    // It can be dropped.
    try keeper.drop([year])
    try await keeper.waitUntilReady()
    try await eventually { try keeper.list().count == 2 }
    keeper.close()
  }

  @Test func `one process works at a time, and a dead one's lease runs out`() throws {
    let fixture = try StoreFixture()
    try fill(fixture, 100)
    try keeper(fixture).declare([year])
    let clock = TestClock()
    func work(_ holder: UInt64) -> IndexBuilder {
      IndexBuilder(
        store: fixture.store, lease: Lease(.indexes, holder: holder, now: { clock.now }),
        limits: IndexBuilder.StepLimits(documents: 10))
    }
    let (one, other) = (work(1), work(2))
    #expect(try one.step() == .worked(finished: nil))
    #expect(try other.step() == .leased)
    clock.advance(by: Lease.microseconds - 1)
    #expect(try other.step() == .leased)
    clock.advance(by: 1)
    #expect(try other.step() == .worked(finished: nil))
    #expect(try one.step() == .leased)
    // Set back, the clock takes the lease for one that was never given.
    clock.advance(by: -3600 * 1_000_000)
    #expect(try one.step() == .worked(finished: nil))
    #expect(try fixture.store.check().problems == [])
  }

  /// As another process may do it while this one reads the documents.
  @Test func `a rule that did not hold for a while is verified again`() throws {
    let fixture = try StoreFixture()
    try fixture.commit(fixture.set("books/dune", ("n", .integer(1))))
    let keeper = keeper(fixture)
    @Sendable func declare(mustExist: Bool) throws {
      try keeper.declare([
        IndexDefinition(
          "books", scope: .group, [.init("author", .ascending)],
          constraint: .reference(
            ReferenceRule(.cascade, target: "authors", mustExist: mustExist)))
      ])
    }
    try declare(mustExist: true)
    let mustTurn = Guarded(false)
    let clock = TestClock()
    let lease = Lease(.indexes, holder: 1) {
      // After the index was read, and before the documents are.
      let turns = mustTurn.withLock { mustTurn in
        defer { mustTurn = false }
        return mustTurn
      }
      if turns {
        do {
          try declare(mustExist: false)
          try fixture.commit(
            fixture.set("books/emma", ("author", .reference(fixture.path("authors/none")))))
          try declare(mustExist: true)
        } catch {
          Issue.record(error)
        }
      }
      return clock.now
    }
    let work = IndexBuilder(store: fixture.store, lease: lease)
    #expect(try work.step() == .worked(finished: nil))
    #expect(try keeper.list().map(\.state) == [.verifying])
    mustTurn.withLock { $0 = true }
    #expect(try work.step() == .worked(finished: nil))
    #expect(mustTurn.withLock { !$0 })
    #expect(try keeper.list().map(\.state) == [.verifying])
    while try work.step() != .idle {}
    guard case .invalid(let violations)? = try keeper.list().first?.state else {
      Issue.record("\(try keeper.list())")
      return
    }
    #expect(violations.count == 1)
  }

  @Test
  func `a rule that documents violate serves queries, a unique index that they violate does not`() {
    let violations = IndexViolations(count: 1)
    func readable(_ constraint: IndexDefinition.Constraint, _ state: IndexState) -> Bool {
      let index = StoredIndex(
        number: 1,
        definition: IndexDefinition(
          "books", scope: .group, [.init("author", .ascending)], constraint: constraint),
        state: state, origin: .declared)
      return !IndexCatalogue(generation: 1, [index]).readable(.group, of: "books").isEmpty
    }
    let rule = IndexDefinition.Constraint.reference(
      ReferenceRule(.restrict, target: "authors", mustExist: true))
    for state in [.verifying, .invalid(violations)] as [IndexState] {
      #expect(readable(rule, state) && !readable(.unique, state))
    }
    // Not all entries are there.
    for state in [.building(documents: 1, upTo: [1]), .dropping] as [IndexState] {
      #expect(!readable(rule, state))
    }
  }

  /// Entries of long ids are in collision runs; an entry of a short id may be between two runs.
  @Test func `an element that two documents share is found once, however long their ids are`()
    throws
  {
    let long = String(repeating: "b", count: 30)
    func duplicates(_ documents: (id: String, elements: [Int64])...) throws -> UInt64? {
      let fixture = try StoreFixture { $0.keyLimit = KeyLimit(24) }
      for (id, elements) in documents {
        try fixture.commit(
          fixture.set("books/\(id)", ("tags", .array(elements.map { .integer($0) }))))
      }
      let keeper = keeper(fixture)
      try keeper.declare([
        IndexDefinition("books", [.init("tags", .contains)], constraint: .unique)
      ])
      try finish(fixture)
      guard case .invalid(let duplicates)? = try keeper.list().first?.state else { return nil }
      return duplicates.count
    }
    #expect(try duplicates(("a", [5, 7]), (long, [3, 7])) == 1)
    #expect(try duplicates((long + "1", [3, 7]), (long + "2", [3, 7])) == 2)
    #expect(try duplicates(("a", [5]), (long, [3, 7])) == nil)
  }

  @Test func `numbers are used again, and mirror images share one`() throws {
    let fixture = try StoreFixture()
    let keeper = keeper(fixture)
    let pair = IndexDefinition("books", [.init("author", .ascending), .init("year", .descending)])
    try keeper.declare([year, pair])
    try keeper.declare([year.turned, pair.turned])
    #expect(try keeper.list().map(\.number) == [1, 2])
    try keeper.drop([year])
    try keeper.declare([year])
    #expect(try keeper.list().map(\.number) == [1, 2, 3])
    try finish(fixture)
    let numbers = try keeper.list().map(\.number)
    #expect(numbers == [1, 3])
    try keeper.declare([IndexDefinition("books", [.init("pages", .ascending)])])
    #expect(try keeper.list().map(\.number) == [1, 2, 3])
  }

  @Test func `a configuration takes the place of the one before, and leaves what was learned`()
    throws
  {
    let fixture = try StoreFixture()
    let keeper = keeper(fixture)
    let learned = IndexDefinition("books", [.init("pages", .ascending)])
    try keeper.declare([year])
    ask(keeper, for: learned)
    try keeper.configure(
      IndexConfiguration(
        json: """
          {"indexes": [{"collectionGroup": "books", "fields": [
            {"fieldPath": "a", "order": "ASCENDING"}, {"fieldPath": "b", "order": "DESCENDING"}]}]}
          """))
    try finish(fixture)
    #expect(
      Set(try keeper.list().map { "\($0.definition) \($0.origin)" }) == [
        "books: pages ↑ learned", "books: a ↓, b ↑ declared",
      ])
    let exported = try IndexConfiguration(json: keeper.exported())
    #expect(
      exported.definitions.map(\.description) == ["books: a ↑, b ↓", "books: pages ↑"])
    try keeper.declare([learned])
    try keeper.dropLearned()
    try finish(fixture)
    #expect(try keeper.list().count == 2)
  }

  /// Three expensive runs; waits for what comes of them.
  private func ask(_ keeper: IndexManager, for definition: IndexDefinition) {
    keeper.start()
    for _ in 0..<IndexAdvisor.runs {
      keeper.advisor.note(missing: definition, touched: 5000, returned: 1)
    }
    keeper.close()
  }

  @Test func `a query that reads much and returns little is noticed the third time`() throws {
    let fixture = try StoreFixture()
    let keeper = keeper(fixture)
    keeper.start()
    func count() throws -> Int {
      // What was asked for is on the queue before this.
      keeper.close()
      keeper.start()
      return try keeper.list().count
    }
    for _ in 0..<10 {
      keeper.advisor.note(missing: year, touched: 1000, returned: 0)
      keeper.advisor.note(missing: year, touched: 5000, returned: 500)
    }
    #expect(try count() == 0)
    keeper.advisor.note(missing: year, touched: 1001, returned: 0)
    keeper.advisor.note(missing: year.turned, touched: 5010, returned: 500)
    #expect(try count() == 0)
    keeper.advisor.isLearning = false
    keeper.advisor.note(missing: year, touched: 5000, returned: 1)
    #expect(try count() == 0)
    keeper.advisor.isLearning = true
    keeper.advisor.note(missing: year, touched: 5000, returned: 1)
    #expect(try count() == 1)
    for field in 0..<20 {
      for _ in 0..<3 {
        keeper.advisor.note(
          missing: IndexDefinition("books", [.init("f\(field)", .ascending)]), touched: 5000,
          returned: 1)
      }
    }
    #expect(try count() == IndexAdvisor.learnedPerCollectionID)
    keeper.close()
  }

  @Test func `only the automatic policy learns`() throws {
    for policy in [IndexingPolicy.declared, .strict] {
      let fixture = try StoreFixture()
      let keeper = keeper(fixture, policy)
      ask(keeper, for: year)
      #expect(try keeper.list().isEmpty)
    }
  }

  @Test func `a learned index that no query reads goes after thirty days`() throws {
    let fixture = try StoreFixture()
    let keeper = keeper(fixture)
    ask(keeper, for: year)
    ask(keeper, for: IndexDefinition("books", [.init("pages", .ascending)]))
    try keeper.declare([IndexDefinition("books", [.init("author", .ascending)])])
    try finish(fixture)
    let day: Int64 = 86_400_000_000
    func after(_ days: Int64) -> Instant {
      Instant(microseconds: Instant.now().microseconds + days * day)
    }
    keeper.maintain(now: after(29))
    #expect(try keeper.list().count { $0.state == .dropping } == 0)
    keeper.maintain(now: after(31))
    #expect(
      try keeper.list().filter { $0.state == .dropping }.map(\.definition.description)
        == ["books: year ↑", "books: pages ↑"])
  }

  @Test func `a configuration without its indexes is made good when the file is opened`()
    async throws
  {
    let fixture = try StoreFixture()
    try fill(fixture, 10)
    try keeper(fixture).declare([year])
    try fixture.store.write { try $0.store(nil, number: 1, in: fixture.store) }
    let keeper = keeper(fixture)
    keeper.start()
    // Who waits has the keeper look at once.
    try await keeper.waitUntilReady(year)
    #expect(try fixture.store.check().indexEntries == 10)
    keeper.close()
  }

  @Test func `what an earlier process left is taken up though nobody asks for it`() async throws {
    let fixture = try StoreFixture()
    try fill(fixture, 10)
    try keeper(fixture).declare([year])
    let keeper = keeper(fixture)
    keeper.start()
    try await eventually { try keeper.list().map(\.isReady) == [true] }
    keeper.close()
  }

  @Test func `a keeper that is closed before it looked does nothing after`() async throws {
    let fixture = try StoreFixture()
    try fill(fixture, 10)
    try keeper(fixture).declare([year])
    let keeper = keeper(fixture)
    keeper.start()
    keeper.close()
    try await quietTime(.milliseconds(60))
    #expect(try keeper.list().map(\.isReady) == [false])
  }

  @Test func `documents with too many entries are refused by declared indexes only`() throws {
    let fixture = try StoreFixture()
    let tags = IndexDefinition("books", [.init("tags", .contains)])
    func document(_ count: Int, at path: String = "books/a") throws -> Mutation {
      try fixture.set(path, ("tags", .array((0..<count).map { .integer(Int64($0)) })))
    }
    try fixture.putIndex(
      StoredIndex(number: 1, definition: tags, state: .ready, origin: .learned))
    try fixture.commit(document(40_001))
    try fixture.commit(fixture.delete("books/a"))
    try keeper(fixture).declare([tags])
    try fixture.commit(document(40_000))
    let error = #expect(throws: Status.self) { try fixture.commit(document(40_001)) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains("40001 index entries") == true)
    // The index is not theirs.
    try fixture.commit(document(40_001, at: "papers/a"))
    #expect(try fixture.store.check().problems == [])

    // Few entries, each of them long.
    let long = IndexDefinition("books", [.init("tags", .contains), .init("text", .ascending)])
    try keeper(fixture).declare([long])
    let large = try fixture.set(
      "books/b", ("tags", .array((0..<1200).map { .integer(Int64($0)) })),
      ("text", .string(String(repeating: "x", count: 100_000))))
    let other = #expect(throws: Status.self) { try fixture.commit(large) }
    #expect(other?.message.contains("index entries have") == true)
  }
}
