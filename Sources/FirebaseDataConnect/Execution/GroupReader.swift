import DataConnectModel
import Foundation
import Hearth

/// Reads a list with aggregates, or with `distinct`: groups of rows with equal values in the selected
/// columns.
///
///     movies(where: …, having: {_count: {gt: 1}}, orderBy: [{rating_avg: DESC}]) {
///       genre _count rating_avg
///     }
///
/// Also those of a relation: `reviews_on_movie { _count rating_avg }`.
struct GroupReader {
  private let execution: Execution
  private let arguments: [Literal.Member]
  private let selections: [Selection]
  private let layout: TableLayout

  private enum Output {
    case column(TableLayout.ColumnLayout)
    case count
    case countValues(Hearth.AggregateField)
    /// A value of a column.
    case extreme(Hearth.AggregateField, TableLayout.ColumnLayout)
    /// Null if the other aggregate is null: of no values.
    case aggregate(Hearth.AggregateField, ValueType, unlessNull: Hearth.AggregateField?)

    var aggregates: [Hearth.AggregateField] {
      switch self {
      case .column: []
      case .count: [.count()]
      case .countValues(let field), .extreme(let field, _): [field]
      case .aggregate(let field, _, let other): [field] + [other].compactMap(\.self)
      }
    }
  }

  /// Nil for a field that is no list of groups.
  init?(
    _ layout: TableLayout, _ arguments: [Literal.Member], _ selections: [Selection],
    _ execution: Execution
  ) {
    let isGrouped = selections.contains { selection in
      if case .aggregate = selection.kind { true } else { false }
    }
    let isDistinct = execution.argument("distinct", arguments) == .bool(true)
    let hasHaving = execution.argument("having", arguments).map { !$0.isNull } ?? false
    guard isGrouped || isDistinct || hasHaving else { return nil }
    self.execution = execution
    self.arguments = arguments
    self.selections = selections
    self.layout = layout
  }

