import DataConnectModel
import Hearth

/// A selected field: its value for a row, and what the value needs.
struct ProjectedField {
  let selection: Selection
  /// The index of its column. Nil for another field.
  var column: Int?
  /// The fields of `_metadata` that directives leave in.
  var parts: [Selection] = []
  /// Whether the value depends on the id of the row's document.
  var needsDocumentID = false
  /// Whether it reads groups, or rows that no inclusion has. So do fields of its rows.
  var hasGroups = false
  /// Throws `OperationFailure` for a check of its rows that was not reached.
  var checkReached: () throws(OperationFailure) -> Void = {}
  let value: (_ row: Projection.Row) throws -> DataValue

  var key: String { selection.responseKey }
  var checks: [Check] { selection.modifiers.checks }
}

/// Makes the fields of a projection, and collects what they need of each row.
struct FieldBuilder {
  let layout: TableLayout
  let execution: Execution
  let reader: ReadTransaction
  let visits: Projection.Visits
  /// Those that are selected, in their order.
  private(set) var columns: [TableLayout.ColumnLayout] = []
  private(set) var inclusions: [DocumentInclusion] = []
  /// Whether columns that are not selected are read: relations by other columns than the key need them.
  private(set) var readsAllColumns = false

  private var builder: FilterBuilder { FilterBuilder(execution: execution, reader: reader) }
  private var runner: QueryRunner { QueryRunner(execution: execution, reader: reader) }

  mutating func field(_ selection: Selection) throws -> ProjectedField {
    switch selection.kind {
    case .column(let name):
      guard let column = layout.column(name) else { throw layout.unknown(name) }
      let index = columns.count
      columns.append(column)
      return ProjectedField(selection: selection, column: index) { $0.columns[index] }
    case .reference(let name): return try referred(selection, by: name)
    case .referring(let table, let reference, let isSingle):
      let source = try execution.plan.layout(table)
      return try referring(selection, source, by: reference, isSingle: isSingle)
    case .via(let join, let near, let far):
      return try joined(selection, execution.plan.layout(join), near, far)
    case .entityID:
      return ProjectedField(selection: selection, needsDocumentID: true) { [layout] in
        .string(layout.row($0.documentID).entityID)
      }
    case .typename:
      let name = DataValue.string(layout.table.typeName)
      return ProjectedField(selection: selection) { _ in name }
    case .metadata: return metadata(selection)
    case .aggregate, .distance, .relevance:
      throw OperationFailure("'\(selection.name)' is not implemented here.")
    }
  }

  /// `_metadata`: the distances and relevances in it.
  private func metadata(_ selection: Selection) -> ProjectedField {
    let parts = selection.selections.filter { execution.isIncluded($0.modifiers) }
    return ProjectedField(selection: selection, parts: parts, needsDocumentID: true) {
      [execution, visits] row in
      let values = parts.map { part in
        let value =
          part.kind == .relevance
          ? visits.scores[BytewiseString(row.documentID)] : row.distance
        return value.map { DataValue.double($0) } ?? .null
      }
      for (part, value) in zip(parts, values) {
        try execution.check(part.modifiers.checks, value)
      }
      return .object(DataObject(names: parts.map(\.responseKey), values: values))
    }
  }

  /// The row that a reference leads to.
  private mutating func referred(
    _ selection: Selection, by name: String
  ) throws -> ProjectedField {
    guard let reference = layout.table.reference(name) else { throw layout.unknown(name) }
    let target = try execution.plan.layout(reference.target)
    let projection = try projection(selection, of: target)
    guard layout.references.contains(reference) else {
      let filters = filters(of: target, reference.targetColumns, equalTo: reference.columns)
      return read(selection, filters, projection.checkReached) { [builder, runner] in
        try runner.rows(builder.query(target, $0).limit(to: 1), projection).first ?? .null
      }
    }
    inclusions.append(
      .reference(name, as: selection.responseKey, including: projection.inclusions))
    return included(selection, projection, isSingle: true)
  }

  /// The rows of `source` that refer to a row.
  private mutating func referring(
    _ selection: Selection, _ source: TableLayout, by name: String, isSingle: Bool
  ) throws -> ProjectedField {
    guard let reference = source.table.reference(name) else { throw source.unknown(name) }
    let arguments = selection.arguments
    let groups =
      isSingle ? nil : GroupReader(source, arguments, selection.selections, execution)
    guard source.references.contains(reference) else {
      let filters = filters(of: source, reference.columns, equalTo: reference.targetColumns)
      if let groups { return read(selection, groups, filters) }
      let projection = try projection(selection, of: source)
      return read(selection, filters, projection.checkReached) { [runner] in
        let rows = try runner.list(arguments, source, projection, $0)
        return isSingle ? rows.first ?? .null : .list(rows)
      }
    }
    if let groups {
      let rows = layout.collection(execution.firestore)
      return read(selection, groups) {
        [.whereField(name, isEqualTo: rows.document($0.documentID))]
      }
    }
    let projection = try projection(selection, of: source)
    return try page(
      selection, source, by: name, projection, including: projection.inclusions,
      isSingle: isSingle)
  }

