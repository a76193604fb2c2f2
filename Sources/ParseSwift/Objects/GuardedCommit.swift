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

    /// The condition of a write to an existing document.
    func precondition(_ reference: DocumentReference) -> WritePrecondition {
      documents[reference.path]?.updateTime.map { .lastUpdateTime($0) } ?? .exists(true)
    }
  }

  let context: QueryContext
  /// The documents that are changed or deleted.
  let changed: [DocumentReference]
  /// Documents that must exist, and that the identity must be allowed to read.
  var named: [DocumentReference] = []
  /// Whether the fields of the changed documents matter.
  var dependsOnFields = false
  /// Commits before this one, of what nobody sees without it.
  var before: [WriteBatch] = []
  /// The writes; nil for none.
  let batch: (State) throws -> WriteBatch?

  private static let mostAttempts = 100

  /// The documents to read before the commit.
  private var needed: [DocumentReference] {
    if context.identity != nil { return changed + named }
    return dependsOnFields ? changed : []
  }

  func run() throws {
    for batch in before { try context.firestore.blocking.commit(batch) }
    let needed = needed
    for attempt in 1... {
      let documents = needed.isEmpty ? [] : try context.firestore.blocking.getAll(needed)
      let state = try state(documents)
      guard let batch = try batch(state) else { return }
      do { return try context.firestore.blocking.commit(batch) } catch {
        try check(error, attempt)
      }
    }
  }

  func run() async throws {
    for batch in before { try await batch.commit() }
    let needed = needed
    for attempt in 1... {
      let documents = needed.isEmpty ? [] : try await context.firestore.getAll(needed)
      let state = try state(documents)
      guard let batch = try batch(state) else { return }
      do { return try await batch.commit() } catch {
        try check(error, attempt)
      }
      try Task.checkCancellation()
    }
  }

  private func state(_ documents: [DocumentSnapshot]) throws -> State {
    for (index, document) in documents.enumerated() {
      guard document.exists else { throw ObjectGraph.notFound }
      guard let identity = context.identity else { continue }
      let acl = ParseACL(stored: document["ACL"])
      // As if it did not exist, for somebody who may not read it.
      guard ParseACL.allows(.read, acl, to: identity) else { throw ObjectGraph.notFound }
      // The changed documents come first.
      guard index >= changed.count || ParseACL.allows(.write, acl, to: identity) else {
        throw ParseError(.operationForbidden, "The object may be read, and not be written.")
      }
    }
    return State(
      documents: Dictionary(documents.map { ($0.reference.path, $0) }) { first, _ in first })
  }

  /// Throws unless a document has changed since it was read.
  private func check(_ error: any Error, _ attempt: Int) throws {
    guard attempt < Self.mostAttempts, let error = error as? FirestoreErrorCode,
      error.isUpdateTimeMismatch
    else { throw error }
  }
}
