/// The total order of Firestore's values: "Value type ordering" in its documentation.
///
/// null < boolean < NaN < numbers < timestamp < string < bytes < reference < geo point < array <
/// vector < map. Integers and doubles interleave exactly; -0.0 equals 0; strings go by UTF-8 bytes.
extension Value {
  /// The classes of values that a range filter does not cross, in their order. NaN is a class of its
  /// own.
  ///
  /// On disk: the first byte of a component of an index entry, as in Firestore's own index encoding.
  /// Changing a raw value changes the file format; see KeyEncoding.md.
  package enum TypeClass: UInt8, Sendable {
    case null = 5
    case boolean = 10
    case nan = 13
    case number = 15
    case timestamp = 20
    case string = 25
    case bytes = 30
    case reference = 37
    case geoPoint = 45
    case array = 50
    case vector = 53
    case map = 55
  }

  package var typeClass: TypeClass {
    switch self {
    case .null: .null
    case .boolean: .boolean
    case .integer: .number
    case .double(let value): value.isNaN ? .nan : .number
    case .timestamp: .timestamp
    case .string: .string
    case .bytes: .bytes
    case .reference: .reference
    case .geoPoint: .geoPoint
    case .array: .array
    case .vector: .vector
    case .map: .map
    }
  }

  /// Negative, zero or positive as `lhs` sorts before, with or after `rhs`.
  static func compare(_ lhs: Value, _ rhs: Value) -> Int {
    switch (lhs, rhs) {
    case (.null, .null): 0
    case (.boolean(let a), .boolean(let b)): (a ? 1 : 0) - (b ? 1 : 0)
    case (.integer(let a), .integer(let b)): order(a, b)
    case (.integer(let a), .double(let b)): -compare(double: b, integer: a)
    case (.double(let a), .integer(let b)): compare(double: a, integer: b)
    case (.double(let a), .double(let b)): compare(a, b)
    case (.timestamp(let a), .timestamp(let b)): order(a.microseconds, b.microseconds)
    case (.string(let a), .string(let b)): UTF8Order.compare(a, b)
    case (.bytes(let a), .bytes(let b)): UTF8Order.compare(a, b)
    case (.reference(let a), .reference(let b)): ResourcePath.compare(a, b)
    case (.geoPoint(let a), .geoPoint(let b)):
      first(compare(a.latitude, b.latitude), compare(a.longitude, b.longitude))
    case (.array(let a), .array(let b)): compare(arrays: a, b)
    case (.vector(let a), .vector(let b)): compare(vectors: a, b)
    case (.map(let a), .map(let b)): compare(maps: a, b)
    default: Int(lhs.typeClass.rawValue) - Int(rhs.typeClass.rawValue)
    }
  }

  @inline(__always)
  static func order<T: Comparable>(_ lhs: T, _ rhs: T) -> Int {
    lhs < rhs ? -1 : (lhs > rhs ? 1 : 0)
  }

  private static func first(_ one: Int, _ other: @autoclosure () -> Int) -> Int {
    one != 0 ? one : other()
  }

  /// NaN is less than every other double; -0.0 equals 0.0.
  static func compare(_ lhs: Double, _ rhs: Double) -> Int {
    if lhs < rhs { return -1 }
    if lhs > rhs { return 1 }
    if lhs == rhs { return 0 }
    return (lhs.isNaN ? 0 : 1) - (rhs.isNaN ? 0 : 1)
  }

  /// Exact: no integer is rounded to a double.
  static func compare(double: Double, integer: Int64) -> Int {
    if double.isNaN { return -1 }
    if double < -0x1p63 { return -1 }
    if double >= 0x1p63 { return 1 }
    let whole = Int64(double)  // towards zero
    if whole != integer { return whole < integer ? -1 : 1 }
    return order(double, Double(whole))
  }

  private static func compare(arrays lhs: [Value], _ rhs: [Value]) -> Int {
    for (left, right) in zip(lhs, rhs) {
      let result = compare(left, right)
      if result != 0 { return result }
    }
    return lhs.count - rhs.count
  }

  private static func compare(vectors lhs: [Double], _ rhs: [Double]) -> Int {
    if lhs.count != rhs.count { return lhs.count - rhs.count }
    for (left, right) in zip(lhs, rhs) {
      let result = compare(left, right)
      if result != 0 { return result }
    }
    return 0
  }

  private static func compare(maps lhs: MapValue, _ rhs: MapValue) -> Int {
    for (left, right) in zip(lhs.fields, rhs.fields) {
      let names = UTF8Order.compare(left.name, right.name)
      if names != 0 { return names }
      let values = compare(left.value, right.value)
      if values != 0 { return values }
    }
    return lhs.count - rhs.count
  }
}
