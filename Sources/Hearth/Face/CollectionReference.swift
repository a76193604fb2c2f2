import Foundation

/// A collection of documents, and the query for all of them.
///
///     let books = db.collection("books")
///     let added = try await books.addDocument(data: ["title": "Dune"])
///     let all = try await books.getDocuments()
public final class CollectionReference: Query, @unchecked Sendable {
  // Unchecked: the superclass is Sendable and nothing is added but a constant.
  let resourcePath: ResourcePath

  init(_ firestore: Firestore, _ path: ResourcePath, fault: Status? = nil) {
    resourcePath = path
    super.init(firestore, StructuredQuery(.collection(path)), fault: fault)
  }

  convenience init(
    _ firestore: Firestore, checking text: String, below base: DocumentReference? = nil
  ) {
    let root = base?.resourcePath ?? .root
    do throws(Status) {
      if let fault = base?.fault { throw fault }
      self.init(firestore, try ResourcePath(checkingCollection: text, relativeTo: root))
    } catch {
      let path = root.appending(ResourcePath(relative: text))
      self.init(firestore, path, fault: error)
    }
  }

  /// The last segment of the path.
  public var collectionID: String { resourcePath.id }
  /// The path from the root of the database: `books/dune/reviews`.
  public var path: String { resourcePath.text }

  /// The document this collection is below; nil at the root.
  public var parent: DocumentReference? {
    resourcePath.segments.count > 1
      ? DocumentReference(firestore, resourcePath.parent, fault: fault) : nil
  }

  /// A new document with an id of 20 random letters and digits.
  public func document() -> DocumentReference {
    DocumentReference(firestore, resourcePath.appending(AutoID.make()), fault: fault)
  }

  public func document(_ path: String) -> DocumentReference {
    DocumentReference(firestore, checking: path, below: self)
  }

  // MARK: Adding

  /// Adds a document with an id of its own. Returns before it is committed; reads of this process that begin later
  /// see it.
  @discardableResult
  public func addDocument(data: [String: Any]) -> DocumentReference {
    let added = document()
    added.setData(data)
    return added
  }

  /// Adds a document with an id of its own. `completion` is called when it is durable and its listeners were called,
  /// or when it was refused; see <doc:WritesAndListeners>.
  @discardableResult
  public func addDocument(
    data: [String: Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) -> DocumentReference {
    let added = document()
    added.setData(data, completion: completion)
    return added
  }

  /// Adds a document with an id of its own, and returns when it is durable.
  @discardableResult
  public func addDocument(data: [String: Any]) async throws -> DocumentReference {
    let added = document()
    try await added.setData(data)
    return added
  }

  /// Adds a document with an id of its own. Throws if `value` cannot be encoded; any other failure goes to
  /// `completion`.
  @discardableResult
  public func addDocument<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) throws -> DocumentReference {
    let added = document()
    try added.setData(from: value, encoder: encoder, completion: completion)
    return added
  }

  /// Adds a document with an id of its own, and returns when it is durable.
  ///
  ///     let dune = try await books.addDocument(encoding: book)
  ///
  /// Its label tells it from `addDocument(from:)`, which returns before the commit.
  @discardableResult
  public func addDocument<T: Encodable>(
    encoding value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws -> DocumentReference {
    let added = document()
    try await added.setData(encoding: value, encoder: encoder)
    return added
  }
}

/// Ids for new documents: 20 characters of A-Z, a-z and 0-9, from the system's random numbers.
enum AutoID {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

  static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    return String(unsafeUninitializedCapacity: 20) { buffer in
      for index in 0..<20 {
        buffer[index] = alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
      }
      return 20
    }
  }
}
