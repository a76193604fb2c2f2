/// A value that an expression reads or computes.
///
///     let auth: CELValue = ["uid": "alice", "token": ["email_verified": true]]
///
/// `==` is structural: values are equal if they have the same case and the same payload. The
/// operator `==` of the language is ``equals(_:)``, which also compares numbers across types. Two
/// strings are equal if their UTF-8 bytes are equal, so that "é" composed and decomposed differ.
/// A NaN is structurally equal to a NaN, and `0.0` to `-0.0`.
public enum CELValue: Sendable {
  /// `null`.
  case null
  /// A declared variable or field that was not given: null for operators, absent for `has`.
  ///
  /// As a member of a map it is not counted by `size`, not found by `in` and not visited by macros,
  /// but `map.key` reads null instead of ending in an error. `evaluate(in:)` never returns it, nor
  /// a map or list that contains it.
  case unset
  /// `true` or `false`.
  case bool(Bool)
  /// A signed integer.
  case int(Int64)
  /// An unsigned integer: `1u`.
  case uint(UInt64)
  /// A floating-point number.
  case double(Double)
  /// A text, which is a sequence of Unicode scalars.
  case string(String)
  /// A byte sequence: `b'\x00'`.
  case bytes([UInt8])
  /// A list.
  case list([CELValue])
  /// A map. Its keys are `bool`, `int`, `uint` or `string`; others are never found.
  case map([CELValue: CELValue])
  /// Seconds since 1970-01-01T00:00:00Z, and nanoseconds, 0 to 999,999,999, that are added to them.
  ///
  /// Operators accept the years 1 to 9999 and end in `overflow` otherwise.
  case timestamp(seconds: Int64, nanoseconds: Int32)
  /// Seconds and nanoseconds of the same sign.
  ///
  /// Operators accept what an `Int64` of nanoseconds holds, ±292 years, and end in `overflow`
  /// otherwise.
  case duration(seconds: Int64, nanoseconds: Int32)
  /// A type, by its name: `int`, `list`, `null_type`, `google.protobuf.Timestamp`.
  case type(String)

  /// The name of the value's type, as the function `type` returns it.
  public var typeName: String {
    switch self {
    case .null, .unset: "null_type"
    case .bool: "bool"
    case .int: "int"
    case .uint: "uint"
    case .double: "double"
    case .string: "string"
    case .bytes: "bytes"
    case .list: "list"
    case .map: "map"
    case .timestamp: "google.protobuf.Timestamp"
    case .duration: "google.protobuf.Duration"
    case .type: "type"
    }
  }

  /// The names that are types where no variable has the name.
  static let typeNames: Set<String> = [
    "bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint",
  ]

  /// The value that operators see: null for an unset one.
  var read: CELValue { isUnset ? .null : self }

  var isNull: Bool {
    switch self {
    case .null, .unset: true
    default: false
    }
  }

  var isUnset: Bool { if case .unset = self { true } else { false } }
}

extension CELValue: Hashable {
  /// Whether two values have the same case and payload. See ``equals(_:)`` for the operator `==`.
  public static func == (lhs: CELValue, rhs: CELValue) -> Bool {
    switch (lhs, rhs) {
    case (.null, .null), (.unset, .unset): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int(let a), .int(let b)): a == b
    case (.uint(let a), .uint(let b)): a == b
    case (.double(let a), .double(let b)): a == b || (a.isNaN && b.isNaN)
    case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
    case (.bytes(let a), .bytes(let b)): a == b
    case (.list(let a), .list(let b)): a == b
    case (.map(let a), .map(let b)): a == b
    case (.timestamp(let a, let b), .timestamp(let c, let d)): a == c && b == d
    case (.duration(let a, let b), .duration(let c, let d)): a == c && b == d
    case (.type(let a), .type(let b)): a == b
    default: false
    }
  }

  /// Hashes the payload.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .unset: hasher.combine(1)
    case .bool(let value): hasher.combine(value)
    case .int(let value): hasher.combine(value)
    case .uint(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value.isNaN ? .nan : value)
    case .string(let value), .type(let value): hasher.combine(value)
    case .bytes(let value): hasher.combine(value)
    case .list(let value): hasher.combine(value)
    case .map(let value): hasher.combine(value)
    case .timestamp(let seconds, let nanoseconds), .duration(let seconds, let nanoseconds):
      hasher.combine(seconds)
      hasher.combine(nanoseconds)
    }
  }
}

extension String {
  /// `==` of String compares canonically equivalent texts as equal; CEL does not.
  func hasSameBytes(as other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}

extension CELValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  /// A `bool`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// An `int`.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// A `double`.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// A `string`.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A `list`.
  public init(arrayLiteral elements: CELValue...) { self = .list(elements) }
  /// A `map`. The last of several entries with the same key counts.
  public init(dictionaryLiteral elements: (CELValue, CELValue)...) {
    self = .map(Dictionary(elements) { $1 })
  }
}
