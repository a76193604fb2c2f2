/// A variable of an operation that may be unset, which is not the same as null: a condition with an
/// unset variable is no condition, a column with one is not written, and a default applies.
///
///     var variables = ListMoviesByGenreQuery.Variables()
///     variables.genre = nil  // null: movies without a genre
///     // variables.offset is unset
@propertyWrapper
public struct OptionalVariable<Value: Encodable>: Encodable {
  private var state = VariableState<Value>.unset

  /// Creates a variable that is unset.
  public init() {}

  /// Creates a variable that is set, to null if `wrappedValue` is nil.
  public init(wrappedValue: Value?) {
    state = .set(wrappedValue)
  }

  /// The value. Nil for null, and if the variable is unset; see `isSet`. Assigning nil sets null.
  public var wrappedValue: Value? {
    get { if case .set(let value) = state { value } else { nil } }
    set { state = .set(newValue) }
  }

  /// The wrapper, for `$genre.isSet`.
  public var projectedValue: OptionalVariable { self }

  /// Whether a value, or nil for null, was assigned.
  public var isSet: Bool { if case .set = state { true } else { false } }

  /// Encodes null for nil, and also if the variable is unset. A type that encodes itself leaves
  /// unset variables out, as generated code does: `if $genre.isSet { … }`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue {
      try container.encode(wrappedValue)
    } else {
      try container.encodeNil()
    }
  }
}

private enum VariableState<Value> {
  case unset
  case set(Value?)
}

extension VariableState: Sendable where Value: Sendable {}
extension VariableState: Equatable where Value: Equatable {}
extension VariableState: Hashable where Value: Hashable {}
extension OptionalVariable: Sendable where Value: Sendable {}
extension OptionalVariable: Equatable where Value: Equatable {}
extension OptionalVariable: Hashable where Value: Hashable {}
