/// An input object, or the arguments of a field: names, types, and groups of which one may be
/// given.
public struct InputObject: Hashable, Sendable {
  /// The purpose of an input object, which decides how the compiler and the runtime read it.
  public enum Role: Hashable, Sendable {
    /// `Movie_Key`: the columns of a row's key.
    case key
    /// `Movie_Data`: the values of a new or changed row.
    case data
    /// `Movie_Filter`: conditions on a row, its references and its relations.
    case filter
    /// `Movie_ListFilter`: conditions on the rows of a relation, by `exist` and `count`.
    case listFilter
    /// `Movie_Order`: a direction for a column, a reference or an aggregate.
    case order
    /// `Movie_Having`: conditions on the aggregates of a group.
    case having
    /// `Movie_FirstRow`: the first row of a filter and an order, in place of a key.
    case firstRow
    /// The operators of a type: `String_Filter`, `Date_ListFilter`.
    case operators
    /// The arguments of a field.
    case arguments
    /// Objects of no table and no type's operators: `String_Pattern`, `Date_Relative`,
    /// `Int_Update`.
    case other
  }

  /// A member of an input object, or an argument.
  public struct Field: Hashable, Sendable {
    /// The name in GraphQL, with its suffix: `title`, `title_expr`.
    public var name: String
    /// The type of the field's value.
    public var shape: InputShape
    /// The value of the field if it is absent. Nil: absent stays absent.
    public var defaultValue: Literal?
    /// Whether the field is allowed only in literals, and refused in the values of variables.
    public var isLiteralOnly: Bool
    /// The part of the table that the field is about. Nil for operators and the like.
    public var subject: Subject?
    /// How the value is given. `.plain` unless the name has a suffix.
    public var form: Form

    /// Creates a field. By default it has no default value, is allowed in variables, and is about
    /// no part of a table.
    public init(
      _ name: String, _ shape: InputShape, default defaultValue: Literal? = nil,
      isLiteralOnly: Bool = false, subject: Subject? = nil, form: Form = .plain
    ) {
      self.name = name
      self.shape = shape
      self.defaultValue = defaultValue
      self.isLiteralOnly = isLiteralOnly
      self.subject = subject
      self.form = form
    }
  }

  /// The part of a table that a field is about, by its name in the schema.
  public enum Subject: Hashable, Sendable {
    /// A column: `title`, `title_expr`.
    case column(String)
    /// A reference: `movie`.
    case reference(String)
    /// A relation: `reviews_on_movie`.
    case relation(String)
    /// An aggregate of rows: `_count`, `price_sum`.
    case aggregate(String)
  }

  /// How a field gives its value. The suffix of its name shows it.
  public enum Form: Hashable, Sendable {
    /// The value itself, without a suffix.
    case plain
    /// `title_expr`, `eq_expr`: an expression in CEL.
    case expression
    /// `releaseDate_date`, `eq_date`: a `Date_Relative`.
    case relativeDate
    /// `createdAt_time`, `eq_time`: a `Timestamp_Relative`.
    case relativeTime
    /// `rating_update`: a change of the stored value, such as `{inc: 1}`.
    case updates
  }

  /// Fields that exclude each other: at most one is given, or exactly one if the group is required.
  public struct Group: Hashable, Sendable {
    /// The names of the fields that exclude each other.
    public var names: [String]
    /// Whether one of the fields must be given.
    public var isRequired: Bool

    /// Creates a group of fields. By default all of them may be absent.
    public init(_ names: [String], isRequired: Bool = false) {
      self.names = names
      self.isRequired = isRequired
    }
  }

  /// The GraphQL name: `Movie_Filter`. For arguments, the name of the root field or of the
  /// directive.
  public var name: String
  /// The purpose of the object.
  public var role: Role
  /// The GraphQL type of the table that the object is about. Nil for objects of no table.
  public var table: String?
  /// The fields in the order of GraphQL's type. Later fields with the name of an earlier one are
  /// unreachable by `field(_:)`.
  public let fields: [Field]
  /// The sets of fields that exclude each other. A field may be in several.
  public var groups: [Group]
  private let positions: [String: Int]

  /// Creates an input object. By default it is about no table, and its fields are independent.
  public init(
    _ name: String, role: Role = .other, table: String? = nil, fields: [Field],
    groups: [Group] = []
  ) {
    self.name = name
    self.role = role
    self.table = table
    self.fields = fields
    self.groups = groups
    self.positions = Dictionary(first: fields.enumerated().map { ($0.element.name, $0.offset) })
  }

  /// The field with a name, in constant time. Nil if the object has none.
  public func field(_ name: String) -> Field? { positions[name].map { fields[$0] } }
}
