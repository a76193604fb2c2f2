import Foundation

// Stand-ins for the real classes, with what the coders need of them.

public class Firestore: NSObject {
  var identity: DatabaseIdentity { DatabaseIdentity(name: "(default)") }
}

public final class DocumentReference: NSObject, DocumentReferencing {
  public let firestore: Firestore
  let resourcePath: ResourcePath

  init(_ path: ResourcePath, in firestore: Firestore) {
    resourcePath = path
    self.firestore = firestore
  }

  var databaseIdentity: DatabaseIdentity { firestore.identity }
  var fault: Status? { nil }

  public var documentID: String { resourcePath.id }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentReference else { return false }
    return other.firestore === firestore && other.resourcePath == resourcePath
  }

  public override var hash: Int { resourcePath.hashValue }
}
