import HearthPatterns
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// A long run of random writes while indexes are made, built, dropped, and the file is opened anew.
@Suite struct IndexModelTests {
  @Test(arguments: StoreModelTests.World.allCases)
  func `after every step all entries are true, and a ready index has them all`(
    _ world: StoreModelTests.World
  ) throws {
    let rounds = Soak.isOn ? 2000 : 150
    for seed in Soak.seeds(from: UInt64(world.rawValue.utf8.count)) {
      var run = try Run(seed: seed, world)
      do {
        for round in 0..<rounds { try run.step(round) }
        try run.finish()
      } catch {
        Issue.record("seed \(seed): \(error)")
      }
    }
  }

  private struct Run {
    let seed: UInt64
    let fixture: StoreFixture
    var random: RandomValues
    var keeper: IndexManager
    var work: IndexBuilder
    var documents: [ResourcePath: MapValue] = [:]
    var wanted: Set<IndexDefinition> = []

    init(seed: UInt64, _ world: StoreModelTests.World) throws {
      self.seed = seed
      random = RandomValues(seed: seed)
      fixture = try StoreFixture(world.configure)
      keeper = IndexManager(fixture.store, policy: .declared, logger: .silent)
      work = IndexBuilder(store: fixture.store, lease: Lease(.indexes))
      work.limits.documents = 7
    }

    mutating func definition() -> IndexDefinition {
      let (collectionID, scope) = (
        random.generator.pick(["c", "d"]),
        random.generator.one(in: 2) ? IndexDefinition.Scope.collection : .group
      )
      if random.generator.one(in: 4) {
        let fields = [
          WordFields.Field(field: FieldSegments(["a"]), weight: 1),
          WordFields.Field(field: FieldSegments(["w"]), weight: 2),
        ]
        let words = WordFields(
          Array(fields.dropFirst(random.generator.below(2))),
          random.generator.pick(WordLanguage.allCases))
        return IndexDefinition(collectionID, scope: scope, [.init(words: words)])
      }
      if random.generator.one(in: 6) {
        return IndexDefinition(
          collectionID, scope: scope, [.init(field: FieldSegments(["a"]), kind: .cells)])
      }
      var components: [IndexDefinition.Component] = []
      for name in ["a", "b", "t", "m.x"] where random.generator.one(in: 2) {
        let kind = random.generator.pick([
          IndexDefinition.Component.Kind.ascending, .descending, .contains,
        ])
        let isSecond = kind == .contains && components.contains { $0.kind == .contains }
        components.append(.init(name, isSecond ? .ascending : kind))
      }
      if components.isEmpty { components = [.init("a", .ascending)] }
      return IndexDefinition(collectionID, scope: scope, components)
    }

    mutating func document() -> MapValue {
      var fields = MapValue()
      for name in ["a", "b", "t"] where !random.generator.one(in: 5) {
        fields[name] = random.generator.one(in: 3) ? .integer(1) : random.value(depth: 1)
      }
      if random.generator.one(in: 2) {
        let words = ["run", "running", "Läufer", "the", "of", "日本", "a-b", "é"]
        fields["w"] = .string(
          (0..<random.generator.below(12)).map { _ in random.generator.pick(words) }
            .joined(separator: " "))
      }
      if random.generator.one(in: 2) {
        fields["t"] = .array((0..<random.generator.below(6)).map { _ in random.value(depth: 0) })
      }
      if random.generator.one(in: 2) {
        fields["m"] = .map(MapValue([("x", random.value(depth: 0))]))
      }
      return fields
    }

    mutating func write() throws {
      let places = ["c", "d/x/c", "c/y/c", "d", "c/y/d"].map { ResourcePath(relative: $0) }
      var requests: [[Mutation]] = []
      var after: [[(ResourcePath, MapValue?)]] = []
      for _ in 0..<(1 + random.generator.below(8)) {
        var mutations: [Mutation] = []
        var results: [(ResourcePath, MapValue?)] = []
        for _ in 0..<(1 + random.generator.below(3)) {
          let path = random.generator.pick(places).appending(random.id())
          if random.generator.one(in: 4) {
            mutations.append(fixture.delete(path))
            results.append((path, nil))
          } else {
            var fields = document()
            // Often only a little changes, or a number's type.
            if let old = documents[path], random.generator.one(in: 2) {
              let new = fields
              fields = old
              let name = random.generator.pick(["a", "b", "t"])
              fields[name] = new[name]
              if case .integer(let number)? = old["a"] { fields["a"] = .double(Double(number)) }
            }
            guard let mutation = try? fixture.set(path, fields) else { continue }
            mutations.append(mutation)
            results.append((path, fields))
          }
        }
        requests.append(mutations)
        after.append(results)
      }
      for (outcome, results) in zip(fixture.commitTogether(requests), after) {
        guard case .success = outcome else { continue }
        for (path, fields) in results { documents[path] = fields }
      }
    }

