/// Reads, followed by writes, that are committed as if no other write happened in between; see
/// `Firestore.runTransaction`.
///
/// Optimistic: each read records the version that it saw; the commit checks that none of them has
/// changed, in the same step in which it writes. After a conflict the transaction waits for its
/// turn at the documents it has read. All reads must come before the writes.
///
/// Valid only while its block runs. A read that throws, or an invalid write, fails the transaction,
/// even if the block ignores the error.
public final class Transaction: DocumentWrites {
  private let reader: TransactionRunner.Reader
  /// Whether each document that was read or written so far exists.
  private var exists: [ResourcePath: Bool] = [:]
  private var isOver = false

  init(_ firestore: Firestore, _ reader: TransactionRunner.Reader) {
    self.reader = reader
    super.init(firestore)
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
      let found = try reader.read(.results(EffectiveQuery(query.checked(in: firestore)))).results
      for document in found { exists[document.path] = true }
      return QuerySnapshot(query, first: found)
    }
  }

  private func read<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      guard !isOver else { throw Status.transactionIsOver }
      guard mutations.isEmpty else {
        throw Status.invalidArgument(
          "Firestore transactions require all reads to be executed before all writes.")
      }
      return try body()
    } catch let status as Status {
      note(status)
      throw status.nsError
    }
  }

  override func update(
    of document: DocumentReference, with fields: [AnyHashable: Any]
  ) throws -> Mutation {
    guard exists[try document.path(in: firestore)] ?? true else {
      throw Status.invalidArgument("Can't update a document that doesn't exist.")
    }
    return try super.update(of: document, with: fields)
  }

  override func add(_ write: @autoclosure () throws -> Mutation) -> Self {
    guard !isOver else {
      note(.transactionIsOver)
      return self
    }
    _ = super.add(try write())
    if let last = mutations.last {
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
    return try checked()
  }
}

extension Status {
  fileprivate static let transactionIsOver = Status(
    .failedPrecondition, "A transaction can no longer be used after its block has returned.")
}
