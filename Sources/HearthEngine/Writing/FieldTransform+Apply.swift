/// Applies a transform to the value it finds. Semantics: `google.firestore.v1.Write` (write.proto).
extension FieldTransform {
  /// The new value, nil to remove the field, and the transform's entry in the write result.
  func apply(to old: Value?, at time: Instant) -> (value: Value?, result: Value) {
    switch self {
    case .serverTimestamp:
      return (.timestamp(time), .timestamp(time))
    case .delete:
      return (nil, .null)
    case .increment(let operand):
      let sum = Self.sum(old, operand)
      return (sum, sum)
    case .minimum(let operand):
      let least = Self.extremum(old, operand) { $0 < 0 }
      return (least, least)
    case .maximum(let operand):
      let greatest = Self.extremum(old, operand) { $0 > 0 }
      return (greatest, greatest)
    case .arrayUnion(let elements):
      var array = Self.elements(of: old)
      for element in elements where !array.contains(where: { Value.compare($0, element) == 0 }) {
        array.append(element)
      }
      return (.array(array), .null)
    case .arrayRemove(let elements):
      let array = Self.elements(of: old).filter { kept in
        !elements.contains { Value.compare($0, kept) == 0 }
      }
      return (.array(array), .null)
    }
  }

  private static func elements(of value: Value?) -> [Value] {
    if case .array(let elements)? = value { elements } else { [] }
  }

  /// Integers saturate. If either side is a double, the sum is IEEE's. If `old` is not a number,
  /// the result is `operand`.
  private static func sum(_ old: Value?, _ operand: Value) -> Value {
    switch (old, operand) {
    case (.integer(let a)?, .integer(let b)):
      let (sum, overflow) = a.addingReportingOverflow(b)
      return .integer(overflow ? (b < 0 ? .min : .max) : sum)
    case (.integer(let a)?, .double(let b)): return .double(Double(a) + b)
    case (.double(let a)?, .integer(let b)): return .double(a + Double(b))
    case (.double(let a)?, .double(let b)): return .double(a + b)
    default: return operand
    }
  }

  /// NaN wins. If both are equal, the stored one is kept, with its type and sign.
  private static func extremum(
    _ old: Value?, _ operand: Value, _ isBetter: (Int) -> Bool
  ) -> Value {
    guard let old, old.typeClass == .number || old.typeClass == .nan else { return operand }
    if old.typeClass == .nan { return old }
    if operand.typeClass == .nan { return operand }
    return isBetter(Value.compare(operand, old)) ? operand : old
  }
}

extension MapValue {
  /// The value at a path; nil if any step of it is missing or not a map.
  func value(at path: some Collection<String>) -> Value? {
    guard let first = path.first, let value = self[first] else { return nil }
    let rest = path.dropFirst()
    if rest.isEmpty { return value }
    guard case .map(let inner) = value else { return nil }
    return inner.value(at: rest)
  }

  /// Sets the value at a path. A value on the way that is not a map is replaced by one. Nil removes
  /// the field, and does nothing if a step is missing or not a map.
  mutating func set(_ value: Value?, at path: some Collection<String>) {
    guard let first = path.first else { return }
    let rest = path.dropFirst()
    if rest.isEmpty {
      self[first] = value
      return
    }
    var inner = MapValue()
    if case .map(let existing)? = self[first] {
      inner = existing
    } else if value == nil {
      return
    }
    inner.set(value, at: rest)
    self[first] = .map(inner)
  }
}
