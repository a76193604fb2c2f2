import Foundation
internal import HearthText

/// A reference to a collection of documents. It is also the query for all of them.
///
///     let books = db.collection("books")
///     let added = try await books.addDocument(data: ["title": "Dune"])
///     let all = try await books.getDocuments()
public final class CollectionReference: Query, @unchecked Sendable {
  // Unchecked: the superclass is Sendable, and this adds only a constant.
  let resourcePath: ResourcePath

  init(_ firestore: Firestore, _ path: ResourcePath, validationError: Status? = nil) {
    resourcePath = path
    super.init(firestore, StructuredQuery(.collection(path)), validationError: validationError)
  }

  convenience init(
    _ firestore: Firestore, checking text: String, below base: DocumentReference? = nil
  ) {
    let root = base?.resourcePath ?? .root
    do throws(Status) {
      if let validationError = base?.validationError { throw validationError }
      self.init(firestore, try ResourcePath(checkingCollection: text, relativeTo: root))
    } catch {
      let path = root.appending(ResourcePath(relative: text))
      self.init(firestore, path, validationError: error)
    }
  }

  /// The last segment of the path.
  public var collectionID: String { resourcePath.id }
  /// The path from the root of the database: `books/dune/reviews`.
  public var path: String { resourcePath.text }

  /// The document that contains this collection. Nil for a collection at the root.
  public var parent: DocumentReference? {
    resourcePath.segments.count > 1
      ? DocumentReference(firestore, resourcePath.parent, validationError: validationError) : nil
  }

  /// A reference to a new document, with an id of 20 random letters and digits.
  public func document() -> DocumentReference {
    DocumentReference(
      firestore, resourcePath.appending(AutoID.make()), validationError: validationError)
  }

  /// The document at a path relative to this collection: `dune`.
  ///
  /// An invalid path is reported by the first operation that uses the reference, as
  /// `invalidArgument`.
  public func document(_ path: String) -> DocumentReference {
    DocumentReference(firestore, checking: path, below: self)
  }

  /// The document with an id, which is no path.
  func document(id: String) -> DocumentReference {
    let path = resourcePath.appending(id)
    var validationError = validationError
    if validationError == nil, id.isEmpty || id.utf8.contains(UInt8(ascii: "/")) {
      do throws(Status) { try path.checkNames() } catch { validationError = error }
    }
    return DocumentReference(firestore, path, validationError: validationError)
  }

  // MARK: Adding

  /// Adds a document with a new random id. Returns before the commit; later reads of this process
  /// see the document.
  @discardableResult
  public func addDocument(data: [String: Any]) -> DocumentReference {
    let added = document()
    added.setData(data)
    return added
  }

  /// Adds a document with a new random id, and calls `completion` after the commit and the
  /// callbacks of affected listeners, or with the error; see <doc:WritesAndListeners>.
  @discardableResult
  public func addDocument(
    data: [String: Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) -> DocumentReference {
    let added = document()
    added.setData(data, completion: completion)
    return added
  }

  /// Adds a document with a new random id, and returns when it is durable. Throws `invalidArgument`
  /// for data that cannot be stored.
  @discardableResult
  public func addDocument(data: [String: Any]) async throws -> DocumentReference {
    let added = document()
    try await added.setData(data)
    return added
  }

  /// Adds an encoded value as a document with a new random id, and returns before the commit.
  /// Throws if `value` cannot be encoded; any other failure goes to `completion`.
  @discardableResult
  public func addDocument<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = .standard,
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) throws -> DocumentReference {
    let added = document()
    try added.setData(from: value, encoder: encoder, completion: completion)
    return added
  }

  /// Adds an encoded value as a document with a new random id, and returns when it is durable.
  ///
  ///     let dune = try await books.addDocument(committing: book)
  ///
  /// The label `committing` distinguishes it from `addDocument(from:)`, which returns before the
  /// commit. Throws if `value` cannot be encoded or stored.
  @discardableResult
  public func addDocument<T: Encodable>(
    committing value: T, encoder: Firestore.Encoder = .standard
  ) async throws -> DocumentReference {
    let added = document()
    try await added.setData(committing: value, encoder: encoder)
    return added
  }
}
