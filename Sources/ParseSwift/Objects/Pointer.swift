import Foundation
import Hearth

/// A reference to an object of a class, without its properties.
///
///     struct Review: ParseObject {
///       var objectId: String?
///       var createdAt: Date?
///       var updatedAt: Date?
///       var ACL: ParseACL?
///       var originalData: Data?
///
///       var book: Pointer<Book>?
///     }
///
///     let review = try Review(book: Pointer(book)).save()
///
/// Stored as a reference. A query does not include its object: see `fetch(includeKeys:)`.
public struct Pointer<T: ParseObject>: DocumentOnlyCodable, Hashable, Identifiable, Sendable {
  /// The id of the object.
  public let objectId: String

  /// The name of the object's class.
  public var className: String { T.className }
  /// Same as `objectId`.
  public var id: String { objectId }

  /// Creates a pointer to the object with an id, whether it exists or not. Reads nothing.
  public init(objectId: String) { self.objectId = objectId }

  /// Creates a pointer to a saved object. Throws `ParseError` with `.missingObjectId` for an
  /// unsaved one.
  public init(_ target: T) throws(ParseError) {
    guard let objectId = target.objectId else {
      throw ParseError(.missingObjectId, "Cannot set a pointer to an unsaved object.")
    }
    self.init(objectId: objectId)
  }

  /// Whether the object has this id.
  public func hasSameObjectId(as other: T) -> Bool { objectId == other.objectId }

  /// Whether both pointers are to the same object.
  public func hasSameObjectId(as other: Pointer<T>) -> Bool { objectId == other.objectId }

  /// An object that has only its id. Reads nothing.
  public func toObject() -> T { T(objectId: objectId) }

  /// Reads the object. Throws as `ParseObject.fetch(includeKeys:)`.
  ///
  /// - Parameter includeKeys: Keys of objects to read with it; see `Query.include(_:)`.
  public func fetch(includeKeys: [String]? = nil) throws(ParseError) -> T {
    try toObject().fetch(includeKeys: includeKeys)
  }

  /// Reads the object. Throws as `ParseObject.fetch(includeKeys:)`.
  ///
  /// - Parameter includeKeys: Keys of objects to read with it; see `Query.include(_:)`.
  public func fetch(includeKeys: [String]? = nil) async throws(ParseError) -> T {
    try await toObject().fetch(includeKeys: includeKeys)
  }

  func reference(in firestore: Firestore) throws -> DocumentReference {
    try ObjectGraph.reference(T.self, objectId, in: firestore)
  }

  // MARK: Coding

  private enum Key: String, CodingKey {
    case type = "__type"
    case className, objectId
  }

  /// Decodes the JSON of Parse. Throws `ParseError` with `.invalidPointer` for a pointer to another
  /// class, for another `__type`, and for a member that is missing.
  public init(from decoder: any Decoder) throws {
    do {
      let container = try decoder.container(keyedBy: Key.self)
      func check(_ key: Key, is expected: String) throws {
        let found = try container.decode(String.self, forKey: key)
        guard found == expected else {
          throw DecodingError.dataCorruptedError(
            forKey: key, in: container, debugDescription: "'\(found)' is not '\(expected)'.")
        }
      }
      try check(.type, is: "Pointer")
      try check(.className, is: T.className)
      objectId = try container.decode(String.self, forKey: .objectId)
    } catch {
      throw ParseError(.invalidPointer, ParseError(error).message, error)
    }
  }

  /// Encodes the JSON of Parse, with `__type`, `className` and `objectId`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode("Pointer", forKey: .type)
    try container.encode(T.className, forKey: .className)
    try container.encode(objectId, forKey: .objectId)
  }

  /// Always throws `UseCodable`: only `save()` writes pointers, because it knows the database.
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    throw UseCodable()
  }

  /// Reads a reference. Throws `UseCodable` for one of another class, and for another value.
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    let reference = try DocumentReference(reading: reader)
    guard reference.parent.collectionID == T.className else { throw UseCodable() }
    objectId = reference.documentID
  }
}
