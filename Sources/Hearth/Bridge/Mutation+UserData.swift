/// Mutations from users' data, after all checks that do not need the stored document. All throw
/// `Status`.
extension Mutation {
  init(
    setting document: DocumentReference, to data: [String: Any], merge: ParsedWrite.Merge? = nil,
    in firestore: Firestore
  ) throws {
    let parsed = try ParsedWrite(set: data, merge: merge, database: firestore.databaseIdentity)
    self.init(setting: try document.uncheckedPath(in: firestore), to: parsed)
  }

  init(
    setting document: DocumentReference, to encoded: EncodedDocument,
    merge: ParsedWrite.Merge? = nil, in firestore: Firestore
  ) throws {
    try encoded.check(in: firestore)
    let path = try document.uncheckedPath(in: firestore)
    let hasDeletes = encoded.transforms.contains { transform in
      if case .delete = transform.transform { true } else { false }
    }
    guard merge == nil, !hasDeletes else {
      self.init(
        setting: path,
        to: try ParsedWrite(encoded: encoded.body, sentinels: encoded.transforms, merge: merge))
      return
    }
    // The usual case: the bytes are stored as they were encoded.
    self.init(path: path, operation: .set(encoded.body), transforms: encoded.transforms)
  }

  init(
    updating document: DocumentReference, with fields: [AnyHashable: Any], in firestore: Firestore
  ) throws {
    let parsed = try ParsedWrite(update: fields, database: firestore.databaseIdentity)
    self.init(setting: try document.uncheckedPath(in: firestore), to: parsed)
    precondition = .exists(true)
  }

  init(
    updating document: DocumentReference, with update: EncodedUpdate, in firestore: Firestore
  ) throws {
    try update.encoded.check(in: firestore)
    self.init(
      path: try document.uncheckedPath(in: firestore),
      operation: .patch(update.encoded.body, mask: update.mask),
      transforms: update.encoded.transforms, precondition: .exists(true))
  }

  init(deleting document: DocumentReference, in firestore: Firestore) throws {
    self.init(path: try document.uncheckedPath(in: firestore), operation: .delete)
  }

  /// The same mutation, on condition that the document does not exist.
  func creating() -> Mutation {
    var mutation = self
    mutation.precondition = .exists(false)
    return mutation
  }

  /// The same mutation, on condition that `precondition` holds.
  func requiring(_ precondition: WritePrecondition) throws(Status) -> Mutation {
    var mutation = self
    switch precondition {
    case .exists(let exists): mutation.precondition = .exists(exists)
    case .lastUpdateTime(let time):
      guard time.nanoseconds % 1000 == 0 else {
        throw .invalidArgument("A precondition's update time must be in whole microseconds.")
      }
      mutation.precondition = .updated(at: time)
    }
    return mutation
  }
}

extension DocumentReference {
  /// The document's path. Throws `Status` if the reference or a name in it is invalid, or if it is of
  /// another database.
  func path(in firestore: Firestore) throws -> ResourcePath {
    let path = try uncheckedPath(in: firestore)
    try path.checkNames()
    return path
  }

  /// The same without a check of the names, for mutations: `Mutation.check` checks those.
  func uncheckedPath(in firestore: Firestore) throws -> ResourcePath {
    guard self.firestore === firestore else {
      throw Status.invalidArgument(
        "Provided document reference is from a different Cloud Firestore instance.")
    }
    if let validationError { throw validationError }
    return resourcePath
  }
}

extension Mutation {
  fileprivate init(setting path: ResourcePath, to parsed: ParsedWrite) {
    self.init(
      path: path,
      operation: parsed.mask.map { Operation.patch(parsed.body, mask: $0) } ?? .set(parsed.body),
      transforms: parsed.transforms)
  }
}

extension EncodedDocument {
  /// Throws `Status` if no document of the database can store it.
  fileprivate func check(in firestore: Firestore) throws(Status) {
    if let validationError { throw validationError }
    let database = firestore.databaseIdentity
    for foreign in databases where foreign != database {
      throw .invalidArgument(
        "Document Reference is for database \(foreign.name) but should be for database "
          + database.name)
    }
  }
}

extension FirebaseDataEncoder {
  /// The encoded value. Converts a `Status` to the `NSError` that users catch.
  func encodedForWriting<T: Encodable>(_ value: T) throws -> EncodedDocument {
    try reporting { try encodeDocument(value) }
  }
}
