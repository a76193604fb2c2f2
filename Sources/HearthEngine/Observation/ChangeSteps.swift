/// The changes of one commit, or of several that are applied as one.
struct ChangeStep: Sendable {
  /// That of the last change.
  var sequence: UInt64
  var updates: [DocumentUpdate]
  /// The changes of many commits, not of one.
  var isMerged = false
}

/// The change of a document by one commit, or by several.
struct DocumentUpdate: Sendable {
  let path: ResourcePath
  /// Nil if it did not exist.
  var old: StoredDocument?
  /// Nil if it no longer exists.
  var new: StoredDocument?
}

/// Collects changes of the log, as far as materialized queries watch their documents.
///
///     changes ─▶ one step for each commit ─▶ above the limits: one step for all of them
struct ChangeSteps: @unchecked Sendable {
  // Unchecked: the registry does not change the index while a request with this is under way.

  private(set) var steps: [ChangeStep] = []
  let index: ListenerIndex
  private let limit: Int
  private let limitBytes: Int
  private var count = 0
  private var byteCount = 0
  /// The last change of each document: its new version is the old one of the next change, or that
  /// of the state.
  private var latest: [ResourcePath: (step: Int, update: Int)] = [:]
  private var mustBegin = true
  private var isMerged = false

  init(watchedBy index: ListenerIndex, _ tuning: MaterializedQueryTuning) {
    self.index = index
    limit = tuning.stepLimit
    limitBytes = tuning.stepLimitBytes
  }

  /// Adds the next change. Call `end` after the last one.
  ///
  /// - Parameters:
  ///   - byteCount: The size of the version before.
  ///   - before: The version before; called for a watched document.
  mutating func add(
    _ path: ResourcePath, _ sequence: UInt64, startsCommit: Bool, byteCount size: Int,
    before: () throws -> StoredDocument?
  ) rethrows {
    if startsCommit { mustBegin = true }
    // A step extends to the end of its commit, even if the rest of it is not watched.
    if !mustBegin { steps[steps.count - 1].sequence = sequence }
    guard index.isWatched(path) else { return }
    count += 1
    byteCount += size
    if !isMerged, count > limit || byteCount > limitBytes { merge() }
    let known = latest[path]
    if isMerged, known != nil {
      steps[0].sequence = sequence
      mustBegin = false
      return
    }
    let before = try before()
    if let known { steps[known.step].updates[known.update].new = before }
    if mustBegin, !isMerged || steps.isEmpty {
      steps.append(ChangeStep(sequence: sequence, updates: [], isMerged: isMerged))
    }
    mustBegin = false
    let step = steps.count - 1
    steps[step].sequence = sequence
    latest[path] = (step, steps[step].updates.count)
    steps[step].updates.append(DocumentUpdate(path: path, old: before))
  }

  /// Sets the newest version of each document, which `newest` returns.
  mutating func end(_ newest: (ResourcePath) throws -> StoredDocument?) rethrows {
    for (path, position) in latest {
      steps[position.step].updates[position.update].new = try newest(path)
    }
    latest = [:]
  }

  /// Adds all of these, which are in order, and ends.
  mutating func add(_ changes: some Sequence<LoggedChange>) {
    var newest: [ResourcePath: StoredDocument] = [:]
    var startsCommit = true
    for change in changes {
      add(
        change.path, change.sequence, startsCommit: startsCommit,
        byteCount: change.before?.body.bytes.count ?? 0
      ) { change.before }
      startsCommit = change.endsCommit
      newest[change.path] = change.after
    }
    end { newest[$0] }
  }

  /// Merges all steps into one: each document's oldest version leads to its newest.
  private mutating func merge() {
    isMerged = true
    guard let last = steps.last else { return }
    var merged = ChangeStep(sequence: last.sequence, updates: [], isMerged: true)
    latest = [:]
    for step in steps {
      for update in step.updates where latest[update.path] == nil {
        latest[update.path] = (0, merged.updates.count)
        merged.updates.append(update)
      }
    }
    steps = [merged]
  }
}
