/// An index and its current state.
public struct IndexInfo: Hashable, Sendable, CustomStringConvertible {
  /// The state of an index.
  public enum State: Hashable, Sendable {
    /// The index is being built. `documents` is the number of documents processed so far.
    case building(documents: Int)
    /// Queries can read the index.
    case ready
    /// Some documents are older than the constraint and violate it. Of a unique index, they have the same
    /// values; of a reference rule with `mustExist`, they refer to documents that do not exist. Commits
    /// add no more of these. Change the documents, and declare the index or the rule again.
    case invalid(Duplicates)
    /// Queries no longer use the index, and its entries are being deleted.
    case dropping
  }

  /// The documents that keep an index with a constraint from being valid.
  public struct Duplicates: Hashable, Sendable {
    /// The number of values that several documents have; of a reference rule, the number of references
    /// to documents that do not exist.
    public var count: Int
    /// For up to 20 of these values, the paths of two documents that have them. Of a reference rule, for
    /// up to 20 of these references, the path of the document and that of the missing one.
    public var examples: [[String]]
  }

  /// The definition, as `books: author ↑, year ↑`.
  ///
  /// Directions are those that are stored. An index that is declared with a last field that is
  /// descending, as `author ↑, year ↓`, is stored and listed with all directions reversed, as
  /// `author ↓, year ↑`: it serves the same queries, read from its other end.
  public var description: String
  /// The definition as an entry of a `firestore.indexes.json`, with the directions of `description`:
  ///
  ///     {"collectionGroup":"books","fields":[{"fieldPath":"author","order":"ASCENDING"},
  ///       {"fieldPath":"year","order":"ASCENDING"}],"queryScope":"COLLECTION"}
  ///
  /// An entry of `indexes`. An index on one field, without a constraint, is an entry of
  /// `fieldOverrides`: `collectionGroup`, `fieldPath` and `indexes`. A unique index has `unique`, and
  /// one of a reference rule `references`, `onDelete` and, if it is true, `mustExist`.
  public var json: String
  /// The state when the listing was made.
  public var state: State
  /// Whether the index was created automatically for queries and never declared.
  public var isLearned: Bool
  package var definition: IndexDefinition
}

extension IndexInfo {
  init(_ index: StoredIndex) {
    definition = index.definition
    description = index.definition.description
    json = index.definition.json
    isLearned = index.origin == .learned
    state =
      switch index.state {
      case .building(let documents, _): .building(documents: Int(clamping: documents))
      case .verifying: .building(documents: 0)
      case .invalid(let violations):
        .invalid(
          Duplicates(
            count: Int(clamping: violations.count),
            examples: violations.examples.map { [$0.first.text, $0.second.text] }))
      case .ready: .ready
      case .dropping: .dropping
      }
  }
}
