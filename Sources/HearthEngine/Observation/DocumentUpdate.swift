/// The change of a document by one commit, or by several.
struct DocumentUpdate: Sendable {
  let path: ResourcePath
  /// Nil if it did not exist.
  var old: StoredDocument?
  /// Nil if it no longer exists.
  var new: StoredDocument?
}
