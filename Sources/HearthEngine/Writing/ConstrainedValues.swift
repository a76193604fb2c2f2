/// The values that documents have in indexes with constraints, for documents whose stored entries
/// are no longer current.
///
/// A key is that of an entry without the document's name; see `EntryExtractor.uniqueKeys`.
/// Documents are named by their positions in the `CommitPlan`.
struct ConstrainedValues {
  private(set) var keys: [Int: [[UInt8]]] = [:]
  private var documents: [[UInt8]: Set<Int>] = [:]

  /// The documents that have the key.
  func documents(with key: [UInt8]) -> Set<Int> { documents[key] ?? [] }

  /// Replaces what a document has.
  mutating func set(_ document: Int, to keys: [[UInt8]]) {
    for key in self.keys.updateValue(keys, forKey: document) ?? [] {
      documents[key]?.remove(document)
      if documents[key]?.isEmpty == true { documents[key] = nil }
    }
    for key in keys { documents[key, default: []].insert(document) }
  }

  /// Replaces what the documents of `other` have.
  mutating func merge(_ other: ConstrainedValues) {
    for (document, keys) in other.keys { set(document, to: keys) }
  }
}