    mutating func step(_ round: Int) throws {
      switch random.generator.below(12) {
      case 0 where wanted.count < 8:
        let definition = definition()
        try keeper.declare([definition])
        wanted.insert(definition.stored)
      case 1:
        if let dropped = wanted.sorted(by: { "\($0)" < "\($1)" }).first,
          random.generator.one(in: 3)
        {
          try keeper.drop([random.generator.one(in: 2) ? dropped : dropped.turned])
          wanted.remove(dropped)
        }
      case 2: try reopen()
      case 3, 4, 5: _ = try work.step()
      case 6:
        // A commit that never was.
        let failing = try fixture.store.beginWriting()
        failing.abort()
      default: try write()
      }
      if round % 5 == 0 { try check(round) }
    }

    mutating func reopen() throws {
      try fixture.reopen()
      keeper = IndexManager(fixture.store, policy: .declared, logger: .silent)
      let lease = work.lease
      work = IndexBuilder(store: fixture.store, lease: lease)
      work.limits.documents = 7
    }

    mutating func finish() throws {
      while try work.step() != .idle {}
      try check(-1)
      let indexes = try keeper.list()
      #expect(Set(indexes.map(\.definition)) == wanted, "seed \(seed)")
      #expect(!indexes.contains { !$0.isReady }, "seed \(seed)")
      // All gone, nothing stays.
      try keeper.drop(Array(wanted))
      while try work.step() != .idle {}
      let left = try fixture.store.read { try $0.lmdb.statistics($0.tables.entries).entries }
      #expect(left == 0, "seed \(seed)")
      #expect(try fixture.store.check().problems == [], "seed \(seed)")
    }

    func check(_ round: Int) throws {
      let report = try fixture.store.check()
      #expect(report.problems == [], "seed \(seed), round \(round)")
      try fixture.store.read { snapshot in
        for index in try snapshot.indexes().indexes where index.isReady {
          try compare(index, snapshot, round)
        }
        try ask(snapshot, round)
      }
    }

    /// Random queries, through every index that is ready.
    func ask(_ snapshot: StoreSnapshot, _ round: Int) throws {
      let world = documents.map { (path: $0.key, fields: $0.value) }
        .sorted { ResourcePath.compare($0.path, $1.path) < 0 }
      guard !world.isEmpty else { return }
      let reference = world.map(ReferenceQuery.Document.init)
      var queries = RandomQueries(seed: seed &+ UInt64(truncatingIfNeeded: round))
      for var query in queries.validQueries(4, world) {
        if case .group(_, let below) = query.scope { query.scope = .group("c", below: below) }
        let expected = ReferenceQuery(query: query).run(reference).map(\.path)
        let effective = EffectiveQuery(query)
        for plan in try snapshot.planner(effective).candidates() {
          let found = try QueryExecutor(effective, in: snapshot, plan: plan).documents().map(\.path)
          #expect(found == expected, "seed \(seed), round \(round), \(query)\n\(plan)")
        }
      }
    }

    /// Every collection, or the group, as the index tells it.
    func compare(_ index: StoredIndex, _ snapshot: StoreSnapshot, _ round: Int) throws {
      let model = EntryModel(index.definition, documents)
      let collections: [ResourcePath?] =
        index.isGroup ? [nil] : Array(Set(model.entries.map(\.path.parent)))
      for collection in collections {
        let expected = model.entries(in: collection).map(\.path)
        let scan = try EntryScan(EntryRange(index, in: collection), in: snapshot)
        var told: [ResourcePath] = []
        while let entry = try scan.next() { told.append(try scan.path(of: entry)) }
        #expect(told == expected, "seed \(seed), round \(round), \(index.definition)")
      }
    }
  }
}
