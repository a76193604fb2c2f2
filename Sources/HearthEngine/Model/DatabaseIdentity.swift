/// The database that a reference belongs to: a project and a database in it, as in a resource name
/// of `google.firestore.v1`. One database does not store another's references.
package struct DatabaseIdentity: Hashable, Sendable {
  private let text: BytewiseString

  /// The name in errors: `books/(default)`.
  package var name: String { text.string }

  /// A database of a project. Neither id contains a slash.
  package init(project: String, database: String = "(default)") {
    text = BytewiseString("\(project)/\(database)")
  }

  /// A database without a project, identified by its absolute path.
  package init(file path: String) { text = BytewiseString(path) }
}
