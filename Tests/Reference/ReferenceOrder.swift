#if DEBUG
  @testable import HearthEngine

  /// Firestore's order of values once more, written to be obvious and to share no code with the
  /// engine.
  enum ReferenceOrder {
    static func compare(_ left: [Term], _ right: [Term]) -> Int {
      for (one, other) in zip(left, right) {
        let order = one.compare(other)
        if order != 0 { return order }
      }
      return sign(left.count, right.count)
    }

    private static func sign<T: Comparable>(_ lhs: T, _ rhs: T) -> Int {
      lhs < rhs ? -1 : (lhs > rhs ? 1 : 0)
    }

    /// Values are compared term by term; if one ends, the shorter is smaller.
    enum Term {
      case whole(Int128)
      case fraction(Double)
      case text([UInt32])

      func compare(_ other: Term) -> Int {
        switch (self, other) {
        case (.whole(let a), .whole(let b)): ReferenceOrder.sign(a, b)
        case (.fraction(let a), .fraction(let b)): ReferenceOrder.sign(a, b)
        case (.text(let a), .text(let b)):
          a.lexicographicallyPrecedes(b) ? -1 : (b.lexicographicallyPrecedes(a) ? 1 : 0)
        // Terms at the same position are of the same kind.
        default: 0
        }
      }
    }

    static func terms(_ value: Value) -> [Term] {
      switch value {
      case .null: return [.whole(0)]
      case .boolean(let value): return [.whole(1), .whole(value ? 1 : 0)]
      case .integer(let value): return [.whole(2)] + terms(integer: value)
      case .double(let value): return [.whole(2)] + terms(double: value)
      case .timestamp(let value): return [.whole(3), .whole(Int128(value.microseconds))]
      case .string(let value): return [.whole(4), text(value)]
      case .bytes(let value): return [.whole(5), .text(value.map(UInt32.init))]
      case .reference(let path):
        // The scalars of an id; a numeric id comes before all of them.
        return [.whole(6)]
          + path.segments.flatMap { id -> [Term] in
            if let number = number(ofID: id) { return [.whole(1), .whole(number)] }
            return [.whole(2), text(id)]
          }
      case .geoPoint(let point):
        return [.whole(7)] + terms(double: point.latitude) + terms(double: point.longitude)
      case .array(let elements): return [.whole(8)] + elements.flatMap(nested) + [.whole(-1)]
      case .vector(let components):
        return [.whole(9), .whole(Int128(components.count))] + components.flatMap(terms(double:))
      case .map(let map):
        return [.whole(10)]
          + map.fields.flatMap { [.whole(0), text($0.name)] + nested($0.value) } + [.whole(-1)]
      }
    }

    /// A reference inside another value ends with a term that comes before a longer path.
    private static func nested(_ value: Value) -> [Term] {
      if case .reference = value { return terms(value) + [.whole(0)] }
      return terms(value)
    }

    /// Scalars sort as their UTF-8 does.
    private static func text(_ string: String) -> Term {
      .text(string.unicodeScalars.map(\.value))
    }

    /// The integer part and the fraction, both exact. NaN comes first. From 2^100 on, the double
    /// itself is compared.
    private static func terms(double: Double) -> [Term] {
      if double.isNaN { return [.whole(Int128.min), .fraction(0)] }
      guard abs(double) < 0x1p100 else {
        return [.whole(double < 0 ? Int128.min + 1 : Int128.max), .fraction(double)]
      }
      let whole = double.rounded(.towardZero)
      return [.whole(Int128(whole)), .fraction(double - whole)]
    }

    private static func terms(integer: Int64) -> [Term] { [.whole(Int128(integer)), .fraction(0)] }

    /// The number of an id such as `__id42__`.
    private static func number(ofID id: String) -> Int128? {
      guard id.utf8.starts(with: "__id".utf8), id.utf8.count > 6, id.hasSuffix("__") else {
        return nil
      }
      let text = id.dropFirst(4).dropLast(2)
      // In its shortest form: no sign but a minus, and no zero in front.
      guard let number = Int64(text), String(number) == text, number != 0 else { return nil }
      return Int128(number)
    }
  }
#endif
