/// The static type of an expression or a variable.
///
///     let movie: CELType = .object(fields: ["title": .string, "genre": .nullable(.string)])
public indirect enum CELType: Sendable, Hashable {
  /// A value of a type that is known only at run time. The checker accepts it everywhere.
  case dyn
  /// Only null.
  case null
  /// `true` or `false`.
  case bool
  /// A signed integer of 64 bits.
  case int
  /// An unsigned integer of 64 bits.
  case uint
  /// A floating-point number of 64 bits.
  case double
  /// A text.
  case string
  /// A byte sequence.
  case bytes
  /// A point in time.
  case timestamp
  /// A span of time.
  case duration
  /// A type as a value: `int`, `type(1)`.
  case type
  /// A list whose elements have one type.
  case list(of: CELType)
  /// A map whose keys have one type and whose values have one type. Any key may be missing.
  case map(key: CELType, value: CELType)
  /// A map with known string keys. Other members are errors of the check.
  ///
  /// A member that may be null may be missing, but then its value ends in `missingKey`. Bind it as
  /// `CELValue.unset`.
  case object(fields: [String: CELType])
  /// A value of a type, or null.
  ///
  /// The checker accepts it like the type itself, as CEL's wrapper types. An operator that meets
  /// null at run time ends in `nullOperand`.
  case nullable(CELType)

  /// Whether a value belongs to the type.
  ///
  /// Null and unset values belong to `null`, `nullable` and `dyn`. A map belongs to an object type
  /// also if it has other members, or lacks members that may be null.
  public func contains(_ value: CELValue) -> Bool {
    switch (self, value) {
    case (.dyn, _), (.null, .null), (.null, .unset): true
    case (.nullable(let type), _): value.isNull || type.contains(value)
    case (.bool, .bool), (.int, .int), (.uint, .uint), (.double, .double): true
    case (.string, .string), (.bytes, .bytes), (.type, .type): true
    case (.timestamp, .timestamp), (.duration, .duration): true
    case (.list(let element), .list(let values)): values.allSatisfy(element.contains)
    case (.map(let key, let type), .map(let values)):
      values.allSatisfy { key.contains($0.key) && type.contains($0.value) }
    case (.object(let fields), .map(let values)):
      fields.allSatisfy { name, type in type.contains(values[.string(name)] ?? .unset) }
    default: false
    }
  }

  /// Whether each value of another type belongs to this type, as far as the types show.
  ///
  /// `dyn` is accepted everywhere. A nullable type is accepted by a type that is not nullable only
  /// if `allowingNull` is true; a null value is then an error of the caller at run time.
  public func accepts(_ other: CELType, allowingNull: Bool = false) -> Bool {
    switch (self, other) {
    case (.dyn, _), (_, .dyn), (.nullable, .null): true
    case (.nullable(let type), _):
      type.accepts(other.withoutNull, allowingNull: allowingNull)
    case (_, .nullable(let type)):
      (allowingNull || self == .null) && accepts(type, allowingNull: allowingNull)
    case (.list(let element), .list(let other)):
      element.accepts(other, allowingNull: allowingNull)
    case (.map(let key, let value), .map(let otherKey, let otherValue)):
      key.accepts(otherKey, allowingNull: allowingNull)
        && value.accepts(otherValue, allowingNull: allowingNull)
    case (.map(let key, let value), .object(let fields)):
      key.accepts(.string)
        && fields.values.allSatisfy { value.accepts($0, allowingNull: allowingNull) }
    case (.object(let fields), .object(let others)):
      fields.allSatisfy { name, type in
        others[name].map { type.accepts($0, allowingNull: allowingNull) } ?? false
      }
    default: self == other
    }
  }
}

extension CELType: CustomStringConvertible {
  /// The type as CEL writes it: `list(int)`, `map(string, dyn)`, `object(genre, title)`.
  public var description: String {
    switch self {
    case .dyn: "dyn"
    case .null: "null"
    case .bool: "bool"
    case .int: "int"
    case .uint: "uint"
    case .double: "double"
    case .string: "string"
    case .bytes: "bytes"
    case .timestamp: "timestamp"
    case .duration: "duration"
    case .type: "type"
    case .list(let element): "list(\(element))"
    case .map(let key, let value): "map(\(key), \(value))"
    case .object(let fields): "object(\(fields.keys.sorted().joined(separator: ", ")))"
    case .nullable(let type): "nullable(\(type))"
    }
  }
}

extension CELType {
  var withoutNull: CELType {
    var type = self
    while case .nullable(let wrapped) = type { type = wrapped }
    return type
  }

  var orNull: CELType {
    switch self {
    case .dyn, .null, .nullable: self
    default: .nullable(self)
    }
  }

  var isNumber: Bool {
    switch self {
    case .int, .uint, .double: true
    default: false
    }
  }

  /// Whether `==` can be true for values of two types.
  func canEqual(_ other: CELType) -> Bool {
    switch (self, other) {
    case (.dyn, _), (_, .dyn), (.null, _), (_, .null): true
    case (.nullable, _), (_, .nullable): withoutNull.canEqual(other.withoutNull)
    case (.list(let a), .list(let b)): a.canEqual(b)
    case (.map(let a, let b), .map(let c, let d)): a.canEqual(c) && b.canEqual(d)
    case (.map(let key, _), .object), (.object, .map(let key, _)): key.canEqual(.string)
    case (.object, .object): true
    default: self == other || (isNumber && other.isNumber)
    }
  }

  /// The narrowest type that both are used as: the elements of a list, the branches of `?:`.
  func joined(with other: CELType) -> CELType {
    if self == other { return self }
    switch (self, other) {
    case (.null, _): return other.orNull
    case (_, .null): return orNull
    case (.nullable, _), (_, .nullable):
      return withoutNull.joined(with: other.withoutNull).orNull
    case (.list(let a), .list(let b)): return .list(of: a.joined(with: b))
    case (.map(let a, let b), .map(let c, let d)):
      return .map(key: a.joined(with: c), value: b.joined(with: d))
    case (.object(let a), .object(let b)) where Set(a.keys) == Set(b.keys):
      return .object(fields: a.merging(b) { $0.joined(with: $1) })
    default: return .dyn
    }
  }
}

/// The variables that an expression may read, with their types.
///
///     let scope = CELScope(
///       variables: ["vars": .object(fields: ["id": .string]), "auth": .nullable(auth)],
///       nullMembers: ["auth"])
///     try expression.check(against: scope)
public struct CELScope: Sendable, Hashable {
  /// The types of the root names.
  public var variables: [String: CELType]
  /// The paths that read null from a null value. See ``CELEnvironment/nullMembers``.
  ///
  /// The checker gives the members of such a path a nullable type: with `auth` among them, and a
  /// `uid` that is a string, `auth.uid` is `.nullable(.string)`.
  public var nullMembers: Set<String>
  /// Whether the environments have a matcher for `matches`. If not, the checker refuses it. True by
  /// default.
  public var hasMatcher: Bool

  /// Creates a scope.
  public init(
    variables: [String: CELType], nullMembers: Set<String> = [], hasMatcher: Bool = true
  ) {
    self.variables = variables
    self.nullMembers = nullMembers
    self.hasMatcher = hasMatcher
  }
}
