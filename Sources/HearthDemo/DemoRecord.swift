import Hearth

/// A model that the demo imports: an ordinary `Codable` value.
protocol DemoRecord: Codable, Hashable, Sendable {
  /// The collection it is kept in.
  static var collection: String { get }
  /// Nil if the stanza describes something else.
  init?(_ stanza: Stanza)
  var documentID: String { get }
  /// One line for people.
  var line: String { get }
}
