#if Tools
  import Hearth

  /// A model that the demo imports: an ordinary `Codable` value.
  protocol DemoRecord: Codable, Hashable, Sendable {
    /// The collection it is kept in.
    static var collection: String { get }
    /// Nil where a stanza is about something else.
    init?(_ stanza: Stanza)
    var documentID: String { get }
    /// For people.
    var line: String { get }
  }
#endif
