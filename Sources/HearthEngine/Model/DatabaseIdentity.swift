/// Which database a reference belongs to, so that one database does not store another's references: a project and a
/// database in it, as in a resource name of `google.firestore.v1`.
package struct DatabaseIdentity: Hashable, Sendable {
  private let text: BytewiseString

  /// Told in errors: `books/(default)`.
  package var name: String { text.string }

  /// A database of a project. Neither id contains a slash.
  package init(project: String, database: String = "(default)") {
    text = BytewiseString("\(project)/\(database)")
  }

  /// A database that is no project's, by its absolute path.
  package init(file path: String) { text = BytewiseString(path) }
}
