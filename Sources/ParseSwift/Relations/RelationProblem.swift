/// A problem of an edge that was written by hand. See `ParseSwift.checkRelation(_:of:to:)`.
public struct RelationProblem: Hashable, Sendable, CustomStringConvertible {
  /// The kinds of problems, and what a repair does about them.
  public enum Kind: Hashable, Sendable {
    /// `owner` or `related` is not a reference to an object of its class. The edge is deleted.
    case noReference(field: String)
    /// The object does not exist. The edge is deleted.
    case missingObject(field: String)
    /// The id of the edge does not follow from its two objects, so that saving the relation again would
    /// relate them twice. The edge gets its id, or is deleted if there is one with it.
    case otherID
  }

  /// The document of the edge, from the root of the database.
  public let path: String
  /// The kind of the problem.
  public let kind: Kind

  /// A sentence with the path.
  public var description: String {
    switch kind {
    case .noReference(let field): "\(path): \(field) refers to no object of its class."
    case .missingObject(let field): "\(path): the object of \(field) does not exist."
    case .otherID: "\(path): the id does not follow from the two objects."
    }
  }
}
