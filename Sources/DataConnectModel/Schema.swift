/// The tables and enums of a service.
public struct Schema: Codable, Hashable, Sendable {
  public var tables: [Table]
  public var enums: [EnumType]

  public init(tables: [Table], enums: [EnumType]) {
    self.tables = tables
    self.enums = enums
  }

  /// The table of a GraphQL type.
  public func table(_ typeName: String) -> Table? { tables.first { $0.typeName == typeName } }

  public func enumType(_ name: String) -> EnumType? { enums.first { $0.name == name } }
}

/// An enum of the schema. Its values compare by their positions.
public struct EnumType: Codable, Hashable, Sendable {
  public var name: String
  public var values: [String]

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
  /// `movieActor`
  public var singular: String
  /// `movieActors`
  public var plural: String
  /// In the order of declaration; the columns of a reference are where the reference is declared.
  public var columns: [Column]
  public var references: [Reference]
  /// The names of the columns whose values are the row's key, in the order of `key:`. Never empty.
  public var key: [String]
  /// Each a list of columns whose values occur once.
  public var uniques: [Index]
  public var indexes: [Index]

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

  public func column(_ name: String) -> Column? { columns.first { $0.name == name } }

  public func reference(_ name: String) -> Reference? { references.first { $0.name == name } }

  /// The reference that has a column.
  public func reference(withColumn column: String) -> Reference? {
    references.first { $0.columns.contains(column) }
  }

  /// An index, or a set of columns whose values occur once.
  public struct Index: Codable, Hashable, Sendable {
    public var name: String?
    /// Names of columns.
    public var columns: [String]
    /// As many as columns: true for descending.
    public var isDescending: [Bool]

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
  public var name: String
  public var type: ValueType
  /// `[T]`
  public var isList: Bool
  /// Whether elements of the list can be null.
  public var hasNullElements: Bool
  public var isNullable: Bool
  public var defaultValue: DefaultValue?
  /// `@col(dataType: "varchar(30)")`, in characters.
  public var maximumLength: Int?
  /// `@col(dataType: "serial")`
  public var isSerial: Bool
  /// `@col(size: 768)` of a vector.
  public var vectorSize: Int?
  /// The language of `@searchable`: `english`.
  public var searchLanguage: String?
  /// Declared implicitly: an `id` without a declaration, or the column of a reference.
  public var isImplicit: Bool

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

  public enum DefaultValue: Codable, Hashable, Sendable {
    /// `@default(value:)`
    case value(Literal)
    /// `@default(expr:)`, in CEL.
    case expression(String)
  }
}

/// The type of a value.
public enum ValueType: Codable, Hashable, Sendable {
  case string
  /// 32 bits.
  case int
  case int64
  case float
  case boolean
  case uuid
  case date
  case timestamp
  case any
  case vector
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

  /// The scalar with the name; nil for other names, also those of enums.
  public init?(scalar name: String) {
    let all: [ValueType] = [
      .string, .int, .int64, .float, .boolean, .uuid, .date, .timestamp, .any, .vector,
    ]
    guard let found = all.first(where: { $0.name == name }) else { return nil }
    self = found
  }

  public init(from decoder: any Decoder) throws {
    let name = try decoder.singleValueContainer().decode(String.self)
    self = ValueType(scalar: name) ?? .enumeration(name)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

/// A field whose type is a table: `movie: Movie!`.
public struct Reference: Codable, Hashable, Sendable {
  public var name: String
  /// The GraphQL type of the other table.
  public var target: String
  /// The columns of this table, one for each of `targetColumns`: `movieId`.
  public var columns: [String]
  /// Columns of the other table: its key, or the columns of a unique index.
  public var targetColumns: [String]
  /// Rows may have none. Deleting the other row deletes this one if they may not, and sets null if
  /// they may.
  public var isNullable: Bool
  /// At most one row refers to a row of the other table: `@unique`, or the whole key.
  public var isOneToOne: Bool

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
