/// A small set of other versions of documents, to be seen in front of a snapshot.
///
/// One mechanism for a group of writes that sees what it has planned, for a closure that reads its own
/// writes, and for a read in the recent past. A present entry with a nil version hides a document.
struct Patch {
  private(set) var versions: [DocumentName: StoredDocument?] = [:]

  var isEmpty: Bool { versions.isEmpty }

  /// The version this patch shows: `.some(nil)` for "not there", nil for "as in the snapshot".
  subscript(name: DocumentName) -> StoredDocument?? { versions[name] }

  mutating func set(_ name: DocumentName, to version: StoredDocument?) {
    versions[name] = .some(version)
  }

  mutating func removeAll() { versions.removeAll(keepingCapacity: true) }
}
