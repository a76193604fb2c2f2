import Foundation
import Hearth

/// The relations of an object. By each key, it is related to any number of objects of one class,
/// and each of them may be related to any number of objects.
///
///     let saved = try book.relation?.add("authors", objects: [herbert]).save()
///     let authors = try Author.queryRelations("authors", parent: book).find()
///     let books = try Book.query(related(key: "authors", of: Book.self, to: herbert)).find()
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

  /// An operation whose `save()` relates the objects to the parent by the key. Objects that are
  /// related already stay so. An empty list changes nothing.
  ///
  /// Throws `ParseError` with `.missingObjectId` for an unsaved object, and `.invalidKeyName` for an
  /// invalid key.
  public func add<Child: ParseObject>(
    _ key: String, objects: [Child]
  ) throws(ParseError) -> ParseOperation<Parent> {
    for object in objects { _ = try object.savedId() }
    return try parent.operation.addRelation(key, objects: objects)
  }

  /// An operation whose `save()` removes these objects from the relation, and does not delete them.
  /// Throws as `add(_:objects:)`.
  public func remove<Child: ParseObject>(
    _ key: String, objects: [Child]
  ) throws(ParseError) -> ParseOperation<Parent> {
    try parent.operation.removeRelation(key, objects: objects)
  }

  /// A query for the objects of the relation. Throws `ParseError` with `.invalidKeyName` for an
  /// invalid key.
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
    Query(of: try RelationEdges(key, from: parent))
  }

  /// A query for the objects of this class whose relation by the key has `child`: the other direction of
  /// `queryRelations(_:parent:)`.
  ///
  ///     let books = try Book.queryRelations("authors", child: herbert).limit(20).find()
  ///
  /// Throws `ParseError`: `.missingObjectId` for an unsaved child, `.invalidKeyName` for an invalid
  /// key.
  public static func queryRelations<Child: ParseObject>(
    _ key: String, child: Child
  ) throws(ParseError) -> Query<Self> {
    Query(of: try RelationEdges(key, of: Self.self, to: Pointer(child)))
  }
}

/// The edges of one object in a relation, and the direction in which they are followed.
struct RelationEdges: Sendable {
  private let relation: RelationKey
  private let object: @Sendable (Firestore) throws -> DocumentReference
  /// Finds the object if the identity may read it.
  private let readable: @Sendable (QueryContext) throws -> Hearth.Query
  /// The field that refers to the object, and the one that refers to what it is related to.
  private let near: String
  private let far: String

  /// From a parent to its children.
  init<Parent: ParseObject>(_ key: String, from parent: Pointer<Parent>) throws(ParseError) {
    relation = try RelationKey(key, of: Parent.self)
    object = { try parent.reference(in: $0) }
    readable = { try Parent.query("objectId" == parent.objectId).subquery($0) }
    (near, far) = ("owner", "related")
  }

  /// From a child to its parents.
  init<Parent: ParseObject, Child: ParseObject>(
    _ key: String, of parent: Parent.Type, to child: Pointer<Child>
  ) throws(ParseError) {
    relation = try RelationKey(key, of: parent)
    object = { try child.reference(in: $0) }
    readable = { try Child.query("objectId" == child.objectId).subquery($0) }
    (near, far) = ("related", "owner")
  }

  var constraint: QueryConstraint {
    QueryConstraint {
      .whereField(.documentID(), isInResultsOf: try query($0), field: FieldPath([far]))
    }
  }

  /// The edges. None for an identity that may not read the object.
  private func query(_ context: QueryContext) throws -> Hearth.Query {
    let query = try query(context.firestore)
    if context.identity == nil { return query }
    return query.whereFilter(.whereField(near, isInResultsOf: try readable(context)))
  }

  private func query(_ firestore: Firestore) throws -> Hearth.Query {
    relation.edges(in: firestore).whereField(near, isEqualTo: try object(firestore))
  }

  /// The edges that `count()` counts: those to objects of one class, without reading the objects.
  func counted(_ className: String, _ firestore: Firestore) throws -> Hearth.Query {
    // The first of all ids, in the class and in the next name of a class.
    let firstID = "__id\(Int64.min)__"
    let first = firestore.collection(className).document(firstID)
    let behind = firestore.collection(className + "\0").document(firstID)
    // The object last: the database remembers a plan for other values of the last condition.
    return relation.edges(in: firestore).whereField(far, isGreaterThanOrEqualTo: first)
      .whereField(far, isLessThan: behind).whereField(near, isEqualTo: try object(firestore))
      .order(by: far)
  }

  /// The edges of one page, with their objects, in the order of the objects' ids. Reads no more than
  /// the page, and walks the index entries of those that are skipped.
  ///
  /// - Parameter last: The id of the object before the page.
  func page(
    after last: DocumentReference?, skip: Int, limit: Int, _ inclusions: [DocumentInclusion],
    _ firestore: Firestore
  ) throws -> IncludingQuery {
    var query = try query(firestore).order(by: far)
    if let last { query = query.start(after: [last]) }
    if skip > 0 { query = query.offset(skip) }
    return query.limit(to: limit).including(
      .reference(far, as: Self.objects, including: inclusions))
  }

  /// The name of the inclusion of a page.
  static let objects = "objects"

  /// The objects of a page. Nil if an edge, which somebody wrote by hand, has no object of the class, or
  /// there are two for one object.
  func objects(_ page: [IncludingDocument], _ className: String) -> [IncludingDocument]? {
    var found: [IncludingDocument] = []
    for edge in page {
      guard let object = edge.included(Self.objects).first,
        object.document.reference.parent.collectionID == className,
        object.documentID != found.last?.documentID
      else { return nil }
      found.append(object)
    }
    return found
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
    let separators = [UInt8(ascii: "/"), UInt8(ascii: ":")]
    guard !key.isEmpty, !key.utf8.contains(where: separators.contains) else {
      throw ParseError(.invalidKeyName, "'\(key)' is not the key of a relation.")
    }
    self.key = key
    className = parent.className
  }

  var collectionID: String { "_Join:\(key):\(className)" }

  func edges(in firestore: Firestore) -> CollectionReference { firestore.collection(collectionID) }

  func edge(
    from parent: DocumentReference, to child: DocumentReference, in firestore: Firestore
  ) -> DocumentReference {
    let id = parent.documentID
    return edges(in: firestore).document("\(id.utf8.count):\(id)\(child.documentID)")
  }

  /// The error for objects of another class than those that the relation has.
  func mismatch(_ child: String, _ other: String) -> ParseError {
    ParseError(
      .incorrectType, "The relation '\(key)' has objects of \(child), and not of \(other).")
  }

  /// The objects of an object, in the order of their ids, in both directions.
  var indexes: [FirestoreIndex] {
    [
      FirestoreIndex(collectionID, .ascending("owner"), .ascending("related")),
      FirestoreIndex(collectionID, .ascending("related"), .ascending("owner")),
    ]
  }

  /// Edges end with their objects.
  func rules(to childClass: String) -> [FirestoreReferenceRule] {
    [
      FirestoreReferenceRule(collectionID, field: "owner", to: className, onDelete: .cascade),
      FirestoreReferenceRule(collectionID, field: "related", to: childClass, onDelete: .cascade),
    ]
  }
}
