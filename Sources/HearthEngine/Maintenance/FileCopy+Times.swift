internal import LMDB

extension FileCopy {
  /// Corrects the times of a file that no process has open, in place: see `TimeRepair`. Returns the
  /// number of documents with other times; without any, the file is not changed.
  ///
  /// Throws `failedPrecondition` if the file is open, `dataLoss` if it is damaged; it is then
  /// unchanged.
  static func repairTimes(
    at path: String, _ configuration: StoreConfiguration, progress: MaintenanceReporter = .silent
  ) throws -> Int {
    let count: Int? = try replacing(path) { file in
      var repair = TimeRepair(now: configuration.now())
      var state = StoreState()
      let pages = try PageWalk.check(path) { name, key, value in
        switch KeyLayout.Table(rawValue: name) {
        case .documents:
          let times = try DocumentRecord.times(of: value)
          repair.note(times.create)
          repair.note(times.update)
        case .meta where key.elementsEqual(StoreState.key):
          state = try StoreState(parsing: value)
          repair.note(state.lastCommitTime.microseconds)
        default: break
        }
      } progress: {
        try progress(.pages, $0, of: $1)
      }
      if let problem = pages.problems.first { throw Status.damaged(path, problem) }
      guard repair.isNeeded else { return nil }
      try StoreState.check(state.lastSequence)
      // A token of the log that is left out must not be valid.
      state.lastSequence += 1
      state.firstLoggedSequence = state.lastSequence + 1
      state.indexedSequence = state.lastSequence
      state.lastCommitTime = Instant(
        microseconds: repair.corrected(state.lastCommitTime.microseconds))
      var count = 0
      var report = CheckReport()
      try rebuild(
        from: path, transactionID: nil, to: file.path, configuration, &report, progress
      ) { [repair] table, key, value in
        switch table {
        case .changes, .logIndex, .tombstones: return .omitted
        case .documents:
          guard
            let record = try DocumentRecord.record(
              value, key: key, changingTimes: { repair.corrected($0) })
          else { return .same }
          count += 1
          return .replaced(record)
        case .meta where key.elementsEqual(StoreState.key): return .replaced(state.encoded())
        default: return .same
        }
      }
      _ = try verified(file.path, configuration, progress)
      return count
    }
    return count ?? 0
  }
}
