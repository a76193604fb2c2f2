/// One complete write to one document, before it is applied to what is stored.
package struct Mutation: Sendable {
  package enum Operation: Sendable {
    /// Replaces the whole document.
    case set(DocumentBody)
    /// Sets the fields of the mask to their values, and removes those without a value. Other fields of the body are
    /// ignored.
    case patch(DocumentBody, mask: [FieldSegments])
    case delete
    /// Changes nothing, only checks the precondition.
    case verify

    package static func set(encoding fields: MapValue) throws(Status) -> Operation {
      .set(try DocumentBody(encoding: fields))
    }
  }

  package enum Precondition: Sendable, Equatable {
    case none
    case exists(Bool)
    case updateTime(Instant)

    /// In whole microseconds.
    package static func updated(at time: Timestamp) -> Precondition { .updateTime(Instant(time)) }
  }

  package var path: ResourcePath
  package var operation: Operation
  /// Applied in order after the operation.
  package var transforms: [(field: FieldSegments, transform: FieldTransform)] = []
  package var precondition: Precondition = .none
  /// Set for a write that repeats one of another database; see `CopiedTimes`.
  package var copied: CopiedTimes?
  /// A further condition of a `verify`, on the document as the mutations before it leave it.
  package private(set) var documentCheck: DocumentCheck?

  package init(
    path: ResourcePath, operation: Operation,
    transforms: [(field: FieldSegments, transform: FieldTransform)] = [],
    precondition: Precondition = .none
  ) {
    self.path = path
    self.operation = operation
    self.transforms = transforms
    self.precondition = precondition
  }

  /// Approximate memory use, to bound the writer's queue.
  package var byteCount: Int { 256 + path.byteCount + contentByteCount }

  /// Whether the document does not exist after the mutation if it did not before.
  var storesNothing: Bool {
    switch operation {
    case .delete, .verify: true
    case .set, .patch: false
    }
  }

  var onlyVerifies: Bool { if case .verify = operation { true } else { false } }

  /// Size of the fields that it writes.
  var contentByteCount: Int {
    switch operation {
    case .set(let body), .patch(let body, _): body.bytes.count
    case .delete, .verify: 0
    }
  }
}

/// A condition of a request on a document as the request leaves it.
///
/// Runs each time the request is planned, on the writer's thread: the request does not join its group if
/// the check throws.
package struct DocumentCheck: Sendable {
  private let body: @Sendable (StoredDocument?) throws -> Void

  /// - Parameter body: Gets nil if the document does not exist.
  package init(_ body: @escaping @Sendable (StoredDocument?) throws -> Void) { self.body = body }

  /// Throws a status with the error of the check as its cause.
  func run(_ document: StoredDocument?, at path: ResourcePath) throws(Status) {
    do { try body(document) } catch {
      var refusal = Status.refused(
        .documentCheck, "A check of the batch does not accept the document \(path.text).")
      refusal.cause = error
      throw refusal
    }
  }
}

extension Mutation {
  /// Writes nothing, and refuses the request unless the document passes the check.
  package static func verifying(_ path: ResourcePath, _ check: DocumentCheck) -> Mutation {
    var mutation = Mutation(path: path, operation: .verify)
    mutation.documentCheck = check
    return mutation
  }

  /// Whether fields that are stored reach the result.
  var needsStoredFields: Bool {
    if case .patch = operation { true } else { documentCheck != nil }
  }
}

/// The times of a document in the database that it is copied from, which it keeps.
///
/// A request with copied documents obeys no unique index and no reference rule: its source did.
package struct CopiedTimes: Sendable, Equatable {
  package var createTime: Instant
  package var updateTime: Instant
}

extension Mutation {
  /// Makes the document what it is in another database.
  package static func copying(_ document: StoredDocument) -> Mutation {
    var mutation = Mutation(path: document.path, operation: .set(document.body))
    mutation.copied = CopiedTimes(
      createTime: document.createTime, updateTime: document.updateTime)
    return mutation
  }

  /// Removes a document that another database no longer has.
  package static func copyingDeletion(of path: ResourcePath) -> Mutation {
    var mutation = Mutation(path: path, operation: .delete)
    mutation.copied = CopiedTimes(
      createTime: Instant(microseconds: 0), updateTime: Instant(microseconds: 0))
    return mutation
  }
}

extension StoredDocument {
  func has(_ times: CopiedTimes) -> Bool {
    createTime == times.createTime && updateTime == times.updateTime
  }
}

extension Sequence<Mutation> {
  /// The latest time of a copied document: its commit is not before that. Nil without one.
  var latestCopiedTime: Instant? { lazy.compactMap { $0.copied?.updateTime }.max() }
}

/// The result of one mutation of a commit.
package struct MutationResult: Sendable {
  /// The document's update time after the whole request: the old one if nothing changed, nil if the
  /// document does not exist.
  package var updateTime: Instant?
  /// One per transform; null for the array transforms.
  package var transformResults: [Value] = []
}

/// The result of a commit.
package struct CommitResult: Sendable {
  package var commitTime: Instant
  /// Sequence of the commit's last change, or of the newest change before it if it changed nothing.
  var sequence: UInt64
  package var results: [MutationResult]
  /// The documents that reference rules have changed as well.
  var cascaded: [ResourcePath] = []
}

extension CommitResult {
  /// Of a commit without writes.
  package init(at time: Instant) { self.init(commitTime: time, sequence: 0, results: []) }
}
