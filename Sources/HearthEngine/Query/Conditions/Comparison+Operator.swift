extension StructuredQuery.Comparison {
  /// The test that a comparison makes of a value.
  ///
  /// A new operator is a case and a row of `traits` here, and a case of `FieldTest`, which evaluates it. The
  /// planner, the wanted indexes, the conditions of listeners and the checks of a query read the row.
  package enum Operator: Int, Hashable, Sendable, CaseIterable {
    case lessThan, lessThanOrEqual, greaterThan, greaterThanOrEqual
    case equal, notEqual, arrayContains
    case `in`, arrayContainsAny, notIn
    // Hearth's own, as those after them.
    case inSet, arrayContainsAll, arrayContainedIn
    case hasPrefix, hasSuffix, containsText, equalsIgnoringCase
    case matchesPattern
    case withinRegion
    /// The value is a timestamp, later than the time of the read plus the operand or not.
    case afterNow, beforeNow
    case isNull, isNaN, isNotNull, isNotNaN
    /// Not executed: these become `inSet` and `arrayContainsAny`, or are tested with a `JoinedValues`.
    case inResults, arrayContainsAnyInResults
    /// Another comparison is passed inside the value.
    case throughArrays
  }
}

extension StructuredQuery.Comparison.Operator {
  /// The answers to what the engine asks about an operator.
  struct Traits {
    /// As clients name it in their messages.
    var name: StaticString
    var operand = OperandKind.value
    var keys = KeyRule.untold
    var order = Ordering.none
  }

  /// The operand that a comparison must have; see `Comparison.Operand`.
  enum OperandKind: Equatable {
    /// Null, and is ignored.
    case none
    case value
    /// An array, of at most this many elements.
    case list(most: Int)
    /// A string. Other values than strings do not pass.
    case text
    case pattern, region, time, results, comparison
  }

  /// Which keys of index entries the values that pass have.
  ///
  ///     value      one key for each document
  ///     element    a key for each distinct element of an array
  ///     cell       a key for each of the cells that contain a point
  enum KeyRule: Equatable {
    /// Any keys: values must be tested.
    case untold
    /// The values of the operand. Null and NaN equal nothing.
    case points
    /// All but null and the values of the operand; none if null is among these.
    case exceptPoints
    /// The only value of this class.
    case single(Value.TypeClass)
    /// All but null, and NaN.
    case exceptNull(orNaN: Bool)
    /// Values of the operand's class on one side of it.
    case below(isInclusive: Bool), above(isInclusive: Bool)
    /// Strings that begin with the operand.
    case prefix
    /// Strings that begin as the pattern demands.
    case patternPrefix
    /// Values of one class.
    case oneClass(Value.TypeClass)
    /// One of the elements, or all of them.
    case anyElement, everyElement
    /// Points, and the cells of the region.
    case region
  }

  /// The effect of the operator on the order of a query's results.
  enum Ordering {
    case none
    /// Results are ordered by the field.
    case byField
    /// As `byField`, and a query has at most one of these.
    case byFieldOnce
  }

  /// By the raw values.
  private static let rows = allCases.map(\.row)

  var traits: Traits { Self.rows[rawValue] }

