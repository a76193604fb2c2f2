import Hearth

/// A commit that depends on what is stored: on the access to documents, or on their fields.
///
///     read the documents ─▶ check access ─▶ commit, if they are still the same ─▶ again, if they are not
///
/// Without such a dependency nothing is read.
struct GuardedCommit {
  /// The documents as they were read, by path. Empty if nothing was read.
  struct State {
    fileprivate(set) var documents: [String: DocumentSnapshot] = [:]

    /// Whether the documents are those of another read.
    fileprivate func isEqual(to other: State) -> Bool {
      documents.mapValues(\.updateTime) == other.documents.mapValues(\.updateTime)
    }

    /// The condition of a write to an existing document.
    func precondition(_ reference: DocumentReference) -> WritePrecondition {
      documents[reference.path]?.updateTime.map { .lastUpdateTime($0) } ?? .exists(true)
    }
  }

  let context: QueryContext
  /// The documents that are changed or deleted.
  let changed: [DocumentReference]
  /// Whether their fields matter.
  var dependsOnFields = false
  /// Commits before this one, of what nobody sees without it.
  var before: [WriteBatch] = []
  /// The writes; nil for none.
  let batch: (State) throws -> WriteBatch?

  private static let mostAttempts = 100

  private var reads: Bool {
    !changed.isEmpty && (dependsOnFields || context.identity != nil)
  }

  func run() throws {
    for batch in before { try context.firestore.blocking.commit(batch) }
    var failed: (state: State, error: any Error)?
    for attempt in 1... {
      let documents = reads ? try context.firestore.blocking.getAll(changed) : []
      let state = try state(documents)
      if let failed, state.isEqual(to: failed.state) { throw failed.error }
      guard let batch = try batch(state) else { return }
      do { return try context.firestore.blocking.commit(batch) } catch {
        try check(error, attempt)
        failed = (state, error)
      }
    }
  }

  func run() async throws {
    for batch in before { try await batch.commit() }
    var failed: (state: State, error: any Error)?
    for attempt in 1... {
      let documents = reads ? try await context.firestore.getAll(changed) : []
      let state = try state(documents)
      if let failed, state.isEqual(to: failed.state) { throw failed.error }
      guard let batch = try batch(state) else { return }
      do { return try await batch.commit() } catch {
        try check(error, attempt)
        failed = (state, error)
      }
      try Task.checkCancellation()
    }
  }

  private func state(_ documents: [DocumentSnapshot]) throws -> State {
    for document in documents {
      guard document.exists else { throw ObjectGraph.notFound }
      guard let identity = context.identity else { continue }
      let acl = ParseACL(stored: document["ACL"])
      // As if it did not exist, for somebody who may not read it.
      guard ParseACL.allows(.read, acl, to: identity) else { throw ObjectGraph.notFound }
      guard ParseACL.allows(.write, acl, to: identity) else {
        throw ParseError(.operationForbidden, "The object may be read, and not be written.")
      }
    }
    return State(
      documents: Dictionary(documents.map { ($0.reference.path, $0) }) { first, _ in first })
  }

  /// Throws unless the documents may have changed since they were read. A rule of a reference fails
  /// with the same code: then they are the same when they are read again.
  private func check(_ error: any Error, _ attempt: Int) throws {
    guard reads, attempt < Self.mostAttempts, case FirestoreErrorCode.failedPrecondition = error
    else { throw error }
  }
}
