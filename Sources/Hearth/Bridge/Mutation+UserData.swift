/// Writes of users' data, everything checked that can be without the stored document. All throw `Status`.
extension Mutation {
  init(
    setting document: DocumentReference, to data: [String: Any], merge: ParsedWrite.Merge? = nil,
    in firestore: Firestore
  ) throws {
    let parsed = try ParsedWrite(set: data, merge: merge, database: firestore.databaseIdentity)
    try self.init(setting: document.path(in: firestore), to: parsed)
  }

  init(
    setting document: DocumentReference, to encoded: EncodedDocument,
    merge: ParsedWrite.Merge? = nil, in firestore: Firestore
  ) throws {
    try encoded.check(for: firestore.databaseIdentity)
    try self.init(setting: document.path(in: firestore), to: encoded, merge: merge)
  }

  init(
    updating document: DocumentReference, with fields: [AnyHashable: Any], in firestore: Firestore
  ) throws {
    let parsed = try ParsedWrite(update: fields, database: firestore.databaseIdentity)
    try self.init(setting: document.path(in: firestore), to: parsed)
    precondition = .exists(true)
  }

  init(deleting document: DocumentReference, in firestore: Firestore) throws {
    self.init(path: try document.path(in: firestore), operation: .delete)
  }

  /// The same, but only if the document is not there.
  func creating() -> Mutation {
    var mutation = self
    mutation.precondition = .exists(false)
    return mutation
  }

  /// The same, but only if that holds of what is stored.
  func requiring(_ precondition: WritePrecondition) throws(Status) -> Mutation {
    var mutation = self
    mutation.precondition = try precondition.checked()
    return mutation
  }
}

extension DocumentReference {
  /// The document's path in its database, which has to be this one. Throws `Status`.
  func path(in firestore: Firestore) throws -> ResourcePath {
    guard self.firestore === firestore else {
      throw Status.invalidArgument(
        "Provided document reference is from a different Cloud Firestore instance.")
    }
    if let fault { throw fault }
    try resourcePath.checkNames()
    return resourcePath
  }
}

/// What has to hold of the stored document for a write to be done.
///
///     try await dune.updateData(["pages": 412], precondition: .lastUpdateTime(snapshot.updateTime!))
///
/// A write that is refused changes nothing, and takes the rest of its batch with it.
public enum WritePrecondition: Sendable, Hashable {
  /// Else `notFound`, or `alreadyExists`.
  case exists(Bool)
  /// The document has not changed since, else `failedPrecondition`. In whole microseconds, as
  /// `DocumentSnapshot.updateTime` tells it.
  case lastUpdateTime(Timestamp)

  func checked() throws(Status) -> Mutation.Precondition {
    switch self {
    case .exists(let exists): return .exists(exists)
    case .lastUpdateTime(let time):
      guard time.nanoseconds % 1000 == 0 else {
        throw .invalidArgument("A precondition's update time must be in whole microseconds.")
      }
      return .updated(at: time)
    }
  }
}
