import DataConnectModel
import Hearth

/// The comparisons of a value that the database does not have: an aggregate, or a number of related
/// rows.
///
///     {ge: 2, lt: 10}
struct ValueFilter {
  private struct Comparison {
    let name: String
    /// One, except for "in" and "nin".
    let operands: [DataValue]
    /// The operands in their order, if they have one.
    private let sorted: [DataValue]?

    init(name: String, operands: [DataValue]) {
      self.name = name
      self.operands = operands
      guard let first = operands.first, operands.allSatisfy({ first.order($0) != nil }) else {
        sorted = nil
        return
      }
      sorted = operands.sorted { $0.order($1) ?? 0 < 0 }
    }

    /// Whether one of the operands equals the value.
    func has(_ value: DataValue) -> Bool {
      guard let sorted else { return operands.contains { value.order($0) == 0 } }
      var range = 0..<sorted.count
      while !range.isEmpty {
        let middle = range.lowerBound + range.count / 2
        guard let order = value.order(sorted[middle]) else { return false }
        if order == 0 { return true }
        range =
          order < 0 ? range.lowerBound..<middle : (middle + 1)..<range.upperBound
      }
      return false
    }
  }

  private let comparisons: [Comparison]

  /// Throws `OperationFailure` for a comparison that the type does not have.
  init(_ object: DataObject, _ type: ValueType, _ execution: Execution) throws {
    let coercion = InputCoercion(execution.plan)
    comparisons = try object.members.map { name, value in
      let (name, value) = try execution.comparison(name, value, type)
      switch name {
      case "isNull": return Comparison(name: name, operands: [value])
      case "in", "nin":
        let operands = try (value.elements ?? [value]).map { try coercion.coerced($0, type, name) }
        return Comparison(name: name, operands: operands)
      case "eq", "ne", "lt", "le", "gt", "ge":
        let operand = value.isNull ? .null : try coercion.coerced(value, type, name)
        return Comparison(name: name, operands: [operand])
      default: throw OperationFailure("The type \(type.name) has no comparison '\(name)' here.")
      }
    }
  }

  func matches(_ value: DataValue) -> Bool {
    comparisons.allSatisfy { comparison in
      let operands = comparison.operands
      let isEqual = comparison.has(value)
      let order = operands.first.flatMap { $0.isNull || value.isNull ? nil : value.order($0) }
      return switch comparison.name {
      case "isNull": value.isNull == (operands == [true])
      case "eq", "in": isEqual
      case "ne": !isEqual && (!value.isNull || operands == [.null])
      case "nin": !isEqual && !value.isNull
      case "lt": order.map { $0 < 0 } ?? false
      case "le": order.map { $0 <= 0 } ?? false
      case "gt": order.map { $0 > 0 } ?? false
      default: order.map { $0 >= 0 } ?? false
      }
    }
  }

  /// Whether, among numbers that are not negative, only 0 has another answer than all others.
  var isAboutAny: Bool {
    guard comparisons.count == 1, let comparison = comparisons.first else { return false }
    return switch (comparison.name, comparison.operands) {
    case ("gt", [0]), ("ge", [1]), ("ne", [0]), ("eq", [0]), ("le", [0]), ("lt", [1]): true
    default: false
    }
  }
}

extension DataValue {
  /// Negative, zero or positive: the order of two values of one type, with null first, false before
  /// true, and texts by their bytes. Nil for values of different types.
  func order(_ other: DataValue) -> Int? {
    func order<T: Comparable>(_ one: T, _ other: T) -> Int {
      one < other ? -1 : one > other ? 1 : 0
    }
    return switch (self, other) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.bool(let one), .bool(let other)): order(one ? 1 : 0, other ? 1 : 0)
    case (.int(let one), .int(let other)): order(one, other)
    case (.double(let one), .double(let other)):
      one.isNaN || other.isNaN
        ? order(one.isNaN ? 0 : 1, other.isNaN ? 0 : 1) : order(one, other)
    case (.int(let one), .double): DataValue.double(Double(one)).order(other)
    case (.double, .int(let other)): self.order(.double(Double(other)))
    case (.string(let one), .string(let other)):
      one == other ? 0 : one.utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
    case (.timestamp(let one), .timestamp(let other)): one.compare(other).rawValue
    default: nil
    }
  }
}
