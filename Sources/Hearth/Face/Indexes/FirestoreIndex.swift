/// The definition of an index: the documents of all collections with one id, by some of their
/// fields.
///
///     FirestoreIndex("books", .ascending("author"), .descending("year"))
///     FirestoreIndex("reviews", scope: .collectionGroup, .ascending("stars"))
///     FirestoreIndex("books", .contains("tags"))
///     FirestoreIndex(unique: "users", .ascending("email"))
///
/// An index contains a document only if the document has every field. An index on one field serves
/// both directions.
///
/// **Unique indexes.** No two documents ever have the same values in all fields of a unique index:
/// a commit that would store them again fails as a whole, with `alreadyExists`; the message names
/// the index and the other document. This holds for every writer, in every process. With the scope
/// `.collection`, documents of one collection are compared, with `.collectionGroup` those of all
/// collections with the id. Values are compared as in queries: 1 equals 1.0. A document that lacks
/// one of the fields, or has null in it, is not compared. With `contains`, no two documents have an
/// element in common.
public struct FirestoreIndex: Hashable, Sendable, CustomStringConvertible {
  /// The queries that an index serves.
  public enum Scope: Hashable, Sendable {
    /// For queries of one collection.
    case collection
    /// For queries of all collections with the id.
    case collectionGroup
  }

  /// A field and how it is indexed. Names are written as in queries: `address.city`.
  public struct Field: Hashable, Sendable {
    let field: ParsedField
    let kind: IndexDefinition.Component.Kind

    /// The field's values in ascending order.
    public static func ascending(_ field: String) -> Field { Field(.dotted(field), .ascending) }
    /// The field's values in descending order.
    public static func descending(_ field: String) -> Field { Field(.dotted(field), .descending) }
    /// Every distinct element of an array, for `array-contains`.
    public static func contains(_ field: String) -> Field { Field(.dotted(field), .contains) }

    /// The field's values in ascending order.
    public static func ascending(_ field: FieldPath) -> Field { Field(.path(field), .ascending) }
    /// The field's values in descending order.
    public static func descending(_ field: FieldPath) -> Field { Field(.path(field), .descending) }
    /// Every distinct element of an array, for `array-contains`.
    public static func contains(_ field: FieldPath) -> Field { Field(.path(field), .contains) }

    /// The cell of a `GeoPoint`, for regions: circles, boxes and polygons. The index has no other
    /// field.
    public static func cells(_ field: String) -> Field { Field(.dotted(field), .cells) }
    /// The cell of a `GeoPoint`; see `cells(_:)`.
    public static func cells(_ field: FieldPath) -> Field { Field(.path(field), .cells) }

    private init(_ field: Result<FieldSegments, Status>, _ kind: IndexDefinition.Component.Kind) {
      self.field =
        switch field {
        case .success(let names): .names(names)
        case .failure(let error): .fault(error.message)
        }
      self.kind = kind
    }
  }

  /// A field's name, or the error in it. The operation that uses the index reports the error.
  enum ParsedField: Hashable, Sendable {
    case names(FieldSegments)
    case fault(String)
  }

  /// The id of the collections.
  public var collectionID: String
  /// The queries that the index serves.
  public var scope: Scope
  /// The indexed fields, in order.
  public var fields: [Field]
  /// Whether no two documents may have the same values.
  public var isUnique = false
  /// The texts of an index on words, which has no other fields.
  public var words: SearchFields?

  /// Creates a definition. An invalid one is reported by the operation that uses it, as
  /// `invalidArgument`.
  public init(_ collectionID: String, scope: Scope = .collection, _ fields: Field...) {
    self.init(collectionID, scope: scope, fields)
  }

  /// Creates a definition. An invalid one is reported by the operation that uses it, as
  /// `invalidArgument`.
  public init(_ collectionID: String, scope: Scope = .collection, _ fields: [Field]) {
    self.collectionID = collectionID
    self.scope = scope
    self.fields = fields
  }

  /// Creates the definition of a unique index. An invalid one is reported by the operation that uses
  /// it, as `invalidArgument`.
  public init(unique collectionID: String, scope: Scope = .collection, _ fields: Field...) {
    self.init(unique: collectionID, scope: scope, fields)
  }

  /// Creates the definition of a unique index from a list of fields. An invalid one is reported by the
  /// operation that uses it, as `invalidArgument`: one without a collection or without fields, with the
  /// document's name as a field, with one field twice, or with two arrays.
  public init(unique collectionID: String, scope: Scope = .collection, _ fields: [Field]) {
    self.init(collectionID, scope: scope, fields)
    isUnique = true
  }

  /// Creates the definition of an index on the words of texts, for `Query.search(_:in:matchesAll:)`.
  ///
  ///     FirestoreIndex(words: "books", in: SearchFields("title", "summary", language: "en"))
  ///
  /// It has an entry for each word of a document, and the number of documents with each word.
  public init(
    words collectionID: String, scope: Scope = .collection, in texts: SearchFields
  ) {
    self.init(collectionID, scope: scope, [])
    words = texts
  }

  func definition() throws(Status) -> IndexDefinition {
    var components: [IndexDefinition.Component] = []
    if let words { components.append(.init(words: try words.words())) }
    for field in fields {
      switch field.field {
      case .names(let names): components.append(.init(field: names, kind: field.kind))
      case .fault(let message): throw .invalidArgument(message)
      }
    }
    let definition = IndexDefinition(
      collectionID, scope: scope == .collectionGroup ? .group : .collection, components,
      constraint: isUnique ? .unique : .none)
    try definition.check()
    return definition
  }

  /// `books: author ↑, year ↓`
  public var description: String {
    do throws(Status) { return try definition().description } catch { return error.message }
  }
}

extension FirestoreIndex {
  /// Collection ids are equal if their bytes are.
  public static func == (lhs: FirestoreIndex, rhs: FirestoreIndex) -> Bool {
    BytewiseString(lhs.collectionID) == BytewiseString(rhs.collectionID) && lhs.scope == rhs.scope
      && lhs.fields == rhs.fields && lhs.isUnique == rhs.isUnique && lhs.words == rhs.words
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(BytewiseString(collectionID))
    hasher.combine(scope)
    hasher.combine(fields)
  }
}
