import Dispatch
import Logging

@testable import HearthEngine
@testable import HearthReference

/// A database and a registry of listeners, over each source.
final class ListeningFixture {
  enum Kind: CaseIterable {
    /// The embedded store; and with a limit that truncates most keys.
    case store, shortKeys
    case memory
    /// Memory, with answers that come late and fail at times.
    case late
  }

  let kind: Kind
  let clock: TestClock
  private let stored: StoreFixture?
  private let memory: MemoryBackend?
  /// That of the last registry.
  private(set) var late: LateSource?
  private let seed: UInt64
  private let faults: LateSource.Faults

  init(
    _ kind: Kind, seed: UInt64 = 1, isLogShort: Bool = false,
    faults: LateSource.Faults = LateSource.Faults(transient: 10)
  ) throws {
    self.kind = kind
    self.seed = seed
    var faults = faults
    if isLogShort { faults.trimmed = 3 }
    self.faults = faults
    switch kind {
    case .store, .shortKeys:
      let fixture = try StoreFixture {
        $0.keyLimit = kind == .store ? .standard : KeyLimit(24)
        if isLogShort { $0.retention.limitBytes = 0 }
      }
      (stored, clock, memory) = (fixture, fixture.clock, nil)
    case .memory, .late:
      let clock = TestClock()
      stored = nil
      self.clock = clock
      memory = MemoryBackend(
        history: Instant(microseconds: 1), now: { clock.now }, logger: .silent)
    }
  }

  deinit { memory?.close() }

  /// As after the end of the process. Close the registry before.
  func reopen() throws { try stored?.reopen() }

  func registry(
    _ tuning: MaterializedQueryTuning = MaterializedQueryTuning(), logger: Logger = .silent
  ) -> ListenerRegistry {
    if let stored {
      return ListenerRegistry(stored.store, stored.writer, logger: logger, tuning: tuning)
    }
    guard let memory else { preconditionFailure("There is always a database.") }
    late = kind == .late ? LateSource(memory.source, seed: seed, faults) : nil
    return ListenerRegistry(
      late ?? memory.source, memory.acknowledgements, logger: logger, tuning: tuning)
  }

  // MARK: Reading

  /// The result of a joined query, read once.
  func joined(_ query: JoinedQuery) throws -> JoinedResult {
    if let stored {
      return try stored.store.read { snapshot in
        try StoreView(snapshot).answer(.joined(query)).joined
      }
    }
    guard let memory else { preconditionFailure("There is always a database.") }
    return try memory.readBlocking(.joined(query)).joined
  }

  // MARK: Writing

  func set(_ text: String, _ fields: (String, Value)...) throws -> Mutation {
    Mutation(
      path: ResourcePath(relative: text),
      operation: .set(try DocumentBody(encoding: MapValue(fields))))
  }

  func delete(_ text: String) -> Mutation {
    Mutation(path: ResourcePath(relative: text), operation: .delete)
  }

  /// Completes after the callbacks of listeners.
  func submit(_ mutations: [Mutation], _ done: @escaping @Sendable (Writer.Outcome) -> Void) {
    if let stored {
      return stored.writer.submit(mutations, completesAfterListeners: true, complete: done)
    }
    memory?.commit(CommitRequest(mutations, isAwaited: false), .busy, done)
  }

  /// Commits several requests, over the store in one group.
  func commitTogether(_ requests: [[Mutation]]) -> [Writer.Outcome] {
    if let stored { return stored.commitTogether(requests) }
    let done = DispatchGroup()
    let outcomes = Guarded<[Int: Writer.Outcome]>([:])
    for (index, mutations) in requests.enumerated() {
      done.enter()
      let request = CommitRequest(
        mutations, isAwaited: false, completesAfterListeners: false)
      memory?.commit(request, .busy) { outcome in
        outcomes.withLock { $0[index] = outcome }
        done.leave()
      }
    }
    done.wait()
    return outcomes.withLock { outcomes in requests.indices.compactMap { outcomes[$0] } }
  }

  func commit(_ mutations: Mutation...) throws {
    for outcome in commitTogether([mutations]) { _ = try outcome.get() }
  }
}
