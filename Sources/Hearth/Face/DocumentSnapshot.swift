import Foundation

/// A document as it was at one moment. Owns its bytes; fields are decoded when they are asked for.
///
///     let snapshot = try await dune.getDocument()
///     if let pages = snapshot["pages"] as? Int { print(pages) }
///
/// Equal to another of the same document with the same fields, whatever their times.
public class DocumentSnapshot: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  public let reference: DocumentReference
  let stored: StoredDocument?

  init(_ reference: DocumentReference, _ stored: StoredDocument?) {
    self.reference = reference
    self.stored = stored
  }

  public var exists: Bool { stored != nil }
  public var documentID: String { reference.documentID }

  /// There is one store and no server behind it: never pending, never from a cache.
  public var metadata: SnapshotMetadata { .committed }

  /// When the document was made, and when it last changed: the times of those commits, in whole
  /// microseconds. Nil if there is no document.
  public var createTime: Timestamp? { stored.map { Timestamp($0.createTime) } }
  public var updateTime: Timestamp? { stored.map { Timestamp($0.updateTime) } }

  /// All fields; nil if there is no document. Numbers are `NSNumber`, so that `as? Int`, `as? Int64` and
  /// `as? Double` all work; null is `NSNull`.
  ///
  /// Booleans are `NSNumber` too, as in Firebase's SDK: `as? Bool`, `as? Int` and `as? NSNumber` all work, and they
  /// print as 1 and 0. A `Bool` would print as true and false, but on Linux casts to `Bool` and `NSNumber` only.
  ///
  /// Of two fields whose names are one `String` to Swift (é composed and decomposed), a dictionary has the first by
  /// bytes, and that is logged; `get` with a `FieldPath` and types with coding keys have both.
  public func data() -> [String: Any]? {
    readable { stored throws(Status) in
      try stored.dictionary { [firestore = reference.firestore] in DocumentReference(firestore, $0)
      }
    }
  }

  /// As `data()`: server timestamps are never pending here.
  public func data(with behavior: ServerTimestampBehavior) -> [String: Any]? { data() }

  /// One field: a string, whose dots lead into maps, or a `FieldPath`. Nil if it is missing, or if
  /// `field` is neither.
  public func get(_ field: Any) -> Any? {
    guard stored != nil, let path = segments(field) else { return nil }
    if path.isDocumentID { return reference }
    return readable { stored throws(Status) in
      try stored.any(at: path) { [firestore = reference.firestore] in
        DocumentReference(firestore, $0)
      }
    }
  }

  public func get(_ field: Any, serverTimestampBehavior: ServerTimestampBehavior) -> Any? {
    get(field)
  }

  public subscript(key: Any) -> Any? { self.get(key) }

  /// The fields, decoded.
  ///
  ///     let book = try snapshot.data(as: Book.self)
  ///
  /// Throws `DecodingError` if the document does not fit, or does not exist. An optional type gives nil for a
  /// document that does not exist.
  public func data<T: Decodable>(
    as type: T.Type, with behavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws -> T {
    do {
      guard let stored else {
        return try decoder.decodeDocument(
          type, from: nil, named: .path(reference.resourcePath), of: reference.firestore)
      }
      return try stored.decode(type, by: decoder, of: reference.firestore)
    } catch let status as Status {
      throw status.nsError
    }
  }

  /// The record's checksum was verified when it was copied out: bytes that are no document all the same were
  /// written so. That is logged and nothing is given.
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

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentSnapshot else { return false }
    return reference == other.reference && stored?.body == other.stored?.body
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(reference.hash)
    hasher.combine(stored?.body)
    return hasher.finalize()
  }
}

/// A document in a query's result: it exists.
public final class QueryDocumentSnapshot: DocumentSnapshot, @unchecked Sendable {
  // Unchecked: nothing is added to the superclass.

  public override func data() -> [String: Any] { super.data() ?? [:] }

  public override func data(with behavior: ServerTimestampBehavior) -> [String: Any] { data() }
}

extension SnapshotMetadata {
  static let committed = SnapshotMetadata(hasPendingWrites: false, isFromCache: false)
}
