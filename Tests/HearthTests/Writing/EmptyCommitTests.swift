import Foundation
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// The times of commits that change nothing.
@Suite struct EmptyCommitTests {
  private static let book = ResourcePath(["books", "dune"])
  private static let missing = ResourcePath(["books", "none"])

  private func set(_ n: Int64) throws -> Mutation {
    Mutation(path: Self.book, operation: try .set(encoding: MapValue([("n", .integer(n))])))
  }

  private let delete = Mutation(path: Self.missing, operation: .delete)

  @Test(arguments: [false, true])
  func `a commit that changes nothing is later than every one before, and changes no time`(
    isClockMoving: Bool
  ) async throws {
    let fixture = try BackendFixture()
    let clock = fixture.clock
    let memory = MemoryBackend(
      history: Instant(microseconds: 1), now: { clock.now }, logger: .silent)
    for backend in [fixture.backend, memory] {
      let calls = Guarded(0)
      let observation = backend.observeChanges { calls.withLock { $0 += 1 } }
      // Called at once, and for the commit, which may be found as late as by the timer that looks for missed ones.
      try await eventually { calls.withLock(\.self) > 0 }
      let written = try await backend.commit([set(1)])
      try await eventually { calls.withLock(\.self) > 1 }
      // What was under way has arrived by then.
      let before = try await settled(for: .seconds(2)) { calls.withLock(\.self) }
      let token = try await backend.newestToken()
      var last = written.commitTime
      for mutations in [[delete], [delete], [try set(1)], [delete, try set(1)], [delete]] {
        if isClockMoving { clock.advance(by: 10) }
        let result = try await backend.commit(mutations)
        #expect(result.commitTime > last && result.sequence == written.sequence)
        last = result.commitTime
        // The state at its time is the one before, for ever.
        let read = try await backend.versioned(.documents(at: [Self.book]), at: Timestamp(last))
          .answer.documents
        #expect(read[0]?.updateTime == written.commitTime)
      }
      if let local = backend as? any LocalBackend {
        let result = try await local.awaiting { done in
          local.write(file: #file, line: #line, { try $0.write(delete) }, .lent, done)
        }
        #expect(result.commitTime > last)
        last = result.commitTime
      }
      // A commit without writes has the time of what it has read.
      #expect(try await backend.commit([]).commitTime <= last)
      let again = try await backend.newestToken()
      #expect(again.sequence == token.sequence)
      let document = try await backend.read(.documents(at: [Self.book])).documents[0]
      #expect(document?.updateTime == written.commitTime)
      try await quietTime(.milliseconds(100))
      #expect(calls.withLock(\.self) == before)
      let changed = try await backend.commit([try set(2)])
      #expect(changed.commitTime > last)
      try await eventually { calls.withLock(\.self) > before }
      observation.end()
    }
    memory.close()
    try await fixture.firestore.terminate()
  }

  /// The writer that takes the file's lock next, in any process, gets a later time from the clock.
  @Test func `its time is past when it completes, and nothing is stored`() throws {
    let fixture = try StoreFixture { $0.now = Instant.now }
    try fixture.outcome([set(1)])
    let before = try fixture.store.environment.info.lastTransactionID
    var last = Instant.earliest
    for count in [1, 1, 7, 200] {
      let outcomes = fixture.commitTogether(Array(repeating: [delete], count: count))
      let now = Instant.now()
      for outcome in outcomes {
        let time = try outcome.get().commitTime
        #expect(time > last && time < now)
        last = time
      }
    }
    #expect(try fixture.store.environment.info.lastTransactionID == before)
  }

  @Test func `a time that the clock has not reached is stored, and no commit gets it again`() throws
  {
    let fixture = try StoreFixture()
    let first = try fixture.outcome([set(1)]).commitTime
    fixture.clock.advance(by: -3_600_000_000)
    let nothing = try fixture.outcome([delete]).commitTime
    #expect(nothing > first)
    try fixture.reopen()
    let next = try fixture.outcome([delete]).commitTime
    #expect(next > nothing)
    try fixture.reopen()
    #expect(try fixture.outcome([set(2)]).commitTime > next)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `requests of one group have times of their own, whatever they change`() throws {
    let fixture = try StoreFixture()
    let requests = [[try set(1)], [delete], [try set(1)], [try set(2)], [delete], []]
    let outcomes = try fixture.commitTogether(requests).map { try $0.get() }
    let times = outcomes.map(\.commitTime)
    #expect(zip(times, times.dropFirst()).prefix(4).allSatisfy { $0 < $1 })
    #expect(times[5] == times[4])
    #expect(outcomes.map(\.sequence) == [1, 1, 1, 2, 2, 2])
    #expect(try fixture.document("books/dune")?.updateTime == times[3])
    #expect(try fixture.outcome([delete]).commitTime > times[4])
  }
}

extension StoreFixture {
  @discardableResult
  fileprivate func outcome(_ mutations: [Mutation]) throws -> CommitResult {
    try commitTogether([mutations])[0].get()
  }
}
