/// A difference between the schema that the rows of a database have and that of a connector.
///
///     for change in try await connector.dataConnect.schemaChanges() { print(change) }
public struct SchemaChange: Hashable, Sendable, CustomStringConvertible {
  /// The effect of a change on rows and on programs.
  public enum Kind: String, Hashable, Sendable {
    /// Loses nothing. Programs with the older schema go on.
    case additive
    /// Rows without a value of the column need one: the migration fails if there are any.
    case needsDefault = "needs a default"
    /// Removes values. A migration refuses it without permission.
    case destructive
  }

  /// The effect of the change.
  public let kind: Kind
  /// `Movie`, `Movie.rating`, or the name of an enum.
  public let subject: String
  /// What changes, and what happens to the rows.
  public let summary: String

  /// `destructive: Movie.rating is removed, with its values`
  public var description: String { "\(kind.rawValue): \(subject) \(summary)" }
}
