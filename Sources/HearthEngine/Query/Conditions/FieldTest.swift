internal import HearthGeometry
internal import HearthPatterns

/// One comparison, prepared: a lookup of the field, and the operand in stored form.
struct FieldTest {
  enum Kind {
    case equal, notEqual, lessThan, lessThanOrEqual, greaterThan, greaterThanOrEqual
    case arrayContains, `in`, arrayContainsAny, notIn
    case arrayContainsAll, arrayContainedIn
    case text(TextTest)
    case pattern(RegularExpression, until: ReadDeadline?)
    case region(GeoRegion)
    case relative(ReadTime, RelativeTime, isBefore: Bool)
    case inResults(JoinedValues), arrayContainsAnyInResults(JoinedValues)
    case isNull, isNaN, isNotNull, isNotNaN
    /// A value that these names lead to, also through arrays, passes the test.
    indirect case throughArrays([String], FieldTest)
    /// The field exists.
    case exists
    /// No value passes: a comparison with null or NaN.
    case never
  }

  private var lookup: FieldLookup
  private let kind: Kind
  private let operandClass: Value.TypeClass
  private let operand: ValueView
  private let operands: [ValueView]
  /// The operands as keys, if there are many: equal values have equal keys.
  private let operandKeys: Set<[UInt8]>?
  /// Keeps the bytes of the operands alive.
  private let pins: [PinnedBytes]

  /// - Parameter deadline: See `Matcher`.
  init(_ comparison: StructuredQuery.Comparison, until deadline: ReadDeadline? = nil) {
    lookup = FieldLookup(comparison.field)
    kind = Kind(comparison, until: deadline)
    operandClass = comparison.constant.typeClass
    let list = Kind.listOperand(comparison)
    pins = (list ?? [comparison.constant]).map(PinnedBytes.init(encoding:))
    operand = pins.first?.view ?? .missing
    operands = list == nil ? [] : pins.map(\.view)
    operandKeys = operands.count > 30 ? Set((list ?? []).map(\.componentKey)) : nil
  }

  /// A semi-join with its values.
  init(_ comparison: StructuredQuery.Comparison, _ values: JoinedValues) {
    let isArray = [.arrayContainsAny, .arrayContainsAnyInResults].contains(comparison.operator)
    self.init(comparison, isArray ? .arrayContainsAnyInResults(values) : .inResults(values))
  }

  /// A relative time, at the time of its owner.
  init(_ comparison: StructuredQuery.Comparison, at time: ReadTime) {
    let kind = comparison.relativeTime.map {
      Kind.relative(time, $0, isBefore: comparison.operator == .beforeNow)
    }
    self.init(comparison, kind ?? .never)
  }

  init(requiring field: FieldSegments) {
    self.init(StructuredQuery.Comparison(field: field, operator: .isNull), .exists)
  }

  private init(_ comparison: StructuredQuery.Comparison, _ kind: Kind) {
    lookup = FieldLookup(comparison.field)
    self.kind = kind
    operandClass = .null
    pins = []
    operand = .missing
    operands = []
    operandKeys = nil
  }

  @inline(__always)
  mutating func passes(_ body: MapView) throws(Status) -> Bool {
    guard let value = try lookup.find(in: body) else { return false }
    if case .equal = kind { return try isEqual(value, operand, operandClass) }
    return try passesOther(value)
  }

  private func passesOther(_ value: ValueView) throws(Status) -> Bool {
    switch kind {
    case .exists: return true
    case .never: return false
    case .equal: return try isEqual(value, operand, operandClass)
    case .notEqual:
      if value.isNull { return false }
      return try !isEqual(value, operand, operandClass)
    case .lessThan: return try order(value, outside: .max) < 0
    case .lessThanOrEqual: return try order(value, outside: .max) <= 0
    case .greaterThan: return try order(value, outside: .min) > 0
    case .greaterThanOrEqual: return try order(value, outside: .min) >= 0
    case .isNull: return value.isNull
    case .isNotNull: return !value.isNull
    case .isNaN: return try value.typeClass() == .nan
    case .isNotNaN:
      if value.isNull { return false }
      return try value.typeClass() != .nan
    case .in: return try isAmongOperands(value)
    case .notIn:
      if value.isNull { return false }
      return try !isAmongOperands(value)
    case .arrayContains, .arrayContainsAny:
      guard var elements = try value.array() else { return false }
      for _ in 0..<elements.count {
        let element = try elements.next()
        if case .arrayContains = kind {
          if try isEqual(element, operand, operandClass) { return true }
        } else if try isAmongOperands(element) {
          return true
        }
      }
      return false
    case .arrayContainsAll:
      guard let elements = try value.array() else { return false }
      if let operandKeys { return try hasAll(operandKeys, elements) }
      for operand in operands {
        var rest = elements
        var isThere = false
        for _ in 0..<elements.count where !isThere {
          isThere = try isEqual(rest.next(), operand, operand.typeClass())
        }
        if !isThere { return false }
      }
      return true
    case .arrayContainedIn:
      guard var elements = try value.array() else { return false }
      for _ in 0..<elements.count where try !isAmongOperands(elements.next()) { return false }
      return true
    case .inResults(let values): return try values.contains(value)
    case .pattern(let pattern, let deadline):
      guard let text = try value.stringBytes() else { return false }
      do throws(RegularExpression.Failure) {
        return try pattern.isFound(in: text, until: deadline)
      } catch {
        throw Status(error)
      }
    case .relative(let time, let relative, let isBefore):
      guard let instant = try value.timestamp() else { return false }
      return (instant <= time.boundary(relative)) == isBefore
    case .region(let region):
      guard let point = try value.geoPoint() else { return false }
      return region.contains(latitude: point.latitude, longitude: point.longitude)
    case .arrayContainsAnyInResults(let values):
      guard var elements = try value.array() else { return false }
      for _ in 0..<elements.count where try values.contains(elements.next()) { return true }
      return false
    case .text(let test):
      guard let text = try value.stringBytes() else { return false }
      return test.passes(text)
    case .throughArrays(let names, let test): return try test.passes(behind: names[...], of: value)
    }
  }

