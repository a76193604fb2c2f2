/// The running state of one aggregation of a field.
///
/// Equal values count as one: results are as their keys give them back, whole numbers as integers
/// and zero without a sign.
enum RunningAggregate {
  case number(NumberTotal)
  /// The smallest or the largest key so far. Nothing can be removed.
  case extreme([UInt8]?, isMaximum: Bool)
  /// How often there is each key, so that values can be removed.
  case counts([[UInt8]: Int], Kind)

  /// The number of values that are not null.
  case values(Int64)

  enum Kind { case minimum, maximum, distinct, distinctSum, distinctAverage }

  /// - Parameter isLive: Values will be removed again.
  init(_ kind: Aggregation.Kind, isLive: Bool) {
    self =
      switch kind {
      case .count, .sum, .average: .number(NumberTotal())
      case .minimum: isLive ? .counts([:], .minimum) : .extreme(nil, isMaximum: false)
      case .maximum: isLive ? .counts([:], .maximum) : .extreme(nil, isMaximum: true)
      case .distinct: .counts([:], .distinct)
      case .distinctSum: .counts([:], .distinctSum)
      case .distinctAverage: .counts([:], .distinctAverage)
      case .values: .values(0)
      }
  }

  /// - Parameter sign: -1 removes a value that was added.
  mutating func add(_ value: ValueView, sign: Int = 1) throws(Status) {
    if case .number(var total) = self {
      self = .number(NumberTotal())
      defer { self = .number(total) }
      return try total.add(value, sign: sign)
    }
    if value.isNull { return }
    if case .values(let count) = self {
      self = .values(count + Int64(sign))
      return
    }
    add(key: try value.componentKey(), sign)
  }

  mutating func add(_ value: Value) {
    if case .number(var total) = self {
      self = .number(NumberTotal())
      total.add(value)
      self = .number(total)
    } else if value.typeClass == .null {
      return
    } else if case .values(let count) = self {
      self = .values(count + 1)
    } else {
      add(key: value.componentKey, 1)
    }
  }

  private mutating func add(key: [UInt8], _ sign: Int) {
    switch self {
    case .number, .values: break
    case .extreme(let best, let isMaximum):
      precondition(sign > 0, "An extreme that was not made live loses no value.")
      if let best {
        let order = UTF8Order.compare(key, best)
        guard isMaximum ? order > 0 : order < 0 else { return }
      }
      self = .extreme(key, isMaximum: isMaximum)
    case .counts(var counts, let kind):
      self = .counts([:], kind)
      counts[key, default: 0] += sign
      if sign < 0, counts[key, default: 0] <= 0 { counts[key] = nil }
      self = .counts(counts, kind)
    }
  }

  func value(of kind: Aggregation.Kind) -> Value {
    switch self {
    case .number(let total): if case .average = kind { total.averageValue } else { total.sumValue }
    case .extreme(let key, _): Self.value(key)
    case .values(let count): .integer(count)
    case .counts(let counts, .distinct): .integer(Int64(counts.count))
    case .counts(let counts, .distinctSum): Self.total(of: counts.keys).sumValue
    case .counts(let counts, .distinctAverage): Self.total(of: counts.keys).averageValue
    case .counts(let counts, .minimum):
      Self.value(counts.keys.min { UTF8Order.compare($0, $1) < 0 })
    case .counts(let counts, .maximum):
      Self.value(counts.keys.max { UTF8Order.compare($0, $1) < 0 })
    }
  }

  private static func total(of keys: some Sequence<[UInt8]>) -> NumberTotal {
    keys.reduce(into: NumberTotal()) { total, key in total.add(value(key)) }
  }

  private static func value(_ key: [UInt8]?) -> Value {
    key.flatMap { try? ValueSet.value(of: $0) } ?? .null
  }
}
