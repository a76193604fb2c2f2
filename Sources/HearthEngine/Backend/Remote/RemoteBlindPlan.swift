/// The jobs of a batch as blind writes, if all of them are.
///
///     set, delete, verify without transforms ─▶ writes      reads by path ─▶ writes that verify
///     queries of a transaction ─▶ scopes in which nothing may have changed
///
/// Everything that needs the old document goes the other way: updates, transforms, unique values, reference
/// rules.
struct RemoteBlindPlan {
  private(set) var batch: RemoteBlindBatch
  /// For each wave, the numbers of its jobs.
  private(set) var jobs: [[Int]] = []
  private let all: [WriteRequest]
  private let catalogue: RemoteCatalogue
  /// The documents that the last wave writes.
  private var written: Set<ResourcePath> = []
  private var isLastClosed = true

  /// More waves cost the server more than to send it the result.
  private static let waveLimit = 8
  /// The server looks through the log for each.
  fileprivate static let queryLimit = 4

  /// Nil if one of the jobs needs more.
  init?(_ jobs: [WriteRequest], _ catalogue: RemoteCatalogue) {
    guard jobs.allSatisfy({ $0.isBlind && !catalogue.constrains($0.mutations) }) else {
      return nil
    }
    all = jobs
    self.catalogue = catalogue
    batch = RemoteBlindBatch(id: [], generation: catalogue.generation, time: 0)
    do throws(Status) {
      for number in jobs.indices { try add(number) }
    } catch {
      // Reported when it is done the other way.
      return nil
    }
    guard batch.waves.count <= Self.waveLimit else { return nil }
    if batch.waves.contains(where: { wave in
      !wave.entries.isEmpty || wave.writes.contains { catalogue.hasEntries(of: $0.key) }
    }) {
      batch.indexes = catalogue.maintained.map(\.number)
    }
  }

  private mutating func add(_ number: Int) throws(Status) {
    let job = all[number]
    let reads = job.reads ?? ReadSet()
    let hasQueries = !reads.results.isEmpty
    let touched =
      reads.documents.keys.contains { written.contains($0) }
      || job.mutations.contains { written.contains($0.path) }
    // The results of a query are compared with the state before the wave.
    if isLastClosed || hasQueries || touched {
      batch.waves.append(RemoteBlindBatch.Wave())
      jobs.append([])
      written = []
      isLastClosed = hasQueries
    }
    let last = batch.waves.count - 1
    jobs[last].append(number)
    for (path, seen) in reads.documents {
      batch.waves[last].writes.append(
        RemoteBlindBatch.Write(
          job: number, key: RemoteKey(path), operation: .verify,
          condition: seen.map { .updateTime($0) } ?? .exists(false)))
    }
    for seen in reads.results {
      guard let query = seen.request.query, let sequence = seen.sequence else { continue }
      batch.waves[last].unchanged.append(
        RemoteBlindBatch.Unchanged(scope: RemoteScope(query.scope), since: sequence))
    }
    for mutation in job.mutations {
      try add(mutation, of: number, to: last)
      written.insert(mutation.path)
    }
  }

  private mutating func add(
    _ mutation: Mutation, of job: Int, to wave: Int
  ) throws(Status) {
    let path = mutation.path
    let key = RemoteKey(path)
    var write = RemoteBlindBatch.Write(
      job: job, key: key, operation: .verify, condition: mutation.precondition)
    switch mutation.operation {
    case .verify, .patch: break
    case .delete: write.operation = .delete
    case .set(let body):
      try Limits.check(body, at: path)
      write.operation = .store(body.bytes)
      let document = StoredDocument(
        path: path, sequence: 0, createTime: .earliest, updateTime: .earliest, body: body)
      for (index, entry) in try catalogue.entries(of: document) {
        batch.waves[wave].entries.append(
          RemoteBlindBatch.Entry(
            write: batch.waves[wave].writes.count, index: index, key: entry))
      }
    }
    batch.waves[wave].writes.append(write)
  }

  // MARK: Results

  /// The outcomes of a wave's jobs, each with the documents that it has changed. Nil if the wave was
  /// not done.
  func outcomes(
    of wave: Int, in answers: [RemoteBlindAnswer?]
  ) -> [(job: Int, outcome: Result<CommitResult, Status>, changed: [ResourcePath])]? {
    guard let found = answers[wave] else { return nil }
    var sequence = found.sequence
    var time = Instant(microseconds: found.time)
    var next = Instant(microseconds: found.next)
    var outcomes = found.outcomes[...]
    var results: [(job: Int, outcome: Result<CommitResult, Status>, changed: [ResourcePath])] = []
    for number in jobs[wave] {
      let job = all[number]
      let read = outcomes.prefix(job.reads?.documents.count ?? 0)
      let writes = outcomes.dropFirst(read.count).prefix(job.mutations.count)
      outcomes = outcomes.dropFirst(read.count + writes.count)
      if let error = refusal(of: job, read, writes, at: next) {
        results.append((number, .failure(error), []))
        continue
      }
      var changed: [ResourcePath] = []
      for (mutation, write) in zip(job.mutations, writes) {
        guard let change = write.change else { continue }
        changed.append(mutation.path)
        sequence = change.sequence
      }
      if let own = writes.lazy.compactMap(\.time).first {
        time = Instant(microseconds: own)
        next = Instant(microseconds: own + 1)
      }
      let result = CommitResult(
        commitTime: time, sequence: sequence,
        results: zip(job.mutations, writes).map { mutation, write in
          var updateTime = write.change?.time ?? write.updateTime
          if case .delete = mutation.operation { updateTime = nil }
          return MutationResult(updateTime: updateTime.map { Instant(microseconds: $0) })
        })
      results.append((number, .success(result), changed))
    }
    return results
  }

  private func refusal(
    of job: WriteRequest, _ read: ArraySlice<RemoteBlindAnswer.Outcome>,
    _ writes: ArraySlice<RemoteBlindAnswer.Outcome>, at time: Instant
  ) -> Status? {
    if read.contains(where: \.isRefused) {
      return .readsHaveChanged
    }
    for (mutation, write) in zip(job.mutations, writes) where write.isRefused {
      do throws(Status) {
        try mutation.precondition.check(
          mutation.path, exists: write.updateTime != nil,
          updateTime: write.updateTime.map { Instant(microseconds: $0) }, at: time)
      } catch {
        var error = error
        if case .verify = mutation.operation { error.isContention = true }
        return error
      }
      return Status(.internal, "The server has refused a write whose condition is met.")
    }
    return nil
  }
}

extension WriteRequest {
  /// Nothing of it depends on fields that are stored.
  fileprivate var isBlind: Bool {
    let results = reads?.results ?? []
    guard closure == nil, results.count <= RemoteBlindPlan.queryLimit,
      results.allSatisfy({ $0.sequence != nil && $0.request.query?.filters.hasSemiJoins == false })
    else { return false }
    // Once each.
    var paths: Set<ResourcePath> = []
    return mutations.allSatisfy { mutation in
      guard mutation.transforms.isEmpty, !mutation.needsStoredFields, mutation.copied == nil else {
        return false
      }
      return paths.insert(mutation.path).inserted
    }
  }
}
