extension Evaluator {
  mutating func apply(
    _ sign: BinaryOperator, _ left: CELValue, _ right: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue {
    switch sign {
    case .equal: .bool(try areEqual(left, right, at: position))
    case .notEqual: .bool(!(try areEqual(left, right, at: position)))
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      .bool(try compare(sign, left, right, at: position))
    case .contained: .bool(try isContained(left, in: right, at: position))
    case .add: try sum(left, right, at: position)
    case .subtract, .multiply, .divide, .remainder:
      try arithmetic(sign, left, right, at: position)
    }
  }

  func negated(_ value: CELValue, at position: CELPosition) throws(CELError) -> CELValue {
    switch value {
    case .int(let value):
      let (result, overflow) = Int64(0).subtractingReportingOverflow(value)
      guard !overflow else { throw outOfRange("int", at: position) }
      return .int(result)
    case .double(let value): return .double(-value)
    default:
      throw mismatch(
        "The operator - does not accept a value of type \(value.typeName).", [value], at: position)
    }
  }

  func outOfRange(_ type: String, at position: CELPosition) -> CELError {
    CELError(.overflow, "The result is outside of the range of \(type).", at: position)
  }

  private func noOverload(
    _ sign: BinaryOperator, _ left: CELValue, _ right: CELValue, at position: CELPosition
  ) -> CELError {
    mismatch(
      "The operator \(sign.rawValue) does not accept \(left.typeName) and \(right.typeName).",
      [left, right], at: position)
  }

  // MARK: Comparison

  private mutating func compare(
    _ sign: BinaryOperator, _ left: CELValue, _ right: CELValue, at position: CELPosition
  ) throws(CELError) -> Bool {
    try take(bytes: min(left.byteCount, right.byteCount), at: position)
    guard let order = CELValue.order(left, right) else {
      throw noOverload(sign, left, right, at: position)
    }
    switch order {
    case .less: return sign == .less || sign == .lessOrEqual
    case .equal: return sign == .lessOrEqual || sign == .greaterOrEqual
    case .greater: return sign == .greater || sign == .greaterOrEqual
    case .unordered: return false
    }
  }

  private mutating func isContained(
    _ value: CELValue, in container: CELValue, at position: CELPosition
  ) throws(CELError) -> Bool {
    switch container {
    case .list(let elements):
      for element in elements where try areEqual(value, element, at: position) { return true }
      return false
    case .map(let map): return CELValue.find(value, in: map) != nil
    default: throw noOverload(.contained, value, container, at: position)
    }
  }

  // MARK: Arithmetic

  private mutating func sum(
    _ left: CELValue, _ right: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue {
    switch (left, right) {
    case (.string(let a), .string(let b)):
      try take(bytes: a.utf8.count + b.utf8.count, at: position)
      return .string(a + b)
    case (.bytes(let a), .bytes(let b)):
      try take(bytes: a.count + b.count, at: position)
      return .bytes(a + b)
    case (.list(let a), .list(let b)):
      try take(a.count + b.count, at: position)
      return .list(a + b)
    default: return try arithmetic(.add, left, right, at: position)
    }
  }

  private func arithmetic(
    _ sign: BinaryOperator, _ left: CELValue, _ right: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue {
    switch (left, right) {
    case (.int(let a), .int(let b)): return .int(try integer(sign, a, b, "int", at: position))
    case (.uint(let a), .uint(let b)): return .uint(try integer(sign, a, b, "uint", at: position))
    case (.double(let a), .double(let b)) where sign != .remainder:
      return .double(double(sign, a, b))
    default:
      guard let result = try time(sign, left, right, at: position) else {
        throw noOverload(sign, left, right, at: position)
      }
      return result
    }
  }

  private func integer<Value: FixedWidthInteger>(
    _ sign: BinaryOperator, _ a: Value, _ b: Value, _ type: String, at position: CELPosition
  ) throws(CELError) -> Value {
    if b == 0, sign == .divide || sign == .remainder {
      throw CELError(.divisionByZero, "The divisor is zero.", at: position)
    }
    let (result, overflow) =
      switch sign {
      case .add: a.addingReportingOverflow(b)
      case .subtract: a.subtractingReportingOverflow(b)
      case .multiply: a.multipliedReportingOverflow(by: b)
      case .divide: a.dividedReportingOverflow(by: b)
      default: a.remainderReportingOverflow(dividingBy: b)
      }
    guard !overflow else { throw outOfRange(type, at: position) }
    return result
  }

  private func double(_ sign: BinaryOperator, _ a: Double, _ b: Double) -> Double {
    switch sign {
    case .add: a + b
    case .subtract: a - b
    case .multiply: a * b
    default: a / b
    }
  }

  // MARK: Time

  /// Nil if the operands are not a sum or difference of timestamps and durations.
  private func time(
    _ sign: BinaryOperator, _ left: CELValue, _ right: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue? {
    switch (sign, left, right) {
    case (.add, .timestamp, .duration):
      return try adding(duration(right, at: position), to: left, at: position)
    case (.add, .duration, .timestamp):
      return try adding(duration(left, at: position), to: right, at: position)
    case (.subtract, .timestamp, .duration):
      let (opposite, overflow) = Int64(0).subtractingReportingOverflow(
        try duration(right, at: position))
      guard !overflow else { throw outOfRange("duration", at: position) }
      return try adding(opposite, to: left, at: position)
    case (.subtract, .timestamp, .timestamp):
      let left = try timestamp(left, at: position)
      guard let result = left.duration(since: try timestamp(right, at: position)) else {
        throw outOfRange("duration", at: position)
      }
      return CELTime.value(ofDuration: result)
    case (.add, .duration, .duration), (.subtract, .duration, .duration):
      let a = try duration(left, at: position)
      let b = try duration(right, at: position)
      let (result, overflow) =
        sign == .add ? a.addingReportingOverflow(b) : a.subtractingReportingOverflow(b)
      guard !overflow else { throw outOfRange("duration", at: position) }
      return CELTime.value(ofDuration: result)
    default: return nil
    }
  }

  private func adding(
    _ duration: Int64, to value: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue {
    guard let result = try timestamp(value, at: position).adding(duration) else {
      throw outOfRange("timestamp", at: position)
    }
    return result.value
  }

  /// The moment of a value that is a timestamp.
  func timestamp(
    _ value: CELValue, at position: CELPosition
  ) throws(CELError) -> CELTime.Timestamp {
    guard case .timestamp(let seconds, let nanoseconds) = value,
      let result = CELTime.Timestamp(seconds: seconds, nanoseconds: Int64(nanoseconds))
    else { throw outOfRange("timestamp", at: position) }
    return result
  }

  /// The nanoseconds of a value that is a duration.
  func duration(_ value: CELValue, at position: CELPosition) throws(CELError) -> Int64 {
    guard case .duration(let seconds, let nanoseconds) = value,
      let result = CELTime.duration(seconds: seconds, nanoseconds: Int64(nanoseconds))
    else { throw outOfRange("duration", at: position) }
    return result
  }
}

extension CELValue {
  /// The length of a text or of bytes. 0 for other values.
  var byteCount: Int {
    switch self {
    case .string(let value): value.utf8.count
    case .bytes(let value): value.count
    default: 0
    }
  }
}
