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
  /// New files to store with it.
  var files: [ParseFile] = []
  /// Adds its writes to a batch. Returns whether there are any.
  let write: (WriteBatch, State) throws -> Bool

  private static let mostAttempts = 100

  /// The documents to read before the commit.
  private var needed: [DocumentReference] {
    if context.identity != nil { return changed + named }
    return dependsOnFields ? changed : []
  }

  func run() throws {
    let upload = FileUpload(files, context.firestore)
    for batch in upload.before { try context.firestore.blocking.commit(batch) }
    let needed = needed
    for attempt in 1... {
      let documents = needed.isEmpty ? [] : try context.firestore.blocking.getAll(needed)
      guard let batch = try batch(documents, upload) else { return }
      do { return try context.firestore.blocking.commit(batch) } catch {
        try check(error, attempt)
      }
    }
  }

  func run() async throws {
    let upload = FileUpload(files, context.firestore)
    for batch in upload.before { try await batch.commit() }
    let needed = needed
    for attempt in 1... {
      let documents = needed.isEmpty ? [] : try await context.firestore.getAll(needed)
      guard let batch = try batch(documents, upload) else { return }
      do { return try await batch.commit() } catch {
        try check(error, attempt)
      }
      try Task.checkCancellation()
    }
  }

  /// The writes, if the documents allow them. Nil for no writes.
  private func batch(
    _ documents: [DocumentSnapshot], _ upload: FileUpload
  ) throws -> WriteBatch? {
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
    let state = State(
      documents: Dictionary(documents.map { ($0.reference.path, $0) }) { first, _ in first })
    let batch = context.firestore.batch()
    upload.add(to: batch)
    return try write(batch, state) || !upload.isEmpty ? batch : nil
  }

  /// Throws unless a document has changed since it was read.
  private func check(_ error: any Error, _ attempt: Int) throws {
    guard attempt < Self.mostAttempts, let error = error as? FirestoreErrorCode,
      error.isUpdateTimeMismatch
    else { throw error }
  }
}