  /// - Parameter condition: Of the rows, beyond the arguments.
  func value(_ reader: ReadTransaction, where condition: Filter? = nil) throws -> DataValue {
    var columns: [String] = []
    var aggregates: [Hearth.AggregateField] = [.count()]
    var outputs: [(key: String, output: Output, modifiers: Modifiers)] = []
    for selection in selections where execution.isIncluded(selection.modifiers) {
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
    // Those of orders and conditions need not be selected.
    for known in layout.table.aggregates where isUsed(known.name) {
      aggregates += output(named: known.name)?.aggregates ?? []
    }
    let builder = FilterBuilder(execution: execution, reader: reader)
    let filters =
      [condition].compactMap(\.self)
      + (try builder.filters(layout, execution.argument("where", arguments)))
    var groups = builder.query(layout, filters).group(by: columns, aggregating: aggregates)
    groups = try having(groups, execution.argument("having", arguments))
    groups = try ordered(groups)
    guard let paged = try page(groups) else { return .list([]) }
    var rows: [DataValue] = []
    for group in try reader.getGroups(paged) {
      rows.append(try row(outputs) { output in try value(output, group) })
    }
    // Aggregates of no rows are one row.
    if rows.isEmpty, columns.isEmpty,
      execution.argument("offset", arguments) ?? .int(0) == .int(0),
      try isGroupOfNone(filters, reader)
    {
      rows.append(
        try row(outputs) { output in
          switch output {
          case .aggregate, .extreme: return .null
          case .column, .count, .countValues: return .int(0)
          }
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
      if isDistinct { return .countValues(.countDistinct(field)) }
      // Without null, every row has one.
      return found.column.isNullable ? .countValues(.countValues(field)) : .count
    case .sum:
      return .aggregate(
        isDistinct ? .sumDistinct(field) : .sum(field), found.column.type,
        unlessNull: found.column.isNullable ? .average(field) : nil)
    case .avg:
      return .aggregate(
        isDistinct ? .averageDistinct(field) : .average(field), .float, unlessNull: nil)
    case .min: return .extreme(.minimum(field), found)
    case .max: return .extreme(.maximum(field), found)
    }
  }

  private func value(_ value: Any?, of column: TableLayout.ColumnLayout) -> DataValue {
    let stored = StoredValue(any: value)
    guard column.reference != nil else { return stored.dataValue(column.column.type) }
    guard case .reference(let document) = stored else { return .null }
    return RowKey.value(of: document.documentID, type: column.column.type) ?? .null
  }

  private func value(_ output: Output, _ group: AggregateGroup) throws -> DataValue {
    switch output {
    case .count: return .int(group.count.int64Value)
    case .column(let column):
      return value(group[column.reference ?? column.column.name], of: column)
    case .extreme(let field, let column): return value(group.get(field), of: column)
    case .countValues(let field): return StoredValue(any: group.get(field)).dataValue(.int)
    case .aggregate(let field, let type, let other):
      if let other, group.get(other) is NSNull { return .null }
      return StoredValue(any: group.get(field)).dataValue(type)
    }
  }

  /// `_count`, `rating_avg`
  private func output(named name: String) -> Output? {
    guard let known = layout.table.aggregates.first(where: { $0.name == name }) else { return nil }
    return try? output(known.function, known.column, false)
  }

  /// Whether `orderBy` or `having` has the name.
  private func isUsed(_ name: String) -> Bool {
    func has(_ value: DataValue) -> Bool {
      switch value {
      case .list(let values): values.contains(where: has)
      case .object(let object): object[name] != nil || object["_and"].map(has) ?? false
      default: false
      }
    }
    return ["orderBy", "having"].contains { argument in
      execution.argument(argument, arguments).map(has) ?? false
    }
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
      guard let output = output(named: name), let aggregate = output.aggregates.first,
        case .object(let comparisons) = value
      else { throw OperationFailure("'\(name)' is not implemented in 'having'.") }
      for (comparison, operand) in comparisons.members {
        if case .aggregate(_, _, let other?) = output {
          guard comparison != "eq" || !operand.isNull else {
            groups = groups.having(other, isEqualTo: NSNull())
            continue
          }
          // Is not null. A query has one `isNotEqualTo` at most.
          groups = groups.having(other, isGreaterThanOrEqualTo: -Double.infinity)
        }
        let operand = try queryValue(operand, output)
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

  /// Whether no row matches, and the group of none has the aggregates that `having` demands.
  private func isGroupOfNone(_ filters: [Filter], _ reader: ReadTransaction) throws -> Bool {
    guard let having = execution.argument("having", arguments) else { return true }
    guard holdsForNone(having) else { return false }
    let query = FilterBuilder(execution: execution, reader: reader).query(layout, filters)
    return try reader.getDocuments(query.limit(to: 1)).isEmpty
  }

  /// Counts are 0, and other aggregates null.
  private func holdsForNone(_ having: DataValue) -> Bool {
    (having.fields ?? DataObject()).members.allSatisfy { name, value in
      if name == "_and" { return (value.elements ?? [value]).allSatisfy(holdsForNone) }
      let isCount = layout.table.aggregates.contains { $0.name == name && $0.function == .count }
      return (value.fields ?? DataObject()).members.allSatisfy { comparison, operand in
        guard isCount, case .int(let number) = operand else { return false }
        return switch comparison {
        case "eq": number == 0
        case "ne": number != 0
        case "lt": 0 < number
        case "le": 0 <= number
        case "gt": 0 > number
        default: 0 >= number
        }
      }
    }
  }

  /// As the database has the values of the aggregate.
  private func queryValue(_ operand: DataValue, _ output: Output) throws -> Any {
    let type: ValueType
    switch output {
    case .count, .countValues: type = .int64
    case .aggregate(_, let result, _): type = result
    case .extreme(_, let column): type = column.column.type
    case .column: type = .any
    }
    if operand.isNull { return NSNull() }
    let value = try InputCoercion(execution.plan).coerced(operand, type, "having")
    if case .extreme(_, let column) = output,
      let reference = column.reference.flatMap({ layout.table.reference($0) })
    {
      return try execution.plan.layout(reference.target).document([value], in: execution.firestore)
    }
    return try StoredValue(value, Column(name: "", type: type, isNullable: true)).queryValue
  }

  private func ordered(_ groups: GroupedAggregateQuery) throws -> GroupedAggregateQuery {
    var groups = groups
    var ordered: Set<String> = []
    let orders = execution.argument("orderBy", arguments)
    for case .object(let order) in orders.map({ $0.elements ?? [$0] }) ?? [] {
      for (name, direction) in order.members where !direction.isNull {
        guard ordered.insert(name).inserted else { continue }
        let isDescending = direction == "DESC"
        if let aggregate = output(named: name)?.aggregates.first {
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
    let builder = FilterBuilder(execution: execution, reader: nil)
    let offset = try builder.number("offset", arguments) ?? 0
    let limit = try builder.number("limit", arguments) ?? 100
    return limit == 0 ? nil : groups.offset(offset).limit(to: limit)
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
    case let value as VectorValue: self = .vector(value.array)
    case let value as GeoPoint: self = .geoPoint(value)
    case let value as Data: self = .bytes(value)
    case let values as [Any]: self = .list(values.map { StoredValue(any: $0) })
    case let fields as [String: Any]:
      var row = StoredRow()
      for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
        row[name] = StoredValue(any: value)
      }
      self = .map(row)
    default: self = .null
    }
  }
}
