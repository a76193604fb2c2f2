import DataConnectModel
import Foundation
import Hearth

/// The columns that a root field selects, if it selects nothing else and none has directives. They are
/// the same in every execution, and are resolved once.
final class SelectedColumns: Sendable {
  /// The response keys.
  fileprivate let names: MemberNames
  fileprivate let columns: [TableLayout.ColumnLayout]
  fileprivate let decoding: ProjectedRow.Plan

  /// Nil if other fields are selected, or a field has directives.
  init?(_ selections: [Selection], of layout: TableLayout) {
    var columns: [TableLayout.ColumnLayout] = []
    columns.reserveCapacity(selections.count)
    for selection in selections {
      guard case .column(let name) = selection.kind, selection.modifiers == Modifiers(),
        let column = layout.column(name)
      else { return nil }
      columns.append(column)
    }
    self.columns = columns
    names = MemberNames(selections.map(\.responseKey))
    decoding = ProjectedRow.Plan(layout.storedFields, columns.map(\.step))
  }
}

/// The selected fields of a row, with the documents that they need, and the objects made of them.
final class Projection {
  private enum Field {
    /// One of `columns`.
    case column(Int)
    /// The documents of an inclusion: the first or null if `isSingle`. If `throughJoin`, each of them
    /// includes the row. With a page if the database does not have the order.
    case included(
      Projection, isSingle: Bool = false, throughJoin: Bool = false, page: SortedPage? = nil)
    /// The rows that refer to other columns of the row than its key. Without arguments: the row that a
    /// reference leads to by other columns than its key. Read for each row.
    case rowsByValue(Projection, Reference, [Literal.Member]?, isSingle: Bool)
    /// Groups of the rows of a relation.
    case groups(GroupReader, of: (_ row: Source) throws -> Filter)
    /// A page with a limit of 0.
    case noRows(Projection)
    /// `_metadata`: the distances and relevances in it.
    case metadata([Metadata])
    case entityID
    case typename
  }

  private struct Metadata {
    let key: String
    let isRelevance: Bool
    let checks: [Check]
  }

  /// All documents of an inclusion are read, and the page is taken of them.
  private struct SortedPage {
    let order: RowOrder
    let offset: Int
    let limit: Int

    func of(_ documents: [IncludingDocument]) throws -> [IncludingDocument] {
      Array(try order.sorted(documents).dropFirst(offset).prefix(limit))
    }
  }

  /// A class, because each row walks through all of them.
  private final class Selected {
    let key: String
    let field: Field
    let isRedacted: Bool
    let checks: [Check]

    init(_ key: String, _ field: Field, _ modifiers: Modifiers) {
      self.key = key
      self.field = field
      isRedacted = modifiers.isRedacted
      checks = modifiers.checks
    }
  }

  /// Whether any row was read.
  private final class Visits {
    var isReached = false
    /// Of the rows that a search has found, by id.
    var scores: [BytewiseString: Double] = [:]
  }

  /// Sets the relevances of the rows, by id.
  func setScores(_ scores: [BytewiseString: Double]) { visits.scores = scores }

  /// Whether relevances are selected.
  var hasRelevance: Bool {
    fields.contains { selected in
      if case .metadata(let keys) = selected.field {
        keys.contains(where: \.isRelevance)
      } else {
        false
      }
    }
  }

  private let execution: Execution
  private let reader: ReadTransaction
  private let layout: TableLayout
  private let fields: [Selected]
  private let selections: [Selection]
  private let visits = Visits()
  /// Those of the objects: also the redacted ones, which checks and `response` read.
  private let names: MemberNames
  /// Those that are selected, in their order.
  private let columns: [TableLayout.ColumnLayout]
  /// Whether objects are made of the columns and nothing else.
  private let isPlain: Bool
  /// Reads `ProjectedRow`s with the columns.
  let decoder = Firestore.Decoder()
  /// Whether objects cannot be made without the documents' ids.
  let needsDocumentID: Bool
  let inclusions: [DocumentInclusion]

  private static let far = "far"

  /// The member with the row's id and its columns by their response keys, if the execution marks rows.
  static let rowMember = "@row"

  static func entityID(_ collectionID: String, _ documentID: String) -> String {
    collectionID + "/" + documentID
  }

