import Foundation
import Hearth

/// The database of a request, and who makes it.
struct QueryContext: Sendable {
  let firestore: Firestore
  /// Nil if access is not checked.
  var identity: ParseIdentity?

  /// The types of the properties of the class that the conditions are for.
  private(set) var types: [String: any Any.Type] = [:]

  init(_ firestore: Firestore, _ identity: ParseIdentity?) {
    self.firestore = firestore
    self.identity = identity
  }

  func querying<T: ParseObject>(_ type: T.Type) -> QueryContext {
    var context = self
    context.types = FieldNames.types(of: type)
    return context
  }

  /// Where a key of the class leads.
  func property(_ key: String) -> PropertyPath { PropertyPath(key, in: types) }

  /// The documents that the identity may read.
  var access: Filter? {
    guard let identity else { return nil }
    return .orFilter(
      [.notFilter(.whereField("ACL", isNotEqualTo: NSNull()))]
        + identity.entries.map { .whereField(FieldPath(["ACL", $0, "read"]), isEqualTo: true) })
  }
}
