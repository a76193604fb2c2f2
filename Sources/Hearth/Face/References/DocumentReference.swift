import Foundation

/// A reference to a document, whether the document exists or not.
///
///     let dune = db.collection("books").document("dune")
///     try await dune.setData(["title": "Dune"])
///
/// A reference that was created from an invalid path keeps the error: every operation on it reports
/// `invalidArgument`.
public final class DocumentReference: NSObject, Sendable, DocumentReferencing {
  /// The database that the reference belongs to.
  public let firestore: Firestore
  package let resourcePath: ResourcePath
  package let validationError: Status?

  init(_ firestore: Firestore, _ path: ResourcePath, validationError: Status? = nil) {
    self.firestore = firestore
    resourcePath = path
    // A path from a user was checked before; any other path comes from stored data.
    self.validationError = validationError ?? (path.isDocument ? nil : .noDocument(path))
  }

  convenience init(
    _ firestore: Firestore, checking text: String, below base: CollectionReference? = nil
  ) {
    let root = base?.resourcePath ?? .root
    do throws(Status) {
      if let validationError = base?.validationError { throw validationError }
      self.init(firestore, try ResourcePath(checkingDocument: text, relativeTo: root))
    } catch {
      let path = root.appending(ResourcePath(relative: text))
      self.init(firestore, path, validationError: error)
    }
  }

  package var databaseIdentity: DatabaseIdentity { firestore.databaseIdentity }

  /// The last segment of the path.
  public var documentID: String { resourcePath.id }
  /// The path from the root of the database: `books/dune`.
  public var path: String { resourcePath.text }

  /// The collection that contains the document.
  public var parent: CollectionReference {
    CollectionReference(firestore, resourcePath.parent, validationError: validationError)
  }

  /// The collection at a path relative to this document: `reviews`.
  public func collection(_ path: String) -> CollectionReference {
    CollectionReference(firestore, checking: path, below: self)
  }

  /// Whether the other object refers to the same document through the same `Firestore`.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentReference else { return false }
    return firestore === other.firestore && resourcePath == other.resourcePath
  }

  public override var hash: Int { resourcePath.hashValue }

  public override var description: String { "<DocumentReference: \(path)>" }

  /// Checks the path, and returns the open database. Throws `Status`.
  func resolved() throws -> Database {
    if let validationError { throw validationError }
    try resourcePath.checkNames()
    return try firestore.database()
  }
}

extension Status {
  fileprivate static func noDocument(_ path: ResourcePath) -> Status {
    .invalidArgument("The reference \(path.text) does not lead to a document.")
  }
}
