internal import HearthText

extension CELValue {
  /// Whether the operator `==` of the language is true for two values.
  ///
  /// Numbers are compared by their exact value across `int`, `uint` and `double`. Lists and maps
  /// are compared deeply, with the same rule for elements, keys and values. Values of other
  /// different types are not equal. A NaN equals nothing. An unset value equals null, and an unset
  /// member of a map counts as absent. Values that are nested deeper than 250 levels equal nothing.
  ///
  ///     CELValue.int(1).equals(.double(1))   // true
  ///     CELValue.int(1) == .double(1)        // false
  public func equals(_ other: CELValue) -> Bool {
    var budget = Budget(steps: .max)
    return CELValue.equal(self, other, &budget) ?? false
  }

  /// The maximum depth of a value that is visited, so that values of a client, which may be
  /// hostile, do not overflow the stack.
  static let nestingLimit = 250

  /// The greatest cost of a visit of a value. A value can contain one list many times, so that it is
  /// exponentially larger than its memory.
  struct Budget {
    var steps: Int
    var levels = nestingLimit

    /// False if nothing is left.
    mutating func take(_ count: Int = 1) -> Bool {
      steps -= count
      return steps >= 0
    }
  }

  /// The operator `==`, which takes a step per pair of values and 16 bytes.
  ///
  /// Nil if the budget is not enough: `steps` is then negative, or `levels` is.
  static func equal(_ lhs: CELValue, _ rhs: CELValue, _ budget: inout Budget) -> Bool? {
    guard budget.take() else { return nil }
    switch (lhs, rhs) {
    case (.null, .null), (.null, .unset), (.unset, .null), (.unset, .unset): return true
    case (.bool(let a), .bool(let b)): return a == b
    case (.string(let a), .string(let b)):
      guard a.utf8.count == b.utf8.count else { return false }
      return budget.take(a.utf8.count / 16) ? a.hasSameBytes(as: b) : nil
    case (.bytes(let a), .bytes(let b)):
      guard a.count == b.count else { return false }
      return budget.take(a.count / 16) ? a == b : nil
    case (.list(let a), .list(let b)): return equal(a, b, &budget)
    case (.map(let a), .map(let b)): return equal(a, b, &budget)
    case (.timestamp, .timestamp), (.duration, .duration): return order(lhs, rhs) == .equal
    case (.type(let a), .type(let b)): return a == b
    default:
      guard lhs.isNumber, rhs.isNumber else { return false }
      return order(lhs, rhs) == .equal
    }
  }

  private static func equal(
    _ lhs: [CELValue], _ rhs: [CELValue], _ budget: inout Budget
  ) -> Bool? {
    guard lhs.count == rhs.count else { return false }
    budget.levels -= 1
    guard budget.levels >= 0 else { return nil }
    for (a, b) in zip(lhs, rhs) {
      guard let isEqual = equal(a, b, &budget) else { return nil }
      if !isEqual { return false }
    }
    budget.levels += 1
    return true
  }

  private static func equal(
    _ lhs: [CELValue: CELValue], _ rhs: [CELValue: CELValue], _ budget: inout Budget
  ) -> Bool? {
    budget.levels -= 1
    guard budget.levels >= 0 else { return nil }
    var present = 0
    for (key, value) in lhs where !value.isUnset {
      guard budget.take() else { return nil }
      present += 1
      guard let other = find(key, in: rhs) else { return false }
      guard let isEqual = equal(value, other, &budget) else { return nil }
      if !isEqual { return false }
    }
    guard budget.take(lhs.count + rhs.count) else { return nil }
    budget.levels += 1
    return present == rhs.values.count { !$0.isUnset }
  }

  /// The value of a key in a map, where equal numbers are one key. Nil if the member is unset.
  static func find(_ key: CELValue, in map: [CELValue: CELValue]) -> CELValue? {
    guard let value = stored(key, in: map), !value.isUnset else { return nil }
    return value
  }

  /// As `find`, but `unset` for an unset member.
  static func stored(_ key: CELValue, in map: [CELValue: CELValue]) -> CELValue? {
    switch key {
    case .bool, .string: return map[key]
    case .int(let value):
      return map[key] ?? UInt64(exactly: value).flatMap { map[.uint($0)] }
    case .uint(let value):
      return map[key] ?? Int64(exactly: value).flatMap { map[.int($0)] }
    case .double(let value):
      return Int64(exactly: value).flatMap { map[.int($0)] }
        ?? UInt64(exactly: value).flatMap { map[.uint($0)] }
    default: return nil
    }
  }

