import DataConnectModel
import Foundation
import Hearth

/// Reads a list with aggregates, or with `distinct`: groups of rows with equal values in the selected
/// columns.
///
///     movies(where: …, having: {_count: {gt: 1}}, orderBy: [{rating_avg: DESC}]) {
///       genre _count rating_avg
///     }
struct GroupReader {
  let execution: Execution
  let root: RootField
  private let layout: TableLayout

  private enum Output {
    case column(TableLayout.ColumnLayout)
    case count
    case countDistinct(Hearth.AggregateField)
    /// Null if the other aggregate is null: of no values.
    case aggregate(Hearth.AggregateField, unlessNull: Hearth.AggregateField?)

    var aggregates: [Hearth.AggregateField] {
      switch self {
      case .column: []
      case .count: [.count()]
      case .countDistinct(let field): [field]
      case .aggregate(let field, let other): [field] + [other].compactMap(\.self)
      }
    }
  }

  /// Nil for a field that is no list of groups.
  init?(_ root: RootField, _ execution: Execution) throws {
    guard root.action == .list else { return nil }
    let isGrouped = root.selections.contains { selection in
      if case .aggregate = selection.kind { true } else { false }
    }
    let isDistinct = execution.argument("distinct", root.arguments) == .bool(true)
    guard isGrouped || isDistinct || root.argument("having") != nil else { return nil }
    self.execution = execution
    self.root = root
    layout = try execution.plan.layout(root.table)
  }

  func value() async throws -> DataValue {
    var columns: [String] = []
    var aggregates: [Hearth.AggregateField] = [.count()]
    var outputs: [(key: String, output: Output, modifiers: Modifiers)] = []
    for selection in root.selections where execution.isIncluded(selection.modifiers) {
      let output: Output
      switch selection.kind {
      case .column(let name):
        guard let column = layout.column(name) else { throw unknown(name) }
        columns.append(column.reference ?? name)
        output = .column(column)
      case .aggregate(let function, let column, let isDistinct):
        output = try self.output(function, column, isDistinct)
        aggregates += output.aggregates
      default:
        throw OperationFailure("'\(selection.name)' cannot be selected in groups.")
      }
      outputs.append((selection.responseKey, output, selection.modifiers))
    }
    let builder = FilterBuilder(execution: execution)
    let filters = try builder.filters(layout, execution.argument("where", root.arguments))
    var groups = builder.query(layout, filters).group(by: columns, aggregating: aggregates)
    groups = try having(groups, execution.argument("having", root.arguments))
    groups = try ordered(groups)
    guard let paged = try page(groups) else { return .list([]) }
    var rows: [DataValue] = []
    for group in try await paged.getGroups() {
      rows.append(try row(outputs) { output in try value(output, group) })
    }
    // Aggregates of no rows are one row.
    if rows.isEmpty, columns.isEmpty, root.argument("having") == nil,
      execution.argument("offset", root.arguments) ?? .int(0) == .int(0)
    {
      rows.append(
        try row(outputs) { output in
          if case .aggregate = output { return .null }
          return .int(0)
        })
    }
    return .list(rows)
  }

  private func row(
    _ outputs: [(key: String, output: Output, modifiers: Modifiers)],
    _ value: (Output) throws -> DataValue
  ) throws -> DataValue {
    var row = DataObject()
    for (key, output, modifiers) in outputs {
      let value = try value(output)
      try execution.check(modifiers.checks, value)
      if !modifiers.isRedacted { row[key] = value }
    }
    return .object(row)
  }

  private func unknown(_ name: String) -> OperationFailure {
    OperationFailure("\(layout.table.typeName) has no field \(name).")
  }

  // MARK: Aggregates

  private func output(
    _ function: Selection.Aggregate, _ column: String?, _ isDistinct: Bool
  ) throws -> Output {
    guard let column else { return .count }
    guard let found = layout.column(column) else { throw unknown(column) }
    let field = found.reference ?? column
    switch function {
    case .count:
      if isDistinct { return .countDistinct(.countDistinct(field)) }
      // Without null, every row has one.
      guard found.column.isNullable else { return .count }
      throw OperationFailure(
        "'\(column)_count' is not implemented for a column that can be null, except with "
          + "distinct: true.")
    case .sum:
      guard !isDistinct else { throw notDistinct(column, "sum") }
      return .aggregate(
        .sum(field), unlessNull: found.column.isNullable ? .average(field) : nil)
    case .avg:
      guard !isDistinct else { throw notDistinct(column, "avg") }
      return .aggregate(.average(field), unlessNull: nil)
    case .min: return .aggregate(.minimum(field), unlessNull: nil)
    case .max: return .aggregate(.maximum(field), unlessNull: nil)
    }
  }

