/// The tables and enums of a service.
public struct Schema: Codable, Hashable, Sendable {
  /// The tables in the order of the sources.
  public var tables: [Table]
  /// The enums in the order of the sources.
  public var enums: [EnumType]

  /// Creates a schema. Nothing is checked: references and enums may name missing types.
  public init(tables: [Table], enums: [EnumType]) {
    self.tables = tables
    self.enums = enums
  }

  /// The table of a GraphQL type. Nil if the schema has none. Searches linearly.
  public func table(_ typeName: String) -> Table? { tables.first { $0.typeName == typeName } }

  /// The enum of a GraphQL type. Nil if the schema has none. Searches linearly.
  public func enumType(_ name: String) -> EnumType? { enums.first { $0.name == name } }
}

/// An enum of the schema. Its values compare by their positions.
public struct EnumType: Codable, Hashable, Sendable {
  /// The GraphQL type: `AspectRatio`.
  public var name: String
  /// The values in the order of declaration, which is their order in filters and `orderBy`.
  public var values: [String]

  /// Creates an enum.
  public init(name: String, values: [String]) {
    self.name = name
    self.values = values
  }
}

/// A table: a collection whose documents are its rows.
///
///     type Review @table(key: ["movie", "user"]) { movie: Movie!  user: User!  rating: Int }
///
///     columns      movieId (of movie), userId (of user), rating
///     references   movie → Movie (movieId), user → User (userId)
///     key          movieId, userId
public struct Table: Codable, Hashable, Sendable {
  /// The GraphQL type: `MovieActor`.
  public var typeName: String
  /// The id of the collection: `movie_actor`, or `@table(name:)`.
  public var collectionID: String
  /// The prefix of root fields for one row, `@table(singular:)` or the type in lower camel case:
  /// `movieActor`.
  public var singular: String
  /// The prefix of root fields for lists, `@table(plural:)` or the plural of `singular`:
  /// `movieActors`.
  public var plural: String
  /// The columns in the order of declaration. Those of a reference take its place.
  public var columns: [Column]
  /// The fields whose type is a table, in the order of declaration.
  public var references: [Reference]
  /// The names of the columns whose values are the row's key, in the order of `key:`. Never empty.
  public var key: [String]
  /// `@unique`: lists of columns whose values occur together in one row only. Without the key.
  public var uniques: [Index]
  /// `@index`: lists of columns with an index of their own. Similarity indexes are left out.
  public var indexes: [Index]

  /// Creates a table, by default without indexes.
  public init(
    typeName: String, collectionID: String, singular: String, plural: String,
    columns: [Column], references: [Reference], key: [String], uniques: [Index] = [],
    indexes: [Index] = []
  ) {
    self.typeName = typeName
    self.collectionID = collectionID
    self.singular = singular
    self.plural = plural
    self.columns = columns
    self.references = references
    self.key = key
    self.uniques = uniques
    self.indexes = indexes
  }

  /// The column with a name; also the columns of references. Nil if there is none. Searches
  /// linearly.
  public func column(_ name: String) -> Column? { columns.first { $0.name == name } }

  /// The reference with a name. Nil if there is none. Searches linearly.
  public func reference(_ name: String) -> Reference? { references.first { $0.name == name } }

  /// The first reference whose columns include one with the name. Nil if there is none.
  public func reference(withColumn column: String) -> Reference? {
    references.first { $0.columns.contains(column) }
  }

  /// An index, or a set of columns whose values occur once.
  public struct Index: Codable, Hashable, Sendable {
    /// `@index(name:)` or `@unique(indexName:)`. Nil if not given.
    public var name: String?
    /// The names of the columns, the most significant first.
    public var columns: [String]
    /// For each column, whether the index is descending.
    public var isDescending: [Bool]

    /// Creates an index, ascending in all columns if `isDescending` is nil.
    public init(name: String? = nil, columns: [String], isDescending: [Bool]? = nil) {
      self.name = name
      self.columns = columns
      self.isDescending = isDescending ?? columns.map { _ in false }
    }
  }
}

