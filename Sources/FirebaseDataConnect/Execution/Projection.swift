import DataConnectModel
import Foundation
import Hearth

/// The selected fields of a row, with the documents that they need, and the objects made of them.
struct Projection {
  private enum Field {
    case column(TableLayout.ColumnLayout)
    /// The first document of an inclusion, or null.
    case row(Projection)
    /// The documents of an inclusion.
    case rows(Projection)
    /// Each document of an inclusion includes one.
    case rowsOfRows(Projection)
    /// A page with a limit of 0.
    case noRows
    case entityID
    case typename
  }

  private struct Selected {
    let key: String
    let field: Field
    let isRedacted: Bool
    let checks: [Check]
  }

  /// Whether any row was read.
  private final class Visits {
    var isReached = false
  }

  private let execution: Execution
  private let layout: TableLayout
  private let fields: [Selected]
  private let visits = Visits()
  /// Those of the results: without the redacted ones.
  private let names: [String]
  /// Columns of the key that are fields.
  private let keyFields: [String]
  private let needsDocumentID: Bool
  let inclusions: [DocumentInclusion]

  private static let far = "far"

  /// The member with the row's id and its columns by their response keys, if the execution marks rows.
  static let rowMember = "@row"

  static func entityID(_ collectionID: String, _ documentID: String) -> String {
    collectionID + "/" + documentID
  }

  /// Of `rowMember`: the columns. Nil if rows are not marked.
  private let markedColumns: DataValue?

  init(_ selections: [Selection], of layout: TableLayout, _ execution: Execution) throws {
    self.execution = execution
    self.layout = layout
    let builder = FilterBuilder(execution: execution)
    var fields: [Selected] = []
    var inclusions: [DocumentInclusion] = []
    for selection in selections where execution.isIncluded(selection.modifiers) {
      let field: Field
      let key = selection.responseKey
      switch selection.kind {
      case .column(let name):
        guard let column = layout.column(name) else { throw Self.unknown(name, layout) }
        field = .column(column)
      case .reference(let name):
        guard let reference = layout.references.first(where: { $0.name == name }) else {
          throw Self.unknown(name, layout)
        }
        let target = try execution.plan.layout(reference.target)
        let projection = try Projection(selection.selections, of: target, execution)
        inclusions.append(.reference(name, as: key, including: projection.inclusions))
        field = .row(projection)
      case .referring(let table, let reference, let isSingle):
        try builder.refuseGroups(selection.arguments, selection.name)
        let source = try execution.plan.layout(table)
        let projection = try Projection(selection.selections, of: source, execution)
        guard let page = try builder.page(source, selection.arguments) else {
          field = .noRows
          break
        }
        inclusions.append(
          .referring(page, by: reference, as: key, including: projection.inclusions))
        field = isSingle ? .row(projection) : .rows(projection)
      case .via(let join, let near, let far):
        try builder.refuseGroups(selection.arguments, selection.name)
        let source = try execution.plan.layout(join)
        guard let reference = source.references.first(where: { $0.name == far }) else {
          throw Self.unknown(far, source)
        }
        let target = try execution.plan.layout(reference.target)
        let projection = try Projection(selection.selections, of: target, execution)
        guard let page = try builder.page(source, selection.arguments) else {
          field = .noRows
          break
        }
        let rows = DocumentInclusion.reference(
          far, as: Self.far, including: projection.inclusions)
        inclusions.append(.referring(page, by: near, as: key, including: [rows]))
        field = .rowsOfRows(projection)
      case .entityID: field = .entityID
      case .typename: field = .typename
      case .aggregate, .distance, .relevance, .metadata:
        throw OperationFailure("'\(selection.name)' is not implemented here.")
      }
      fields.append(
        Selected(
          key: key, field: field, isRedacted: selection.modifiers.isRedacted,
          checks: selection.modifiers.checks))
    }
    self.fields = fields
    self.inclusions = inclusions
    let shown = fields.filter { !$0.isRedacted }
    names = shown.map(\.key) + (execution.marksRows ? [Self.rowMember] : [])
    markedColumns =
      execution.marksRows
      ? .object(
        DataObject(
          shown.compactMap { selected in
            guard case .column(let column) = selected.field else { return nil }
            return (selected.key, .string(column.column.name))
          })) : nil
    keyFields = fields.compactMap { selected in
      guard case .column(let column) = selected.field, column.reference == nil,
        layout.table.key.contains(column.column.name)
      else { return nil }
      return column.column.name
    }
    needsDocumentID =
      execution.marksRows
      || fields.contains { selected in
        if case .entityID = selected.field { true } else { false }
      }
  }

  /// Whether the object can be made without the document's id, which only documents that were written by
  /// hand need.
  func isComplete(_ row: StoredRow) -> Bool {
    !needsDocumentID && keyFields.allSatisfy { row[$0] != nil }
  }

  private static func unknown(_ name: String, _ layout: TableLayout) -> OperationFailure {
    OperationFailure("\(layout.table.typeName) has no field \(name).")
  }

  /// Throws `OperationFailure` for a check of a row that was not reached, unless it is optional.
  func checkReached() throws(OperationFailure) {
    for selected in fields {
      if !visits.isReached, let check = selected.checks.first(where: { !$0.isOptional }) {
        throw .check(check.message)
      }
      switch selected.field {
      case .row(let projection), .rows(let projection), .rowsOfRows(let projection):
        try projection.checkReached()
      case .column, .noRows, .entityID, .typename: break
      }
    }
  }

  /// The object of a row without inclusions.
  func object(_ row: StoredRow, documentID: String) throws -> DataValue {
    try object(row, documentID, nil)
  }

  func object(_ document: IncludingDocument) throws -> DataValue {
    try object(document.data(as: StoredRow.self), document.documentID, document)
  }

  private func object(
    _ row: StoredRow, _ documentID: String, _ document: IncludingDocument?
  ) throws -> DataValue {
    visits.isReached = true
    var values: [DataValue] = []
    values.reserveCapacity(names.count)
    for selected in fields {
      let value = try value(selected.field, selected.key, row, documentID, document)
      if !selected.checks.isEmpty { try execution.check(selected.checks, value) }
      if !selected.isRedacted { values.append(value) }
    }
    if let markedColumns {
      let id = Self.entityID(layout.table.collectionID, documentID)
      values.append(.object(["id": .string(id), "columns": markedColumns]))
    }
    return .object(DataObject(names: names, values: values))
  }

  private func value(
    _ field: Field, _ key: String, _ row: StoredRow, _ documentID: String,
    _ document: IncludingDocument?
  ) throws -> DataValue {
    switch field {
    case .column(let column): return layout.value(of: column, in: row, documentID: documentID)
    case .row(let projection):
      return try document?.first(key).map { try projection.object($0) } ?? .null
    case .rows(let projection):
      return .list(try document?.included(key).map { try projection.object($0) } ?? [])
    case .rowsOfRows(let projection):
      let joins = document?.included(key) ?? []
      return .list(
        try joins.compactMap { try $0.first(Self.far).map { try projection.object($0) } })
    case .noRows: return .list([])
    case .entityID: return .string(Self.entityID(layout.table.collectionID, documentID))
    case .typename: return .string(layout.table.typeName)
    }
  }
}
