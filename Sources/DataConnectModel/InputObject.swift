/// An input object, or the arguments of a field: names, types, and groups of which one may be given.
public struct InputObject: Hashable, Sendable {
  public enum Role: Hashable, Sendable {
    case key, data, filter, listFilter, order, having, firstRow
    /// The operators of a type: `String_Filter`, `Date_ListFilter`.
    case operators
    /// The arguments of a field.
    case arguments
    case other
  }

  public struct Field: Hashable, Sendable {
    public var name: String
    public var shape: InputShape
    public var defaultValue: Literal?
    /// Refused in values of variables.
    public var isLiteralOnly: Bool
    /// The part of the table that the field is about. Nil for operators and the like.
    public var subject: Subject?
    public var form: Form

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

  /// Names of the table that has the input object.
  public enum Subject: Hashable, Sendable {
    case column(String)
    case reference(String)
    case relation(String)
    case aggregate(String)
  }

  /// The way in which a field gives its value, which is the suffix of its name.
  public enum Form: Hashable, Sendable {
    case plain
    /// `title_expr`, `eq_expr`: in CEL.
    case expression
    /// `releaseDate_date`, `eq_date`: a `Date_Relative`.
    case relativeDate
    /// `createdAt_time`, `eq_time`: a `Timestamp_Relative`.
    case relativeTime
    /// `rating_update`
    case updates
  }

  /// At most one field of a group is given; exactly one if the group is required.
  public struct Group: Hashable, Sendable {
    public var names: [String]
    public var isRequired: Bool

    public init(_ names: [String], isRequired: Bool = false) {
      self.names = names
      self.isRequired = isRequired
    }
  }

  /// `Movie_Filter`. Of arguments the name of the field or directive.
  public var name: String
  public var role: Role
  /// The GraphQL type of the table that it is about.
  public var table: String?
  public let fields: [Field]
  public var groups: [Group]
  private let positions: [String: Int]

  public init(
    _ name: String, role: Role = .other, table: String? = nil, fields: [Field],
    groups: [Group] = []
  ) {
    self.name = name
    self.role = role
    self.table = table
    self.fields = fields
    self.groups = groups
    self.positions = Dictionary(
      fields.enumerated().map { ($0.element.name, $0.offset) },
      uniquingKeysWith: { first, _ in first })
  }

  public func field(_ name: String) -> Field? { positions[name].map { fields[$0] } }
}
