import Foundation
import Hearth

/// An object of a class: a document of the collection with the class's name.
///
///     struct Book: ParseObject {
///       var objectId: String?
///       var createdAt: Date?
///       var updatedAt: Date?
///       var ACL: ParseACL?
///       var originalData: Data?
///
///       var title: String?
///       var isbn: ISBN?       // another object: stored as a reference to it
///     }
///
///     let book = try Book(title: "Dune", isbn: ISBN(value: "978-0441013593")).save()
///
/// A structure or a final class. Every property of its own must be optional: an object of which only
/// the id is known has no others.
public protocol ParseObject: DocumentOnlyCodable, Hashable, Identifiable, Sendable,
  CustomStringConvertible, CustomDebugStringConvertible
{
  /// The name of the class, and of its collection. By default the name of the type.
  static var className: String { get }
  /// The id, assigned by the first save. Nil until then.
  var objectId: String? { get set }
  /// The time of the commit that created the object, in whole microseconds. Nil until then. A save
  /// ignores an assignment.
  var createdAt: Date? { get set }
  /// The time of the last commit that changed the object, in whole microseconds. Nil until it is
  /// saved. A save ignores an assignment.
  var updatedAt: Date? { get set }
  /// The access rights to the object. Nil: everybody may read and write it.
  var ACL: ParseACL? { get set }
  /// The object's fields as they were read: a save writes only what differs from them. Nil for an
  /// object that was not read. Do not set it.
  var originalData: Data? { get set }
  /// Creates an object without an id and without properties. A structure whose properties are all
  /// optional has it.
  init()
  /// A copy with what another version of the object has and this one lacks. Never called here: a save
  /// returns the object as it is stored. Programs by Parse's documentation implement it.
  ///
  ///     extension Book {
  ///       func merge(with object: Self) throws -> Self {
  ///         var merged = try mergeParse(with: object)
  ///         if merged.shouldRestoreKey(\.title, original: object) { merged.title = object.title }
  ///         return merged
  ///       }
  ///     }
  func merge(with object: Self) throws -> Self
}

extension ParseObject {
  /// The name of the type, without its module.
  public static var className: String { String(describing: Self.self) }

  /// The name of the object's class.
  public var className: String { Self.className }

  /// The id of a saved object. Equal unsaved objects have one id.
  public var id: String { objectId ?? "unsaved \(hashValue)" }

  /// Whether the object has an id. A program may assign one before it saves.
  public var isSaved: Bool { objectId != nil }

  /// Whether both are of this class and have the same id, whatever their properties are. False for
  /// an unsaved object.
  public func hasSameObjectId<Other: ParseObject>(as other: Other) -> Bool {
    other is Self && objectId != nil && objectId == other.objectId
  }

  /// Whether the pointer is to this object.
  public func hasSameObjectId(as pointer: Pointer<Self>) -> Bool { objectId == pointer.objectId }

  /// A pointer to the object. Throws `ParseError` with `.missingObjectId` for an unsaved one.
  public func toPointer() throws(ParseError) -> Pointer<Self> { try Pointer(self) }

  /// An object with only its id.
  init(objectId: String) {
    self.init()
    self.objectId = objectId
  }

  // MARK: As a value of a document

  /// Always throws `UseCodable`: only `save()` writes objects, because it knows their references.
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    throw UseCodable()
  }

  /// Reads a reference: the object that the query includes, or one that has only its id. Throws
  /// `UseCodable` for a reference to another class, and for another value.
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self = try Self.referred(by: reader)
  }

  static func referred(by reader: borrowing DocumentValueReader) throws(UseCodable) -> Self {
    let reference = try DocumentReference(reading: reader)
    guard let object = ObjectReading.object(at: reference, as: Self.self) else {
      throw UseCodable()
    }
    return object
  }
}

/// A class with `@Document` is a value of documents as any class is, and not as the structure is.
extension ParseObject where Self: DocumentCodable {
  /// Always throws `UseCodable`, as for any class.
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    throw UseCodable()
  }

  /// Reads a reference, as for any class. Throws `UseCodable` for a reference to another class, and
  /// for another value.
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self = try Self.referred(by: reader)
  }
}
