import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// Unique indexes, reference rules and documents that must exist, against the plain reference, over
/// groups of requests.
@Suite struct ConstraintModelTests {
  @Test(arguments: StoreModelTests.World.allCases)
  func `every request ends as the reference says, and leaves the same documents`(
    _ world: StoreModelTests.World
  ) throws {
    let rounds = Soak.isOn ? 3000 : 300
    for seed in Soak.seeds(from: UInt64(world.rawValue.utf8.count)) {
      var run = try Run(seed: seed, world)
      do {
        for round in 0..<rounds { try run.step(round) }
      } catch {
        Issue.record("seed \(seed): \(error)")
      }
      // Otherwise the run has proved nothing.
      #expect(Set(run.refusals.keys) == [.alreadyExists, .failedPrecondition], "seed \(seed)")
      #expect(run.cascaded > rounds / 60, "seed \(seed)")
      #expect(run.invalid[true, default: 0] > 0 && run.invalid[false, default: 0] > 0, "\(seed)")
      #expect(run.dangling > 0, "seed \(seed)")
    }
  }

  private struct Run {
    let fixture: StoreFixture
    let keeper: IndexManager
    var work: IndexBuilder
    var random: SeededGenerator
    var model = MemoryState()
    var refusals: [Status.Code: Int] = [:]
    var cascaded = 0
    /// Constraints that documents violated when they were declared: unique indexes, and rules.
    var invalid: [Bool: Int] = [:]
    /// Requests that were refused because of a document that did not exist.
    var dangling = 0

    init(seed: UInt64, _ world: StoreModelTests.World) throws {
      fixture = try StoreFixture(world.configure)
      keeper = IndexManager(fixture.store, policy: .declared, logger: .silent)
      work = IndexBuilder(store: fixture.store, lease: Lease(.indexes))
      work.limits.documents = 5
      random = SeededGenerator(seed: seed)
    }

    private static let long = String(repeating: "long ", count: 8)

    private mutating func author() -> ResourcePath {
      let below = random.one(in: 4) ? "houses/h/authors" : "authors"
      return ResourcePath(
        relative: "\(below)/\(random.one(in: 3) ? Self.long : "")\(random.below(4))")
    }

    private mutating func book() -> ResourcePath {
      let below = random.one(in: 3) ? "shelves/s/books" : "books"
      return ResourcePath(
        relative: "\(below)/\(random.one(in: 3) ? Self.long : "")\(random.below(6))")
    }

    private mutating func isbn() -> Value {
      switch random.below(12) {
      case 0: .null
      case 1: .double(1)
      case 2: .string(Self.long + "\(random.below(2))")
      case 3: .array([.integer(1)])
      case 4: .double(.nan)
      default: .integer(Int64(random.below(9)))
      }
    }

    private mutating func fields() -> MapValue {
      var fields = MapValue()
      if !random.one(in: 6) { fields["isbn"] = isbn() }
      if random.one(in: 2) { fields["edition"] = .integer(Int64(random.below(3))) }
      switch random.below(8) {
      case 0: fields["author"] = .string("nobody")
      case 1: fields["author"] = .reference(book())
      case 2: break
      default: fields["author"] = .reference(author())
      }
      if random.one(in: 2) {
        fields["genres"] = .array((0..<random.below(4)).map { _ in .reference(author()) })
      }
      if random.one(in: 4) { fields["sequel"] = .reference(book()) }
      if random.one(in: 3) { fields["codes"] = .array((0..<random.below(3)).map { _ in isbn0() }) }
      return fields
    }

    private mutating func isbn0() -> Value {
      random.one(in: 5) ? .null : .integer(Int64(random.below(12)))
    }

    private mutating func mutation() throws -> Mutation {
      switch random.below(11) {
      case 0: return fixture.delete(book())
      case 1, 2: return fixture.delete(author())
      case 3, 9, 10:
        return try fixture.set(author(), MapValue([("n", .integer(Int64(random.below(3))))]))
      case 4:
        return Mutation(
          path: book(),
          operation: .patch(MapValue([("isbn", isbn())]), mask: [FieldSegments(["isbn"])]))
      case 5:
        return Mutation(
          path: book(),
          operation: .patch(
            MapValue([("author", .reference(author()))]), mask: [FieldSegments(["author"])]))
      default: return try fixture.set(book(), fields())
      }
    }