  /// The row of an entity's id. Ids of collections have no slash.
  static func row(ofEntity id: String) -> RowIdentity? {
    guard let slash = id.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    return RowIdentity(String(id[..<slash]), String(id[id.utf8.index(after: slash)...]))
  }

  /// Of `rowMember`: the columns. Nil if rows are not marked.
  private let markedColumns: DataValue?

  /// The same as the other initializer makes of the selections. Rows are not marked.
  init(
    _ selected: SelectedColumns, of layout: TableLayout, _ execution: Execution,
    _ reader: ReadTransaction
  ) {
    self.execution = execution
    self.reader = reader
    self.layout = layout
    selections = []
    fields = []
    inclusions = []
    names = selected.names
    columns = selected.columns
    markedColumns = nil
    isPlain = true
    needsDocumentID = false
    decoder.configuration = selected.decoding
  }

  init(
    _ selections: [Selection], of layout: TableLayout, _ execution: Execution,
    _ reader: ReadTransaction
  ) throws {
    self.execution = execution
    self.reader = reader
    self.layout = layout
    self.selections = selections
    let builder = FilterBuilder(execution: execution, reader: reader)
    var fields: [Selected] = []
    var inclusions: [DocumentInclusion] = []
    // Relations by other columns than the key need also those that are not selected.
    var readsAllColumns = false
    var columns: [TableLayout.ColumnLayout] = []
    fields.reserveCapacity(selections.count)
    columns.reserveCapacity(selections.count)
    /// The rows of `source` that refer to a row, and that an inclusion has.
    func included(
      _ selection: Selection, _ source: TableLayout, by reference: String,
      _ projection: Projection, including parts: [DocumentInclusion], isSingle: Bool = false,
      throughJoin: Bool = false
    ) throws -> Field {
      let sorted = try Self.sorted(source, selection.arguments, builder)
      guard let query = try sorted?.query ?? builder.page(source, selection.arguments) else {
        return .noRows(projection)
      }
      inclusions.append(
        .referring(
          query, by: reference, as: selection.responseKey,
          including: parts + (sorted?.page.order.inclusions ?? [])))
      return .included(
        projection, isSingle: isSingle, throughJoin: throughJoin, page: sorted?.page)
    }
    for selection in selections where execution.isIncluded(selection.modifiers) {
      let field: Field
      let key = selection.responseKey
      switch selection.kind {
      case .column(let name):
        guard let column = layout.column(name) else { throw layout.unknown(name) }
        field = .column(columns.count)
        columns.append(column)
      case .reference(let name):
        guard let reference = layout.table.reference(name) else { throw layout.unknown(name) }
        let target = try execution.plan.layout(reference.target)
        let projection = try Projection(selection.selections, of: target, execution, reader)
        guard layout.references.contains(reference) else {
          field = .rowsByValue(projection, reference, nil, isSingle: true)
          readsAllColumns = true
          break
        }
        inclusions.append(.reference(name, as: key, including: projection.inclusions))
        field = .included(projection, isSingle: true)
      case .referring(let table, let reference, let isSingle):
        let source = try execution.plan.layout(table)
        guard let known = source.table.reference(reference) else { throw source.unknown(reference) }
        let isByKey = source.references.contains(known)
        if !isSingle,
          let groups = GroupReader(source, selection.arguments, selection.selections, execution)
        {
          if !isByKey { readsAllColumns = true }
          field = .groups(groups) { row in
            if isByKey {
              let document = layout.collection(execution.firestore).document(row.documentID)
              return .whereField(reference, isEqualTo: document)
            }
            return .andFilter(
              try Self.filters(source, known.columns, layout, known.targetColumns, row, builder))
          }
          break
        }
        let projection = try Projection(selection.selections, of: source, execution, reader)
        guard isByKey else {
          field = .rowsByValue(projection, known, selection.arguments, isSingle: isSingle)
          readsAllColumns = true
          break
        }
        field = try included(
          selection, source, by: reference, projection, including: projection.inclusions,
          isSingle: isSingle)
      case .via(let join, let near, let far):
        let source = try execution.plan.layout(join)
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
          let filters = try builder.filters(
            source, execution.argument("where", selection.arguments))
          field = .groups(groups) { row in
            let document = layout.collection(execution.firestore).document(row.documentID)
            let joins = builder.query(source, filters + [.whereField(near, isEqualTo: document)])
            return .whereField(
              FieldPath.documentID(), isInResultsOf: joins, field: FieldPath([far]))
          }
          break
        }
        let projection = try Projection(selection.selections, of: target, execution, reader)
        field = try included(
          selection, source, by: near, projection,
          including: [.reference(far, as: Self.far, including: projection.inclusions)],
          throughJoin: true)
      case .entityID: field = .entityID
      case .typename: field = .typename
      case .metadata:
        field = .metadata(
          selection.selections.filter { execution.isIncluded($0.modifiers) }.map { selected in
            Metadata(
              key: selected.responseKey, isRelevance: selected.kind == .relevance,
              checks: selected.modifiers.checks)
          })
      case .aggregate, .distance, .relevance:
        throw OperationFailure("'\(selection.name)' is not implemented here.")
      }
      fields.append(Selected(key, field, selection.modifiers))
    }
    self.fields = fields
    self.inclusions = inclusions
    let shown = fields.filter { !$0.isRedacted }
    names = MemberNames(fields.map(\.key) + (execution.marksRows ? [Self.rowMember] : []))
    markedColumns =
      execution.marksRows
      ? .object(
        DataObject(
          shown.compactMap { selected in
            guard case .column(let index) = selected.field else { return nil }
            return (selected.key, .string(columns[index].column.name))
          })) : nil
    self.columns = columns
    isPlain =
      columns.count == fields.count && !execution.marksRows
      && fields.allSatisfy { $0.checks.isEmpty }
    if !readsAllColumns {
      decoder.configuration = ProjectedRow.Plan(layout.storedFields, columns.map(\.step))
    }
    needsDocumentID =
      execution.marksRows
      || fields.contains { selected in
        switch selected.field {
        case .entityID, .groups, .rowsByValue, .metadata: true
        case .column, .included, .noRows, .typename: false
        }
      }
  }

  /// The conditions of rows of `source` whose columns equal others of a row of `layout`.
  private static func filters(
    _ source: TableLayout, _ columns: [String], _ layout: TableLayout, _ others: [String],
    _ row: Source, _ builder: FilterBuilder
  ) throws -> [Filter] {
    let filter = layout.filter(
      of: columns, equalTo: others, of: try row.allColumns, documentID: row.documentID)
    return try filter.map { try builder.filters(source, $0) } ?? [FilterBuilder.nothing]
  }

  /// The rows of a relation, and the page of them. Nil for an order that the database has.
  private static func sorted(
    _ layout: TableLayout, _ arguments: [Literal.Member], _ builder: FilterBuilder
  ) throws -> (query: Query, page: SortedPage)? {
    let execution = builder.execution
    guard
      let order = try RowOrder(layout, execution.argument("orderBy", arguments), execution.plan)
    else { return nil }
    return (
      builder.query(
        layout, try builder.filters(layout, execution.argument("where", arguments))),
      SortedPage(
        order: order, offset: try builder.number("offset", arguments) ?? 0,
        limit: try builder.number("limit", arguments) ?? 100)
    )
  }

  /// Whether groups of a relation are selected, at any depth, or other rows that no inclusion has.
  var hasGroups: Bool {
    fields.contains { selected in
      switch selected.field {
      case .groups, .rowsByValue: true
      case .included(let projection, _, _, _): projection.hasGroups
      case .column, .noRows, .metadata, .entityID, .typename: false
      }
    }
  }

  /// Throws `OperationFailure` for a check that was not reached, unless it is optional: there was no
  /// row, or directives leave its field out.
  func checkReached() throws(OperationFailure) {
    try execution.checkIncluded(selections)
    for selection in selections where selection.kind == .metadata {
      try execution.checkIncluded(selection.selections)
    }
    for selected in fields {
      var checks = selected.checks
      if case .metadata(let parts) = selected.field { checks += parts.flatMap(\.checks) }
      if !visits.isReached, let check = checks.first(where: { !$0.isOptional }) {
        throw .check(check.message)
      }
      switch selected.field {
      case .included(let projection, _, _, _), .rowsByValue(let projection, _, _, _),
        .noRows(let projection):
        try projection.checkReached()
      case .groups(let groups, _): try groups.checkReached()
      case .column, .metadata, .entityID, .typename: break
      }
    }
  }

  /// A row that was read.
  private struct Source {
    let row: ProjectedRow
    /// Nil if only a row with its id, or a complete one, was read.
    var document: IncludingDocument?
    var id = ""
    var distance: Double?

    var documentID: String { document?.documentID ?? id }

    /// For a projection that reads all columns.
    var allColumns: StoredRow {
      get throws {
        guard case .stored(let row) = row else {
          throw OperationFailure("Columns of a relation were not read.")
        }
        return row
      }
    }
  }

  /// The object of a row without inclusions.
  ///
  /// - Parameter documentID: Not used if the row is complete and `needsDocumentID` is false.
  func object(_ row: ProjectedRow, documentID: String) throws -> DataValue {
    try object(Source(row: row, id: documentID))
  }

  /// - Parameter distance: From the vector that was compared.
  func object(_ document: IncludingDocument, distance: Double? = nil) throws -> DataValue {
    try object(
      Source(
        row: document.data(as: ProjectedRow.self, decoder: decoder), document: document,
        distance: distance))
  }

  /// The values of the selected columns.
  private func columnValues(_ source: Source) -> [DataValue] {
    var values: [DataValue]
    switch source.row {
    case .values(let complete, isComplete: true): return complete
    case .values(let found, isComplete: false):
      values = found
      let key = RowKey.values(of: source.documentID, types: layout.keyTypes)
      for (index, column) in columns.enumerated() where column.step.isKey && values[index].isNull {
        let position = layout.table.key.firstIndex(of: column.column.name)
        values[index] = position.flatMap { key?[$0] } ?? .null
      }
    case .stored(let row):
      values = columns.map { layout.value(of: $0, in: row, documentID: source.documentID) }
    }
    for (column, value) in zip(columns, values) where !column.form.fits(value) {
      execution.misfits.note(value, column, layout.table.typeName, source.documentID)
    }
    return values
  }

  private func object(_ source: Source) throws -> DataValue {
    visits.isReached = true
    let columns = columnValues(source)
    if isPlain { return .object(DataObject(names, values: columns)) }
    var values: [DataValue] = []
    values.reserveCapacity(fields.count + 1)
    for selected in fields {
      let value = try value(selected, source, columns)
      if !selected.checks.isEmpty { try execution.check(selected.checks, value) }
      values.append(value)
    }
    if let markedColumns {
      let id = Self.entityID(layout.table.collectionID, source.documentID)
      values.append(.object(["id": .string(id), "columns": markedColumns]))
    }
    return .object(DataObject(names, values: values))
  }

  private func value(
    _ selected: Selected, _ source: Source, _ columns: [DataValue]
  ) throws -> DataValue {
    switch selected.field {
    case .column(let index): return columns[index]
    case .included(let projection, let isSingle, let throughJoin, let page):
      var rows = source.document?.included(selected.key) ?? []
      if let page { rows = try page.of(rows) }
      if throughJoin { rows = rows.compactMap { $0.first(Self.far) } }
      if isSingle { return try rows.first.map { try projection.object($0) } ?? .null }
      return .list(try rows.map { try projection.object($0) })
    case .groups(let groups, let condition):
      return try groups.value(reader, where: condition(source))
    case .rowsByValue(let projection, let reference, let arguments, let isSingle):
      let runner = QueryRunner(execution: execution, reader: reader)
      let builder = FilterBuilder(execution: execution, reader: reader)
      let target = projection.layout
      let (columns, others) =
        arguments == nil
        ? (reference.targetColumns, reference.columns)
        : (reference.columns, reference.targetColumns)
      let filters = try Self.filters(target, columns, layout, others, source, builder)
      let rows =
        if let arguments {
          try runner.list(arguments, target, projection, filters)
        } else {
          try runner.rows(builder.query(target, filters).limit(to: 1), projection)
        }
      return isSingle ? rows.first ?? .null : .list(rows)
    case .noRows: return .list([])
    case .metadata(let keys):
      let distance = source.distance.map { DataValue.double($0) } ?? .null
      let relevance =
        visits.scores[BytewiseString(source.documentID)].map { DataValue.double($0) } ?? .null
      for key in keys { try execution.check(key.checks, key.isRelevance ? relevance : distance) }
      return .object(
        DataObject(
          names: keys.map(\.key), values: keys.map { $0.isRelevance ? relevance : distance }))
    case .entityID:
      return .string(Self.entityID(layout.table.collectionID, source.documentID))
    case .typename: return .string(layout.table.typeName)
    }
  }
}
