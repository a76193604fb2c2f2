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
  /// Whether any row was read.
  final class Visits {
    var isReached = false
    /// The scores of the rows that a search has found, by id.
    var scores: [BytewiseString: Double] = [:]
  }

  /// Sets the relevances of the rows, by id.
  func setScores(_ scores: [BytewiseString: Double]) { visits.scores = scores }

  /// Whether relevances are selected.
  var hasRelevance: Bool { fields.contains { $0.parts.contains { $0.kind == .relevance } } }

  private let execution: Execution
  private let layout: TableLayout
  private let fields: [ProjectedField]
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

  /// The member with the row's id and its columns by their response keys, if the execution marks rows.
  static let rowMember = "@row"

  /// Of `rowMember`: the columns. Nil if rows are not marked.
  private let markedColumns: DataValue?

  /// The same as the other initializer makes of the selections. Rows are not marked.
  init(_ selected: SelectedColumns, of layout: TableLayout, _ execution: Execution) {
    self.execution = execution
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
    self.layout = layout
    self.selections = selections
    var builder = FieldBuilder(
      layout: layout, execution: execution, reader: reader, visits: visits)
    fields = try selections.filter { execution.isIncluded($0.modifiers) }.map {
      try builder.field($0)
    }
    inclusions = builder.inclusions
    let columns = builder.columns
    names = MemberNames(fields.map(\.key) + (execution.marksRows ? [Self.rowMember] : []))
    markedColumns =
      execution.marksRows
      ? .object(
        DataObject(
          fields.filter { !$0.selection.modifiers.isRedacted }.compactMap { field in
            field.column.map { (field.key, .string(columns[$0].column.name)) }
          })) : nil
    self.columns = columns
    isPlain =
      columns.count == fields.count && !execution.marksRows
      && fields.allSatisfy { $0.checks.isEmpty }
    if !builder.readsAllColumns {
      decoder.configuration = ProjectedRow.Plan(layout.storedFields, columns.map(\.step))
    }
    needsDocumentID = execution.marksRows || fields.contains(where: \.needsDocumentID)
  }

  /// Whether groups of a relation are selected, at any depth, or other rows that no inclusion has.
  var hasGroups: Bool { fields.contains(where: \.hasGroups) }

  /// Throws `OperationFailure` for a check that was not reached, unless it is optional: there was no
  /// row, or directives leave its field out.
  func checkReached() throws(OperationFailure) {
    try execution.checkIncluded(selections)
    for selection in selections where selection.kind == .metadata {
      try execution.checkIncluded(selection.selections)
    }
    for field in fields {
      let checks = field.checks + field.parts.flatMap(\.modifiers.checks)
      if !visits.isReached, let check = checks.first(where: { !$0.isOptional }) {
        throw .check(check.message)
      }
      try field.checkReached()
    }
  }

  /// A row that was read.
  struct Row {
    let row: ProjectedRow
    /// Nil if only a row with its id, or a complete one, was read.
    var document: IncludingDocument?
    var id = ""
    var distance: Double?
    /// The values of the selected columns. Empty until they are needed.
    var columns: [DataValue] = []

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
    try object(Row(row: row, id: documentID))
  }

  /// - Parameter distance: From the vector that was compared.
  func object(_ document: IncludingDocument, distance: Double? = nil) throws -> DataValue {
    try object(
      Row(
        row: document.data(as: ProjectedRow.self, decoder: decoder), document: document,
        distance: distance))
  }

  /// The values of the selected columns.
  private func columnValues(_ source: Row) -> [DataValue] {
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

  private func object(_ source: Row) throws -> DataValue {
    visits.isReached = true
    let columns = columnValues(source)
    if isPlain { return .object(DataObject(names, values: columns)) }
    var row = source
    row.columns = columns
    var values: [DataValue] = []
    values.reserveCapacity(fields.count + 1)
    // By index: a copy of a field retains all that it has.
    for index in fields.indices {
      let value = try fields[index].value(row)
      if !fields[index].checks.isEmpty { try execution.check(fields[index].checks, value) }
      values.append(value)
    }
    if let markedColumns {
      let id = layout.row(row.documentID).entityID
      values.append(.object(["id": .string(id), "columns": markedColumns]))
    }
    return .object(DataObject(names, values: values))
  }
}
