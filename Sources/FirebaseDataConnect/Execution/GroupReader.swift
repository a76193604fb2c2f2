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
/// Also those of a relation: `reviews_on_movie { _count rating_avg }`, and of one through a join table,
/// `actors_via_MovieActor(where: {role: {eq: "main"}}) { _count age_avg }`: there, the arguments are
/// about the rows of the join table, and the aggregates about the actors.
struct GroupReader {
  private let execution: Execution
  private let arguments: [Literal.Member]
  private let selections: [Selection]
  private let layout: TableLayout
  /// Whether the arguments are about the rows of a join table.
  private let isThroughJoin: Bool
  /// Whether a group was read; groups have no scores.
  private let visits = Projection.Visits()

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
    _ execution: Execution, isThroughJoin: Bool = false
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
    self.isThroughJoin = isThroughJoin
  }

  /// The query of the groups. Nil if its page has no rows.
  func query(_ reader: ReadTransaction) throws -> GroupedAggregateQuery? {
    let request = try request(reader, [])
    return request.page.limit == 0 ? nil : request.groups
  }

  /// A class, because each group walks through all of them.
  private final class Selected {
    let output: Output
    let checks: [Check]

    init(_ output: Output, _ checks: [Check]) {
      self.output = output
      self.checks = checks
    }
  }

  private struct Request {
    /// The response keys of `outputs`, each once.
    let names: MemberNames
    let outputs: [Selected]
    let columns: [String]
    /// Whether a group meets the condition. Nil if every group does.
    var having: (([String: Any]) throws -> Bool)?
    /// The aggregates that the condition compares, by their names in it.
    var compared: [String: Output] = [:]
    /// Whether an order is by the positions of an enum's values, which the database does not have.
    var isSortedHere = false
    /// All groups; the page, if groups have no condition and are in the database's order.
    var groups: GroupedAggregateQuery
    let page: PageBounds
  }

  private func request(_ reader: ReadTransaction, _ conditions: [Filter]) throws -> Request {
    var names: [String] = []
    var outputs: [Selected] = []
    var columns: [String] = []
    var aggregates: [Hearth.AggregateField] = [.count()]
    for selection in selections where execution.isIncluded(selection.modifiers) {
      let output: Output
      switch selection.kind {
      case .column(let name):
        guard let column = layout.column(name) else { throw layout.unknown(name) }
        columns.append(column.reference ?? name)
        output = .column(column)
      case .aggregate(let function, let column, let isDistinct):
        output = try self.output(function, column, isDistinct)
        aggregates += output.aggregates
      default:
        throw OperationFailure("'\(selection.name)' cannot be selected in groups.")
      }
      names.append(selection.responseKey)
      outputs.append(Selected(output, selection.modifiers.checks))
    }
    // Those of orders and conditions need not be selected.
    for (name, _) in orders { aggregates += output(named: name)?.aggregates ?? [] }
    let builder = FilterBuilder(execution: execution, reader: reader)
    var having: Filter?
    var compared: [String: Output] = [:]
    if let value = execution.argument("having", arguments), !value.isNull {
      having = try builder.having(layout, value) { name, isDistinct in
        if isThroughJoin, name != "_count" { throw notThroughJoin(name) }
        guard let aggregate = layout.table.aggregates.first(where: { $0.name == name }) else {
          return nil
        }
        // A count of rows has no values that could be equal.
        let isDistinct = isDistinct && aggregate.column != nil
        let field = isDistinct ? "@\(name)" : name
        compared[field] = try output(aggregate.function, aggregate.column, isDistinct)
        return (field, aggregate.type)
      }
    }
    for output in compared.values { aggregates += output.aggregates }
    var filters = conditions
    if !isThroughJoin {
      filters += try builder.filters(layout, execution.argument("where", arguments))
    }
    let groups = builder.query(layout, filters).group(by: columns, aggregating: aggregates)
    var request = Request(
      names: MemberNames(names), outputs: outputs, columns: columns,
      groups: try ordered(groups), page: try PageBounds(arguments, execution))
    request.having = try having?.predicate(in: execution.firestore)
    request.compared = compared
    request.isSortedHere = orders.contains { name, _ in
      if case .enumeration? = layout.column(name)?.column.type { true } else { false }
    }
    if having == nil, !request.isSortedHere {
      request.groups = request.groups.offset(request.page.offset).limit(to: request.page.limit)
    }
    return request
  }

  /// - Parameter conditions: Of the rows, beyond the arguments.
  func value(_ reader: ReadTransaction, where conditions: [Filter] = []) throws -> DataValue {
    let request = try request(reader, conditions)
    if request.page.limit == 0 { return .list([]) }
    var groups = try reader.getGroups(request.groups)
    // Aggregates of no rows are one row.
    let isGroupOfNone = groups.isEmpty && request.columns.isEmpty && request.page.offset == 0
    if request.having != nil {
      groups = try groups.filter { group in try meets(request) { try value($0, group) } }
    }
    if request.isSortedHere { groups = try sorted(groups) }
    if request.having != nil || request.isSortedHere {
      groups = request.page.of(groups)
    }
    var rows = try groups.map { group in
      try row(request) { output in try value(output, group) }
    }
    if isGroupOfNone, try meets(request, valueOfNone) {
      rows.append(try row(request, valueOfNone))
    }
    return .list(rows)
  }

  /// Counts are 0, and other aggregates null.
  private func valueOfNone(_ output: Output) -> DataValue {
    switch output {
    case .aggregate, .extreme: .null
    case .column, .count, .countValues: .int(0)
    }
  }

  private func meets(
    _ request: Request, _ value: (Output) throws -> DataValue
  ) throws -> Bool {
    guard let having = request.having else { return true }
    return try having(request.compared.mapValues { StoredValue(try value($0)).queryValue })
  }

  /// Throws `OperationFailure` for a check that was not reached, unless it is optional: there was no
  /// group, or directives leave its field out.
  func checkReached() throws(OperationFailure) {
    try execution.checkIncluded(selections)
    if visits.isReached { return }
    for selection in selections where execution.isIncluded(selection.modifiers) {
      if let check = selection.modifiers.checks.first(where: { !$0.isOptional }) {
        throw .check(check.message)
      }
    }
  }

  private func row(
    _ request: Request, _ value: (Output) throws -> DataValue
  ) throws -> DataValue {
    visits.isReached = true
    let values = try request.outputs.map { selected in
      let value = try value(selected.output)
      if !selected.checks.isEmpty { try execution.check(selected.checks, value) }
      return value
    }
    return .object(DataObject(request.names, values: values))
  }

  // MARK: Aggregates

  private func output(
    _ function: Selection.Aggregate, _ column: String?, _ isDistinct: Bool
  ) throws -> Output {
    guard let column else { return .count }
    guard let found = layout.column(column) else { throw layout.unknown(column) }
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
    case .count: return .int(Int64(group.count))
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

  /// The columns and aggregates in `orderBy`, without those that are null.
  private var orders: [(name: String, direction: DataValue)] {
    guard let value = execution.argument("orderBy", arguments) else { return [] }
    var orders: [(name: String, direction: DataValue)] = []
    var names: Set<String> = []
    for case .object(let order) in value.elements ?? [value] {
      // Groups that an order leaves equal are equal by the name again.
      for (name, direction) in order.members where !direction.isNull && names.insert(name).inserted
      {
        orders.append((name, direction))
      }
    }
    return orders
  }

  private func notThroughJoin(_ name: String) -> OperationFailure {
    OperationFailure(
      "Groups of a relation through a join table are ordered and chosen by _count, and not by \(name): "
        + "group the rows of the join table.")
  }

  // MARK: Orders

  private func ordered(_ groups: GroupedAggregateQuery) throws -> GroupedAggregateQuery {
    var groups = groups
    for (name, direction) in orders {
      if isThroughJoin, name != "_count" { throw notThroughJoin(name) }
      let isDescending = direction == "DESC"
      if let aggregate = output(named: name)?.aggregates.first {
        groups = groups.order(by: aggregate, descending: isDescending)
      } else if let column = layout.column(name) {
        groups = groups.order(by: column.reference ?? name, descending: isDescending)
      } else {
        throw layout.unknown(name)
      }
    }
    return groups
  }

  /// Groups that are equal stay in the database's order.
  private func sorted(_ groups: [AggregateGroup]) throws -> [AggregateGroup] {
    let orders = orders
    let keys = try groups.map { group in try orders.map { try sortKey($0.name, group) } }
    return groups.indices.sorted { one, other in
      for (index, (_, direction)) in orders.enumerated() {
        let order = keys[one][index].order(keys[other][index]) ?? 0
        if order != 0 { return direction == "DESC" ? order > 0 : order < 0 }
      }
      return one < other
    }.map { groups[$0] }
  }

  private func sortKey(_ name: String, _ group: AggregateGroup) throws -> DataValue {
    if let aggregate = output(named: name)?.aggregates.first {
      // As in the database's order, a sum of no values is 0.
      return StoredValue(any: group.get(aggregate)).dataValue(.int)
    }
    guard let column = layout.column(name) else { throw layout.unknown(name) }
    return execution.plan.sortKey(of: try value(.column(column), group), column.column.type)
  }
}

