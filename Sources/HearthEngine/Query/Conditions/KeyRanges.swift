internal import HearthGeometry

/// A range of component keys: from `lower`, included, to `upper`, excluded.
///
///     [k(v), end(k(v)))    exactly the value v, with any continuation of the key
///
/// Both bounds lie between components, never inside one: no component is a prefix of another.
struct KeyRange: Hashable, Sendable {
  var lower: [UInt8]
  /// Nil is unbounded.
  var upper: [UInt8]?

  static let everything = KeyRange(lower: [], upper: nil)

  init(lower: [UInt8], upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  /// All keys that begin with `prefix`.
  init(prefix: [UInt8]) {
    self.init(lower: prefix, upper: KeyRange.end(prefix))
  }

  /// The first key after all keys that begin with `prefix`; nil if none, as for an empty prefix.
  static func end(_ prefix: [UInt8]) -> [UInt8]? { KeyLayout.end(ofPrefix: prefix) }

  var isEmpty: Bool {
    guard let upper else { return false }
    return UTF8Order.compare(lower, upper) >= 0
  }

  /// Whether it is the range of all keys that begin with `lower`. Allocates nothing.
  var isPrefix: Bool {
    guard let upper, let last = upper.indices.last, upper.count <= lower.count,
      lower[upper.count...].allSatisfy({ $0 == 0xFF })
    else { return upper == KeyRange.end(lower) }
    return upper[last] == lower[last] &+ 1 && lower[last] != 0xFF
      && upper[..<last].elementsEqual(lower[..<last])
  }

  func intersection(_ other: KeyRange) -> KeyRange {
    KeyRange(
      lower: UTF8Order.compare(lower, other.lower) >= 0 ? lower : other.lower,
      upper: KeyRange.isBefore(upper, other.upper) ? upper : other.upper)
  }

  /// The same keys with every bit inverted.
  var inverted: KeyRange {
    func end(_ bytes: [UInt8]) -> [UInt8]? { KeyRange.end(bytes.map { ~$0 }) }
    // Keys that begin with `upper` are outside; keys that begin with `lower` are inside.
    return KeyRange(lower: upper.flatMap(end) ?? [], upper: end(lower))
  }

  /// The same range after a prefix.
  func behind(_ prefix: [UInt8]) -> KeyRange {
    KeyRange(
      lower: prefix + lower, upper: upper.map { prefix + $0 } ?? KeyRange.end(prefix))
  }

  func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    guard lower.withUnsafeBytes({ UTF8Order.compare(key, $0) >= 0 }) else { return false }
    guard let upper else { return true }
    return upper.withUnsafeBytes { UTF8Order.compare(key, $0) < 0 }
  }

  /// Whether one upper bound is before another; nil is after all.
  static func isBefore(_ one: [UInt8]?, _ other: [UInt8]?) -> Bool {
    guard let one else { return false }
    guard let other else { return true }
    return UTF8Order.compare(one, other) < 0
  }
}

/// The values that a component may have: disjoint ranges in order.
struct KeyRanges: Hashable, Sendable {
  private(set) var ranges: [KeyRange]
  /// Each range is one value.
  private(set) var arePoints: Bool

  static let everything = KeyRanges([.everything])
  static let nothing = KeyRanges([], arePoints: true)

  private init(_ ranges: [KeyRange], arePoints: Bool = false) {
    self.ranges = ranges
    self.arePoints = arePoints
  }

  /// One range.
  init(_ range: KeyRange) { self.init(range.isEmpty ? [] : [range]) }

  /// Exactly these values.
  init(points values: some Sequence<Value>) {
    self.init(points: values.map { KeyRange(prefix: $0.componentKey) })
  }

  /// Exactly these ranges. Each is one value, one name, or empty.
  init(points: [KeyRange]) {
    func isBefore(_ one: KeyRange, _ other: KeyRange) -> Bool {
      UTF8Order.compare(one.lower, other.lower) < 0
    }
    // As those of a semi-join.
    let isAscending =
      points.indices.dropFirst().allSatisfy { isBefore(points[$0 - 1], points[$0]) }
    if isAscending, !points.contains(where: \.isEmpty) {
      self.init(points, arePoints: true)
      return
    }
    var ranges: [KeyRange] = []
    for point in points.sorted(by: isBefore)
    where !point.isEmpty && ranges.last != point {
      ranges.append(point)
    }
    self.init(ranges, arePoints: true)
  }

  /// Every value except these.
  init(allBut values: some Sequence<Value>) {
    self.init(allBut: values.map { KeyRange(prefix: $0.componentKey) })
  }

  init(allBut points: [KeyRange]) {
    var ranges: [KeyRange] = []
    var lower: [UInt8] = []
    for point in KeyRanges(points: points).ranges {
      let gap = KeyRange(lower: lower, upper: point.lower)
      if !gap.isEmpty { ranges.append(gap) }
      lower = point.upper ?? point.lower
    }
    ranges.append(KeyRange(lower: lower, upper: nil))
    self.init(ranges)
  }

  var isEmpty: Bool { ranges.isEmpty }
  var isEverything: Bool { self == .everything }
  /// Exactly one value.
  var isPoint: Bool { arePoints && ranges.count == 1 }

