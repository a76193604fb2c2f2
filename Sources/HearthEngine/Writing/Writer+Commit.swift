import Foundation
internal import LMDB
import Logging

/// Plans and commits the requests of one group.
extension Writer {
  /// Commits a group: whole or, if the storage refuses it, in ever smaller parts until the failing
  /// request is alone.
  func commit(_ group: [WriteRequest]) {
    var rest = group[...]
    var batch = rest.count
    var growths = 0
    var growthFailure: Status?
    // Requests keep their time when they are planned again.
    var now: Instant?
    while !rest.isEmpty {
      var tried = min(batch, rest.count)
      var report = WriterReport()
      let attempt = attempt(&rest, &tried, &now, &report)
      let part = rest.prefix(tried)
      switch attempt {
      case .committed(let outcomes, let plan, let acknowledgements):
        report.isCommit = true
        finish(part, outcomes, report, acknowledgements) {
          store.commitObserver.withLock(\.self)?()
          // After our own listeners: this process's commit watcher then finds nothing new.
          store.environment.notifyCommit()
        }
        // Releasing a large plan takes time; no caller has to wait for it.
        withExtendedLifetime(plan) {}
      case .unchanged(let outcomes):
        finish(part, outcomes, report)
      case .mapFull(var error), .refused(var error):
        if case .mapFull = attempt {
          growthFailure = growthFailure ?? grow(error, &growths)
          guard let growthFailure else { continue }
          error = growthFailure
        }
        guard tried > 1 else {
          finish(part, [.failure(error)], report)
          break
        }
        batch = tried / 2
        continue
      case .unknown(let outcomes, let error):
        logger.error("A commit could not be flushed.", metadata: ["error": "\(error)"])
        finish(part, outcomes.map { $0.flatMap { _ in .failure(error) } }, report)
      }
      rest = rest.dropFirst(tried)
    }
  }

  /// Grows the map. Returns the error if it cannot grow.
  private func grow(_ mapFull: Status, _ growths: inout Int) -> Status? {
    growths += 1
    guard growths < Store.growthLimit else { return mapFull }
    do throws(Status) {
      try store.grow()
      return nil
    } catch {
      return error
    }
  }

  private enum Attempt {
    case committed([Outcome], CommitPlan, [Int: Acknowledgement])
    /// No request changed anything.
    case unchanged([Outcome])
    /// Nothing was applied. Next: the same in a larger map, or in parts if it cannot grow.
    case mapFull(Status)
    /// Nothing was applied.
    case refused(Status)
    /// The commit itself failed: requests that were not refused may have been applied.
    case unknown([Outcome], Status)
  }

  /// - Parameters:
  ///   - requests: Closures that were run are replaced by their results.
  ///   - count: How many of the requests to take. Reduced if they grow large.
  private func attempt(
    _ requests: inout ArraySlice<WriteRequest>, _ count: inout Int, _ now: inout Instant?,
    _ report: inout WriterReport
  ) -> Attempt {
    do {
      note(.waitingForFile)
      var transaction = try store.beginWriting()
      note(.planning)
      let time = now ?? store.configuration.now()
      now = time
      let file = try FileState(
        StoreSnapshot(transaction.snapshot, store), after: unstoredTime.withLock(\.self))
      var plan = CommitPlan(
        file, file.state, now: time, notAfter: store.configuration.commitTime.latest(at: time),
        documentCount: requests.prefix(count).reduce(0) { $0 + $1.mutations.count })
      let outcomes = try outcomes(of: &requests, count, in: &plan)
      count = outcomes.count
      if plan.isEmpty, plan.newestTime.map(isOver) ?? true {
        if let newest = plan.newestTime { unstoredTime.withLock { $0 = newest } }
        transaction.abort()
        return .unchanged(outcomes)
      }
      try plan.apply(to: &transaction, of: file, trimming: changeLogTrim())
      report.bytes = plan.byteCount
      let acknowledgements = plan.isEmpty ? [:] : expect(requests.prefix(count), outcomes)
      note(.committing)
      let began = ContinuousClock.now
      defer { report.flush = ContinuousClock.now - began }
      do {
        try transaction.commit(ringing: false)
      } catch {
        self.acknowledgements.withdraw(Array(acknowledgements.values))
        if error == .mapFull { return .mapFull(Status(writing: error)) }
        return .unknown(outcomes, Status(committing: error))
      }
      return plan.isEmpty ? .unchanged(outcomes) : .committed(outcomes, plan, acknowledgements)
    } catch let error as LMDBError {
      let status = Status(writing: error)
      return error == .mapFull ? .mapFull(status) : .refused(status)
    } catch let error as Status {
      return .refused(error)
    } catch {
      return .refused(Status(.internal, "Writing failed.", cause: error))
    }
  }

