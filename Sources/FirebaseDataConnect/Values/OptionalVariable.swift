/// A variable of an operation that may be unset, which is not the same as null.
///
///     var variables = ListMoviesQuery.Variables()
///     variables.genre = nil          // null: movies without a genre
///     // variables.limit is unset: the default
@propertyWrapper
public struct OptionalVariable<Value: Encodable>: Encodable {
  private var state = VariableState<Value>.unset

  public init() {}

  public init(wrappedValue: Value?) {
    state = .set(wrappedValue)
  }

  /// Nil if it is unset, too; see `isSet`.
  public var wrappedValue: Value? {
    get { if case .set(let value) = state { value } else { nil } }
    set { state = .set(newValue) }
  }

  public var projectedValue: OptionalVariable { self }

  /// Whether a value, or nil, was assigned.
  public var isSet: Bool { if case .set = state { true } else { false } }

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
