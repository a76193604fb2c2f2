import Foundation

/// A query's result at one moment, and what changed since the snapshot before.
public final class QuerySnapshot: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  public let query: Query
  private let result: Result

  /// Whether a listener that was to go on from a token could not: the change log does not reach back that
  /// far. Then every document is told as added, and documents that are gone since are not told.
  public var isReset: Bool { event?.isReset ?? false }

  private enum Result {
    /// Not a listener's: all of it is new.
    case documents([StoredDocument])
    case event(ResultEvent)
  }

  init(_ query: Query, _ event: ResultEvent) {
    self.query = query
    result = .event(event)
  }

  init(_ query: Query, first documents: [StoredDocument]) {
    self.query = query
    result = .documents(documents)
  }

  private var event: ResultEvent? {
    if case .event(let event) = result { event } else { nil }
  }

  /// There is one store and no server behind it: never pending, never from a cache.
  public var metadata: SnapshotMetadata { .committed }
  public var isEmpty: Bool { count == 0 }
  /// Costs nothing, however many there are.
  public var count: Int {
    switch result {
    case .documents(let documents): documents.count
    case .event(let event): event.list.count
    }
  }

  /// The documents in the query's order. Made when asked: a listener that looks at `documentChanges`
  /// only does not pay for the size of the result.
  public var documents: [QueryDocumentSnapshot] { stored.map(snapshot) }

  private var stored: [StoredDocument] {
    switch result {
    case .documents(let documents): return documents
    case .event(let event):
      // A listener ends when a document comes that cannot be projected; here it cannot fail.
      let documents = event.list.documents
      guard let project = query.structured.projecting else { return documents }
      return documents.map { (try? project($0)) ?? $0 }
    }
  }

  /// From here a listener or `Firestore.changes(since:)` may go on, also after a restart. Nil if this is
  /// not a listener's snapshot.
  public var token: ChangeToken? {
    guard let sequence = event?.sequence, let database = try? query.firestore.database() else {
      return nil
    }
    return database.backend.token(after: sequence)
  }

  /// What changed: removed documents first, then added, then modified, each with its index when the
  /// changes before it have been applied. In a first snapshot every document is added.
  public var documentChanges: [DocumentChange] {
    guard let changes = event?.changes else {
      return documents.enumerated().map { index, document in
        DocumentChange(.added, document, oldIndex: nil, newIndex: index)
      }
    }
    // A listener's documents are whole until they are shown.
    let project = query.structured.projecting
    return changes.map { change in
      let type: DocumentChangeType =
        switch change.kind {
        case .added: .added
        case .modified: .modified
        case .removed: .removed
        }
      let shown = (try? project?(change.document)) ?? change.document
      return DocumentChange(
        type, snapshot(shown), oldIndex: change.oldIndex, newIndex: change.newIndex)
    }
  }

  /// As `documentChanges`: metadata never changes here.
  public func documentChanges(includeMetadataChanges: Bool) -> [DocumentChange] {
    documentChanges
  }

  private func snapshot(_ document: StoredDocument) -> QueryDocumentSnapshot {
    QueryDocumentSnapshot(DocumentReference(query.firestore, document.path), document)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? QuerySnapshot else { return false }
    return query == other.query && documents == other.documents
      && documentChanges == other.documentChanges
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(query.hash)
    for document in stored { hasher.combine(document.body) }
    return hasher.finalize()
  }
}

/// A document that came, changed or went between two snapshots of a listener.
public final class DocumentChange: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  public let type: DocumentChangeType
  public let document: QueryDocumentSnapshot
  /// Where the document was with the changes before this one applied; `NSNotFound` if it was added.
  public let oldIndex: UInt
  /// Where the document is with this change applied; `NSNotFound` if it was removed.
  public let newIndex: UInt

  init(
    _ type: DocumentChangeType, _ document: QueryDocumentSnapshot, oldIndex: Int?, newIndex: Int?
  ) {
    self.type = type
    self.document = document
    self.oldIndex = UInt(oldIndex ?? NSNotFound)
    self.newIndex = UInt(newIndex ?? NSNotFound)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentChange else { return false }
    return type == other.type && document == other.document && oldIndex == other.oldIndex
      && newIndex == other.newIndex
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(type)
    hasher.combine(document.hash)
    hasher.combine(oldIndex)
    hasher.combine(newIndex)
    return hasher.finalize()
  }
}
