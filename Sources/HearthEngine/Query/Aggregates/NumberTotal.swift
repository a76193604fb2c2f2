/// The sum and the average of numbers, for aggregations and for live ones alike.
///
/// Law: the result depends on the numbers alone, not on their order, nor on numbers that were added and
/// removed. Integers and doubles are summed exactly and rounded once.
struct NumberTotal {
  private var integers: Int128 = 0
  private var integerCount = 0
  /// Nil before the first double: most sums are of integers, and this takes half a kilobyte.
  private var doubles: ExactSum?
  private var doubleCount = 0

  /// Adds a number; other values do not count.
  ///
  /// - Parameter sign: -1 removes a number that was added.
  mutating func add(_ value: ValueView, sign: Int = 1) throws(Status) {
    if let integer = try value.integer() {
      add(integer, sign)
    } else if let double = try value.double() {
      add(double, sign)
    }
  }

  mutating func add(_ value: Value) {
    switch value {
    case .integer(let integer): add(integer, 1)
    case .double(let double): add(double, 1)
    default: break
    }
  }

  /// Adds integers with this sum.
  mutating func add(sum: Int64, of count: Int) {
    integers += Int128(sum)
    integerCount += count
  }

  private mutating func add(_ integer: Int64, _ sign: Int) {
    integers += Int128(integer) * Int128(sign)
    integerCount += sign
  }

  private mutating func add(_ double: Double, _ sign: Int) {
    if doubles == nil { doubles = ExactSum() }
    doubles?.add(double, sign: sign)
    doubleCount += sign
  }

  private var doubleTotal: Double {
    guard doubleCount > 0, var total = doubles else { return Double(integers) }
    total.add(integers)
    return total.value
  }

  /// An integer if all numbers are integers and the sum fits; otherwise a double.
  var sumValue: Value {
    guard doubleCount == 0 else { return .double(doubleTotal) }
    return Int64(exactly: integers).map(Value.integer) ?? .double(Double(integers))
  }

  /// Null if there are no numbers.
  var averageValue: Value {
    let count = integerCount + doubleCount
    return count > 0 ? .double(doubleTotal / Double(count)) : .null
  }
}
