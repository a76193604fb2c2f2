import Foundation

/// Reads, followed by writes, that are committed as if no other write happened in between; see
/// `Firestore.runTransaction`.
///
/// Optimistic: each read records the version that it saw; the commit checks that none of them has
/// changed, in the same step in which it writes. After a conflict the transaction waits for its
/// turn at the documents it has read. All reads must come before the writes.
///
/// Valid only while its block runs. A read that throws, or an invalid write, fails the transaction,
/// even if the block ignores the error.
public final class Transaction: NSObject {
  private let firestore: Firestore
  private let reader: TransactionRunner.Reader
  private var writes = PlannedWrites()
  /// Whether each document that was read or written so far exists.
  private var exists: [ResourcePath: Bool] = [:]
  private var isOver = false

  init(_ firestore: Firestore, _ reader: TransactionRunner.Reader) {
    self.firestore = firestore
    self.reader = reader
  }

  /// Reads a document; blocks while it reads. The first read of a transaction waits for its turn if
  /// other transactions of this process wait for the document.
  ///
  /// Throws `invalidArgument` after a write, and `aborted` if the document has changed since the
  /// transaction read it before.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try getAll([document])[0]
  }

  /// Reads a document and decodes it; blocks while it reads.
  ///
  ///     let book = try transaction.getDocument(dune, as: Book.self)
  ///
  /// Throws `DecodingError` if the document does not match the type; if it may be missing, decode an
  /// optional type. Throws as `getDocument(_:)` does.
  public func getDocument<T: Decodable>(
    _ document: DocumentReference, as type: T.Type, decoder: Firestore.Decoder = .standard
  ) throws -> T {
    try getDocument(document).data(as: type, decoder: decoder)
  }

  /// Reads several documents at one moment, in the order of `references`; blocks while it reads.
  ///
  ///     let snapshots = try transaction.getAll([from, to])
  ///
  /// Throws as `getDocument` does.
  public func getAll(_ references: [DocumentReference]) throws -> [DocumentSnapshot] {
    try read {
      let paths = try references.map { try $0.path(in: firestore) }
      guard !paths.isEmpty else { return [] }
      let found = try reader.read(.documents(at: paths)).documents
      for (path, document) in zip(paths, found) { exists[path] = document != nil }
      return zip(references, found).map { DocumentSnapshot($0, $1) }
    }
  }

  /// Reads all documents that the query finds; blocks while it reads.
  ///
  /// The commit succeeds only if the query still finds the same documents, in the same versions.
  /// Throws as `getDocument` does.
  public func getDocuments(_ query: Query) throws -> QuerySnapshot {
    try read {
      let found = try reader.read(.results(of: query.checked(in: firestore))).results
      for document in found { exists[document.path] = true }
      return QuerySnapshot(query, first: found)
    }
  }

  private func read<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      guard !isOver else { throw Status.transactionIsOver }
      guard writes.mutations.isEmpty else {
        throw Status.invalidArgument(
          "Firestore transactions require all reads to be executed before all writes.")
      }
      return try body()
    } catch let status as Status {
      writes.note(status)
      throw status.nsError
    }
  }

  /// Replaces the document, or creates it.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) { try $0.add(Mutation(setting: document, to: data, in: self.firestore)) }
  }

  /// If `merge` is true, merges the data into the document: maps field by field, everything else as
  /// a whole. Otherwise as `setData(_:forDocument:)`.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> Transaction {
    add(document) {
      try $0.add(
        Mutation(setting: document, to: data, merge: merge ? .all : nil, in: self.firestore))
    }
  }

  /// Merges only these fields, strings or `FieldPath`s. If one is not in the data, the transaction fails
  /// with `invalidArgument`.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> Transaction {
    add(document) {
      try $0.add(
        Mutation(setting: document, to: data, merge: .fields(mergeFields), in: self.firestore))
    }
  }

  /// Replaces the document with an encoded value, or creates it. Throws if `value` cannot be
  /// encoded; any other error fails the transaction.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      try $0.add(Mutation(setting: document, to: encoded, in: self.firestore))
    }
  }

  /// If `merge` is true, merges an encoded value into the document. Throws as
  /// `setData(from:forDocument:)` does.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      try $0.add(
        Mutation(setting: document, to: encoded, merge: merge ? .all : nil, in: self.firestore))
    }
  }

  /// Merges only these fields of an encoded value. Throws as `setData(from:forDocument:)` does.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      try $0.add(
        Mutation(
          setting: document, to: encoded, merge: .fields(mergeFields), in: self.firestore))
    }
  }

  /// Changes fields of a document that exists. Keys are strings, whose dots lead into maps, or
  /// `FieldPath`s.
  ///
  /// The transaction fails with `notFound` if the document does not exist, or with
  /// `invalidArgument` if the transaction has already read that, or has deleted the document.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) { try $0.add(self.update(of: document, with: fields)) }
  }

  private func update(
    of document: DocumentReference, with fields: [AnyHashable: Any]
  ) throws -> Mutation {
    guard exists[try document.path(in: firestore)] ?? true else {
      throw Status.invalidArgument("Can't update a document that doesn't exist.")
    }
    return try Mutation(updating: document, with: fields, in: firestore)
  }

  /// Deletes the document, if it exists. Collections below it stay.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> Transaction {
    add(document) { try $0.add(Mutation(deleting: document, in: self.firestore)) }
  }

  // MARK: With preconditions

  /// Creates the document. The transaction fails with `alreadyExists` if it exists.
  @discardableResult
  public func create(
    _ data: [String: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) {
      try $0.add(Mutation(setting: document, to: data, in: self.firestore).creating())
    }
  }

  /// Creates the document from an encoded value. Throws if `value` cannot be encoded; any other
  /// error fails the transaction.
  @discardableResult
  public func create<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      try $0.add(Mutation(setting: document, to: encoded, in: self.firestore).creating())
    }
  }

  /// Replaces the document, or creates it, if the precondition holds.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) -> Transaction {
    add(document) {
      try $0.add(
        Mutation(setting: document, to: data, in: self.firestore).requiring(precondition))
    }
  }

  /// Changes fields of the document if the precondition holds.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) -> Transaction {
    add(document) {
      try $0.add(
        self.update(of: document, with: fields).requiring(precondition))
    }
  }

  /// Deletes the document if the precondition holds.
  @discardableResult
  public func deleteDocument(
    _ document: DocumentReference, precondition: WritePrecondition
  ) -> Transaction {
    add(document) {
      try $0.add(Mutation(deleting: document, in: self.firestore).requiring(precondition))
    }
  }

  private func add(
    _ document: DocumentReference, _ write: (inout PlannedWrites) throws -> Void
  ) -> Transaction {
    guard !isOver else {
      writes.note(.transactionIsOver)
      return self
    }
    writes.add(write)
    if let last = writes.mutations.last {
      if case .delete = last.operation {
        exists[last.path] = false
      } else {
        exists[last.path] = true
      }
    }
    return self
  }

  /// Ends the transaction. Returns its writes, each of them checked.
  func finish() throws(Status) -> [Mutation] {
    isOver = true
    return try writes.checked()
  }
}

extension Status {
  fileprivate static let transactionIsOver = Status(
    .failedPrecondition, "A transaction can no longer be used after its block has returned.")
}
