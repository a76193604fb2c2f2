/// A rule for references between documents: what happens when the document is deleted that others refer
/// to, and whether it must exist when a reference to it is stored.
///
///     try await db.references.declare(
///       FirestoreReferenceRule("books", field: "author", to: "authors", onDelete: .restrict),
///       FirestoreReferenceRule("books", arrayField: "genres", to: "genres", onDelete: .nullify),
///       FirestoreReferenceRule(
///         "reviews", field: "book", to: "books", onDelete: .cascade, mustExist: true))
///
/// The field has a `DocumentReference`, or an array of them. A rule is for all collections with the
/// id, and for references to documents in collections with the id `target`; other values in the
/// field are ignored. A field may refer to documents of several collections: declare a rule for each
/// target.
///
/// A rule is invalid if the id of a collection is empty or contains `/`, if the field is empty or has
/// an empty component, and if it is the document's id. The operation that declares it throws
/// `invalidArgument`.
public struct FirestoreReferenceRule: Hashable, Sendable, CustomStringConvertible {
  /// The effect of a deletion on the documents that refer to the deleted document.
  public enum Action: Hashable, Sendable {
    /// The deletion fails with `failedPrecondition`, and ``FirestoreErrorCode/isReferenced`` is true, unless
    /// the same commit deletes them, or changes their references.
    case restrict
    /// They are deleted as well, and so on.
    case cascade
    /// Their field becomes null, or the element is removed from their array.
    case nullify
  }

  /// The id of the collections whose documents have references.
  public var collectionID: String
  /// The id of the collections of the documents that are referred to.
  public var target: String
  /// The effect of a deletion.
  public var action: Action
  /// Whether a commit is refused that stores a reference to a document that does not exist after the
  /// commit. It fails with `failedPrecondition`, and ``FirestoreErrorCode/isDanglingReference`` is true.
  /// One commit may create both documents, in any order. A reference that is older than the rule may
  /// stay when the document is changed.
  public var mustExist: Bool
  let field: FirestoreIndex.Field

  /// A rule for a field with one reference. Names are written as in queries: `address.city`. Whether
  /// the rule is valid is checked when it is declared.
  public init(
    _ collectionID: String, field: String, to target: String, onDelete action: Action,
    mustExist: Bool = false
  ) {
    self.init(collectionID, .ascending(field), target, action, mustExist)
  }

  /// A rule for a field with one reference. Whether it is valid is checked when it is declared.
  public init(
    _ collectionID: String, field: FieldPath, to target: String, onDelete action: Action,
    mustExist: Bool = false
  ) {
    self.init(collectionID, .ascending(field), target, action, mustExist)
  }

  /// A rule for a field with an array of references.
  public init(
    _ collectionID: String, arrayField: String, to target: String, onDelete action: Action,
    mustExist: Bool = false
  ) {
    self.init(collectionID, .contains(arrayField), target, action, mustExist)
  }

  /// A rule for a field with an array of references.
  public init(
    _ collectionID: String, arrayField: FieldPath, to target: String, onDelete action: Action,
    mustExist: Bool = false
  ) {
    self.init(collectionID, .contains(arrayField), target, action, mustExist)
  }

  private init(
    _ collectionID: String, _ field: FirestoreIndex.Field, _ target: String, _ action: Action,
    _ mustExist: Bool
  ) {
    self.collectionID = collectionID
    self.field = field
    self.target = target
    self.action = action
    self.mustExist = mustExist
  }

  /// The index that finds the references to a document.
  func definition() throws(Status) -> IndexDefinition {
    let action: ReferenceRule.Action =
      switch self.action {
      case .restrict: .restrict
      case .cascade: .cascade
      case .nullify: .nullify
      }
    var definition = try FirestoreIndex(collectionID, scope: .collectionGroup, field).definition()
    definition.constraint = .reference(
      ReferenceRule(action, target: target, mustExist: mustExist))
    try definition.check()
    return definition
  }

  /// `all books: author ↑ → authors, on delete restrict`: "all" because a rule is for all collections
  /// with the id. A rule with `mustExist` ends with `, must exist`. Of an invalid rule: what is wrong
  /// with it.
  public var description: String {
    do throws(Status) { return try definition().description } catch { return error.message }
  }
}
