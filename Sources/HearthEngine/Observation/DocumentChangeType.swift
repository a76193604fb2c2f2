/// How a document of a query's result changed.
@frozen public enum DocumentChangeType: Int, Sendable {
  /// The document is in the result now and was not before.
  case added
  /// The document is in the result, and its fields changed; it may have another index.
  case modified
  /// The document is no longer in the result: deleted, or changed so that it does not match.
  case removed
}
