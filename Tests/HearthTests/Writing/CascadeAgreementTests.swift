import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// Agreement: random write closures over documents with reference rules, over the backend that the tests
/// are run with and over memory; and the writes of each closure as a batch.
@Suite(.timeLimit(patience)) struct CascadeAgreementTests {
  private static let rounds = Soak.isOn ? 2000 : 150

  @Test func `closures read what their deletions leave, and leave what they have read`()
    async throws
  {
    for seed in Soak.seeds(from: 51) {
      var random = Random(SeededGenerator(seed: seed))
      let fixture = try BackendFixture()
      let clock = fixture.clock
      let backends: [any LocalBackend & StoreBackend] = try [
        #require(fixture.backend as? any LocalBackend & StoreBackend),
        MemoryBackend(history: Instant(microseconds: 1), now: { clock.now }, logger: .silent),
      ]
      let batches = MemoryBackend(
        history: Instant(microseconds: 1), now: { clock.now }, logger: .silent)
      var refused: [String: Int] = [:]
      for round in 0..<Self.rounds {
        if round % 25 == 0 {
          for definitions in [random.declaration()] {
            for backend in backends + [batches] {
              try await backend.awaiting { backend.declare(definitions, $0) }
              // Documents may violate a rule that demands that others exist.
              if random.generator.one(in: 2) { try? await backend.waitForIndexes() }
            }
          }
        }
        clock.advance(by: Int64(random.generator.below(3)) * 1000)
        let steps = try (0...random.generator.below(8)).map { _ in try random.step() }
        var reports: [Report] = []
        for backend in backends { reports.append(await Report(of: steps, over: backend)) }
        #expect(
          reports[0].lines == reports[1].lines, "seed \(seed), round \(round): \(steps)")
        for line in reports[1].lines where !line.hasPrefix("written") {
          refused[line, default: 0] += 1
        }
        let outcome = await Report.outcome {
          try await batches.commit(reports[1].written, areChecked: true)
        }
        #expect(outcome == reports[1].lines.last, "seed \(seed), round \(round): \(steps)")
        let left = try await Report.documents(in: backends[1])
        #expect(try await Report.documents(in: backends[0]) == left, "seed \(seed), \(round)")
        #expect(try await Report.documents(in: batches) == left, "seed \(seed), \(round)")
        if !outcome.hasPrefix("failed") {
          let bodies = left.map { String($0.prefix { $0 != "@" }) }
          #expect(bodies == reports[1].seen, "seed \(seed), round \(round): \(steps)")
        }
      }
      // Otherwise the run has proved nothing.
      #expect(refused["refused notFound", default: 0] > Self.rounds / 30, "seed \(seed)")
      #expect(
        refused["failed \(Status.Code?.some(.failedPrecondition) as Any)", default: 0]
          > Self.rounds / 30,
        "seed \(seed)")
      for backend in backends + [batches] { backend.close() }
    }
  }

  private enum Step {
    case write(Mutation)
    case read(ResourcePath)
    /// The documents that refer to a path.
    case query(ResourcePath)
  }

  private struct Random {
    var generator: SeededGenerator

    init(_ generator: SeededGenerator) { self.generator = generator }

    static let targets = ["t/1", "t/2", "u/1", "x/y/t/1"].map { ResourcePath(relative: $0) }
    static let others = ["a/1", "a/2", "a/3", "a/4", "x/y/a/1", "x/y/a/2"].map {
      ResourcePath(relative: $0)
    }

    private mutating func path() -> ResourcePath {
      generator.pick(generator.one(in: 3) ? Self.targets : Self.others)
    }

    private mutating func reference() -> Value { .reference(path()) }

    private mutating func fields() -> MapValue {
      var fields = MapValue([("n", .integer(Int64(generator.below(3))))])
      if !generator.one(in: 3) { fields["r"] = reference() }
      if generator.one(in: 3) { fields["up"] = .reference(generator.pick(Self.others)) }
      if generator.one(in: 2) {
        fields["list"] = .array((0..<generator.below(4)).map { _ in reference() })
      }
      return fields
    }

    mutating func step() throws -> Step {
      switch generator.below(5) {
      case 0: return .read(path())
      case 1: return .query(path())
      default: return .write(try mutation())
      }
    }

    private mutating func mutation() throws -> Mutation {
      var mutation = Mutation(path: path(), operation: .delete)
      switch generator.below(10) {
      case 0, 1, 2:
        mutation.path = generator.pick(Self.targets)
        if generator.one(in: 4) { mutation.precondition = .exists(true) }
      case 3: if generator.one(in: 2) { mutation.precondition = .exists(true) }
      case 4:
        mutation.operation = .patch(
          MapValue([("n", .integer(Int64(generator.below(3))))]), mask: [FieldSegments(["n"])])
        mutation.precondition = .exists(true)
      case 5:
        mutation.operation = .patch(
          MapValue([("r", reference())]), mask: [FieldSegments(["r"])])
        if generator.one(in: 2) { mutation.precondition = .exists(true) }
      case 6:
        mutation.operation = .patch(.empty, mask: [])
        mutation.transforms = [(FieldSegments(["list"]), .arrayUnion([reference()]))]
      case 7:
        mutation.operation = .verify
        mutation.precondition = .exists(generator.one(in: 2))
      default: mutation.operation = try .set(encoding: fields())
      }
      return mutation
    }

    mutating func declaration() -> [IndexDefinition] {
      var definitions: [IndexDefinition] = []
      func add(
        _ field: String, _ kind: IndexDefinition.Component.Kind, _ target: String,
        _ actions: [ReferenceRule.Action]
      ) {
        definitions.append(
          IndexDefinition(
            "a", scope: .group, [.init(field, kind)],
            constraint: .reference(
              ReferenceRule(
                generator.pick(actions), target: target, mustExist: generator.one(in: 4)))))
      }
      add("r", .ascending, "t", [.cascade, .cascade, .nullify, .restrict])
      add("r", .ascending, "u", [.cascade, .nullify])
      add("r", .ascending, "a", [.cascade, .nullify])
      add("list", .contains, "t", [.cascade, .nullify, .nullify])
      add("up", .ascending, "a", [.cascade, .nullify, .restrict])
      return definitions
    }
  }

  /// What a closure met: the outcome of each step, and at the end that of its commit.
  private struct Report {
    var lines: [String] = []
    /// The writes that were not refused.
    var written: [Mutation] = []
    /// Every document, as the closure has read it at its end.
    var seen: [String] = []

    init(of steps: [Step], over backend: any LocalBackend) async {
      let report = Guarded(([String](), [Mutation](), [String]()))
      let outcome = await Report.outcome {
        try await backend.awaiting { context, done in
          backend.write(
            file: #file, line: #line,
            { writer in
              for step in steps {
                let line = try Report.run(step, writer)
                report.withLock { report in
                  report.0.append(line)
                  if case .write(let mutation) = step, line == "written" {
                    report.1.append(mutation)
                  }
                }
              }
              let all = try writer.answer(.results(EffectiveQuery(Report.everything))).results.map {
                try Report.text($0)
              }
              report.withLock { $0.2 = all }
            }, context, done)
        }
      }
      (lines, written, seen) = report.withLock(\.self)
      lines.append(outcome)
    }

    private static func run(_ step: Step, _ writer: any LocalWriter) throws -> String {
      switch step {
      case .write(let mutation):
        do {
          try writer.write(mutation)
          return "written"
        } catch let status as Status {
          return "refused \(status.code)"
        }
      case .read(let path):
        return try writer.answer(.documents(at: [path])).documents[0].map(text) ?? "missing"
      case .query(let path):
        var query = StructuredQuery(.group("a", below: .root))
        query.filters = [
          .comparison(
            StructuredQuery.Comparison(
              field: FieldSegments(["r"]), operator: .equal, operand: .reference(path)))
        ]
        let found = try writer.answer(.results(EffectiveQuery(query))).results.map(text)
        let count = try writer.answer(
          .values(of: [Aggregation(.count(upTo: nil))], over: query)
        ).values
        return "\(found) \(count)"
      }
    }

    static let everything = StructuredQuery(.subtree(below: .root))

    static func text(_ document: StoredDocument) throws -> String {
      "\(document.path.text) \(document.body.bytes) "
    }

    static func outcome(_ body: () async throws -> CommitResult) async -> String {
      do {
        let result = try await body()
        let times = result.results.map { $0.updateTime?.microseconds ?? 0 }
        let cascaded = Set(result.cascaded.map(\.text)).sorted()
        return "at \(result.commitTime.microseconds), \(times), \(cascaded)"
      } catch {
        return "failed \((error as? Status)?.code as Any)"
      }
    }

    static func documents(in backend: any Backend) async throws -> [String] {
      try await backend.read(.results(EffectiveQuery(everything))).results.map {
        try text($0) + "@\($0.createTime.microseconds) \($0.updateTime.microseconds)"
      }
    }
  }
}