  private func notDistinct(_ column: String, _ function: String) -> OperationFailure {
    OperationFailure("'\(column)_\(function)(distinct: true)' is not implemented.")
  }

  private func value(_ output: Output, _ group: AggregateGroup) throws -> DataValue {
    switch output {
    case .count: return .int(group.count.int64Value)
    case .column(let column):
      let stored = StoredValue(any: group[column.reference ?? column.column.name])
      guard column.reference != nil else { return stored.dataValue(column.column.type) }
      guard case .reference(let document) = stored else { return .null }
      return RowKey.value(of: document.documentID, type: column.column.type) ?? .null
    case .countDistinct(let field): return StoredValue(any: group.get(field)).dataValue(.int)
    case .aggregate(let field, let other):
      if let other, group.get(other) is NSNull { return .null }
      return StoredValue(any: group.get(field)).dataValue(.any)
    }
  }

  /// `_count`, `rating_avg`
  private func aggregate(_ name: String) -> Hearth.AggregateField? {
    guard let known = layout.table.aggregates.first(where: { $0.name == name }),
      let output = try? output(known.function, known.column, false)
    else { return nil }
    return output.aggregates.first
  }

  // MARK: Conditions

  private func having(
    _ groups: GroupedAggregateQuery, _ value: DataValue?
  ) throws -> GroupedAggregateQuery {
    guard let value, case .object(let object) = value else { return groups }
    var groups = groups
    for (name, value) in object.members {
      if name == "_and" {
        for member in value.elements ?? [value] { groups = try having(groups, member) }
        continue
      }
      guard let aggregate = aggregate(name), case .object(let comparisons) = value else {
        throw OperationFailure("'\(name)' is not implemented in 'having'.")
      }
      for (comparison, operand) in comparisons.members {
        let operand = try StoredValue(operand, Self.anyColumn).queryValue
        switch comparison {
        case "eq": groups = groups.having(aggregate, isEqualTo: operand)
        case "ne": groups = groups.having(aggregate, isNotEqualTo: operand)
        case "lt": groups = groups.having(aggregate, isLessThan: operand)
        case "le": groups = groups.having(aggregate, isLessThanOrEqualTo: operand)
        case "gt": groups = groups.having(aggregate, isGreaterThan: operand)
        case "ge": groups = groups.having(aggregate, isGreaterThanOrEqualTo: operand)
        default: throw OperationFailure("'\(comparison)' is not implemented in 'having'.")
        }
      }
    }
    return groups
  }

  private static let anyColumn = Column(name: "", type: .any, isNullable: true)

  private func ordered(_ groups: GroupedAggregateQuery) throws -> GroupedAggregateQuery {
    var groups = groups
    let orders = execution.argument("orderBy", root.arguments)
    for case .object(let order) in orders.map({ $0.elements ?? [$0] }) ?? [] {
      for (name, direction) in order.members where !direction.isNull {
        let isDescending = direction == "DESC"
        if let aggregate = aggregate(name) {
          groups = groups.order(by: aggregate, descending: isDescending)
        } else if let column = layout.column(name) {
          groups = groups.order(by: column.reference ?? name, descending: isDescending)
        } else {
          throw unknown(name)
        }
      }
    }
    return groups
  }

  /// Nil for a limit of 0.
  private func page(_ groups: GroupedAggregateQuery) throws -> GroupedAggregateQuery? {
    var groups = groups
    if case .int(let offset)? = execution.argument("offset", root.arguments) {
      groups = groups.offset(Int(offset))
    }
    guard case .int(let limit)? = execution.argument("limit", root.arguments) else {
      return groups.limit(to: 100)
    }
    return limit == 0 ? nil : groups.limit(to: Int(limit))
  }
}

extension StoredValue {
  /// From a value of a group.
  fileprivate init(any value: Any?) {
    switch value {
    case let value as DocumentReference: self = .reference(value)
    case let value as Timestamp: self = .timestamp(value)
    case let value as String: self = .string(value)
    case let value as NSNumber:
      switch value.objCType.pointee {
      case 0x63, 0x42: self = .bool(value.boolValue)
      case 0x64, 0x66: self = .double(value.doubleValue)
      default: self = .int(value.int64Value)
      }
    case let values as [Any]: self = .list(values.map { StoredValue(any: $0) })
    default: self = .null
    }
  }
}
