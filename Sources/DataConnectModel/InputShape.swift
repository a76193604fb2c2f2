/// The type of an argument, of a field of an input object, or of a variable.
///
///     [Movie_Filter!]     base .list(base .object("Movie_Filter"), not nullable), nullable
///     String_Expr         base .expression(.string), nullable
public struct InputShape: Hashable, Sendable {
  /// The type without its nullability.
  public indirect enum Base: Hashable, Sendable {
    /// A scalar or an enum of the schema.
    case value(ValueType)
    /// `String_Expr`: a string with an expression in CEL whose value has the type.
    case expression(ValueType)
    /// `True`: no value but `true`.
    case onlyTrue
    /// A value of a built-in enum: `OrderDirection`.
    case choice(Choice)
    /// An object of `InputTypes`, by its name: `Movie_Filter`.
    case object(String)
    /// A list. A single value counts as a list of one.
    case list(InputShape)
  }

  /// A built-in enum.
  public struct Choice: Hashable, Sendable {
    /// The enum in GraphQL: `OrderDirection`.
    public var name: String
    /// The values that are allowed, in the order of their declaration.
    public var values: [String]

    /// Creates a description of a built-in enum.
    public init(name: String, values: [String]) {
      self.name = name
      self.values = values
    }

    /// `OrderDirection`: the direction of `orderBy`.
    public static let orderDirection = Choice(name: "OrderDirection", values: ["ASC", "DESC"])
    /// `SearchQueryFormat`: how `queryFormat` reads the text of a search.
    public static let searchQueryFormat = Choice(
      name: "SearchQueryFormat", values: ["QUERY", "PLAIN", "PHRASE", "ADVANCED"])
    /// `VectorSimilarityMethod`: the distance of `method`, by default `L2`.
    public static let similarityMethod = Choice(
      name: "VectorSimilarityMethod", values: ["L2", "COSINE", "INNER_PRODUCT"])
    /// `Date_Interval`: the unit of `truncateTo` in `Date_Relative`.
    public static let dateInterval = Choice(
      name: "Date_Interval", values: ["WEEK", "MONTH", "YEAR"])
    /// `Timestamp_Interval`: the unit of `truncateTo` in `Timestamp_Relative`.
    public static let timestampInterval = Choice(
      name: "Timestamp_Interval",
      values: ["SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"])
  }

  /// The type without its nullability.
  public var base: Base
  /// Whether null is allowed: `T` instead of `T!`.
  public var isNullable: Bool

  /// Creates a shape. By default it is nullable, as a GraphQL type without `!`.
  public init(_ base: Base, isNullable: Bool = true) {
    self.base = base
    self.isNullable = isNullable
  }

  /// The same type, without null.
  public var required: InputShape { InputShape(base, isNullable: false) }

  package static func value(_ type: ValueType) -> InputShape { InputShape(.value(type)) }

  package static func expression(_ type: ValueType) -> InputShape { InputShape(.expression(type)) }

  package static func choice(_ choice: Choice) -> InputShape { InputShape(.choice(choice)) }

  package static func object(_ name: String) -> InputShape { InputShape(.object(name)) }

  /// `[T!]`: a nullable list whose elements are not null.
  public static func list(_ base: Base) -> InputShape {
    InputShape(.list(InputShape(base, isNullable: false)))
  }
}

extension InputShape: CustomStringConvertible {
  /// As GraphQL writes it: `[Movie_Filter!]!`.
  public var description: String { base.description + (isNullable ? "" : "!") }
}

extension InputShape.Base: CustomStringConvertible {
  /// As GraphQL writes it, without `!`: `[Movie_Filter!]`.
  public var description: String {
    switch self {
    case .value(let type): type.name
    case .expression(let type): "\(type.name)_Expr"
    case .onlyTrue: "True"
    case .choice(let choice): choice.name
    case .object(let name): name
    case .list(let element): "[\(element)]"
    }
  }
}

extension Column {
  /// The shape of the column's values.
  package var shape: InputShape {
    let element = InputShape.Base.value(type)
    return InputShape(
      isList ? .list(InputShape(element, isNullable: hasNullElements)) : element,
      isNullable: isNullable)
  }
}

extension InputType {
  /// The shape of the variable's values.
  public var shape: InputShape {
    let base: InputShape.Base =
      switch self {
      case .value(let type, _): .value(type)
      case .list(let element, _): .list(element.shape)
      case .key(let table, _): .object("\(table)_Key")
      case .data(let table, _): .object("\(table)_Data")
      case .filter(let table, _): .object("\(table)_Filter")
      case .order(let table, _): .object("\(table)_Order")
      case .orderDirection: .choice(.orderDirection)
      case .searchQueryFormat: .choice(.searchQueryFormat)
      }
    return InputShape(base, isNullable: isNullable)
  }
}
