import Foundation
import Hearth

/// A reference to an object of a class, without its properties.
///
///     struct Review: ParseObject {
///       …
///       var book: Pointer<Book>?
///     }
public struct Pointer<T: ParseObject>: DocumentOnlyCodable, Hashable, Identifiable, Sendable {
  public let objectId: String

  public var className: String { T.className }
  public var id: String { objectId }

  /// To an object with this id, whether it exists or not.
  public init(objectId: String) { self.objectId = objectId }

  /// Throws `ParseError` with `.missingObjectId` for an unsaved object.
  public init(_ target: T) throws(ParseError) {
    guard let objectId = target.objectId else {
      throw ParseError(.missingObjectId, "Cannot set a pointer to an unsaved object.")
    }
    self.init(objectId: objectId)
  }

  /// An object that has only its id.
  public func toObject() -> T { T(objectId: objectId) }

  /// Reads the object. Throws `ParseError` with `.objectNotFound` if it does not exist.
  public func fetch(includeKeys: [String]? = nil) throws(ParseError) -> T {
    try toObject().fetch(includeKeys: includeKeys)
  }

  /// Reads the object. Throws `ParseError` with `.objectNotFound` if it does not exist.
  public func fetch(includeKeys: [String]? = nil) async throws(ParseError) -> T {
    try await toObject().fetch(includeKeys: includeKeys)
  }

  func reference(in firestore: Firestore) throws -> DocumentReference {
    try ObjectGraph.reference(T.self, objectId, in: firestore)
  }

  // MARK: Coding

  private enum Key: String, CodingKey { case type = "__type", className, objectId }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    objectId = try container.decode(String.self, forKey: .objectId)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode("Pointer", forKey: .type)
    try container.encode(T.className, forKey: .className)
    try container.encode(objectId, forKey: .objectId)
  }

  /// Only `save()` writes objects: it knows their references.
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    throw UseCodable()
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    let reference = try DocumentReference(reading: reader)
    guard reference.parent.collectionID == T.className else { throw UseCodable() }
    objectId = reference.documentID
  }
}