extension StoredValue {
  /// From a value of a group.
  fileprivate init(any value: Any?) {
    guard let value else {
      self = .null
      return
    }
    // Comparing the type first is faster than casts that fail.
    let type = type(of: value)
    if type == String.self, let text = value as? String {
      self = .string(text)
    } else if type == Timestamp.self, let time = value as? Timestamp {
      self = .timestamp(time)
    } else if type == Data.self, let bytes = value as? Data {
      self = .bytes(bytes)
    } else if type is AnyClass {
      self.init(object: value)
    } else if let values = value as? [Any] {
      self = .list(values.map { StoredValue(any: $0) })
    } else if let fields = value as? [String: Any] {
      let fields = fields.sorted { $0.key < $1.key }
      self = .map(
        StoredRow(names: fields.map(\.key), values: fields.map { StoredValue(any: $0.value) }))
    } else {
      self = .null
    }
  }

  private init(object: Any) {
    switch object {
    case let number as NSNumber:
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "c"), UInt8(ascii: "B"): self = .bool(number.boolValue)
      case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .double(number.doubleValue)
      default: self = .int(number.int64Value)
      }
    case let reference as DocumentReference: self = .reference(reference)
    case let vector as VectorValue: self = .vector(vector.array)
    case let point as GeoPoint: self = .geoPoint(point)
    default: self = .null
    }
  }
}