  /// Whether one of the values that the names lead to passes. An array in the way has each of its
  /// elements.
  private func passes(behind names: ArraySlice<String>, of value: ValueView) throws(Status) -> Bool
  {
    guard let name = names.first else { return try passesOther(value) }
    if let map = try value.map() {
      guard let next = try map.value(named: name) else { return false }
      return try passes(behind: names.dropFirst(), of: next)
    }
    guard var elements = try value.array() else { return false }
    for _ in 0..<elements.count where try passes(behind: names, of: elements.next()) {
      return true
    }
    return false
  }

  /// - Parameter outside: The result for a value of another type class: no range includes it.
  private func order(_ value: ValueView, outside: Int) throws(Status) -> Int {
    guard try value.typeClass() == operandClass else { return outside }
    return try ValueView.compare(value, operand)
  }

  /// Whether an array has an element for each key.
  private func hasAll(_ keys: Set<[UInt8]>, _ array: ArrayView) throws(Status) -> Bool {
    guard array.count >= keys.count else { return false }
    var (missing, array) = (keys, array)
    for _ in 0..<array.count where !missing.isEmpty {
      missing.remove(try array.next().componentKey())
    }
    return missing.isEmpty
  }

  private func isAmongOperands(_ value: ValueView) throws(Status) -> Bool {
    if let operandKeys { return operandKeys.contains(try value.componentKey()) }
    for operand in operands where try isEqual(value, operand, operand.typeClass()) { return true }
    return false
  }

  @inline(__always)
  private func isEqual(
    _ value: ValueView, _ operand: ValueView, _ operandClass: Value.TypeClass
  ) throws(Status) -> Bool {
    if value.isIdentical(to: operand) { return true }
    switch operandClass {
    // Stored bytes are canonical: equal values of these classes are the same bytes.
    case .null, .nan, .boolean, .timestamp, .string, .bytes, .reference: return false
    case .number:
      let tag = value.tag
      // Different integers, or no number at all.
      if tag & 0xF0 == DocumentFormat.Tag.integer {
        if operand.tag & 0xF0 == DocumentFormat.Tag.integer { return false }
      } else if tag & 0xF0 != DocumentFormat.Tag.double {
        return false
      }
      return try ValueView.compare(value, operand) == 0
    case .geoPoint, .array, .vector, .map:
      return try ValueView.compare(value, operand) == 0
    }
  }
}

extension FieldTest.Kind {
  /// A comparison with null or NaN matches nothing; they have their own operators.
  fileprivate init(_ comparison: StructuredQuery.Comparison, until deadline: ReadDeadline?) {
    let operand = comparison.constant.typeClass
    let isSpecial = operand == .null || operand == .nan
    switch comparison.operator {
    case .equal: self = isSpecial ? .never : .equal
    case .notEqual: self = operand == .null ? .never : (operand == .nan ? .isNotNaN : .notEqual)
    case .lessThan: self = isSpecial ? .never : .lessThan
    case .lessThanOrEqual: self = isSpecial ? .never : .lessThanOrEqual
    case .greaterThan: self = isSpecial ? .never : .greaterThan
    case .greaterThanOrEqual: self = isSpecial ? .never : .greaterThanOrEqual
    case .arrayContains: self = isSpecial || operand == .array ? .never : .arrayContains
    case .in, .inSet: self = .in
    case .arrayContainsAny: self = .arrayContainsAny
    case .arrayContainedIn: self = .arrayContainedIn
    case .arrayContainsAll:
      guard case .array(let elements) = comparison.constant else {
        self = .never
        return
      }
      let isNever = elements.contains { [.null, .nan, .array].contains($0.typeClass) }
      self = isNever ? .never : .arrayContainsAll
    case .hasPrefix, .hasSuffix, .containsText, .equalsIgnoringCase:
      self = TextTest(comparison).map { .text($0) } ?? .never
    case .notIn:
      guard case .array(let elements) = comparison.constant else {
        self = .never
        return
      }
      self = elements.contains { $0.typeClass == .null } ? .never : .notIn
    case .isNull: self = .isNull
    case .isNaN: self = .isNaN
    case .isNotNull: self = .isNotNull
    case .isNotNaN: self = .isNotNaN
    case .matchesPattern:
      self =
        (try? comparison.pattern()).flatMap { $0.map { .pattern($0, until: deadline) } }
        ?? .never
    case .withinRegion: self = comparison.region.map { .region($0) } ?? .never
    case .throughArrays:
      self =
        comparison.reached.map {
          .throughArrays($0.field.names, FieldTest($0, until: deadline))
        } ?? .never
    // Without values, or a time.
    case .inResults, .arrayContainsAnyInResults, .afterNow, .beforeNow: self = .never
    }
  }

  /// The values that a list operator compares with; nil for other operators.
  fileprivate static func listOperand(_ comparison: StructuredQuery.Comparison) -> [Value]? {
    guard comparison.operator.takesList else { return nil }
    guard case .array(let elements) = comparison.constant else { return [] }
    switch comparison.operator {
    case .notIn: return elements
    case .in, .inSet: return elements.filter { $0.typeClass != .null && $0.typeClass != .nan }
    default: return elements.filter { ![.null, .nan, .array].contains($0.typeClass) }
    }
  }
}
