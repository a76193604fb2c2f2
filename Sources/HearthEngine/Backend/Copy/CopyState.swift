import Foundation

/// How far a copy has come. A document of the target, written together with what it describes, and
/// removed at the end.
///
///     __hearth_copy__/state   format, token, position, phase, documents
///
/// Users cannot name it: such ids are reserved.
struct CopyState: Sendable {
  enum Phase: String, Sendable {
    /// Documents are copied, page by page. Next: `changes`.
    case documents
    /// All documents are there; changes since the token are missing.
    case changes
  }

  static let collection = "__hearth_copy__"
  static let path = ResourcePath([collection, "state"])

  /// Of the source. Every later change is still to be applied.
  var token: ChangeToken
  /// Of the source's pages; nil at the beginning.
  var position: [UInt8]?
  var phase = Phase.documents
  /// Copied so far.
  var documents = 0
  /// Of the stored state. Another copy that goes on with it changes it, and this one ends.
  var updateTime: Instant?

  /// On disk, until the copy is finished.
  private static let format: Int64 = 1

  init(from token: ChangeToken) { self.token = token }

  /// Throws `failedPrecondition` for a state of a newer Hearth.
  init(_ document: StoredDocument) throws {
    let fields = try document.body.map()
    guard case .integer(let format)? = fields["format"], format <= Self.format,
      case .bytes(let token)? = fields["token"], case .string(let phase)? = fields["phase"],
      let phase = Phase(rawValue: phase), case .integer(let documents)? = fields["documents"]
    else {
      throw Status(.failedPrecondition, "A newer Hearth began this copy, or it is damaged.")
    }
    self.token = try ChangeToken(bytes: Data(token))
    if case .bytes(let position)? = fields["position"] { self.position = position }
    self.phase = phase
    self.documents = Int(clamping: documents)
    updateTime = document.updateTime
  }

  /// The write that stores it, unless another copy has changed it meanwhile.
  var mutation: Mutation {
    get throws(Status) {
      let fields = MapValue([
        ("format", .integer(Self.format)), ("token", .bytes(Array(token.bytes))),
        ("position", position.map { .bytes($0) } ?? .null), ("phase", .string(phase.rawValue)),
        ("documents", .integer(Int64(documents))),
      ])
      return Mutation(
        path: Self.path, operation: try .set(encoding: fields), precondition: precondition)
    }
  }

  var removal: Mutation {
    Mutation(path: Self.path, operation: .delete, precondition: precondition)
  }

  private var precondition: Mutation.Precondition {
    updateTime.map { .updateTime($0) } ?? .exists(false)
  }
}

extension ResourcePath {
  /// Belongs to a copy, not to a user.
  var isOfCopy: Bool { segments.first == CopyState.collection }
}
