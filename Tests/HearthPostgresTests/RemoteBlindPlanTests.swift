#if Postgres
  import Foundation
  import Logging
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine
  @testable import HearthReference
  @testable import HearthPostgres

  /// Agreement: commits that the server decides, commits that are decided here, and the memory backend.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct RemoteBlindPlanTests {
    static let seeds: Range<UInt64> = 0..<(Soak.isOn ? 40 : 4)

    /// The three databases, and a clock that all of them look at.
    private final class World: Sendable {
      let blind: RemoteBackend
      let reading: RemoteBackend
      let memory: MemoryBackend
      let urls: [String]
      let clock = Clock()

      final class Clock: Sendable {
        private let microseconds = Guarded<Int64>(1_767_225_600_000_000)

        var now: Instant { Instant(microseconds: microseconds.withLock { $0 }) }
        func advance(by count: Int64) { microseconds.withLock { $0 += count } }
      }

      var backends: [any LocalBackend & StoreBackend] { [blind, reading, memory] }

      init() throws {
        let clock = clock
        let logger = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
        urls = [try PostgresServer.newURL(), try PostgresServer.newURL()]
        let remotes = try urls.map { url in
          var settings = EmbeddedBackend.Settings()
          settings.store.now = { clock.now }
          settings.store.ttlSweepInterval = nil
          return try RemoteBackend(
            PostgresStore(
              url, retention: ChangeLogRetention(age: .seconds(3600), limitBytes: 1 << 30),
              logger: logger), settings, logger: logger)
        }
        (blind, reading) = (remotes[0], remotes[1])
        reading.writer.readsFirst.withLock { $0 = true }
        memory = MemoryBackend(
          history: Instant(microseconds: 1), now: { clock.now }, logger: logger)
      }

      /// Commits requests so that they wait for each other, and returns what became of them.
      func commit(_ requests: [[Mutation]], to backend: any Backend) async throws -> [String] {
        var start = TransactionStart(at: CallSite(file: #file, line: #line))
        start.isExclusive = true
        let hold = try await backend.awaiting { backend.beginTransaction(start, .busy, $0) }
        let outcomes = Guarded<[Int: String]>([:])
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
          for (number, mutations) in requests.enumerated() {
            backend.commit(CommitRequest(mutations, isAwaited: false), .busy) { outcome in
              let isLast = outcomes.withLock { outcomes in
                outcomes[number] = World.text(outcome)
                return outcomes.count == requests.count
              }
              if isLast { done.resume() }
            }
          }
          backend.end(hold, isRetried: false)
        }
        return outcomes.withLock { outcomes in requests.indices.map { outcomes[$0] ?? "" } }
      }

      static func text(_ outcome: Result<CommitResult, Status>) -> String {
        switch outcome {
        case .success(let result):
          "\(result.sequence) at \(result.commitTime.microseconds): "
            + result.results.map { "\($0.updateTime?.microseconds ?? 0)" }.joined(separator: " ")
        case .failure(let status):
          // Of several that refer to a document, the message names any: the newest may be in the same group.
          "\(status.code) \(status.isContention) \(status)"
            .replacing(#/cannot be deleted: \S+ refers/#, with: "cannot be deleted: one refers")
        }
      }

      func close() {
        for backend in backends { backend.close() }
      }
    }

    private struct Random {
      var generator: SeededGenerator
      let paths = ["a/1", "a/2", "a/3", "b/1", "b/2", "a/1/c/1", "u/1", "u/2"].map {
        ResourcePath(relative: $0)
      }

      mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

      private mutating func fields() -> MapValue {
        var fields: [(String, Value)] = [("n", .integer(Int64(below(3))))]
        if below(2) == 0 {
          fields.append(("tags", .array([.string("x"), .integer(Int64(below(2)))])))
        }
        if below(3) == 0 { fields.append(("ref", .reference(paths[below(3)]))) }
        if below(3) == 0 { fields.append(("m", .string(String(repeating: "long", count: 900)))) }
        return MapValue(fields)
      }

      mutating func mutation(_ known: [ResourcePath: Instant]) throws -> Mutation {
        let path = paths[below(paths.count)]
        var mutation = Mutation(path: path, operation: .delete)
        switch below(10) {
        case 0, 1: break
        case 2:
          mutation.operation = .verify
          mutation.precondition = .exists(below(2) == 0)
        case 3:
          mutation.operation = .patch(
            try DocumentBody(encoding: MapValue([("n", .integer(Int64(below(3))))])),
            mask: [FieldSegments(["n"])])
        case 4:
          mutation.operation = try .set(encoding: fields())
          mutation.transforms = [(FieldSegments(["n"]), .increment(.integer(1)))]
        default: mutation.operation = try .set(encoding: fields())
        }
        switch below(8) {
        case 0: mutation.precondition = .exists(below(2) == 0)
        case 1:
          let microseconds = (known[path]?.microseconds ?? 0) + (below(3) == 0 ? 1 : 0)
          mutation.precondition = .updateTime(Instant(microseconds: microseconds))
        case 2 where below(4) == 0:
          mutation.precondition = .updateTime(Instant(microseconds: 1 << 60))
        default: break
        }
        return mutation
      }
    }

    @Test(arguments: seeds) func `both ways leave the same as memory`(seed: UInt64) async throws {
      let world = try World()
      var random = Random(generator: SeededGenerator(seed: seed &* 7919 &+ 1))
      let indexes = [
        IndexDefinition("a", [.init(field: FieldSegments(["n"]), kind: .ascending)]),
        IndexDefinition("a", [.init(field: FieldSegments(["tags"]), kind: .contains)]),
        IndexDefinition("b", [.init(field: FieldSegments(["m"]), kind: .descending)]),
      ]
      var blindCount = 0
      for round in 0..<(Soak.isOn ? 120 : 40) {
        if round == 10 {
          for backend in world.backends {
            try await backend.awaiting { backend.declare(indexes, $0) }
            try await backend.waitForIndexes()
          }
        }
        if round == 20, seed % 2 == 1 {
          let deletes = ["u/1", "u/2"].map {
            Mutation(path: ResourcePath(relative: $0), operation: .delete)
          }
          let field = IndexDefinition.Component(
            field: FieldSegments(["ref"]), kind: .ascending)
          let action: ReferenceRule.Action = seed % 4 == 1 ? .restrict : .cascade
          let constraints = [
            IndexDefinition(
              "u", [.init(field: FieldSegments(["n"]), kind: .ascending)], constraint: .unique),
            IndexDefinition(
              "b", scope: .group, [field],
              constraint: .reference(
                ReferenceRule(action, target: "a", mustExist: seed % 4 == 3))),
          ]
          for backend in world.backends {
            _ = try await world.commit([deletes], to: backend)
            try await backend.awaiting { backend.declare(constraints, $0) }
            // Documents may violate the rule by which others must exist.
            do { try await backend.waitForIndexes() } catch let status as Status {
              #expect(status.code == .failedPrecondition && seed % 4 == 3)
            }
          }
        }
        var known: [ResourcePath: Instant] = [:]
        let stored = try await world.memory.awaiting {
          world.memory.read(.documents(at: random.paths), .lent, $0)
        }.answer.documents
        for document in stored.compactMap(\.self) { known[document.path] = document.updateTime }
        world.clock.advance(by: Int64(random.below(3)) * 5)
        var requests: [[Mutation]] = []
        for _ in 0...random.below(6) {
          requests.append(try (0...random.below(4)).map { _ in try random.mutation(known) })
        }
        // Others are decided here.
        if random.below(3) > 0 {
          requests = requests.map { $0.filter { $0.transforms.isEmpty && !$0.needsStoredFields } }
        }
        let writes = try requests.map {
          try WriteRequest(CommitRequest($0), from: nil) { _ in }
        }
        if RemoteBlindPlan(writes, world.blind.catalogues.newest) != nil { blindCount += 1 }
        var found: [[String]] = []
        for backend in world.backends {
          found.append(try await world.commit(requests, to: backend))
        }
        #expect(found[0] == found[2], "seed \(seed), round \(round): \(requests)")
        #expect(found[1] == found[2], "seed \(seed), round \(round): \(requests)")
        if random.below(3) == 0 { try await transaction(&random, world, known) }
      }
      #expect(blindCount > 5)
      let tables = [
        "hearth_documents ORDER BY collection, id", "hearth_log ORDER BY sequence",
        "hearth_entries ORDER BY number, key",
      ]
      for table in tables {
        let dumps = try world.urls.map { try Self.dump(table, of: $0) }
        #expect(dumps[0] == dumps[1], "seed \(seed): \(table)")
        // Of entries, the last deletes may leave none.
        #expect(!dumps[0].isEmpty || table.hasPrefix("hearth_entries"))
      }
      let logs = try await changes(of: world)
      #expect(logs[0] == logs[2] && logs[1] == logs[2], "seed \(seed)")
      world.close()
    }

    /// A transaction that reads, and at times is overtaken.
    private func transaction(
      _ random: inout Random, _ world: World, _ known: [ResourcePath: Instant]
    ) async throws {
      let paths = (0...random.below(3)).map { _ in random.paths[random.below(random.paths.count)] }
      let overtaking = random.below(2) == 0 ? [try random.mutation([:])] : []
      let writes = try (0..<random.below(3)).map { _ in try random.mutation([:]) }
      var query: StructuredQuery?
      if random.below(2) == 0 {
        query = StructuredQuery(
          random.below(2) == 0
            ? .collection(ResourcePath(["a"])) : .group("c", below: .root))
        if random.below(2) == 0 { query?.limit = 1 }
      }
      var found: [String] = []
      for backend in world.backends {
        let start = TransactionStart(at: CallSite(file: #file, line: #line))
        let id = try await backend.awaiting { backend.beginTransaction(start, .lent, $0) }
        let context = RequestContext(thread: .lent, transaction: id)
        _ = try await backend.awaiting { backend.read(.documents(at: paths), context, $0) }.answer
          .documents
        if let query {
          _ = try await backend.awaiting {
            backend.read(.results(EffectiveQuery(query)), context, $0)
          }.answer
            .results
        }
        if !overtaking.isEmpty { _ = try await world.commit([overtaking], to: backend) }
        let request = CommitRequest(writes, in: id)
        let outcome: Result<CommitResult, Status>
        do { outcome = .success(try await backend.commit(request)) } catch let status as Status {
          outcome = .failure(status)
        }
        backend.end(id, isRetried: false)
        found.append(World.text(outcome))
      }
      #expect(found[0] == found[2], "\(paths) \(overtaking) \(writes) \(String(describing: query))")
      #expect(found[1] == found[2], "\(paths) \(overtaking) \(writes) \(String(describing: query))")
    }

    private func changes(of world: World) async throws -> [[String]] {
      var logs: [[String]] = []
      for backend in world.backends {
        var log: [String] = []
        while true {
          let token = backend.token(after: UInt64(log.count))
          let changes = try await backend.awaiting { backend.changes(since: token, .lent, $0) }
          if changes.isEmpty { break }
          for change in changes {
            let versions = [change.before, change.after].map { document in
              document.map {
                "\($0.sequence) \($0.createTime.microseconds) \($0.updateTime.microseconds) \($0.body.bytes)"
              } ?? "none"
            }
            log.append(
              "\(change.sequence) \(change.kind) \(change.path.text) \(change.commitTime.microseconds) \(change.endsCommit) \(versions)"
            )
          }
        }
        logs.append(log)
      }
      return logs
    }

    private static func dump(_ table: String, of url: String) throws -> [[UInt8]] {
      let connection = try PostgresConnection.forReading(url)
      let rows = try connection.run([
        PostgresStatement(
          "SELECT convert_to(t::text, 'UTF8') FROM \(table.replacing(" ORDER", with: " t ORDER"))")
      ])
      return (0..<rows[0].count).map { rows[0].bytes($0, 0) ?? [] }
    }

    /// A state that was read at a time stays as it was, whatever the clocks of other processes say.
    @Test(arguments: [false, true])
    func `commits are later than every time that was read`(readsFirst: Bool) async throws {
      let url = try PostgresServer.newURL()
      let logger = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
      let start = Instant.now().microseconds
      // The second process is ten seconds ahead.
      let backends = try [0, 10_000_000].map { ahead in
        var settings = EmbeddedBackend.Settings()
        settings.store.now = { Instant(microseconds: start + Int64(ahead)) }
        settings.store.ttlSweepInterval = nil
        return try RemoteBackend(
          PostgresStore(
            url, retention: ChangeLogRetention(age: .seconds(3600), limitBytes: 1 << 30),
            logger: logger), settings, logger: logger)
      }
      backends[0].writer.readsFirst.withLock { $0 = readsFirst }
      let path = ResourcePath(["c", "1"])
      func set(_ n: Int64) throws -> Mutation {
        Mutation(path: path, operation: try .set(encoding: MapValue([("n", .integer(n))])))
      }
      var last = try await backends[0].commit([try set(0)]).commitTime
      for round in 1...3 as ClosedRange<Int64> {
        let time = Timestamp(Instant(microseconds: start + 5_000_000 + round * 1000))
        let read = try await backends[1].versioned(.documents(at: [path]), at: time).answer
          .documents
        let committed = try await backends[0].commit([try set(round)]).commitTime
        #expect(committed > Instant(time) && committed > last)
        let again = try await backends[1].versioned(.documents(at: [path]), at: time).answer
          .documents
        #expect(again[0]?.sequence == read[0]?.sequence)
        last = committed
      }
      for backend in backends { backend.close() }
    }

    @Test func `tables of an older format are upgraded`() async throws {
      let url = try PostgresServer.newURL()
      let connection = try PostgresConnection.forWriting(url)
      for statement in PostgresSchema.creation {
        _ = try connection.run([PostgresStatement(statement)])
      }
      for name in ["one", "other"] {
        let db = try PostgresServer.open(url, as: name)
        try await db.document("a/\(name)").setData(["n": 1])
        #expect(try await db.document("a/one").getDocument()["n"] as? Int == 1)
        try await db.terminate()
      }
      let format = try connection.run([PostgresStatement("SELECT format FROM hearth_store")])
      #expect(format.first?.integer(0, 0) == PostgresSchema.format)
      _ = try connection.run([PostgresStatement("UPDATE hearth_store SET format = format + 1")])
      #expect(throws: (any Error).self) { try PostgresServer.open(url, as: "late") }
    }
  }
#endif
