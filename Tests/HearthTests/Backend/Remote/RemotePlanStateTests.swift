import ProcessorTime
import TestSupport
import Testing

@testable import HearthEngine

/// Commits planned on what is read of a server.
@Suite(.ownThreads) struct RemotePlanStateTests {
  /// A server in memory, which counts the reads.
  private final class Server {
    let catalogue: RemoteCatalogue
    var documents: [StoredDocument] = []
    private(set) var reads = 0
    var fault: Status?

    init() throws {
      let unique = IndexDefinition("books", [.init("n", .ascending)], constraint: .unique)
      let rule = IndexDefinition(
        "books", scope: .group, [.init("author", .ascending)],
        constraint: .reference(ReferenceRule(.cascade, target: "authors", mustExist: true)))
      catalogue = try RemoteCatalogue(
        generation: 1,
        [
          1: StoredIndex(number: 1, definition: unique, state: .ready, origin: .declared).encoded(),
          2: StoredIndex(number: 2, definition: rule, state: .ready, origin: .declared).encoded(),
        ])
    }

    func state(known paths: [ResourcePath] = []) -> RemotePlanState {
      RemotePlanState(catalogue, known: paths) { [self] needs throws(Status) in
        reads += 1
        if let fault { throw fault }
        // More than is needed, as a server may answer.
        return needs(catalogue).scopes.isEmpty ? [] : documents
      }
    }

    /// For writes of documents that do not exist.
    func plan(for books: [Mutation] = [], on state: RemotePlanState? = nil) -> CommitPlan {
      CommitPlan(
        state ?? self.state(known: books.map(\.path)), StoreState(lastSequence: 10),
        now: Instant(microseconds: 1_000_000), notAfter: .latest, documentCount: books.count)
    }

    func store(_ path: String, _ fields: MapValue) throws {
      documents.append(
        StoredDocument(
          path: ResourcePath(relative: path), sequence: 1, createTime: Instant(microseconds: 1),
          updateTime: Instant(microseconds: 1), body: try DocumentBody(encoding: fields)))
    }
  }

  private static func book(_ n: Int, author: String = "authors/a") throws -> MapValue {
    MapValue([
      ("n", .integer(Int64(n))), ("author", .reference(ResourcePath(relative: author))),
    ])
  }

  private static func set(_ path: String, _ fields: MapValue) throws -> Mutation {
    Mutation(
      path: ResourcePath(relative: path), operation: .set(try DocumentBody(encoding: fields)))
  }

  private static func books(_ count: Int) throws -> [Mutation] {
    try (0..<count).map { try set("books/\($0)", book($0)) }
  }

  private static func code(_ body: () throws -> Void) -> Status.Code? {
    do { try body() } catch { return (error as? Status)?.code }
    return nil
  }

  /// Its own documents are read with the lock.
  @Test func `a commit of any size asks once for what its constraints need`() throws {
    for count in [1, 50, 400] {
      let server = try Server()
      try server.store("authors/a", MapValue())
      let books = try Self.books(count)
      var plan = server.plan(for: books)
      try plan.prepare(for: books)
      #expect(server.reads == 1)
      let result = try plan.plan(books)
      #expect(result.sequence == 10 + UInt64(count))
      #expect(server.reads == 1)
    }
  }

