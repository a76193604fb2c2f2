import DataConnectModel

/// The condition of a number of related rows: `{ge: 2, lt: 10}`.
struct CountFilter {
  private let comparisons: [(name: String, operands: [Int64])]

  /// Throws `OperationFailure` for a comparison that numbers do not have.
  init(_ object: DataObject, _ execution: Execution) throws {
    comparisons = try object.members.compactMap { name, value in
      if name == "isNull" { return ("isNull", [value == .bool(true) ? 1 : 0]) }
      var name = name
      var value = value
      if name.hasSuffix("_expr"), case .string(let source) = value {
        name.removeLast(5)
        value = try execution.value(ofExpression: source)
      }
      let coercion = InputCoercion(execution.plan)
      // A count is never null: only "ne" of null is true.
      if value.isNull { return name == "ne" ? nil : ("in", []) }
      let operands = try (value.elements ?? [value]).compactMap { operand -> Int64? in
        guard case .int(let number) = try coercion.coerced(operand, .int64, "count") else {
          return nil
        }
        return number
      }
      guard ["in", "nin"].contains(name) || operands.count == 1,
        ["eq", "ne", "lt", "le", "gt", "ge", "in", "nin"].contains(name)
      else { throw OperationFailure("A count has no comparison '\(name)'.") }
      return (name, operands)
    }
  }

  func matches(_ count: Int64) -> Bool {
    comparisons.allSatisfy { name, operands in
      switch name {
      case "in", "eq": operands.contains(count)
      case "nin", "ne": !operands.contains(count)
      case "lt": count < operands[0]
      case "le": count <= operands[0]
      case "gt": count > operands[0]
      case "ge": count >= operands[0]
      default: operands == [0]
      }
    }
  }

  /// Whether all numbers above 0 give the same answer, and 0 the other one.
  var isAboutAny: Bool {
    guard comparisons.count == 1 else { return false }
    return switch (comparisons[0].name, comparisons[0].operands) {
    case ("gt", [0]), ("ge", [1]), ("ne", [0]), ("eq", [0]), ("le", [0]), ("lt", [1]): true
    default: false
    }
  }
}
