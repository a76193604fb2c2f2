/// A difference between the schema that the rows of a database have and that of a connector.
///
///     for change in try await connector.dataConnect.schemaChanges() { print(change) }
public struct SchemaChange: Hashable, Sendable, CustomStringConvertible {
  /// The effect of a change on rows and on programs.
  public enum Kind: String, Hashable, Sendable {
    /// Loses no value. Programs with the older schema continue to work.
    case additive
    /// A column must have a value and has no default. The migration fails if a row has none.
    case needsDefault = "needs a default"
    /// Removes values. `DataConnect.migrate(allowingDestructive:)` refuses it by default.
    case destructive
  }

  /// The effect of the change.
  public let kind: Kind
  /// The part of the schema: `Movie`, `Movie.rating`, or the name of an enum.
  public let subject: String
  /// The rest of the sentence that `subject` begins: the change, and its effect on the rows.
  public let summary: String

  /// The change as a line: `destructive: Movie.rating is removed, with its values`.
  public var description: String { "\(kind.rawValue): \(subject) \(summary)" }
}
