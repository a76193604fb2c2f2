import Foundation

/// A path to a field, name by name; names may contain anything, also dots.
///
///     query.whereField(FieldPath(["address", "zip.code"]), isEqualTo: "0150")
///
/// A path without names, or with an empty name, can be made but not used: the operation that uses it
/// throws `invalidArgument`.
public final class FieldPath: NSObject, NSCopying, Sendable {
  private let stored: FieldSegments

  public init(_ fieldNames: [String]) { stored = FieldSegments(fieldNames) }

  /// The pseudo-field of a document's own id, for filters and orders.
  public class func documentID() -> FieldPath { shared }

  private static let shared = FieldPath(FieldSegments.documentID.names)

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FieldPath else { return false }
    return stored == other.stored
  }

  public override var hash: Int { stored.hashValue }

  public override var description: String { stored.canonicalText }
}

extension FieldPath {
  /// The path's names, checked.
  package func segments() throws(Status) -> FieldSegments {
    try FieldSegments(checkingNames: stored.names)
  }

  /// What keeps this path from being used.
  var fault: Status? {
    do {
      _ = try segments()
      return nil
    } catch {
      return error
    }
  }
}
