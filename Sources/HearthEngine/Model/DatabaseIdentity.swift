/// Which database a reference belongs to, so that one database does not store another's references.
package struct DatabaseIdentity: Hashable, Sendable {
  private let text: BytewiseString

  /// Told in errors: `books.hearth/(default)`.
  package var name: String { text.string }

  package init(name: String) { text = BytewiseString(name) }
}
