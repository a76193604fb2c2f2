import Dispatch
import TestSupport
import Testing

@testable import HearthEngine

/// A source whose answers come late, on other threads, and at times not at all.
final class LateSource: ChangeSource {
  struct Faults: Sendable {
    /// One request in so many fails, and is made again.
    var transient = 0
    /// One request for changes, or for an earlier state, in so many finds that they are gone.
    var trimmed = 0
    /// Every request for a result fails so.
    var permanent: Status?
  }

  static let longestDelayMicroseconds = 400
  static let transient = Status(.unavailable, "The connection was lost.")

  private struct Shared {
    var generator: SeededGenerator
    var faults: Faults
    var held: [@Sendable () -> Void]?
    var requests = 0
    var answers = 0
  }

  private let base: any ChangeSource
  private let shared: Guarded<Shared>
  private let threads = DispatchQueue(label: "late", attributes: .concurrent)

  init(_ base: any ChangeSource, seed: UInt64, _ faults: Faults = Faults()) {
    self.base = base
    shared = Guarded(Shared(generator: SeededGenerator(seed: seed), faults: faults))
  }

  var faults: Faults {
    get { shared.withLock(\.faults) }
    set { shared.withLock { $0.faults = newValue } }
  }

  /// How many requests were made.
  var requests: Int { shared.withLock(\.requests) }

  /// Until `release` nothing is answered.
  func hold() { shared.withLock { $0.held = $0.held ?? [] } }

  /// Answers the oldest request alone.
  func releaseFirst() {
    let first: (@Sendable () -> Void)? = shared.withLock { shared in
      shared.held?.isEmpty == false ? shared.held?.removeFirst() : nil
    }
    if let first { threads.async(execute: first) }
  }

  func release() {
    let held = shared.withLock { $0.held.take() } ?? []
    for answer in held { threads.async(execute: answer) }
  }

  /// Runs `body`, and waits for a request that it causes.
  func asked(_ body: () throws -> Void) async throws {
    let before = requests
    try body()
    try await eventually { self.requests > before }
  }

  /// Runs `body`, and waits for an answer that it causes.
  func answered(_ body: () throws -> Void) async throws {
    let before = shared.withLock(\.answers)
    try body()
    try await eventually { self.shared.withLock(\.answers) > before }
  }

  /// True once in `count` times; never if it is 0.
  private func happens(_ count: KeyPath<Faults, Int>) -> Bool {
    shared.withLock { shared in
      let count = shared.faults[keyPath: count]
      return count > 0 && shared.generator.one(in: count)
    }
  }

  /// Answers with what is found now, later; or finds it later.
  private func later(_ answer: @escaping @Sendable () -> Void) {
    let delay: Int? = shared.withLock { shared in
      shared.requests += 1
      guard shared.held == nil else {
        shared.held?.append(answer)
        return nil
      }
      return shared.generator.below(Self.longestDelayMicroseconds)
    }
    guard let delay else { return }
    threads.asyncAfter(deadline: .now() + .microseconds(delay), execute: answer)
  }

  fileprivate func answer<Answer: Sendable>(
    _ completion: @escaping Completion<Answer>,
    _ read: @escaping @Sendable (@escaping Completion<Answer>) -> Void
  ) {
    let done: Completion<Answer> = { [self] result in
      completion(result)
      shared.withLock { $0.answers += 1 }
    }
    if happens(\.transient) { return later { done(.failure(Self.transient)) } }
    let isEarly = shared.withLock { $0.generator.one(in: 2) }
    guard isEarly else { return later { read(done) } }
    read { result in self.later { done(result) } }
  }

  fileprivate var isTrimmed: Bool { happens(\.trimmed) }

  // MARK: ChangeSource

  var name: String { "late \(base.name)" }
  var completesInline: Bool { false }
  var now: Instant { base.now }

  func read(until deadline: ReadDeadline?, _ done: @escaping Completion<any SourceState>) {
    answer(done) { [self] done in
      base.read(until: nil) { [self] result in
        done(result.map { LateState(base: $0, source: self) })
      }
    }
  }

  func whenWritesAreDone(touching scope: ReadScope, _ body: @escaping @Sendable () -> Void) {
    base.whenWritesAreDone(touching: scope, body)
  }

  func watch(on queue: DispatchQueue, _ signal: @escaping @Sendable (Status?) -> Void) {
    base.watch(on: queue, signal)
  }

  func stopWatching() { base.stopWatching() }

  func retryDelay(after error: Status, attempt: Int) -> Duration? {
    error.code == Self.transient.code ? .microseconds(100 << min(attempt, 4)) : nil
  }
}

private struct LateState: SourceState {
  let base: any SourceState
  let source: LateSource

  var sequence: UInt64 { base.sequence }

  func changes(
    after sequence: UInt64, into steps: ChangeSteps, _ done: @escaping Completion<ChangeSteps>
  ) {
    source.answer(done) { done in
      if source.isTrimmed { return done(.failure(Status(.outOfRange, "Trimmed."))) }
      base.changes(after: sequence, into: steps, done)
    }
  }

  func fetch(
    _ request: ReadRequest, asOf sequence: UInt64?, isFirst: Bool,
    _ done: @escaping Completion<ReadAnswer>
  ) {
    source.answer(done) { done in
      if let status = source.faults.permanent { return done(.failure(status)) }
      if sequence != nil, source.isTrimmed {
        return done(.failure(Status(.outOfRange, "Trimmed.")))
      }
      base.fetch(request, asOf: sequence, isFirst: isFirst, done)
    }
  }
}
