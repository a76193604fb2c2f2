import Foundation
import Hearth
import HearthTesting
import Synchronization
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// Two processes on one database, as their exchanges: what one waits for, and the other records.
@Suite(.timeLimit(patience)) struct SignalExchangeTests {
  private typealias Interests = SignalExchange.Interests
  private typealias Mutated = SubscriptionHub.Mutated

  /// A process.
  private final class Peer: Sendable {
    let interests = Mutex(Interests())
    let signals = Mutex<[SignalExchange.Signal]>([])
    /// The commits of the interests that have begun: each asks for them.
    let commits = Mutex(0)
    let exchange: SignalExchange

    init(_ firestore: Firestore) {
      let holder = Holder()
      exchange = SignalExchange(firestore) {
        holder.peer?.commits.withLock { $0 += 1 }
        return holder.peer?.interests.withLock(\.self) ?? Interests()
      } deliver: { signal in
        holder.peer?.signals.withLock { $0.append(signal) }
      }
      holder.set(self)
    }

    func wait(for interests: Interests) async throws {
      self.interests.withLock { $0.formUnion(interests) }
      try await exchange.announce(interests)
    }

    func received(_ count: Int) async throws -> [SignalExchange.Signal] {
      try await eventually { signals.withLock { $0.count >= count } }
      return signals.withLock(\.self)
    }

    var mutated: [Mutated] {
      signals.withLock(\.self).compactMap { signal in
        if case .mutated(let mutated) = signal { mutated } else { nil }
      }
    }
  }

  private final class Holder: Sendable {
    private struct Weak: Sendable { weak var peer: Peer? }
    private let state = Mutex(Weak())
    var peer: Peer? { state.withLock(\.peer) }
    func set(_ peer: Peer) { state.withLock { $0.peer = peer } }
  }

  private let database: TemporaryDatabase
  private let reader: Peer
  private let writer: Peer

  init() throws {
    database = try TemporaryDatabase()
    reader = Peer(database.firestore)
    writer = Peer(database.firestore)
  }

  private var firestore: Firestore { database.firestore }

  private func record(_ mutated: Mutated, by peer: Peer) async throws {
    try await firestore.write { [firestore] transaction in
      try peer.exchange.record(mutated, in: transaction, firestore)
    }
  }

  private func mutated(
    _ variables: DataObject = [:], _ auth: DataConnectAuth? = nil, rows: Set<RowIdentity> = []
  ) -> Mutated {
    Mutated(
      connector: "movies", operation: "Update", variables: variables, auth: auth,
      written: WrittenRows(byKey: rows))
  }

  private var records: [QueryDocumentSnapshot] {
    get async throws {
      try await firestore.collection(SignalExchange.executions).getDocuments().documents
    }
  }

  private func interests(_ mutations: Set<String> = [], _ tables: Set<String> = []) -> Interests {
    Interests(mutations.map { .mutation($0) }).union(tables.map { .table($0) })
  }

  /// Commits wait until the gate is signalled.
  private func blockCommits() async -> (gate: DispatchSemaphore, blocked: Task<Void, any Error>) {
    let gate = DispatchSemaphore(value: 0)
    let entered = DispatchSemaphore(value: 0)
    let blocked = Task { [firestore] in
      try await firestore.write { _ in
        entered.signal()
        gate.wait()
      }
    }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        entered.wait()
        continuation.resume()
      }
    }
    return (gate, blocked)
  }

  @Test func `values arrive as they were: times, numbers, and claims that conditions read`()
    async throws
  {
    var wanted = interests(["movies/Update"])
    wanted.insert(.claim("role"))
    try await reader.wait(for: wanted)
    let time = DataValue.timestamp(Timestamp(seconds: 1_767_323_045, nanoseconds: 6000))
    let variables: DataObject = [
      "at": time, "half": .double(1), "none": .double(.infinity), "text": "2026-01-02T00:00:00Z",
      "list": [time, ["@x": 1]],
    ]
    let ada = DataConnectAuth(uid: "ada", token: ["role": "x", "until": time, "secret": 7])
    try await record(mutated(variables, ada), by: writer)
    _ = try await reader.received(1)
    let first = try #require(reader.mutated.first)
    #expect(first.variables == variables && first.hasValues)
    #expect(first.auth == DataConnectAuth(uid: "ada", token: ["role": "x"]))
    // A condition that compares the whole token.
    wanted.insert(.allClaims)
    try await reader.wait(for: wanted)
    try await record(mutated([:], ada), by: writer)
    _ = try await reader.received(2)
    #expect(reader.mutated.last?.auth == ada)
  }

  @Test func `a mutation of any size is recorded, and a large one refreshes more`() async throws {
    try await reader.wait(for: interests(["movies/Update"], ["movie"]))
    let rows = Set((0..<20_000).map { RowIdentity("movie", "row \($0)") })
    try await record(
      mutated(["text": .string(String(repeating: "x", count: 2 << 20))], rows: rows), by: writer)
    _ = try await reader.received(1)
    let large = try #require(reader.mutated.first)
    #expect(!large.hasValues && large.tables == ["movie"] && large.written.byKey.isEmpty)
    // Rows of tables that nobody waits for are not part of it.
    let others = Set((0..<20_000).map { RowIdentity("review", "row \($0)") })
    let one = RowIdentity("movie", "1")
    try await record(mutated(["text": "y"], rows: others.union([one])), by: writer)
    _ = try await reader.received(2)
    let small = try #require(reader.mutated.last)
    #expect(small.written.byKey == [one] && small.tables.isEmpty)
    #expect(small.variables == ["text": "y"])
  }

  @Test func `rows that a filter has written are for caches, and too many are all rows`()
    async throws
  {
    try await reader.wait(for: interests([], ["movie"]))
    let row = RowIdentity("movie", "1")
    var filtered = mutated()
    filtered.written.byFilter = [row, RowIdentity("review", "1")]
    try await record(filtered, by: writer)
    filtered.written.byFilter = Set((0..<20_000).map { RowIdentity("movie", "row \($0)") })
    try await record(filtered, by: writer)
    _ = try await reader.received(2)
    #expect(reader.mutated.map(\.written.byFilter) == [[row], []])
    #expect(reader.mutated.map(\.hasManyFilteredRows) == [false, true])
    #expect(reader.mutated.allSatisfy { $0.written.byKey.isEmpty && $0.tables.isEmpty })
  }

  @Test func `a process has a bounded number of records, and a reader that misses some knows it`()
    async throws
  {
    try await reader.wait(for: interests(["movies/Update"]))
    let slots = Int(RecordNumbers.slots)
    // In one commit: the reader sees only the last ones.
    try await firestore.write { [firestore, writer] transaction in
      for number in 0..<(slots + 10) {
        try writer.exchange.record(
          mutated(["n": .int(Int64(number))]), in: transaction, firestore)
      }
    }
    let signals = try await reader.received(slots + 1)
    guard case .missed? = signals.first else {
      Issue.record("The first ones were replaced.")
      return
    }
    #expect(try await records.count == slots)
    #expect(
      reader.mutated.map { $0.variables["n"] } == (10..<(slots + 10)).map { .int(Int64($0)) })
    try await record(mutated(["n": 1]), by: writer)
    #expect(try await reader.received(slots + 2).count == slots + 2, "Nothing is missing now.")
    #expect(try await records.count == slots)
  }

  @Test func `several first announcements wait for the same beginning`() async throws {
    for _ in 0..<20 {
      let reader = Peer(firestore)
      reader.interests.withLock { $0 = interests(["movies/Update", "movies/Other"]) }
      async let one: Void = reader.exchange.announce(interests(["movies/Update"]))
      async let two: Void = reader.exchange.announce(interests(["movies/Other"]))
      async let three: Void = reader.exchange.announce(interests(["movies/Update"]))
      _ = try await three
      try await record(mutated(), by: writer)
      _ = try await reader.received(1)
      _ = try await (one, two)
    }
  }

  @Test func `a subscription that begins while the last one is withdrawn is renewed`()
    async throws
  {
    try await reader.wait(for: interests(["movies/Old"]))
    for round in 0..<20 {
      reader.interests.withLock { $0 = Interests() }
      let (gate, blocked) = await blockCommits()
      async let renewed = reader.exchange.renew()
      for _ in 0..<(round * 10) { await Task.yield() }
      async let announced: Void = reader.wait(for: interests(["movies/Update"]))
      for _ in 0..<100 { await Task.yield() }
      gate.signal()
      _ = try await (blocked.value, renewed, announced)
      #expect(await reader.exchange.isRenewing, "round \(round)")
      let count = reader.mutated.count
      try await record(mutated(), by: writer)
      _ = try await reader.received(count + 1)
    }
    reader.interests.withLock { $0 = Interests() }
    await reader.exchange.renew()
    #expect(await !reader.exchange.isRenewing)
    let count = try await records.count
    try await record(mutated(), by: writer)
    #expect(try await records.count == count, "Nobody waits.")
  }

  @Test func `announcements during a renewal share one more commit`() async throws {
    let (movies, reviews) = (interests([], ["movie"]), interests([], ["review"]))
    try await reader.wait(for: movies)
    let before = reader.commits.withLock(\.self)
    let (gate, blocked) = await blockCommits()
    let renewal = Task { [reader] in await reader.exchange.renew() }
    while reader.commits.withLock(\.self) == before { await Task.yield() }
    // They are in the database already: nobody waits for the renewal.
    for _ in 0..<50 { try await reader.exchange.announce(movies) }
    #expect(reader.commits.withLock(\.self) == before + 1)
    reader.interests.withLock { $0.formUnion(reviews) }
    let others = (0..<50).map { _ in
      Task { [reader] in try await reader.exchange.announce(reviews) }
    }
    for _ in 0..<100 { await Task.yield() }
    gate.signal()
    try await blocked.value
    #expect(await renewal.value)
    for other in others { try await other.value }
    for _ in 0..<50 { try await reader.exchange.announce(reviews) }
    // A slow machine may have the next renewal meanwhile.
    #expect(reader.commits.withLock(\.self) <= before + 3)
    for row in [RowIdentity("movie", "1"), RowIdentity("review", "1")] {
      try await record(mutated(rows: [row]), by: writer)
    }
    _ = try await reader.received(2)
  }

  @Test func `a first announcement of many is one commit`() async throws {
    let movies = interests([], ["movie"])
    reader.interests.withLock { $0 = movies }
    let (gate, blocked) = await blockCommits()
    let all = (0..<50).map { _ in
      Task { [reader] in try await reader.exchange.announce(movies) }
    }
    for _ in 0..<100 { await Task.yield() }
    gate.signal()
    try await blocked.value
    for one in all { try await one.value }
    #expect(reader.commits.withLock(\.self) <= 2)
  }

  @Test func `a cache whose service has gone is not waited for`() async throws {
    let template = try TestConnector(
      schema: "type Movie @table(key: \"name\") { name: String! }",
      operations: "query List { movies { name } }")
    let config = template.dataConnect.connectorConfig
    let caches = RowCaches()
    let exchange = SignalExchange(firestore) {
      Interests(caches.tables.map { .table($0) })
    } deliver: { _ in
    }
    let cache: ResultCache
    do {
      let connector = try TestConnector(template.connector, database)
      let service = try connector.dataConnect.service()
      cache = try ResultCache(config, service, isPersistent: false, nil)
      caches.add(cache, of: ["movie"])
      try await exchange.announce(interests([], ["movie"]))
      #expect(await exchange.renew())
      // In use until here.
      #expect(try connector.dataConnect.service() === service)
    }
    #expect(!cache.hasSource && caches.tables.isEmpty)
    #expect(await !exchange.renew())
    #expect(await !exchange.isRenewing, "Its listener would keep the database open.")
    let count = try await records.count
    try await record(mutated(rows: [RowIdentity("movie", "1")]), by: writer)
    #expect(try await records.count == count, "Nobody waits.")
  }

  @Test func `an exchange that waits for nothing keeps no database open`() async throws {
    weak var firestore: Firestore?
    var peer: Peer?
    do {
      let database = try TemporaryDatabase()
      firestore = database.firestore
      let waiting = Peer(database.firestore)
      peer = waiting
      try await waiting.wait(for: interests(["movies/Update"]))
      waiting.interests.withLock { $0 = Interests() }
      await waiting.exchange.renew()
    }
    try await eventually { firestore == nil }
    #expect(peer != nil)
  }

  @Test func `an announcement that could not be written is written by the next one`()
    async throws
  {
    try await reader.wait(for: interests(["movies/Other"]))
    let document = firestore.collection(SignalExchange.collection).document("interests")
    // The lease is over: another process has removed it.
    try await document.delete()
    await reader.exchange.renew()
    guard case .missed? = try await reader.received(1).first else {
      Issue.record("Mutations without a record are missed.")
      return
    }
    try await reader.wait(for: interests(["movies/Update"]))
    try await record(mutated(), by: writer)
    _ = try await reader.received(2)
  }
}
