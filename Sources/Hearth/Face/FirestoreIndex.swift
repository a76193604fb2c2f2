/// What an index is on: the documents of the collections with one id, by some of their fields.
///
///     FirestoreIndex("books", .ascending("author"), .descending("year"))
///     FirestoreIndex("reviews", scope: .collectionGroup, .ascending("stars"))
///     FirestoreIndex("books", .contains("tags"))
///
/// A document is in the index if it has every field. An index on one field serves both directions.
public struct FirestoreIndex: Hashable, Sendable, CustomStringConvertible {
  public enum Scope: Hashable, Sendable {
    /// For queries of one collection.
    case collection
    /// For queries of all collections with the id.
    case collectionGroup
  }

  /// A field and how it is indexed. Names are as in queries: `address.city`.
  public struct Field: Hashable, Sendable {
    let field: ParsedField
    let kind: IndexDefinition.Component.Kind

    public static func ascending(_ field: String) -> Field { Field(field, .ascending) }
    public static func descending(_ field: String) -> Field { Field(field, .descending) }
    /// Every distinct element of an array, for `array-contains`.
    public static func contains(_ field: String) -> Field { Field(field, .contains) }

    public static func ascending(_ field: FieldPath) -> Field { Field(field, .ascending) }
    public static func descending(_ field: FieldPath) -> Field { Field(field, .descending) }
    /// Every distinct element of an array, for `array-contains`.
    public static func contains(_ field: FieldPath) -> Field { Field(field, .contains) }

    private init(_ field: String, _ kind: IndexDefinition.Component.Kind) {
      do throws(Status) {
        self.field = .names(try FieldSegments(dotted: field))
      } catch {
        self.field = .fault(error.message)
      }
      self.kind = kind
    }

    private init(_ field: FieldPath, _ kind: IndexDefinition.Component.Kind) {
      do throws(Status) {
        self.field = .names(try field.segments())
      } catch {
        self.field = .fault(error.message)
      }
      self.kind = kind
    }
  }

  /// What is wrong with a name is told by the operation that uses it.
  enum ParsedField: Hashable, Sendable {
    case names(FieldSegments)
    case fault(String)
  }

  public var collectionID: String
  public var scope: Scope
  public var fields: [Field]

  public init(_ collectionID: String, scope: Scope = .collection, _ fields: Field...) {
    self.init(collectionID, scope: scope, fields)
  }

  public init(_ collectionID: String, scope: Scope = .collection, _ fields: [Field]) {
    self.collectionID = collectionID
    self.scope = scope
    self.fields = fields
  }

  func definition() throws(Status) -> IndexDefinition {
    var components: [IndexDefinition.Component] = []
    for field in fields {
      switch field.field {
      case .names(let names): components.append(.init(field: names, kind: field.kind))
      case .fault(let message): throw .invalidArgument(message)
      }
    }
    let definition = IndexDefinition(
      collectionID, scope: scope == .collectionGroup ? .group : .collection, components)
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
      && lhs.fields == rhs.fields
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(BytewiseString(collectionID))
    hasher.combine(scope)
    hasher.combine(fields)
  }
}
