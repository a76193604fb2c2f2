/// Which database a reference belongs to, so that one database does not store another's references.
struct DatabaseIdentity: Hashable, Sendable {
  private let text: BytewiseString

  /// Told in errors: `books.hearth/(default)`.
  var name: String { text.string }

  init(name: String) { text = BytewiseString(name) }
}
