import Foundation
import Logging
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// Agreement: random queries and aggregations, now and in the past, over the backend that the tests are
/// run with and over memory.
@Suite(.timeLimit(.minutes(60))) struct BackendAgreementTests {
  static let worlds: UInt64 = Soak.isOn ? 40 : 4
  static let queries = Soak.isOn ? 500 : 100

  @Test(arguments: 0..<worlds)
  func `any query finds the same over every backend`(seed: UInt64) async throws {
    var random = RandomQueries(seed: seed &* 131 &+ 3)
    let fixture = try BackendFixture()
    let clock = fixture.clock
    let memory = MemoryBackend(
      history: Instant(microseconds: 1), now: { clock.now }, logger: .silent)
    let backends: [any StoreBackend] = [fixture.backend, memory]
    // Three states, of which the last two change and delete documents.
    var documents = random.world(45)
    var times: [Timestamp] = []
    for round in 0..<3 {
      var mutations = try documents.map {
        Mutation(path: $0.path, operation: try .set(encoding: $0.fields))
      }
      if round > 0 {
        for index in documents.indices where random.values.generator.one(in: 3) {
          documents[index].fields = random.fields()
          mutations[index].operation = try .set(encoding: documents[index].fields)
        }
        for index in documents.indices.reversed() where random.values.generator.one(in: 8) {
          mutations[index].operation = .delete
          documents.remove(at: index)
        }
      }
      clock.advance(by: 1_000_000)
      for backend in backends { try await backend.commit(mutations, areChecked: true) }
      times.append(Timestamp(clock.now))
      clock.advance(by: 1_000_000)
    }
    if seed % 2 == 0 {
      let wanted = random.validQueries(20, documents)
      let indexes = random.indexes(wantedBy: wanted).filter { (try? $0.check()) != nil }
      try await fixture.backend.awaiting { fixture.backend.declare(indexes, $0) }
      try await fixture.backend.waitForIndexes()
    }
    var nonEmpty = 0
    for query in random.validQueries(Self.queries, documents) {
      let time = random.values.generator.one(in: 4) ? random.values.generator.pick(times) : nil
      let context = RequestContext(thread: .lent, readTime: time)
      var found: [Outcome<[String]>] = []
      for backend in backends {
        found.append(
          await Outcome {
            try await backend.awaiting {
              backend.read(.results(EffectiveQuery(query)), context, $0)
            }.answer
              .results
              .map { "\($0.path.text) \($0.updateTime) \($0.body.bytes)" }
          })
      }
      if case .answer(let answer) = found[1], !answer.isEmpty { nonEmpty += 1 }
      #expect(found[0] == found[1], "seed \(seed), at \(String(describing: time)): \(query)")
      var counted = query
      counted.projection = []
      let aggregations = random.aggregations()
      guard (try? counted.check(aggregations)) != nil else { continue }
      let asked = counted
      var values: [Outcome<[Value]>] = []
      for backend in backends {
        values.append(
          await Outcome {
            try await backend.awaiting {
              backend.read(.values(of: aggregations, over: asked), context, $0)
            }.answer.values
          })
      }
      #expect(
        Self.areClose(values[0], values[1]),
        "seed \(seed), at \(String(describing: time)): \(aggregations) \(asked): \(values)")
    }
    #expect(nonEmpty > Self.queries / 5)
    memory.close()
    try await fixture.firestore.terminate()
  }

  /// An answer, or the code of an error.
  private enum Outcome<Answer: Equatable & Sendable>: Equatable {
    case answer(Answer)
    case failure(String)

    init(_ body: () async throws -> Answer) async {
      do { self = .answer(try await body()) } catch {
        self = .failure((error as? Status).map { "\($0.code)" } ?? "\(error)")
      }
    }
  }

  /// Memory adds one number after another, the others add exactly: where large terms cancel, memory
  /// has an error.
  private static func areClose(_ one: Outcome<[Value]>, _ other: Outcome<[Value]>) -> Bool {
    guard case .answer(let one) = one, case .answer(let other) = other else { return one == other }
    return one.count == other.count
      && zip(one, other).allSatisfy { one, other in
        guard case .double(let a) = one, case .double(let b) = other else { return one == other }
        return one == other || !a.isFinite || !b.isFinite || abs(a - b) <= 1e-6 * max(1, abs(a))
          || abs(a) < 1 || max(abs(a), abs(b)) > 0x1p52
      }
  }
}
