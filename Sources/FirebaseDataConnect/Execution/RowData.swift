import DataConnectModel
import Foundation
import Hearth

/// The changes of a row that an `X_Data` value describes, with all expressions evaluated.
struct RowData {
  /// New values, also of the columns of references.
  var values: [String: DataValue] = [:]
  /// `…_update`, in order.
  var updates: [(column: TableLayout.ColumnLayout, operation: String, value: DataValue)] = []
  /// `reviews_on_movie: […]`
  var children: [(name: String, layout: TableLayout, reference: Reference, rows: [DataObject])] = []

  init(_ object: DataObject, _ layout: TableLayout, _ execution: Execution) throws {
    for (name, value) in object.members {
      try add(name, value, layout, execution)
    }
  }

  private mutating func add(
    _ name: String, _ value: DataValue, _ layout: TableLayout, _ execution: Execution
  ) throws {
    if let column = layout.column(name) {
      try set(column, to: value, layout, execution)
    } else if let reference = layout.table.reference(name) {
      try set(reference, to: value, execution)
    } else if let suffix = name.lastIndex(of: "_"),
      let column = layout.column(String(name[..<suffix]))
    {
      if name[suffix...] == "_update" {
        for case .object(let update) in value.elements ?? [value] {
          for (operation, operand) in update.members {
            updates.append((column, operation, operand))
          }
        }
        return
      }
      let (stem, value) = try execution.comparison(name, value, column.column.type)
      guard stem != name else { throw OperationFailure("'\(name)' is not implemented.") }
      try set(column, to: value, layout, execution)
    } else if case .referring(let table, let referenceName, _)? = execution.plan
      .relation(name, of: layout.table)?.kind,
      let reference = try execution.plan.layout(table).table.reference(referenceName)
    {
      children.append(
        (
          name, try execution.plan.layout(table), reference,
          (value.elements ?? [value]).compactMap(\.fields)
        ))
    } else {
      throw layout.unknown(name)
    }
  }

  private mutating func set(
    _ column: TableLayout.ColumnLayout, to value: DataValue, _ layout: TableLayout,
    _ execution: Execution
  ) throws {
    let name = column.column.name
    guard values[name] == nil else {
      throw OperationFailure("\(layout.table.typeName).\(name) is set twice.")
    }
    // Null in a column that must have a value is reported with the row's other columns.
    values[name] =
      value.isNull ? .null : try execution.coercion.coerced(value, for: column.column, name)
  }

  private mutating func set(
    _ reference: Reference, to value: DataValue, _ execution: Execution
  ) throws {
    guard !value.isNull else {
      for column in reference.columns { values[column] = .null }
      return
    }
    let target = try execution.plan.layout(reference.target)
    guard case .object(let key) = value,
      let found = try FilterBuilder(execution: execution, reader: nil).key(target, key)
    else { throw OperationFailure("\(reference.name) must be a key of \(reference.target).") }
    for (index, column) in reference.columns.enumerated() {
      guard let position = target.table.key.firstIndex(of: reference.targetColumns[index]) else {
        continue
      }
      values[column] = found[position]
    }
  }
}

/// Applies one `…_update` to the value of a column.
struct ColumnUpdate {
  let execution: Execution

  func updated(
    _ value: DataValue, _ column: Column, _ operation: String, _ operand: DataValue
  ) throws -> DataValue {
    guard ["inc", "dec"].contains(operation) else { throw unknown(operation, column) }
    let sign: Int64 = operation == "inc" ? 1 : -1
    if value.isNull { return .null }
    switch column.type {
    case .int, .int64, .float:
      return try sum(value, coerced(operand, column), sign, column)
    case .date, .timestamp:
      guard case .object(let duration) = operand else {
        throw OperationFailure("\(column.name) changes by a duration.")
      }
      let time =
        try column.type == .date
        ? Timestamp(rfc3339: "\(value.text ?? "")T00:00:00Z") : Timestamp(dataConnectValue: value)
      return try coerced(.timestamp(time.adding(duration, Int(sign))), column)
    default: throw unknown(operation, column)
    }
  }

  /// The same for a column that is a list, which may have many updates.
  func update(
    _ list: inout ListEdits, _ column: Column, _ operation: String, _ operand: DataValue
  ) throws {
    func elements() throws -> [DataValue] {
      try (operand.elements ?? [operand]).map { try coerced($0, column) }
    }
    switch operation {
    case "append": list.append(try elements())
    case "prepend": list.prepend(try elements())
    case "add": list.add(try elements())
    case "remove": list.remove(try elements())
    default: throw unknown(operation, column)
    }
  }

  private func coerced(_ value: DataValue, _ column: Column) throws -> DataValue {
    try execution.coercion.coerced(value, column.type, column.name)
  }

  private func unknown(_ operation: String, _ column: Column) -> OperationFailure {
    OperationFailure("\(column.name) has no update '\(operation)'.")
  }

  private func sum(
    _ value: DataValue, _ operand: DataValue, _ sign: Int64, _ column: Column
  ) throws -> DataValue {
    switch (value, operand) {
    case (.int(let number), .int(let change)):
      let (sum, isOverflow) =
        sign > 0
        ? number.addingReportingOverflow(change) : number.subtractingReportingOverflow(change)
      guard !isOverflow else { throw OperationFailure("\(column.name) is too large.") }
      return try coerced(.int(sum), column)
    case (.double(let number), .double(let change)):
      return .double(number + Double(sign) * change)
    default: throw OperationFailure("\(column.name) is no number.")
    }
  }
}
