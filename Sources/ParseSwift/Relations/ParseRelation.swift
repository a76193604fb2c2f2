import Foundation
import Hearth

/// The objects that an object is related to by a key, of one class: any number on both sides.
///
///     try book.relation?.add("authors", objects: [herbert]).save()
///     let authors = try Author.queryRelations("authors", parent: book).find()
///     let books = try Book.query(related("authors", of: Book.self, to: herbert)).find()
///
/// Each edge is a document of the collection `_Join:<key>:<class>`; see <doc:Storage>. Deleting an
/// object deletes its edges, whoever deletes it.
public struct ParseRelation<Parent: ParseObject>: Hashable, Sendable {
  let parent: Parent

  /// Nil for an unsaved parent.
  init?(_ parent: Parent) {
    guard parent.isSaved else { return nil }
    self.parent = parent
  }

  /// An operation whose `save()` relates the objects to the parent by the key. No objects are no edges.
  ///
  /// Throws `ParseError` with `.missingObjectId` for an unsaved object, and `.invalidKeyName` for an
  /// invalid key.
  public func add<Child: ParseObject>(
    _ key: String, objects: [Child]
  ) throws(ParseError) -> ParseOperation<Parent> {
    try parent.operation.addRelation(key, objects: objects)
  }

  /// An operation whose `save()` removes these objects from the relation. The objects stay. Throws as
  /// `add(_:objects:)`.
  public func remove<Child: ParseObject>(
    _ key: String, objects: [Child]
  ) throws(ParseError) -> ParseOperation<Parent> {
    try parent.operation.removeRelation(key, objects: objects)
  }

  /// A query for the objects of the relation. Throws `ParseError` with `.invalidKeyName`.
  public func query<Child: ParseObject>(_ key: String) throws(ParseError) -> Query<Child> {
    try Child.queryRelations(key, parent: parent)
  }
}

extension ParseObject {
  /// The object's relations. Nil for an unsaved object.
  public var relation: ParseRelation<Self>? { ParseRelation(self) }

  /// A query for the objects of this class that are related to `parent` by the key.
  ///
  ///     let authors = try Author.queryRelations("authors", parent: book).find()
  ///
  /// Throws `ParseError`: `.missingObjectId` for an unsaved parent, `.invalidKeyName` for an invalid
  /// key.
  public static func queryRelations<Parent: ParseObject>(
    _ key: String, parent: Parent
  ) throws(ParseError) -> Query<Self> {
    try queryRelations(key, parent: Pointer(parent))
  }

  /// Same as `queryRelations(_:parent:)`, for a pointer.
  public static func queryRelations<Parent: ParseObject>(
    _ key: String, parent: Pointer<Parent>
  ) throws(ParseError) -> Query<Self> {
    _ = try RelationKey(key, of: Parent.self)
    return query(related(key, object: parent))
  }
}

/// A relation's key, and the collection of its edges.
///
///     _Join:authors:Book/<length of the parent's id>:<parent's id><child's id>
///         owner     Book/…       the parent
///         related   Author/…     the child
///
/// The id of an edge follows from the two objects: adding them again changes nothing.
struct RelationKey: Hashable, Sendable {
  let key: String
  let className: String

  init<Parent: ParseObject>(_ key: String, of parent: Parent.Type) throws(ParseError) {
    try self.init(key, ofClass: parent.className)
  }

  init(_ key: String, ofClass className: String) throws(ParseError) {
    guard !key.isEmpty, !key.contains("/"), !key.contains(":") else {
      throw ParseError(.invalidKeyName, "'\(key)' is not the key of a relation.")
    }
    self.key = key
    self.className = className
  }

  var collectionID: String { "_Join:\(key):\(className)" }

  func edges(in firestore: Firestore) -> CollectionReference { firestore.collection(collectionID) }

  func edge(
    from parent: DocumentReference, to child: DocumentReference, in firestore: Firestore
  ) -> DocumentReference {
    let id = parent.documentID
    return edges(in: firestore).document("\(id.utf8.count):\(id)\(child.documentID)")
  }

  /// Edges end with their objects.
  func rules(to childClass: String) -> [FirestoreReferenceRule] {
    [
      FirestoreReferenceRule(collectionID, field: "owner", to: className, onDelete: .cascade),
      FirestoreReferenceRule(collectionID, field: "related", to: childClass, onDelete: .cascade),
    ]
  }
}
