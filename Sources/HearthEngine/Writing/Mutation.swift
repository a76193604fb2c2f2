/// One write to one document, complete and checked, before it meets what is stored.
package struct Mutation: Sendable {
  package enum Operation: Sendable {
    /// The whole document becomes this.
    case set(DocumentBody)
    /// The fields of the mask take the values they have here, or go if they have none.
    case patch(MapValue, mask: [FieldSegments])
    case delete
    /// Nothing changes; only the precondition is looked at.
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

  /// About what this takes in memory, for bounding what waits for the writer.
  package var byteCount: Int { 256 + path.byteCount + contentByteCount }

  /// What the document has and this does not name stays in it.
  var keepsFields: Bool {
    if case .patch = operation { true } else { false }
  }

  /// Of the fields this writes.
  var contentByteCount: Int {
    switch operation {
    case .set(let body): body.bytes.count
    case .patch(let fields, _): Limits.size(of: fields)
    case .delete, .verify: 0
    }
  }
}

/// What one mutation of a commit did.
struct MutationResult: Sendable {
  /// Of the document as the whole request leaves it: the old one if nothing changed, nil if it is
  /// not there.
  var updateTime: Instant?
  /// One per transform; null for the array transforms.
  var transformResults: [Value] = []
}

/// What a commit did.
package struct CommitResult: Sendable {
  var commitTime: Instant
  /// Of the last change of this commit, or of the newest before it if it changed nothing.
  var sequence: UInt64
  var results: [MutationResult]
}
