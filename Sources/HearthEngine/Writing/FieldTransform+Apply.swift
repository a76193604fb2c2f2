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
      if elements.count <= Self.fewElements {
        for element in elements where !Self.contains(array, element) { array.append(element) }
        return (.array(array), .null)
      }
      var present = Set(array.lazy.map(\.componentKey))
      for element in elements where present.insert(element.componentKey).inserted {
        array.append(element)
      }
      return (.array(array), .null)
    case .arrayRemove(let elements):
      let array = Self.elements(of: old)
      if elements.count <= Self.fewElements {
        return (.array(array.filter { !Self.contains(elements, $0) }), .null)
      }
      let removed = Set(elements.lazy.map(\.componentKey))
      return (.array(array.filter { !removed.contains($0.componentKey) }), .null)
    }
  }

  /// Comparing every element of an array with a few takes less time than making keys of them. With
  /// more, keys are looked up, which are equal if the values are: this runs on the writer's thread,
  /// where comparing would take the product of both lengths.
  private static let fewElements = 8

  private static func contains(_ array: [Value], _ element: Value) -> Bool {
    array.contains { Value.compare($0, element) == 0 }
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