  @Test func `constraints hold against what is stored, and against what the group has planned`()
    throws
  {
    let server = try Server()
    try server.store("authors/a", MapValue())
    try server.store("books/old", Self.book(7))
    let state = server.state()
    var plan = server.plan(on: state)
    #expect(
      Self.code { _ = try plan.plan([Self.set("books/new", Self.book(7))]) } == .alreadyExists)
    _ = try plan.plan([Self.set("books/other", Self.book(8))])
    #expect(
      Self.code { _ = try plan.plan([Self.set("books/new", Self.book(8))]) } == .alreadyExists)
    // Freed by the group.
    _ = try plan.plan([Self.set("books/old", Self.book(9))])
    _ = try plan.plan([Self.set("books/new", Self.book(7))])
    let missing = try Self.set("books/m", Self.book(1, author: "authors/missing"))
    #expect(Self.code { _ = try plan.plan([missing]) } == .failedPrecondition)
    let result = try plan.plan([
      Mutation(path: ResourcePath(relative: "authors/a"), operation: .delete)
    ])
    #expect(Set(result.cascaded.map(\.text)) == ["books/old", "books/other", "books/new"])
    #expect(state.changes.last?.startsCommit == false)
    #expect(
      Self.code { _ = try plan.plan([Self.set("books/x", Self.book(1))]) } == .failedPrecondition)
  }

  @Test func `a query in a plan finds planned versions, and no stored version of their documents`()
    throws
  {
    let server = try Server()
    try server.store("authors/a", MapValue())
    for n in 0..<3 { try server.store("books/\(n)", Self.book(n)) }
    var plan = server.plan()
    var request = plan.begin()
    try plan.add(Self.set("books/0", Self.book(10)), to: &request)
    try plan.add(
      Mutation(path: ResourcePath(relative: "books/1"), operation: .delete), to: &request)
    let books = EffectiveQuery(StructuredQuery(.collection(ResourcePath(["books"]))))
    let found = try plan.answer(.results(books), in: &request).results
    #expect(found.map(\.path.text) == ["books/0", "books/2"])
    #expect(try found.first?.body == DocumentBody(encoding: Self.book(10)))
    let count = try plan.answer(
      .values([Aggregation(.count(upTo: nil))], over: books), in: &request
    ).values
    #expect(count == [.integer(2)])
    plan.drop(request)
    #expect(plan.isEmpty)
  }

  @Test func `rules change documents in the order of their names, whatever order a server has`()
    throws
  {
    let server = try Server()
    try server.store("authors/a", MapValue())
    for n in [2, 0, 10, 1] { try server.store("books/\(n)", Self.book(n)) }
    let state = server.state()
    var plan = server.plan(on: state)
    let delete = Mutation(path: ResourcePath(relative: "authors/a"), operation: .delete)
    let cascaded = try plan.plan([delete]).cascaded
    #expect(cascaded.map(\.text) == ["books/0", "books/1", "books/10", "books/2"])
    #expect(state.changes.dropFirst().map(\.path) == cascaded)
  }

  @Test func `a plan does not go on without what it could not read`() throws {
    let server = try Server()
    server.fault = Status(.unavailable, "The server is gone.")
    let state = server.state()
    var plan = CommitPlan(
      state, StoreState(), now: Instant(microseconds: 1), notAfter: .latest, documentCount: 0)
    #expect(Self.code { _ = try plan.plan(Self.books(1)) } == .unavailable)
    #expect(state.failure?.code == .unavailable)
    #expect(plan.isEmpty)
  }

  /// A search in a growing list made it 11 s for 400 documents.
  @Test func `a commit with constraints takes time in proportion to its documents`() throws {
    func planning(_ books: [Mutation]) throws -> () throws -> Void {
      let server = try Server()
      try server.store("authors/a", MapValue())
      return {
        var plan = server.plan(for: books)
        try plan.prepare(for: books)
        _ = try plan.plan(books)
      }
    }
    let books = try Self.books(1600)
    let planned = try ProcessorTime.exponent(
      of: planning(books), to: planning(Self.books(100)), factor: 16)
    #expect(planned < 1.5)
    func deleting(_ count: Int) throws -> () throws -> Void {
      let server = try Server()
      try server.store("authors/a", MapValue())
      for n in 0..<count { try server.store("books/\(n)", Self.book(n)) }
      let delete = Mutation(path: ResourcePath(relative: "authors/a"), operation: .delete)
      return {
        var plan = server.plan()
        let cascaded = try plan.plan([delete]).cascaded
        #expect(cascaded.count == count)
      }
    }
    let deleted = try ProcessorTime.exponent(of: deleting(1600), to: deleting(100), factor: 16)
    #expect(deleted < 1.5)
    let fixture = try StoreFixture()
    let keeper = IndexManager(fixture.store, policy: .declared, logger: .silent)
    let server = try Server()
    try keeper.declare(server.catalogue.indexes.map(\.definition))
    try fixture.commit(try Self.set("authors/a", MapValue()))
    let embedded = {
      try fixture.store.read { snapshot in
        let file = try FileState(snapshot)
        var plan = CommitPlan(
          file, file.state, now: fixture.clock.now, notAfter: .latest, documentCount: books.count)
        _ = try plan.plan(books)
      }
    }
    let ratio = try ProcessorTime.ratio(of: planning(books), to: embedded, below: 3)
    #expect(ratio < 3)
  }
}
