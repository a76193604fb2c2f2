import Dispatch

/// The states of a `RemoteStore`, for listeners.
///
///     the store's signal, or an own commit ─▶ read: the newest sequence, and the log since the last read
///
/// A state is a sequence. A result of a state is read as it is now, and the changes since are undone.
final class RemoteChangeSource: ChangeSource {
  private let store: any RemoteStore
  private let catalogues: RemoteCatalogues
  private let horizon: RemoteHorizon
  private let present: @Sendable () -> Instant
  private let signal = Guarded<(@Sendable () -> Void)?>(nil)
  /// The sequence of the newest state that was delivered.
  private let position = Guarded<UInt64?>(nil)
  private let held = Guarded<(isHolding: Bool, reads: [@Sendable () -> Void])>((false, []))
  /// Set once, before the first use.
  nonisolated(unsafe) weak var writer: RemoteWriter?  // Unchecked: as it says.

  /// So many changes come with a state.
  private static let firstChanges = 100

  init(
    _ store: any RemoteStore, _ catalogues: RemoteCatalogues, _ horizon: RemoteHorizon,
    now: @escaping @Sendable () -> Instant
  ) {
    self.store = store
    self.catalogues = catalogues
    self.horizon = horizon
    present = now
  }

  var name: String { store.name }
  var completesInline: Bool { false }
  var now: Instant { present() }

  func read(until deadline: ReadDeadline?, _ done: @escaping Completion<any SourceState>) {
    var request = RemoteRead()
    let position = position.withLock(\.self)
    if let position {
      request.changes = RemoteRead.Changes(
        after: position, limits: PageLimits(count: Self.firstChanges, byteCount: 1 << 20))
    }
    let seen = horizon.sequence
    store.read(request) { [self] result in
      if case .success(let answer) = result {
        if answer.record.sequence < seen { writer?.mend() }
        horizon.note(answer.record)
      }
      whenReleased {
        BlockingThreads.shared.run { [self] in
          done(
            result.map { answer in
              self.position.withLock { $0 = max($0 ?? 0, answer.record.sequence) }
              return RemoteSourceState(
                source: self, sequence: answer.record.sequence, position: position,
                changes: answer.changes)
            })
        }
      }
    }
  }

  /// Until `releaseReads`, no state is delivered: it may have a commit of this process whose sequence
  /// the process does not know yet.
  func holdReads() { held.withLock { $0.isHolding = true } }

  func releaseReads() {
    for read in held.exchange((false, [])).reads { read() }
  }

  private func whenReleased(_ body: @escaping @Sendable () -> Void) {
    let isHeld = held.withLock { held in
      if held.isHolding { held.reads.append(body) }
      return held.isHolding
    }
    if !isHeld { body() }
  }

  func whenWritesAreDone(touching scope: ReadScope, _ body: @escaping @Sendable () -> Void) {
    guard let writer else { return body() }
    writer.whenDone(body)
  }

  func watch(on queue: DispatchQueue, _ signal: @escaping @Sendable (Status?) -> Void) {
    let ring: @Sendable () -> Void = { queue.async { signal(nil) } }
    self.signal.withLock { $0 = ring }
    store.watch(ring)
  }

  func stopWatching() {
    signal.withLock { $0 = nil }
    store.stopWatching()
  }

  /// This process has committed.
  func noteCommit() { signal.withLock { $0 }?() }

  func retryDelay(after error: Status, attempt: Int) -> Duration? {
    guard [.unavailable, .deadlineExceeded, .resourceExhausted].contains(error.code) else {
      return nil
    }
    return .milliseconds(min(50 << min(attempt, 6), 2000))
  }

  /// The state of what a request needs, after the change with this sequence. Blocks.
  func state(
    _ needs: (RemoteCatalogue) -> RemoteNeeds, asOf sequence: UInt64
  ) throws(Status) -> RemoteState {
    var catalogue = catalogues.newest
    while true {
      let wanted = needs(catalogue)
      let request = RemoteRead(
        scopes: wanted.scopes, undoesChangesAfter: sequence, changedScopes: wanted.changedScopes)
      let answer = try store.readBlocking(request)
      guard answer.record.generation == catalogue.generation else {
        catalogue = try catalogues.refresh()
        continue
      }
      try answer.record.check(sequence)
      var state = try RemoteState(answer, of: wanted.scopes)
      try state.restore(answer.formerVersions)
      return state
    }
  }

  fileprivate func changes(
    after sequence: UInt64, through last: UInt64, into steps: ChangeSteps
  ) throws(Status) -> ChangeSteps {
    var steps = steps
    var all: [LoggedChange] = []
    var position = sequence
    while position < last {
      let changes = RemoteRead.Changes(after: position, limits: PageLimits(count: 1000))
      let answer = try store.readBlocking(RemoteRead(changes: changes))
      guard position &+ 1 >= answer.record.firstLogged else { throw .tokenTooOld }
      for change in answer.changes where change.sequence <= last {
        guard change.sequence == position + 1 else {
          throw .dataLoss("The change log lacks sequence \(position + 1).")
        }
        all.append(try LoggedChange(change))
        position = change.sequence
      }
      guard !answer.changes.isEmpty else {
        throw .dataLoss("The change log lacks sequence \(position + 1).")
      }
    }
    steps.add(all)
    return steps
  }
}

private struct RemoteSourceState: SourceState {
  let source: RemoteChangeSource
  let sequence: UInt64
  /// The changes after it came with the state; all of them, if there are few.
  let position: UInt64?
  let changes: [RemoteLoggedChange]

  /// Nil if they did not come with the state.
  private func known(
    after sequence: UInt64, into steps: ChangeSteps
  ) throws(Status) -> ChangeSteps? {
    guard let position, position <= sequence, sequence <= self.sequence else { return nil }
    var all: [LoggedChange] = []
    for change in changes where change.sequence > sequence && change.sequence <= self.sequence {
      guard change.sequence == sequence + UInt64(all.count) + 1 else { return nil }
      all.append(try LoggedChange(change))
    }
    guard sequence + UInt64(all.count) == self.sequence else { return nil }
    var steps = steps
    steps.add(all)
    return steps
  }

  func changes(
    after sequence: UInt64, into steps: ChangeSteps, _ done: @escaping Completion<ChangeSteps>
  ) {
    BlockingThreads.shared.complete(done) { () throws(Status) in
      if let known = try known(after: sequence, into: steps) { return known }
      return try source.changes(after: sequence, through: self.sequence, into: steps)
    }
  }

  func fetch(
    _ request: ReadRequest, asOf sequence: UInt64?, isFirst: Bool,
    _ done: @escaping Completion<ReadAnswer>
  ) {
    BlockingThreads.shared.complete(done) { () throws(Status) in
      let state = try source.state({ RemoteNeeds(request, $0) }, asOf: sequence ?? self.sequence)
      return try Status.ofReading { try state.answer(request) }
    }
  }
}