  private var row: Traits {
    switch self {
    case .lessThan:
      Traits(name: "lessThan", keys: .below(isInclusive: false), order: .byField)
    case .lessThanOrEqual:
      Traits(name: "lessThanOrEqual", keys: .below(isInclusive: true), order: .byField)
    case .greaterThan:
      Traits(name: "greaterThan", keys: .above(isInclusive: false), order: .byField)
    case .greaterThanOrEqual:
      Traits(name: "greaterThanOrEqual", keys: .above(isInclusive: true), order: .byField)
    case .equal: Traits(name: "equal", keys: .points)
    case .notEqual: Traits(name: "notEqual", keys: .exceptPoints, order: .byFieldOnce)
    case .arrayContains: Traits(name: "arrayContains", keys: .anyElement)
    case .in: Traits(name: "in", operand: .list(most: Limits.disjunctions), keys: .points)
    case .arrayContainsAny:
      Traits(
        name: "arrayContainsAny", operand: .list(most: Limits.disjunctions), keys: .anyElement)
    case .notIn:
      Traits(
        name: "notIn", operand: .list(most: Limits.notInValues), keys: .exceptPoints,
        order: .byFieldOnce)
    case .inSet: Traits(name: "inSet", operand: .list(most: .max), keys: .points)
    case .arrayContainsAll:
      Traits(
        name: "arrayContainsAll", operand: .list(most: Limits.disjunctions), keys: .everyElement)
    case .arrayContainedIn:
      Traits(name: "arrayContainedIn", operand: .list(most: .max), keys: .oneClass(.array))
    case .hasPrefix: Traits(name: "hasPrefix", operand: .text, keys: .prefix)
    case .hasSuffix: Traits(name: "hasSuffix", operand: .text, keys: .oneClass(.string))
    case .containsText: Traits(name: "containsText", operand: .text, keys: .oneClass(.string))
    case .equalsIgnoringCase:
      Traits(name: "equalsIgnoringCase", operand: .text, keys: .oneClass(.string))
    case .matchesPattern: Traits(name: "matchesPattern", operand: .pattern, keys: .patternPrefix)
    case .withinRegion: Traits(name: "isWithin", operand: .region, keys: .region)
    case .afterNow: Traits(name: "isAfterNow", operand: .time, keys: .oneClass(.timestamp))
    case .beforeNow: Traits(name: "isBeforeNow", operand: .time, keys: .oneClass(.timestamp))
    case .isNull: Traits(name: "equal", operand: .none, keys: .single(.null))
    case .isNaN: Traits(name: "equal", operand: .none, keys: .single(.nan))
    case .isNotNull:
      Traits(
        name: "notEqual", operand: .none, keys: .exceptNull(orNaN: false), order: .byFieldOnce)
    case .isNotNaN:
      Traits(
        name: "notEqual", operand: .none, keys: .exceptNull(orNaN: true), order: .byFieldOnce)
    case .inResults: Traits(name: "isInResultsOf", operand: .results)
    case .arrayContainsAnyInResults:
      Traits(name: "arrayContainsAnyInResultsOf", operand: .results)
    case .throughArrays: Traits(name: "throughArrays", operand: .comparison)
    }
  }
}

extension StructuredQuery.Comparison.Operator {
  /// The name that a client uses in its messages.
  package var clientName: String { "\(traits.name)" }

  /// The name that the server uses in its messages: `arrayContains` is `ARRAY_CONTAINS`.
  var serverName: String {
    clientName.reduce(into: "") { $0 += ($1.isUppercase ? "_" : "") + $1.uppercased() }
  }

  /// The operators for null and NaN take none.
  package var takesOperand: Bool { traits.operand != .none }

  var isInequality: Bool { traits.order != .none }

  package var takesList: Bool { if case .list = traits.operand { true } else { false } }

  package var takesText: Bool { traits.operand == .text }

  /// The operand depends on the time of the read.
  var isRelative: Bool { traits.operand == .time }

  /// Compares elements of arrays.
  package var isOfArrays: Bool {
    switch self {
    case .arrayContainedIn, .arrayContainsAnyInResults: true
    default: [.anyElement, .everyElement].contains(traits.keys)
    }
  }

  /// The values that pass are those of the operand.
  var isPoint: Bool { traits.keys == .points }
}

// MARK: - Index entries

/// Keys of index entries of documents that may pass a comparison; those of a name are `NamePosition.ranges`.
enum EntryKind { case value, element, cell }

extension StructuredQuery.Comparison {
  /// Whether the keys of index entries show which values pass. Otherwise the documents are tested.
  var isDecidedByKeys: Bool {
    if isNegated { return false }
    switch `operator`.traits.keys {
    case .untold, .patternPrefix, .oneClass, .region: return false
    case .anyElement: return hasFewElements
    default: return true
    }
  }

  /// Each element may be a stream of entries of its own.
  private var hasFewElements: Bool {
    foundKeys != nil || operands.count <= Limits.disjunctions
  }

  /// Calls `body` with keys that a document has in each index on the field, if it passes: of one kind of entry, or
  /// of several. One of them, or of several that `body` is called with, decides if `isDecidedByKeys`.
  ///
  /// Not for comparisons of names, and not for negated ones: documents without the field pass these.
  func forEachImplied(_ body: (EntryKind, KeyRanges) -> Void) {
    switch `operator`.traits.keys {
    case .everyElement:
      for element in operands { body(.element, KeyRanges(points: [element].filter(\.isElement))) }
    case .anyElement where hasFewElements:
      body(
        .element,
        foundKeys.map { KeyRanges(found: $0, without: [.null, .nan, .array]) }
          ?? KeyRanges(points: operands.filter(\.isElement)))
    case .region:
      if let region { body(.cell, KeyRanges(cellsOf: region)) }
      body(.value, KeyRanges(self))
    default: body(.value, KeyRanges(self))
    }
  }

  /// The constants that are compared with: the elements of a list, or the operand.
  var operands: [Value] {
    guard `operator`.takesList else { return [constant] }
    guard case .array(let elements) = constant else { return [] }
    return elements
  }
}

extension Value {
  /// Whether an array can contain the value, and equal it there.
  fileprivate var isElement: Bool { ![.null, .nan, .array].contains(typeClass) }
}
