/// What one commit, or several, made of a document.
struct DocumentUpdate: Sendable {
  let path: ResourcePath
  /// Nil if it was not there.
  var old: StoredDocument?
  /// Nil if it is not there any more.
  var new: StoredDocument?
}
