import Foundation

extension RemoteWriter {
  /// Lets the store decide and apply requests, if it can. Returns those that have to be decided here; nil
  /// if the store has failed.
  func runBlind(_ requests: [WriteRequest]) -> [WriteRequest]? {
    guard !readsFirst.withLock(\.self), let plan = RemoteBlindPlan(requests, catalogues.newest)
    else {
      return requests
    }
    // A listener must not see a commit before its completion is expected.
    let isWatched = requests.contains { request in
      request.origin != nil && acknowledgements.concern(request.mutations.map(\.path))
    }
    if isWatched { source.holdReads() }
    let answer: RemoteBlindAnswer
    do throws(Status) {
      answer = try retrying(until: requests.firstDeadline) { () throws(Status) in
        try store.write { writing throws(Status) in
          var batch = plan.batch
          batch.id = UUID().bytes
          batch.time = now().microseconds
          batch.seen = horizon.sequence
          // Each request has a time of its own.
          batch.latestTime = latestTime.microseconds - Int64(requests.count)
          return try writing.commit(batch)
        }
      }
    } catch {
      if isWatched { source.releaseReads() }
      fail(requests, error)
      return nil
    }
    var others: [WriteRequest] = []
    var outcomes: [(request: WriteRequest, outcome: Result<CommitResult, Status>)] = []
    var expected: [Int: Acknowledgement] = [:]
    for wave in plan.jobs.indices {
      guard let results = plan.outcomes(of: wave, in: answer) else {
        others += plan.jobs[wave].map { requests[$0] }
        continue
      }
      for (number, outcome, changed) in results {
        let request = requests[number]
        if isWatched, let origin = request.origin, case .success(let result) = outcome,
          acknowledgements.concern(changed)
        {
          expected[outcomes.count] = Acknowledgement(
            result.sequence, changed, from: origin, complete: request.complete)
        }
        outcomes.append((request, outcome))
      }
    }
    acknowledgements.expect(expected.sorted { $0.key < $1.key }.map(\.value))
    if isWatched { source.releaseReads() }
    if !outcomes.isEmpty { finish(outcomes, expected) }
    return others
  }
}
