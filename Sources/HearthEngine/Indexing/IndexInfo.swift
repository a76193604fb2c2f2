/// One index as it is now.
public struct IndexInfo: Hashable, Sendable, CustomStringConvertible {
  public enum State: Hashable, Sendable {
    /// So many documents have been looked at.
    case building(documents: Int)
    case ready
    /// Queries read it no more; it goes.
    case dropping
  }

  /// `books: author ↑, year ↓`. An index whose last field is descending is stored and listed with all directions
  /// reversed.
  public var description: String
  /// As an entry of a `firestore.indexes.json`.
  public var json: String
  public var state: State
  /// Made because of queries; never declared.
  public var isLearned: Bool
}

extension IndexInfo {
  init(_ index: StoredIndex) {
    description = index.definition.description
    json = index.definition.json
    isLearned = index.origin == .learned
    state =
      switch index.state {
      case .building(let documents, _): .building(documents: Int(clamping: documents))
      case .ready: .ready
      case .dropping: .dropping
      }
  }
}
