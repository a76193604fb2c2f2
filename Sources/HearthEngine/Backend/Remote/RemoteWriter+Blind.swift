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
    let answers: [RemoteBlindAnswer?]
    do throws(Status) {
      answers = try retrying(until: requests.firstDeadline) { () throws(Status) in
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
    var outcomes: [Outcome] = []
    for wave in plan.jobs.indices {
      guard let results = plan.outcomes(of: wave, in: answers) else {
        others += plan.jobs[wave].map { requests[$0] }
        continue
      }
      for (number, result, changed) in results {
        let request = requests[number]
        let acknowledgement =
          isWatched ? acknowledgements.acknowledgement(of: request, result) { _ in changed } : nil
        outcomes.append((request, result, acknowledgement))
      }
    }
    acknowledgements.expect(outcomes.compactMap(\.acknowledgement))
    if isWatched { source.releaseReads() }
    if !outcomes.isEmpty { finish(outcomes) }
    return others
  }
}