  /// The rows that those of a join table lead to.
  private mutating func joined(
    _ selection: Selection, _ source: TableLayout, _ near: String, _ far: String
  ) throws -> ProjectedField {
    guard source.references.contains(where: { $0.name == near }) else {
      throw source.unknown(near)
    }
    guard let reference = source.references.first(where: { $0.name == far }) else {
      throw source.unknown(far)
    }
    let target = try execution.plan.layout(reference.target)
    if let groups = GroupReader(
      target, selection.arguments, selection.selections, execution, isThroughJoin: true)
    {
      let filters = try builder.filters(source, execution.argument("where", selection.arguments))
      let rows = layout.collection(execution.firestore)
      return read(selection, groups) { [builder] row in
        let isRow = Filter.whereField(near, isEqualTo: rows.document(row.documentID))
        let joins = builder.query(source, filters + [isRow])
        return [
          .whereField(FieldPath.documentID(), isInResultsOf: joins, field: FieldPath([far]))
        ]
      }
    }
    let projection = try projection(selection, of: target)
    return try page(
      selection, source, by: near, projection,
      including: [.reference(far, as: Self.far, including: projection.inclusions)],
      isThroughJoin: true)
  }

  private static let far = "far"

  private func projection(_ selection: Selection, of layout: TableLayout) throws -> Projection {
    try Projection(selection.selections, of: layout, execution, reader)
  }

  /// A page of the rows of `source` that refer to a row.
  ///
  /// - Parameter isThroughJoin: Each of them includes the row of the field.
  private mutating func page(
    _ selection: Selection, _ source: TableLayout, by reference: String, _ projection: Projection,
    including parts: [DocumentInclusion], isSingle: Bool = false, isThroughJoin: Bool = false
  ) throws -> ProjectedField {
    let arguments = selection.arguments
    let order = try RowOrder(source, execution.argument("orderBy", arguments), execution.plan)
    let query: Query?
    var page: ([IncludingDocument]) throws -> [IncludingDocument] = { $0 }
    if order.isStored {
      query = try builder.page(source, arguments)
    } else {
      // All rows are read, and the page is taken of them.
      query = builder.query(
        source, try builder.filters(source, execution.argument("where", arguments)))
      let bounds = try PageBounds(arguments, execution)
      page = { bounds.of(try order.sorted($0)) }
    }
    guard let query else {
      return ProjectedField(selection: selection, checkReached: projection.checkReached) { _ in
        .list([])
      }
    }
    inclusions.append(
      .referring(
        query, by: reference, as: selection.responseKey,
        including: parts + order.inclusions))
    return included(selection, projection, isSingle: isSingle) { [page] documents in
      let rows = try page(documents)
      return isThroughJoin ? rows.compactMap { $0.first(Self.far) } : rows
    }
  }

  /// The rows of an inclusion: the first or null if `isSingle`.
  private func included(
    _ selection: Selection, _ projection: Projection, isSingle: Bool,
    _ rows: @escaping ([IncludingDocument]) throws -> [IncludingDocument] = { $0 }
  ) -> ProjectedField {
    ProjectedField(
      selection: selection, hasGroups: projection.hasGroups, checkReached: projection.checkReached
    ) { [key = selection.responseKey] row in
      let rows = try rows(row.document?.included(key) ?? [])
      if isSingle { return try rows.first.map { try projection.object($0) } ?? .null }
      return .list(try rows.map { try projection.object($0) })
    }
  }

  /// The columns and references that are read for each row.
  ///
  /// - Parameter filters: The conditions, beyond the arguments.
  private func read(
    _ selection: Selection, _ filters: @escaping (_ row: Projection.Row) throws -> [Filter],
    _ checkReached: @escaping () throws(OperationFailure) -> Void,
    _ value: @escaping ([Filter]) throws -> DataValue
  ) -> ProjectedField {
    ProjectedField(
      selection: selection, needsDocumentID: true, hasGroups: true, checkReached: checkReached
    ) { try value(filters($0)) }
  }

  private func read(
    _ selection: Selection, _ groups: GroupReader,
    _ filters: @escaping (_ row: Projection.Row) throws -> [Filter]
  ) -> ProjectedField {
    read(selection, filters, groups.checkReached) { [reader] in
      try groups.value(reader, where: $0)
    }
  }

  /// The conditions of rows of `source` whose columns equal others of a row.
  private mutating func filters(
    of source: TableLayout, _ columns: [String], equalTo others: [String]
  ) -> (_ row: Projection.Row) throws -> [Filter] {
    readsAllColumns = true
    return { [layout, builder] row in
      let filter = layout.filter(
        of: columns, equalTo: others, of: try row.allColumns, documentID: row.documentID)
      return try filter.map { try builder.filters(source, $0) } ?? [FilterBuilder.nothing]
    }
  }
}
