import Foundation

/// A document as of one commit. Owns its bytes, and decodes a field when it is read.
///
///     let snapshot = try await dune.getDocument()
///     if let pages = snapshot["pages"] as? Int { print(pages) }
///
/// Two snapshots are equal if document and fields are equal; times do not count.
public class DocumentSnapshot: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  /// The document's reference.
  public let reference: DocumentReference
  let stored: StoredDocument?

  init(_ reference: DocumentReference, _ stored: StoredDocument?) {
    self.reference = reference
    self.stored = stored
  }

  /// Whether the document exists.
  public var exists: Bool { stored != nil }
  /// The document's id.
  public var documentID: String { reference.documentID }

  /// The snapshot's metadata: never pending and never from a cache, because there is no server.
  public var metadata: SnapshotMetadata { .committed }

  /// When the document was created: the time of that commit, in whole microseconds. Nil if the
  /// document does not exist.
  public var createTime: Timestamp? { stored.map { Timestamp($0.createTime) } }
  /// When the document last changed: the time of that commit, in whole microseconds. Nil if the
  /// document does not exist.
  public var updateTime: Timestamp? { stored.map { Timestamp($0.updateTime) } }

  /// The fields as the database stores them, in the form that <doc:DocumentFormat> describes: to keep
  /// beside a model, and to find out later what changed. Nil if the document does not exist.
  ///
  ///     let before = try reference.snapshot(ofEncodedFields: kept).data()
  public var encodedFields: Data? { stored.map { Data($0.body.bytes) } }

  /// All fields. Nil if the document does not exist.
  ///
  /// Numbers are `NSNumber`, so `as? Int`, `as? Int64` and `as? Double` all work. Null is `NSNull`.
  ///
  /// Booleans are `NSNumber` too, as in Firebase's SDK: `as? Bool`, `as? Int` and `as? NSNumber`
  /// all work, and they print as 1 and 0. A `Bool` would print as true and false, but on Linux it
  /// casts to `Bool` and `NSNumber` only.
  ///
  /// If two field names are one `String` to Swift (é composed and decomposed), the dictionary has
  /// only the first by bytes, and that is logged. `get` with a `FieldPath` and types with coding
  /// keys read both.
  public func data() -> [String: Any]? {
    readable { stored throws(Status) in
      try stored.dictionary { [firestore = reference.firestore] in DocumentReference(firestore, $0)
      }
    }
  }

  /// Same as `data()`: server timestamps are never pending here.
  public func data(with behavior: ServerTimestampBehavior) -> [String: Any]? { data() }

  /// Returns one field: `field` is a string, whose dots lead into maps, or a `FieldPath`.
  ///
  /// Nil if the field is missing, or if `field` is neither.
  public func get(_ field: Any) -> Any? {
    guard stored != nil, let path = segments(field) else { return nil }
    if path.isDocumentID { return reference }
    return readable { stored throws(Status) in
      try stored.any(at: path) { [firestore = reference.firestore] in
        DocumentReference(firestore, $0)
      }
    }
  }

  /// Same as `get(_:)`: server timestamps are never pending here.
  public func get(_ field: Any, serverTimestampBehavior: ServerTimestampBehavior) -> Any? {
    get(field)
  }

  /// Same as `get(_:)`.
  public subscript(key: Any) -> Any? { self.get(key) }

  /// Decodes the fields.
  ///
  ///     let book = try snapshot.data(as: Book.self)
  ///
  /// Throws `DecodingError` if the document does not match the type or does not exist. An optional
  /// type gives nil for a document that does not exist.
  public func data<T: Decodable>(
    as type: T.Type, with behavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = .standard
  ) throws -> T {
    return try reporting {
      guard let stored else {
        return try decoder.decodeDocument(
          type, from: nil, named: .path(reference.resourcePath), of: reference.firestore)
      }
      return try stored.decode(type, by: decoder, of: reference.firestore)
    }
  }

  /// The record's checksum was verified when it was copied out, so invalid bytes were written that
  /// way. Logs that, and returns nil.
  private func readable<Answer>(
    _ read: (StoredDocument) throws(Status) -> Answer?
  ) -> Answer? {
    guard let stored else { return nil }
    do throws(Status) {
      return try read(stored)
    } catch {
      Firestore.logger.critical("A document's bytes are damaged.", metadata: ["error": "\(error)"])
      return nil
    }
  }

  private func segments(_ field: Any) -> FieldSegments? {
    do throws(Status) {
      if let path = AnyBridge.object(field) as? FieldPath { return try path.segments() }
      guard let text = AnyBridge.string(field) else {
        throw .invalidArgument("Subscript key must be an NSString or FIRFieldPath.")
      }
      return try FieldSegments(dotted: text)
    } catch {
      Firestore.logger.error("A field could not be looked up.", metadata: ["error": "\(error)"])
      return nil
    }
  }

  /// Whether the other snapshot is of the same document with the same fields; both may be of a missing
  /// one. Times of the document make no difference.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentSnapshot else { return false }
    return reference == other.reference && stored?.body == other.stored?.body
  }

  public override var hash: Int { Hasher.hash(reference.hash, stored?.body) }
}

/// A document in the result of a query. It always exists.
public final class QueryDocumentSnapshot: DocumentSnapshot, @unchecked Sendable {
  // Unchecked: nothing is added to the superclass.

  /// All fields; see `DocumentSnapshot.data()`.
  public override func data() -> [String: Any] { super.data() ?? [:] }

  /// Same as `data()`: server timestamps are never pending here.
  public override func data(with behavior: ServerTimestampBehavior) -> [String: Any] { data() }
}

extension DocumentReference {
  /// A snapshot of the document with fields that `DocumentSnapshot.encodedFields` gave before. Reads
  /// nothing. The snapshot's times of creation and update are 1970-01-01T00:00:00Z, because the fields
  /// do not contain them.
  ///
  /// Throws `dataLoss` if the bytes are not those of a document, and `invalidArgument` for an invalid
  /// path.
  public func snapshot(ofEncodedFields fields: Data) throws -> DocumentSnapshot {
    try reporting {
      DocumentSnapshot(
        self, try StoredDocument(path: path(in: firestore), encoded: [UInt8](fields)))
    }
  }
}
