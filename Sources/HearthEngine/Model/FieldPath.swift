import Foundation

/// A path to a field, as a list of names. A name may contain any characters, also dots.
///
///     query.whereField(FieldPath(["address", "zip.code"]), isEqualTo: "0150")
///
/// An empty path, or one with an empty name, can be created but not used: the operation that uses
/// it throws `invalidArgument`.
public final class FieldPath: NSObject, NSCopying, Sendable {
  private let stored: FieldSegments

  /// The path of a field below maps: one name for each level, from the outside in.
  public init(_ fieldNames: [String]) { stored = FieldSegments(fieldNames) }

  /// The pseudo-field for a document's own ID, for filters and orders.
  public class func documentID() -> FieldPath { shared }

  private static let shared = FieldPath(FieldSegments.documentID.names)

  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other path has the same names, byte for byte.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FieldPath else { return false }
    return stored == other.stored
  }

  public override var hash: Int { stored.hashValue }

  public override var description: String { stored.canonicalText }
}

extension FieldPath {
  /// The path's names. Throws `invalidArgument` if there are none, or if one is empty.
  package func segments() throws(Status) -> FieldSegments {
    try FieldSegments(checkingNames: stored.names)
  }
}
