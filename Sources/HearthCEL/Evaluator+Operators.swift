extension Evaluator {
  mutating func apply(
    _ sign: BinaryOperator, _ left: CELValue, _ right: CELValue
  ) throws(CELError) -> CELValue {
    switch sign {
    case .equal: .bool(try areEqual(left, right))
    case .notEqual: .bool(!(try areEqual(left, right)))
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      .bool(try compare(sign, left, right))
    case .contained: .bool(try isContained(left, in: right))
    case .add: try sum(left, right)
    case .subtract, .multiply, .divide, .remainder:
      try arithmetic(sign, left, right)
    }
  }

  func negated(_ value: CELValue) throws(CELError) -> CELValue {
    switch value {
    case .int(let value): return .int(try integer(.subtract, 0, value, "int"))
    case .double(let value): return .double(-value)
    default:
      throw mismatch("The operator - does not accept a value of type \(value.typeName).", [value])
    }
  }

  func outOfRange(_ type: String) -> CELError {
    CELError.here(.overflow, "The result is outside of the range of \(type).")
  }

  private func noOverload(_ sign: BinaryOperator, _ left: CELValue, _ right: CELValue) -> CELError {
    mismatch(
      "The operator \(sign.rawValue) does not accept \(left.typeName) and \(right.typeName).",
      [left, right])
  }

  // MARK: Comparison

  private mutating func compare(
    _ sign: BinaryOperator, _ left: CELValue, _ right: CELValue
  ) throws(CELError) -> Bool {
    try take(bytes: min(left.byteCount, right.byteCount))
    guard let order = CELValue.order(left, right) else { throw noOverload(sign, left, right) }
    switch order {
    case .less: return sign == .less || sign == .lessOrEqual
    case .equal: return sign == .lessOrEqual || sign == .greaterOrEqual
    case .greater: return sign == .greater || sign == .greaterOrEqual
    case .unordered: return false
    }
  }

  private mutating func isContained(
    _ value: CELValue, in container: CELValue
  ) throws(CELError) -> Bool {
    switch container {
    case .list(let elements):
      for element in elements where try areEqual(value, element) { return true }
      return false
    case .map(let map): return CELValue.find(value, in: map) != nil
    default: throw noOverload(.contained, value, container)
    }
  }

  // MARK: Arithmetic

  private mutating func sum(_ left: CELValue, _ right: CELValue) throws(CELError) -> CELValue {
    switch (left, right) {
    case (.string(let a), .string(let b)):
      try take(bytes: a.utf8.count + b.utf8.count)
      return .string(a + b)
    case (.bytes(let a), .bytes(let b)):
      try take(bytes: a.count + b.count)
      return .bytes(a + b)
    case (.list(let a), .list(let b)):
      try take(a.count + b.count)
      return .list(a + b)
    default: return try arithmetic(.add, left, right)
    }
  }

  private func arithmetic(
    _ sign: BinaryOperator, _ left: CELValue, _ right: CELValue
  ) throws(CELError) -> CELValue {
    switch (left, right) {
    case (.int(let a), .int(let b)): return .int(try integer(sign, a, b, "int"))
    case (.uint(let a), .uint(let b)): return .uint(try integer(sign, a, b, "uint"))
    case (.double(let a), .double(let b)) where sign != .remainder:
      return .double(double(sign, a, b))
    default:
      guard let result = try time(sign, left, right) else { throw noOverload(sign, left, right) }
      return result
    }
  }

  private func integer<Value: FixedWidthInteger>(
    _ sign: BinaryOperator, _ a: Value, _ b: Value, _ type: String
  ) throws(CELError) -> Value {
    if b == 0, sign == .divide || sign == .remainder {
      throw .here(.divisionByZero, "The divisor is zero.")
    }
    let (result, overflow) =
      switch sign {
      case .add: a.addingReportingOverflow(b)
      case .subtract: a.subtractingReportingOverflow(b)
      case .multiply: a.multipliedReportingOverflow(by: b)
      case .divide: a.dividedReportingOverflow(by: b)
      default: a.remainderReportingOverflow(dividingBy: b)
      }
    guard !overflow else { throw outOfRange(type) }
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
    _ sign: BinaryOperator, _ left: CELValue, _ right: CELValue
  ) throws(CELError) -> CELValue? {
    switch (sign, left, right) {
    case (.add, .timestamp, .duration):
      return try adding(duration(right), to: left)
    case (.add, .duration, .timestamp):
      return try adding(duration(left), to: right)
    case (.subtract, .timestamp, .duration):
      return try adding(integer(.subtract, 0, duration(right), "duration"), to: left)
    case (.subtract, .timestamp, .timestamp):
      let left = try timestamp(left)
      guard let result = left.duration(since: try timestamp(right)) else {
        throw outOfRange("duration")
      }
      return CELTime.value(ofDuration: result)
    case (.add, .duration, .duration), (.subtract, .duration, .duration):
      return CELTime.value(
        ofDuration: try integer(sign, duration(left), duration(right), "duration"))
    default: return nil
    }
  }

  private func adding(_ duration: Int64, to value: CELValue) throws(CELError) -> CELValue {
    guard let result = try timestamp(value).adding(duration) else { throw outOfRange("timestamp") }
    return result.value
  }

  /// The moment of a value that is a timestamp.
  func timestamp(_ value: CELValue) throws(CELError) -> CELTime.Timestamp {
    guard case .timestamp(let seconds, let nanoseconds) = value,
      let result = CELTime.Timestamp(seconds: seconds, nanoseconds: Int64(nanoseconds))
    else { throw outOfRange("timestamp") }
    return result
  }

  /// The nanoseconds of a value that is a duration.
  func duration(_ value: CELValue) throws(CELError) -> Int64 {
    guard case .duration(let seconds, let nanoseconds) = value,
      let result = CELTime.duration(seconds: seconds, nanoseconds: Int64(nanoseconds))
    else { throw outOfRange("duration") }
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