  func intersection(_ other: KeyRanges) -> KeyRanges {
    if isEverything { return other }
    if other.isEverything { return self }
    var result: [KeyRange] = []
    var mine = ranges[...]
    var theirs = other.ranges[...]
    while let one = mine.first, let another = theirs.first {
      let both = one.intersection(another)
      if !both.isEmpty { result.append(both) }
      if KeyRange.isBefore(one.upper, another.upper) {
        mine.removeFirst()
      } else {
        theirs.removeFirst()
      }
    }
    return KeyRanges(result, arePoints: arePoints || other.arePoints)
  }

  /// The values in all of these. Intersects pairs, then pairs of those: one after another, each
  /// intersection would read all ranges of those before it.
  static func intersection(of all: [KeyRanges]) -> KeyRanges {
    var rest = all
    while rest.count > 1 {
      rest = stride(from: 0, to: rest.count, by: 2).map { index in
        index + 1 < rest.count ? rest[index].intersection(rest[index + 1]) : rest[index]
      }
    }
    return rest.first ?? .everything
  }

  /// The ranges in the inverted encoding of a descending component.
  var inverted: KeyRanges {
    // A point stays a prefix range: its `lower` is used as the key of the value.
    KeyRanges(
      ranges.reversed().map {
        arePoints ? KeyRange(prefix: $0.lower.map { ~$0 }) : $0.inverted
      }, arePoints: arePoints)
  }

  func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    // The last range that does not begin after the key.
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].lower.withUnsafeBytes({ UTF8Order.compare($0, key) > 0 }) {
        high = middle
      } else {
        low = middle + 1
      }
    }
    guard low > 0 else { return false }
    guard let upper = ranges[low - 1].upper else { return true }
    return upper.withUnsafeBytes { UTF8Order.compare(key, $0) < 0 }
  }
}

extension Value {
  /// The value, encoded as an ascending component of an entry's key.
  var componentKey: [UInt8] {
    var buffer = KeyBuffer(minimumCapacity: 32)
    buffer.append(self)
    return buffer.bytes
  }
}

// MARK: - From comparisons

extension KeyRanges {
  /// The values of a field that pass a comparison. Not for comparisons of names or array elements.
  ///
  /// Law: a stored value passes the comparison if and only if its key is in one of the ranges; only
  /// if, for a comparison that is not `isDecidedByKeys`.
  init(_ comparison: StructuredQuery.Comparison) {
    let rule = comparison.operator.traits.keys
    switch rule {
    case .untold, .anyElement, .everyElement: self = .everything
    case .oneClass(let type): self.init(KeyRange(prefix: [type.rawValue]))
    case .region: self.init(KeyRange(prefix: [Value.TypeClass.geoPoint.rawValue]))
    case .single(let type): self.init(points: [KeyRange(prefix: [type.rawValue])])
    case .exceptNull(let orNaN): self.init(allBut: orNaN ? [.null, .double(.nan)] : [.null])
    case .points:
      self =
        comparison.foundKeys.map { KeyRanges(found: $0, without: [.null, .nan]) }
        ?? KeyRanges(points: comparison.operands.filter { !$0.isNullOrNaN })
    case .exceptPoints:
      let operands = comparison.operands
      let isNever = operands.contains { $0.typeClass == .null }
      self = isNever ? .nothing : KeyRanges(allBut: [.null] + operands)
    case .prefix: self = KeyRanges(stringsWithPrefix: comparison.constant)
    case .patternPrefix:
      let prefix = (try? comparison.pattern())?.anchoredPrefix ?? ""
      self = KeyRanges(stringsWithPrefix: .string(prefix))
    case .below, .above:
      let operand = comparison.constant
      guard !operand.isNullOrNaN else {
        self = .nothing
        return
      }
      let key = operand.componentKey
      let end = KeyRange.end(key)
      var range = KeyRange(prefix: [operand.typeClass.rawValue])
      if case .below(let isInclusive) = rule {
        range.upper = isInclusive ? end : key
      } else {
        range.lower = rule == .above(isInclusive: true) ? key : end ?? key
      }
      self.init(range)
    }
  }

  /// A string's key is its tag and its bytes, in which few are escaped, and an end.
  private init(stringsWithPrefix prefix: Value) {
    guard case .string = prefix else {
      self = .nothing
      return
    }
    self.init(KeyRange(prefix: prefix.componentKey.dropLast()))
  }

  /// The keys of the cells that a region touches: those of an index on cells.
  init(cellsOf region: GeoRegion) {
    self.init(
      region.covering().map { leaves in
        KeyRange(
          lower: GeoCell.key(leaves.lowerBound), upper: KeyRange.end(GeoCell.key(leaves.upperBound))
        )
      })
  }

  /// The values of a semi-join that are not of these types.
  init(found keys: SortedKeys, without types: Set<Value.TypeClass>) {
    let points = keys.map { key in
      let type = key.first.flatMap(Value.TypeClass.init(rawValue:))
      return type.map(types.contains) ?? true ? nil : KeyRange(prefix: [UInt8](key))
    }
    self.init(points.compactMap(\.self), arePoints: true)
  }
}

extension Value {
  fileprivate var isNullOrNaN: Bool { typeClass == .null || typeClass == .nan }
}