  /// Whether the clock is past a time that requests have got, or is after a moment.
  ///
  /// The time of a commit that changes nothing is not stored. This is asked before the lock is
  /// released: the process that takes it next gets a later time from the clock. A time that the clock
  /// reaches much later is stored instead.
  private func isOver(_ time: Instant) -> Bool {
    let rest = time.microseconds &- store.configuration.now().microseconds
    if rest < 0 { return true }
    guard rest <= Self.longestPause else { return false }
    usleep(UInt32(rest) + 1)
    return time < store.configuration.now()
  }

  /// In microseconds; storing the time takes about as long.
  private static let longestPause: Int64 = 1000

  /// By index, for the requests that succeeded and touch something a listener watches.
  private func expect(
    _ requests: ArraySlice<WriteRequest>, _ outcomes: [Outcome]
  ) -> [Int: Acknowledgement] {
    guard !acknowledgements.isIdle else { return [:] }
    var expected: [Acknowledgement] = []
    var byPosition: [Int: Acknowledgement] = [:]
    for (position, (request, outcome)) in zip(requests, outcomes).enumerated() {
      let acknowledgement = acknowledgements.acknowledgement(of: request, outcome) { result in
        request.mutations.map(\.path) + result.cascaded
      }
      guard let acknowledgement else { continue }
      expected.append(acknowledgement)
      byPosition[position] = acknowledgement
    }
    acknowledgements.expect(expected)
    return byPosition
  }

  private func outcomes(
    of requests: inout ArraySlice<WriteRequest>, _ count: Int, in plan: inout CommitPlan
  ) throws -> [Outcome] {
    var outcomes: [Outcome] = []
    outcomes.reserveCapacity(count)
    for index in requests.indices.prefix(count) {
      let timer = requests[index].closure.map { closure in
        note(.runningClosure(closure.callSite))
        return ClosureTimer()
      }
      outcomes.append(try plan.outcome(of: &requests[index]))
      if let timer {
        timer.warnIfLong("A write closure held up all writes.", logger)
        note(.planning)
      }
      // How much closures write is known only now.
      if plan.byteCount > Self.groupLimitBytes { break }
    }
    return outcomes
  }

  /// - Parameters:
  ///   - acknowledgements: By index; each completes its request.
  ///   - notifyListeners: Called once reads and new listeners no longer have to wait.
  private func finish(
    _ requests: ArraySlice<WriteRequest>, _ outcomes: [Outcome], _ report: WriterReport,
    _ acknowledgements: [Int: Acknowledgement] = [:], notifyListeners: () -> Void = {}
  ) {
    note(.reporting)
    let resumed = state.withLock { state in
      for request in requests {
        if request.isTracked { trackedCount.wrappingSubtract(1, ordering: .releasing) }
        state.unawaitedBytes -= request.countedBytes
        state.waitingBytes -= request.byteCount
      }
      return state.tickets.finish(requests.last?.ticket ?? 0)
    }
    for resume in resumed { resume() }
    notifyListeners()
    if !acknowledgements.isEmpty {
      for (position, outcome) in outcomes.enumerated() {
        acknowledgements[position]?.commit(outcome)
      }
      self.acknowledgements.noteCommit(of: Array(acknowledgements.values))
    }
    for (position, (request, outcome)) in zip(requests, outcomes).enumerated() {
      // A closure that never ran.
      request.closure?.release()
      if let acknowledgement = acknowledgements[position] {
        acknowledgement.release()
      } else {
        request.complete(outcome)
      }
    }
    guard let observer = observer.withLock({ $0 }) else { return }
    var report = report
    report.requests = requests.count
    report.failures = outcomes.count { if case .failure = $0 { true } else { false } }
    observer(report)
  }

  /// The log's size is checked with every commit, its age at most once a second.
  private func changeLogTrim() -> ChangeLogTrim {
    let isDue = lastTrim.withLock { last in
      let now = ContinuousClock.now
      if let last, now - last < .seconds(1) { return false }
      last = now
      return true
    }
    return ChangeLogTrim(now: isDue ? store.configuration.now() : nil)
  }
}