  var isNumber: Bool {
    switch self {
    case .int, .uint, .double: true
    default: false
    }
  }

  /// Whether a map can have the value as a key.
  var isKey: Bool {
    switch self {
    case .bool, .int, .uint, .string: true
    default: false
    }
  }

  enum Order {
    case less, equal, greater
    /// One of two numbers is NaN.
    case unordered

    init<Value: Comparable>(_ lhs: Value, _ rhs: Value) {
      self = lhs < rhs ? .less : lhs == rhs ? .equal : .greater
    }

    var reversed: Order {
      switch self {
      case .less: .greater
      case .greater: .less
      case .equal, .unordered: self
      }
    }
  }

  /// The order of two values of an ordered type, or of two numbers. Nil for others.
  static func order(_ lhs: CELValue, _ rhs: CELValue) -> Order? {
    switch (lhs, rhs) {
    case (.int(let a), .int(let b)): Order(a, b)
    case (.uint(let a), .uint(let b)): Order(a, b)
    case (.double(let a), .double(let b)): a.isNaN || b.isNaN ? Order.unordered : Order(a, b)
    case (.int(let a), .uint(let b)): a < 0 ? .less : Order(UInt64(a), b)
    case (.uint(let a), .int(let b)): b < 0 ? .greater : Order(a, UInt64(b))
    case (.int(let a), .double(let b)): order(a, b)
    case (.double(let a), .int(let b)): order(b, a).reversed
    case (.uint(let a), .double(let b)): order(a, b)
    case (.double(let a), .uint(let b)): order(b, a).reversed
    case (.bool(let a), .bool(let b)): Order(a ? 1 : 0, b ? 1 : 0)
    case (.string(let a), .string(let b)): order(a.utf8, b.utf8)
    case (.bytes(let a), .bytes(let b)): order(a, b)
    case (.timestamp(let a, let b), .timestamp(let c, let d)),
      (.duration(let a, let b), .duration(let c, let d)):
      order(seconds: a, b, c, d)
    default: nil
    }
  }

  /// Compares the exact values: the nearest double of a large integer is another number.
  private static func order<Value: FixedWidthInteger>(_ lhs: Value, _ rhs: Double) -> Order {
    if rhs.isNaN { return .unordered }
    if let whole = Value(exactly: rhs.rounded(.down)) {
      if lhs != whole { return Order(lhs, whole) }
      return Double(whole) == rhs ? .equal : .less
    }
    return rhs > 0 ? .less : .greater
  }

  /// Bytes of UTF-8 are in the order of Unicode scalars.
  private static func order<Bytes: Sequence<UInt8>>(_ lhs: Bytes, _ rhs: Bytes) -> Order {
    var others = rhs.makeIterator()
    for byte in lhs {
      guard let other = others.next() else { return .greater }
      if byte != other { return Order(byte, other) }
    }
    return others.next() == nil ? .equal : .less
  }

  /// Nanoseconds outside of 0..<1e9 are carried, so that equal moments are equal.
  private static func order(
    seconds a: Int64, _ b: Int32, _ c: Int64, _ d: Int32
  ) -> Order {
    let second = Int64(1_000_000_000)
    let left = Int64(b).quotientAndRemainder(floorDividingBy: second)
    let right = Int64(d).quotientAndRemainder(floorDividingBy: second)
    // A sum that overflows is saturated: such a value is outside of every operator's range.
    let lhs = a.addingSaturated(left.quotient)
    let rhs = c.addingSaturated(right.quotient)
    return lhs != rhs ? Order(lhs, rhs) : Order(left.remainder, right.remainder)
  }

  /// The keys that are present, in a fixed order: `false`, `true`, numbers, strings.
  static func keys(of map: [CELValue: CELValue]) -> [CELValue] {
    sorted(map.compactMap { !$0.value.isUnset && $0.key.isKey ? $0.key : nil })
  }

  static func sorted(_ keys: [CELValue]) -> [CELValue] {
    keys.sorted { lhs, rhs in
      if let order = order(lhs, rhs) {
        // `1` before `1u`, which a map of the caller may contain both.
        return order == .less || (order == .equal && lhs.keyRank < rhs.keyRank)
      }
      return lhs.keyRank < rhs.keyRank
    }
  }

  private var keyRank: Int {
    switch self {
    case .bool: 0
    case .int: 1
    case .uint: 2
    default: 3
    }
  }
}

extension Int64 {
  func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}
