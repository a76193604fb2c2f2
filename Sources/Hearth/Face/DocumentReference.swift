import Foundation

/// Where a document is, whether it exists or not.
///
///     let dune = db.collection("books").document("dune")
///     try await dune.setData(["title": "Dune"])
///
/// A reference made from a path that is not one remembers it; whatever is done with it reports
/// `invalidArgument`.
public final class DocumentReference: NSObject, Sendable, DocumentReferencing {
  public let firestore: Firestore
  package let resourcePath: ResourcePath
  package let fault: Status?

  init(_ firestore: Firestore, _ path: ResourcePath, fault: Status? = nil) {
    self.firestore = firestore
    resourcePath = path
    // Of a path that users gave, the fault is known; others come from what is stored.
    self.fault = fault ?? (path.isDocument ? nil : .noDocument(path))
  }

  convenience init(
    _ firestore: Firestore, checking text: String, below base: CollectionReference? = nil
  ) {
    let root = base?.resourcePath ?? .root
    do throws(Status) {
      if let fault = base?.fault { throw fault }
      self.init(firestore, try ResourcePath(checkingDocument: text, relativeTo: root))
    } catch {
      let path = root.appending(ResourcePath(relative: text))
      self.init(firestore, path, fault: error)
    }
  }

  package var databaseIdentity: DatabaseIdentity { firestore.databaseIdentity }

  /// The last segment of the path.
  public var documentID: String { resourcePath.id }
  /// The path from the root of the database: `books/dune`.
  public var path: String { resourcePath.text }

  /// The collection the document is in.
  public var parent: CollectionReference {
    CollectionReference(firestore, resourcePath.parent, fault: fault)
  }

  /// A collection below this document.
  public func collection(_ path: String) -> CollectionReference {
    CollectionReference(firestore, checking: path, below: self)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentReference else { return false }
    return firestore === other.firestore && resourcePath == other.resourcePath
  }

  public override var hash: Int { resourcePath.hashValue }

  public override var description: String { "<DocumentReference: \(path)>" }

  /// The open database, everything about the path checked. Throws `Status`.
  func resolved() throws -> Database {
    if let fault { throw fault }
    try resourcePath.checkNames()
    return try firestore.database()
  }
}

extension Status {
  fileprivate static func noDocument(_ path: ResourcePath) -> Status {
    .invalidArgument("The reference \(path.text) does not lead to a document.")
  }
}
