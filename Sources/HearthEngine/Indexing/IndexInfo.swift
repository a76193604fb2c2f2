/// An index and its current state.
public struct IndexInfo: Hashable, Sendable, CustomStringConvertible {
  /// The state of an index.
  public enum State: Hashable, Sendable {
    /// The index is being built. `documents` is the number of documents processed so far.
    case building(documents: Int)
    /// Queries can read the index.
    case ready
    /// Queries no longer use the index, and its entries are being deleted.
    case dropping
  }

  /// The definition, as `books: author ↑, year ↓`. An index whose last field is descending is
  /// stored and listed with all directions reversed.
  public var description: String
  /// The definition as an entry of a `firestore.indexes.json`.
  public var json: String
  /// The state when the listing was made.
  public var state: State
  /// Whether the index was created automatically for queries and never declared.
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
