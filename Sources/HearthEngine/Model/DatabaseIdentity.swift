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

  /// Adds the database of a reference to those of the references before it. Two suffice, however
  /// many follow: one of them is not the document's own, and the document is refused.
  static func note(_ database: DatabaseIdentity, in databases: inout [DatabaseIdentity]) {
    if databases.count < 2, !databases.contains(database) { databases.append(database) }
  }
}
