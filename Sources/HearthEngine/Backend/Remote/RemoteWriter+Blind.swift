import Foundation

extension RemoteWriter {
  /// Lets the store decide and apply jobs, if it can. Returns those that have to be decided here; nil
  /// if the store has failed.
  func runBlind(_ jobs: [Job]) -> [Job]? {
    guard !readsFirst.withLock(\.self), let plan = RemoteBlindPlan(jobs, catalogues.newest) else {
      return jobs
    }
    // A listener must not see a commit before its completion is expected.
    let isWatched = jobs.contains { job in
      job.origin != nil && acknowledgements.concern(job.mutations.map(\.path))
    }
    if isWatched { source.holdReads() }
    let answer: RemoteBlindAnswer
    do throws(Status) {
      answer = try retrying(until: jobs.firstDeadline) { () throws(Status) in
        try store.write { writing throws(Status) in
          var batch = plan.batch
          batch.id = UUID().bytes
          batch.time = now().microseconds
          batch.seen = horizon.sequence
          // Each job has a time of its own.
          batch.latestTime = latestTime.microseconds - Int64(jobs.count)
          return try writing.commit(batch)
        }
      }
    } catch {
      if isWatched { source.releaseReads() }
      fail(jobs, error)
      return nil
    }
    var others: [Job] = []
    var outcomes: [(job: Job, outcome: Result<CommitResult, Status>)] = []
    var expected: [Int: Acknowledgement] = [:]
    for wave in plan.jobs.indices {
      guard let results = plan.outcomes(of: wave, in: answer) else {
        others += plan.jobs[wave].map { jobs[$0] }
        continue
      }
      for (number, outcome, changed) in results {
        let job = jobs[number]
        if isWatched, let origin = job.origin, case .success(let result) = outcome,
          acknowledgements.concern(changed)
        {
          expected[outcomes.count] = Acknowledgement(
            result.sequence, changed, from: origin, complete: job.done)
        }
        outcomes.append((job, outcome))
      }
    }
    acknowledgements.expect(expected.sorted { $0.key < $1.key }.map(\.value))
    if isWatched { source.releaseReads() }
    if !outcomes.isEmpty { finish(outcomes, expected) }
    return others
  }
}
