import Dispatch

/// The deletions of one sweep, batch by batch.
///
/// A deletion is a change like any other, and is made only if the document is still the version that
/// expired. A document that cannot be read or deleted does not keep others: its error is thrown at the
/// end, or after the first batch of which none was deleted.
struct ExpirySweep {
  static let batchCount = 128

  private var deleted = 0
  private var failure: Status?

  /// Deletes a batch. Blocks.
  ///
  /// - Parameters:
  ///   - unread: Why a document of the batch could not be read.
  ///   - commit: Submits a deletion.
  mutating func delete(
    _ documents: [(path: ResourcePath, updateTime: Instant)], unread: Status? = nil,
    _ commit: (Mutation, @escaping Completion<CommitResult>) -> Void
  ) throws(Status) {
    let outcomes = Guarded<[Result<CommitResult, Status>]>([])
    let done = DispatchGroup()
    for (path, updateTime) in documents {
      done.enter()
      commit(
        Mutation(path: path, operation: .delete, precondition: .updateTime(updateTime))
      ) { outcome in
        outcomes.withLock { $0.append(outcome) }
        done.leave()
      }
    }
    done.wait()
    var count = 0
    var undeleted: Status?
    for outcome in outcomes.withLock(\.self) {
      switch outcome {
      case .success: count += 1
      // The document was changed or deleted meanwhile.
      case .failure(let status) where status.refusal != nil: break
      case .failure(let status): undeleted = undeleted ?? status
      }
    }
    deleted += count
    failure = failure ?? unread ?? undeleted
    // Not even one: the next batch would fail as well, as on a full disk.
    if let failure, undeleted != nil, count == 0 { throw failure }
  }

  /// Returns the number of deleted documents, or throws the first error.
  func end() throws(Status) -> Int {
    if let failure { throw failure }
    return deleted
  }
}