    private mutating func constraint() -> IndexDefinition {
      let action = random.pick([ReferenceRule.Action.restrict, .cascade, .nullify])
      let mustExist = random.one(in: 4)
      func rule(_ field: String, _ kind: IndexDefinition.Component.Kind, _ target: String)
        -> IndexDefinition
      {
        IndexDefinition(
          "books", scope: .group, [.init(field, kind)],
          constraint: .reference(
            ReferenceRule(action, target: target, mustExist: mustExist)))
      }
      let scope: IndexDefinition.Scope = random.one(in: 2) ? .collection : .group
      return switch random.below(9) {
      case 0:
        IndexDefinition("books", scope: scope, [.init("isbn", .ascending)], constraint: .unique)
      case 1:
        IndexDefinition(
          "books", scope: scope, [.init("isbn", .descending), .init("edition", .ascending)],
          constraint: .unique)
      case 2:
        IndexDefinition("books", scope: scope, [.init("codes", .contains)], constraint: .unique)
      case 3, 4: rule("author", .ascending, "authors")
      case 5, 6: rule("genres", .contains, "authors")
      default: rule("sequel", .ascending, "books")
      }
    }

    mutating func step(_ round: Int) throws {
      switch random.below(12) {
      case 0: try declare()
      case 1:
        guard let dropped = model.indexes.first?.definition else { break }
        try keeper.drop([dropped])
        model.drop([dropped])
      case 2: while try work.step() != .idle {}
      default: try write()
      }
      // What is being built may go on at any time.
      if random.one(in: 3) { _ = try work.step() }
      try compare(round)
    }

    private mutating func declare() throws {
      let definition = constraint()
      try keeper.declare([definition])
      try model.declare([definition])
      // What a constraint that is being built allows is found at its end, by both at once.
      guard definition.isVerified else { return }
      while try work.step() != .idle {}
      let listed = try keeper.list().first { $0.isMaintained && $0.definition == definition.stored }
      let expected = model.indexes.last?.violations.count
      if case .invalid(let violations) = listed?.state {
        invalid[definition.isUnique, default: 0] += 1
        #expect(violations.count == expected)
        // Half of the time they are repaired, and the index becomes valid.
        guard random.one(in: 2) else { return }
        while let violations = model.indexes.last?.violations, let first = violations.examples.first
        {
          let path = definition.isUnique ? first.second : first.first
          let mutation = Mutation(path: path, operation: .delete)
          let outcome = fixture.commitTogether([[mutation]])[0]
          let expected = Result { () throws(Status) in
            try model.commit([mutation], at: fixture.clock.now)
          }
          #expect(code(outcome) == code(expected))
          guard code(outcome) == nil else { return }
          try model.declare([definition])
        }
        try keeper.declare([definition])
        while try work.step() != .idle {}
        let again = try keeper.list().first {
          $0.isMaintained && $0.definition == definition.stored
        }
        #expect(again?.state == .ready)
      } else {
        #expect(listed?.state == .ready)
        #expect(expected == 0)
      }
    }

    private mutating func write() throws {
      var requests: [[Mutation]] = []
      for _ in 0..<(1 + random.below(5)) {
        requests.append(try (0..<(1 + random.below(4))).map { _ in try mutation() })
      }
      fixture.clock.advance(by: 1000)
      let outcomes = fixture.commitTogether(requests)
      for (request, outcome) in zip(requests, outcomes) {
        let expected = Result { () throws(Status) in
          try model.commit(request, at: model.time(fixture.clock.now))
        }
        #expect(code(outcome) == code(expected), "\(outcome) \(expected)")
        if let code = code(outcome) { refusals[code, default: 0] += 1 }
        #expect(refusal(outcome) == refusal(expected), "\(outcome) \(expected)")
        if refusal(outcome) == .danglingReference { dangling += 1 }
        guard case .success(let one) = outcome, case .success(let other) = expected else {
          continue
        }
        #expect(Set(one.cascaded) == Set(other.cascaded))
        cascaded += one.cascaded.count
      }
    }

    private func code<Answer>(_ outcome: Result<Answer, Status>) -> Status.Code? {
      if case .failure(let status) = outcome { status.code } else { nil }
    }

    private func refusal<Answer>(_ outcome: Result<Answer, Status>) -> Status.Refusal? {
      if case .failure(let status) = outcome { status.refusal } else { nil }
    }

    private func compare(_ round: Int) throws {
      let store = fixture.store
      #expect(try store.check().problems == [], "round \(round)")
      let query = EffectiveQuery(StructuredQuery(.subtree(below: .root)))
      let stored = try store.read { try $0.documents(matching: query) }
      var documents: [ResourcePath: MapValue] = [:]
      for document in stored { documents[document.path] = try document.body.map() }
      let expected = try model.documents.mapValues { try $0.body.map() }
      #expect(documents == expected, "round \(round)")
    }
  }
}
