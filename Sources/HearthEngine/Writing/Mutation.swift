/// One complete write to one document, before it is applied to what is stored.
package struct Mutation: Sendable {
  package enum Operation: Sendable {
    /// Replaces the whole document.
    case set(DocumentBody)
    /// Sets the fields of the mask to their values, and removes those without a value.
    case patch(MapValue, mask: [FieldSegments])
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

  /// Whether the document keeps the fields that the mutation does not name.
  var keepsFields: Bool {
    if case .patch = operation { true } else { false }
  }

  /// Size of the fields that it writes.
  var contentByteCount: Int {
    switch operation {
    case .set(let body): body.bytes.count
    case .patch(let fields, _): Limits.size(of: fields)
    case .delete, .verify: 0
    }
  }
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