/// A column: a field of the row's document. The columns of a reference are no fields of their own:
/// the document has the reference.
public struct Column: Codable, Hashable, Sendable {
  /// The name in GraphQL: `title`, `movieId`.
  public var name: String
  /// The type of a value; for a list, of its elements.
  public var type: ValueType
  /// Whether a value is a list: `[T]`.
  public var isList: Bool
  /// Whether elements of the list can be null: `[T]` instead of `[T!]`. False if there is no list.
  public var hasNullElements: Bool
  /// Whether a row may lack a value: `T` instead of `T!`.
  public var isNullable: Bool
  /// The value in new rows that give none. Nil: null, or an error if the column is not nullable.
  public var defaultValue: DefaultValue?
  /// `@col(dataType: "varchar(30)")`: the maximum length of a string, in Unicode code points.
  /// Nil: no limit.
  public var maximumLength: Int?
  /// `@col(dataType: "serial")`: whether new rows are numbered.
  public var isSerial: Bool
  /// `@col(size: 768)`: the number of elements of a vector. Nil for other types.
  public var vectorSize: Int?
  /// The language of `@searchable`: `english`. Nil if the column is not searchable.
  public var searchLanguage: String?
  /// Whether the sources do not declare the column: an `id` that the key needs, or the column
  /// of a reference.
  public var isImplicit: Bool

  /// Creates a column. The defaults are those of a single value without directives.
  public init(
    name: String, type: ValueType, isList: Bool = false, hasNullElements: Bool = false,
    isNullable: Bool, defaultValue: DefaultValue? = nil, maximumLength: Int? = nil,
    isSerial: Bool = false, vectorSize: Int? = nil, searchLanguage: String? = nil,
    isImplicit: Bool = false
  ) {
    self.name = name
    self.type = type
    self.isList = isList
    self.hasNullElements = hasNullElements
    self.isNullable = isNullable
    self.defaultValue = defaultValue
    self.maximumLength = maximumLength
    self.isSerial = isSerial
    self.vectorSize = vectorSize
    self.searchLanguage = searchLanguage
    self.isImplicit = isImplicit
  }

  /// `@default`
  public enum DefaultValue: Codable, Hashable, Sendable {
    /// `@default(value:)`: a constant.
    case value(Literal)
    /// `@default(expr:)`: an expression in CEL, evaluated for each new row.
    case expression(String)
  }
}

/// The type of a value: a scalar of Data Connect, or an enum of the schema.
public enum ValueType: Codable, Hashable, Sendable {
  /// Text in Unicode.
  case string
  /// A signed integer of 32 bits.
  case int
  /// A signed integer of 64 bits.
  case int64
  /// A double.
  case float
  /// True or false.
  case boolean
  /// 128 bits, in results as 32 hexadecimal digits.
  case uuid
  /// A day without time and time zone: `2024-02-29`.
  case date
  /// An instant, in microseconds.
  case timestamp
  /// Any JSON.
  case any
  /// A list of doubles; `Column.vectorSize` is its length.
  case vector
  /// An enum of the schema, by its GraphQL type.
  case enumeration(String)

  /// As GraphQL writes it: `String`, `Int64`, `AspectRatio`.
  public var name: String {
    switch self {
    case .string: "String"
    case .int: "Int"
    case .int64: "Int64"
    case .float: "Float"
    case .boolean: "Boolean"
    case .uuid: "UUID"
    case .date: "Date"
    case .timestamp: "Timestamp"
    case .any: "Any"
    case .vector: "Vector"
    case .enumeration(let name): name
    }
  }

  package static let scalars: [ValueType] = [
    .string, .int, .int64, .float, .boolean, .uuid, .date, .timestamp, .any, .vector,
  ]

  /// The scalar with the name; nil for other names, also those of enums.
  public init?(scalar name: String) {
    guard let found = Self.scalars.first(where: { $0.name == name }) else { return nil }
    self = found
  }

  /// Decodes a `name`. A name that is no scalar is one of an enum, which may not exist.
  public init(from decoder: any Decoder) throws {
    let name = try decoder.singleValueContainer().decode(String.self)
    self = ValueType(scalar: name) ?? .enumeration(name)
  }

  /// Encodes `name`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

/// A field whose type is a table: `movie: Movie!`.
public struct Reference: Codable, Hashable, Sendable {
  /// The field in GraphQL: `movie`.
  public var name: String
  /// The GraphQL type of the other table.
  public var target: String
  /// The columns of this table, one for each of `targetColumns`: `movieId`.
  public var columns: [String]
  /// Columns of the other table: its key, or the columns of a unique index.
  public var targetColumns: [String]
  /// Whether a row may refer to none: `Movie` instead of `Movie!`. Deleting the other row then sets
  /// null; otherwise it deletes this row, too.
  public var isNullable: Bool
  /// Whether at most one row refers to a row of the other table: the columns are unique, or contain
  /// the whole key.
  public var isOneToOne: Bool

  /// Creates a reference. `columns` and `targetColumns` have the same length.
  public init(
    name: String, target: String, columns: [String], targetColumns: [String], isNullable: Bool,
    isOneToOne: Bool
  ) {
    self.name = name
    self.target = target
    self.columns = columns
    self.targetColumns = targetColumns
    self.isNullable = isNullable
    self.isOneToOne = isOneToOne
  }
}
