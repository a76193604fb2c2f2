import Foundation

/// A query's result at one moment, and its changes since the previous snapshot.
public final class QuerySnapshot: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  /// The query of this result.
  public let query: Query
  /// The event of a listener. Nil for a result that was read: every document is new.
  private let event: ResultEvent?
  /// The documents of a result that was read.
  private let first: [StoredDocument]

  /// Whether a listener could not resume from its token: the change log does not reach back that
  /// far, or the token is older than a restore from a backup. Then every document is reported as
  /// added, and documents that were removed since the token are not reported.
  public var isFullResync: Bool { event?.isFullResync ?? false }

  init(_ query: Query, _ event: ResultEvent) {
    self.query = query
    self.event = event
    first = []
  }

  init(_ query: Query, first documents: [StoredDocument]) {
    self.query = query
    event = nil
    first = documents
  }

  /// Both properties are always false: there is one store and no server.
  public var metadata: SnapshotMetadata { .committed }
  /// Whether the query found no documents.
  public var isEmpty: Bool { count == 0 }
  /// The number of documents. Takes constant time.
  public var count: Int { event?.list.count ?? first.count }

  /// The documents in the query's order.
  ///
  /// They are created when you access them: a listener that uses only `documentChanges` does not
  /// pay for the size of the result.
  public var documents: [QueryDocumentSnapshot] { stored.map(snapshot) }

  private var stored: [StoredDocument] {
    guard let documents = event?.list.documents else { return first }
    // Cannot fail here: a document that cannot be projected ends the listener.
    guard let project = query.structured.projecting else { return documents }
    return documents.map { (try? project($0)) ?? $0 }
  }

  /// The state of this snapshot. A listener or `Firestore.changes(since:)` can resume from it, also
  /// after a restart. Nil if this is not a listener's snapshot, and after `terminate`.
  public var token: ChangeToken? {
    guard let sequence = event?.sequence else { return nil }
    return try? query.firestore.database().backend.asChangeFeed().token(after: sequence)
  }

  /// The changes since the previous snapshot: removed documents first, then added, then modified.
  /// In a first snapshot every document is added, unless the listener resumes from a token.
  ///
  /// Each index is that of the list in which all earlier changes have been applied.
  public var documentChanges: [DocumentChange] {
    guard let changes = event?.changes else {
      return documents.enumerated().map { index, document in
        DocumentChange(.added, document, oldIndex: nil, newIndex: index)
      }
    }
    // A listener's documents are projected only here.
    let project = query.structured.projecting
    return changes.map { change in
      let shown = (try? project?(change.document)) ?? change.document
      return DocumentChange(
        change.kind, snapshot(shown), oldIndex: change.oldIndex, newIndex: change.newIndex)
    }
  }

  /// Same as `documentChanges`: metadata never changes.
  public func documentChanges(includeMetadataChanges: Bool) -> [DocumentChange] {
    documentChanges
  }

  private func snapshot(_ document: StoredDocument) -> QueryDocumentSnapshot {
    QueryDocumentSnapshot(DocumentReference(query.firestore, document.path), document)
  }

  /// Whether the other one has equal documents and changes, of an equal query.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? QuerySnapshot else { return false }
    return query == other.query && documents == other.documents
      && documentChanges == other.documentChanges
  }

  public override var hash: Int { Hasher.hash(query.hash, stored.map(\.body)) }
}

extension Query: Readable {
  var query: Query { self }

  func request(in firestore: Firestore?) throws(Status) -> ReadRequest {
    .results(EffectiveQuery(try checked(in: firestore)))
  }

  func shown(_ answer: ReadAnswer) throws -> QuerySnapshot {
    QuerySnapshot(self, first: try answer.results)
  }

  func watched() throws -> SnapshotRegistration.Watched {
    // In this order: an invalid query does not need a database.
    let query = try listenable()
    return (try firestore.database().backend, .results(of: query))
  }

  func shown(_ event: ResultEvent) -> QuerySnapshot { QuerySnapshot(self, event) }
}

/// One document's change between two snapshots of a listener.
public final class DocumentChange: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  /// Whether the document was added, modified or removed.
  public let type: DocumentChangeType
  /// The document after the change; if it was removed, its last version in the result.
  public let document: QueryDocumentSnapshot
  /// The index of the document before this change, with all earlier changes applied; `NSNotFound`
  /// if it was added.
  public let oldIndex: UInt
  /// The index of the document after this change; `NSNotFound` if it was removed.
  public let newIndex: UInt

  init(
    _ type: DocumentChangeType, _ document: QueryDocumentSnapshot, oldIndex: Int?, newIndex: Int?
  ) {
    self.type = type
    self.document = document
    self.oldIndex = UInt(oldIndex ?? NSNotFound)
    self.newIndex = UInt(newIndex ?? NSNotFound)
  }

  /// Whether the other change is of the same kind, document and positions.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentChange else { return false }
    return type == other.type && document == other.document && oldIndex == other.oldIndex
      && newIndex == other.newIndex
  }

  public override var hash: Int { Hasher.hash(type, document.hash, oldIndex, newIndex) }
}
