import Foundation

/// A query's result at one moment, and what changed since the snapshot before.
public final class QuerySnapshot: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  public let query: Query
  private let list: ResultList
  private let changes: [ResultChange]?

  init(_ query: Query, _ event: ResultEvent) {
    self.query = query
    list = event.list
    changes = event.changes
  }

  /// A result that is not a listener's: all of it is new.
  init(_ query: Query, first list: ResultList) {
    self.query = query
    self.list = list
    changes = nil
  }

  /// There is one store and no server behind it: never pending, never from a cache.
  public var metadata: SnapshotMetadata { .committed }
  public var isEmpty: Bool { list.documents.isEmpty }
  public var count: Int { list.documents.count }

  /// The documents in the query's order.
  public var documents: [QueryDocumentSnapshot] { list.documents.map(snapshot) }

  /// What changed: removed documents first, then added, then modified, each with its index when the
  /// changes before it have been applied. In a first snapshot every document is added.
  public var documentChanges: [DocumentChange] {
    guard let changes else {
      return list.documents.enumerated().map { index, document in
        DocumentChange(.added, snapshot(document), oldIndex: nil, newIndex: index)
      }
    }
    return changes.map { change in
      let type: DocumentChangeType =
        switch change.kind {
        case .added: .added
        case .modified: .modified
        case .removed: .removed
        }
      return DocumentChange(
        type, snapshot(change.document), oldIndex: change.oldIndex, newIndex: change.newIndex)
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
    for document in list.documents { hasher.combine(document.body) }
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
