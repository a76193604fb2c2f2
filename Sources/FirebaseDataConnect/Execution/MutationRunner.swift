import DataConnectModel
import Foundation
import Hearth

/// Executes root fields of a mutation in a write closure.
struct MutationRunner {
  private(set) var execution: Execution
  private let writer: WriteTransaction
  private(set) var written = WrittenRows()
  /// The references of the current field that have led to no row yet.
  private var postponed: [PostponedReference] = []
  /// The place of the row that is being saved, below the root field.
  private var place: [DataConnectPathSegment] = []

  private var reader: QueryRunner { QueryRunner(execution: execution, reader: writer) }
  private var builder: FilterBuilder { FilterBuilder(execution: execution, reader: writer) }
  private var firestore: Firestore { execution.firestore }

  init(_ execution: Execution, _ writer: WriteTransaction) {
    self.execution = execution
    self.writer = writer
  }

  /// The value of a root field. Throws `OperationFailure`, with nothing of the field applied if the
  /// closure throws it, too.
  mutating func run(_ root: RootField) throws -> DataValue {
    try execution.checkIncluded(root)
    var shown: DataValue
    var all: DataValue
    if root.action == .query {
      let fields = try reader.fields(root.fields)
      (shown, all) = (.object(fields.shown), .object(fields.all))
    } else {
      all = try value(of: root)
      shown = all.withoutRedacted(root.selections)
    }
    try execution.check(root.modifiers.checks, all)
    execution.responses[root.responseKey] = all
    return shown
  }

  private mutating func value(of root: RootField) throws -> DataValue {
    if root.action == .typename { return "Mutation" }
    let layout = try execution.plan.layout(root.table)
    postponed = []
    switch root.action {
    case .insert, .upsert:
      let data = try row(execution.argument("data", root.arguments))
      let key = try save(data, layout, isUpsert: root.action == .upsert)
      try checkReferences()
      return try result(key, layout, root)
    case .insertMany, .upsertMany:
      let list = execution.argument("data", root.arguments)
      let rows = list?.elements ?? list.map { [$0] } ?? []
      let keys = try rows.enumerated().map { index, value in
        try below([.listIndex(index)]) { runner in
          try runner.save(runner.row(value), layout, isUpsert: root.action == .upsertMany)
        }
      }
      try checkReferences()
      // A result may have rows that were saved after it.
      let results = try keys.enumerated().map { index, key in
        try below([.listIndex(index)]) { try $0.result(key, layout, root) }
      }
      return results.isEmpty ? try notReached(root, layout, .list([])) : .list(results)
    case .update:
      let data = try row(execution.argument("data", root.arguments))
      let changes = try RowData(data, layout, execution)
      guard let documentID = try reader.documentID(root, layout),
        let key = try update(documentID, changes, layout)
      else { return try notReached(root, layout, .null) }
      try checkReferences()
      written.byKey.insert(layout.row(documentID))
      return try result(key, layout, root)
    case .updateMany:
      let data = try row(execution.argument("data", root.arguments))
      let changes = try RowData(data, layout, execution)
      let ids = try documentIDs(root, layout)
      for documentID in ids {
        _ = try update(documentID, changes, layout)
        written.byFilter.insert(layout.row(documentID))
      }
      try checkReferences()
      return .int(Int64(ids.count))
    case .delete:
      guard let documentID = try reader.documentID(root, layout) else {
        return try notReached(root, layout, .null)
      }
      let document = layout.collection(firestore).document(documentID)
      guard let row = try writer.getDocument(document, as: StoredRow?.self) else {
        return try notReached(root, layout, .null)
      }
      let result = try result(layout.key(of: row, documentID: documentID), layout, root)
      try delete(document, layout)
      written.byKey.insert(layout.row(documentID))
      return result
    case .deleteMany:
      let ids = try documentIDs(root, layout)
      for documentID in ids {
        try delete(layout.collection(firestore).document(documentID), layout)
        written.byFilter.insert(layout.row(documentID))
      }
      return .int(Int64(ids.count))
    case .lookup, .list, .search, .similarity, .query, .typename:
      throw OperationFailure("'\(root.name)' is a field of queries.")
    }
  }

  /// A value of `data`.
  private func row(_ value: DataValue?) throws -> DataObject {
    guard let row = value?.fields else { throw OperationFailure("'data' is missing.") }
    return row
  }

  /// The value of a field that has written no row. Throws `OperationFailure` for a check in it.
  private func notReached(
    _ root: RootField, _ layout: TableLayout, _ value: DataValue
  ) throws -> DataValue {
    try Projection(root.selections, of: layout, execution, writer).checkReached()
    return value
  }

  /// The key, or the selected fields of the row.
  private func result(
    _ key: [DataValue], _ layout: TableLayout, _ root: RootField
  ) throws -> DataValue {
    guard !root.selections.isEmpty else {
      // In the order of declaration, as in generated keys.
      let names = layout.table.columns.map(\.name).filter(layout.table.key.contains)
      let values = names.map { name in
        layout.table.key.firstIndex(of: name).map { key[$0] } ?? .null
      }
      return .object(DataObject(names: names, values: values))
    }
    let projection = try Projection(root.selections, of: layout, execution, writer)
    let value = try reader.row(RowKey.documentID(key), layout, projection)
    try projection.checkReached()
    return value
  }

  /// The rows of `where`, or all with `all: true`. None without both.
  private func documentIDs(_ root: RootField, _ layout: TableLayout) throws -> [String] {
    let filters = try builder.filters(layout, execution.argument("where", root.arguments))
    let isAll = execution.argument("all", root.arguments) == .bool(true)
    guard !filters.isEmpty || isAll else { return [] }
    return try writer.getDocuments(builder.query(layout, filters)).documents.map(\.documentID)
  }

  // MARK: Deletions

  /// The rules of the database delete and change the rows that refer to it.
  private func delete(_ document: DocumentReference, _ layout: TableLayout) throws {
    var seen: Set<RowIdentity> = []
    try clearColumns(referringTo: document, layout, &seen)
    try writer.deleteDocument(document)
  }

  /// Clears the columns that are fields beside their reference, which the rules do not know: of the rows
  /// that refer to one that will be deleted, or to rows that will be deleted with it.
  ///
  /// - Parameter seen: The rows for which this was done.
  private func clearColumns(
    referringTo document: DocumentReference, _ layout: TableLayout, _ seen: inout Set<RowIdentity>
  ) throws {
    let identity = layout.row(document.documentID)
    guard seen.insert(identity).inserted else { return }
    for (source, reference) in execution.plan.clearedReferences(to: layout.table) {
      let rows = source.collection(firestore).whereField(reference.name, isEqualTo: document)
      for row in try writer.getDocuments(rows).documents {
        guard reference.isNullable else {
          try clearColumns(referringTo: row.reference, source, &seen)
          continue
        }
        var changes = StoredRow()
        changes[reference.name] = .null
        for name in reference.columns {
          if let column = source.column(name) { try source.store(.null, in: column, of: &changes) }
        }
        try writer.setData(from: changes, forDocument: row.reference, mergeFields: changes.names)
      }
    }
  }

  // MARK: References

  /// A reference to a row that does not exist, or is written later by the same field.
  private struct PostponedReference {
    let target: DocumentReference
    /// Thrown if there is no such row at the end of the field.
    let failure: OperationFailure
  }

  /// Throws the failure of the first reference that leads to no row.
  ///
  /// As in PostgreSQL, a field is a statement: its rows refer to each other in any order.
  private mutating func checkReferences() throws {
    defer { postponed = [] }
    for reference in postponed where try !exists(reference.target) { throw reference.failure }
  }

  private func exists(_ document: DocumentReference) throws -> Bool {
    try writer.getDocument(document, as: Existing?.self) != nil
  }

  /// Runs `body` for a row that is `segments` below the current one: its errors have this place.
  private mutating func below<Result>(
    _ segments: [DataConnectPathSegment], _ body: (inout MutationRunner) throws -> Result
  ) throws -> Result {
    place += segments
    defer { place.removeLast(segments.count) }
    do {
      return try body(&self)
    } catch {
      var failure = OperationFailure(error, in: execution.plan)
      failure.path = segments + failure.path
      throw failure
    }
  }

  // MARK: Inserts

  private mutating func save(
    _ data: DataObject, _ layout: TableLayout, isUpsert: Bool
  ) throws -> [DataValue] {
    var data = try RowData(data, layout, execution)
    // A default of the key selects a row, too.
    if isUpsert { try applyDefaults(to: &data, layout, layout.table.key) }
    if isUpsert, let key = key(data, layout) {
      let documentID = RowKey.documentID(key)
      var changes = data
      for name in layout.table.key { changes.values[name] = nil }
      if let key = try update(documentID, changes, layout) {
        written.byKey.insert(layout.row(documentID))
        try saveChildren(of: key, data)
        return key
      }
    }
    try applyDefaults(to: &data, layout, layout.table.columns.map(\.name))
    let key = try insert(data, layout)
    try saveChildren(of: key, data)
    return key
  }

  /// Nil if a column of it has no value.
  private func key(_ data: RowData, _ layout: TableLayout) -> [DataValue]? {
    let values = layout.table.key.compactMap { data.values[$0] }.filter { !$0.isNull }
    return values.count == layout.table.key.count ? values : nil
  }

  private mutating func applyDefaults(
    to data: inout RowData, _ layout: TableLayout, _ names: [String]
  ) throws {
    for name in names where data.values[name] == nil {
      guard let column = layout.column(name)?.column else { continue }
      if column.isSerial {
        data.values[column.name] = .int(try nextNumber(column, layout))
        continue
      }
      let value: DataValue
      switch column.defaultValue {
      case .value(let literal): value = literal.constant
      case .expression(let source): value = try execution.value(ofExpression: source)
      case nil: continue
      }
      data.values[column.name] = try execution.coercion.coerced(value, for: column, column.name)
    }
  }

  /// The collection of what the runtime stores for itself.
  static let ownCollection = "_DataConnect"

  /// Numbers are not used again, also after the row was deleted.
  private func nextNumber(_ column: Column, _ layout: TableLayout) throws -> Int64 {
    let counter = firestore.collection(Self.ownCollection)
      .document("serial:\(layout.table.collectionID):\(column.name)")
    var row = try writer.getDocument(counter, as: StoredRow?.self) ?? StoredRow()
    var number: Int64 = 0
    if case .int(let last)? = row["last"] { number = last }
    row["last"] = .int(number + 1)
    try writer.setData(from: row, forDocument: counter)
    return number + 1
  }

  private mutating func insert(_ data: RowData, _ layout: TableLayout) throws -> [DataValue] {
    guard data.updates.isEmpty else {
      throw OperationFailure("A new row has no value that could be updated.")
    }
    guard let key = key(data, layout) else {
      let missing = layout.table.key.first { data.values[$0]?.isNull ?? true } ?? ""
      throw OperationFailure("\(layout.table.typeName).\(missing) must have a value.")
    }
    var row = StoredRow()
    try fill(&row, with: data.values, layout, isNew: true)
    let document = layout.document(key, in: firestore)
    do {
      try writer.create(from: row, forDocument: document)
    } catch FirestoreErrorCode.alreadyExists {
      let names = layout.table.key.joined(separator: " and ")
      throw OperationFailure(
        "There is already a row of \(layout.table.typeName) with this key (\(names)).")
    }
    written.byKey.insert(layout.row(document.documentID))
    return key
  }

  private mutating func saveChildren(of key: [DataValue], _ data: RowData) throws {
    for (name, layout, reference, rows) in data.children {
      let target = try execution.plan.layout(reference.target)
      if rows.isEmpty { continue }
      let values = try values(of: reference.targetColumns, key, target)
      for (index, row) in rows.enumerated() {
        var row = row
        for (column, value) in zip(reference.columns, values) { row[column] = value }
        try below([.field(name), .listIndex(index)]) { [row] runner in
          _ = try runner.save(row, layout, isUpsert: false)
        }
      }
    }
  }

  /// The values of columns that other rows refer to, of a row that was saved.
  private func values(
    of columns: [String], _ key: [DataValue], _ layout: TableLayout
  ) throws -> [DataValue] {
    var stored: StoredRow?
    return try columns.map { name in
      if let position = layout.table.key.firstIndex(of: name) { return key[position] }
      let document = layout.document(key, in: firestore)
      let row = try stored ?? writer.getDocument(document, as: StoredRow?.self) ?? StoredRow()
      stored = row
      let value = layout.value(name, in: row, documentID: document.documentID)
      guard let value, !value.isNull else {
        throw OperationFailure(
          "\(layout.table.typeName).\(name) must have a value: other rows refer to it.")
      }
      return value
    }
  }

  /// - Parameter isNew: Columns without a value become null, if they may.
  private mutating func fill(
    _ row: inout StoredRow, with values: [String: DataValue], _ layout: TableLayout, isNew: Bool
  ) throws {
    for column in layout.table.columns {
      guard let columnLayout = layout.column(column.name) else { continue }
      let value = values[column.name]
      guard isNew || value != nil else { continue }
      if value?.isNull ?? true, !column.isNullable {
        throw OperationFailure("\(layout.table.typeName).\(column.name) must have a value.")
      }
      try layout.store(value ?? .null, in: columnLayout, of: &row)
    }
    for reference in layout.references {
      guard isNew || reference.columns.contains(where: { values[$0] != nil }) else { continue }
      let target = try execution.plan.layout(reference.target)
      let key = reference.columns.compactMap { values[$0] }.filter { !$0.isNull }
      guard key.count == reference.columns.count else {
        row[reference.name] = .null
        continue
      }
      let document = target.document(key, in: firestore)
      if try !exists(document) {
        let failure = OperationFailure(
          "\(layout.table.typeName).\(reference.name) refers to a row of \(reference.target) that "
            + "does not exist.", path: place)
        postponed.append(PostponedReference(target: document, failure: failure))
      }
      row[reference.name] = .reference(document)
    }
  }

  // MARK: Updates

  /// The key. Nil if there is no such row.
  private mutating func update(
    _ documentID: String, _ data: RowData, _ layout: TableLayout
  ) throws -> [DataValue]? {
    let document = layout.collection(firestore).document(documentID)
    guard let row = try writer.getDocument(document, as: StoredRow?.self) else { return nil }
    let key = layout.key(of: row, documentID: documentID)
    var values = data.values
    func oldValue(_ name: String) -> DataValue {
      layout.value(name, in: row, documentID: documentID) ?? .null
    }
    let update = ColumnUpdate(execution: execution)
    var lists: [String: ListEdits] = [:]
    for (column, operation, operand) in data.updates {
      let name = column.column.name
      if column.column.isList {
        try update.update(
          &lists[name, default: ListEdits(values[name] ?? oldValue(name))], column.column,
          operation, operand)
      } else {
        values[name] = try update.updated(
          values[name] ?? oldValue(name), column.column, operation, operand)
      }
    }
    for (name, list) in lists { values[name] = list.value }
    for (name, old) in zip(layout.table.key, key) {
      if let new = values[name], new != old {
        throw OperationFailure(
          "\(layout.table.typeName).\(name) is part of the key, which does not change. Insert a new row."
        )
      }
      values[name] = nil
    }
    try write(values, to: document, layout, oldValue)
    return key
  }

  /// Changes columns of a row. Other fields of the document stay.
  ///
  /// - Parameter oldValue: Returns the value that a column has.
  private mutating func write(
    _ values: [String: DataValue], to document: DocumentReference, _ layout: TableLayout,
    _ oldValue: (String) -> DataValue
  ) throws {
    var values = values
    // A reference is known by all of its columns.
    for reference in layout.references
    where reference.columns.contains(where: { values[$0] != nil }) {
      for name in reference.columns where values[name] == nil { values[name] = oldValue(name) }
    }
    var changes = StoredRow()
    try fill(&changes, with: values, layout, isNew: false)
    if !changes.names.isEmpty {
      try writer.setData(from: changes, forDocument: document, mergeFields: changes.names)
    }
  }

  // MARK: Migrations

  /// Gives a row the form of a newer schema. Values that have this form already stay.
  mutating func migrate(
    _ document: DocumentReference, _ row: StoredRow, _ change: SchemaComparison.TableChange,
    to layout: TableLayout
  ) throws {
    let documentID = document.documentID
    /// Of the new column, if it is stored.
    func stored(_ name: String) -> StoredValue? {
      layout.column(name).flatMap { row[$0.reference ?? name] }
    }
    func value(_ name: String) -> DataValue {
      let source = stored(name) == nil ? change.old : layout
      return source.value(name, in: row, documentID: documentID) ?? .null
    }
    let due = layout.table.columns.filter { column in
      if change.reset.contains(column.name) { return true }
      guard change.added.contains(column.name) else { return false }
      let value = stored(column.name)
      return value == nil || value == .null && !column.isNullable
    }.map(\.name)
    var data = try RowData([:], layout, execution)
    try applyDefaults(to: &data, layout, due)
    for name in due where data.values[name] == nil { data.values[name] = .null }
    for name in change.cleared { data.values[name] = .null }
    for name in change.moved where data.values[name] == nil { data.values[name] = value(name) }
    try write(data.values, to: document, layout, value)
    try checkReferences()
    let removed = change.removedFields.filter { row[$0] != nil }
    if !removed.isEmpty {
      try writer.updateData(
        Dictionary(uniqueKeysWithValues: removed.map { ($0, FieldValue.delete()) }),
        forDocument: document)
    }
  }
}

/// The rows that a mutation has written. Those that follow from rules are not among them.
struct WrittenRows: Sendable {
  /// Inserted, upserted, updated or deleted by their keys: the implicit signals.
  var byKey: Set<RowIdentity> = []
  /// Updated or deleted by a filter.
  var byFilter: Set<RowIdentity> = []

  var all: Set<RowIdentity> { byKey.union(byFilter) }

  mutating func formUnion(_ other: WrittenRows) {
    byKey.formUnion(other.byKey)
    byFilter.formUnion(other.byFilter)
  }
}

/// A row: its collection and the id of its document.
struct RowIdentity: Hashable, Sendable {
  let collectionID: String
  let documentID: String

  init(_ collectionID: String, _ documentID: String) {
    self.collectionID = collectionID
    self.documentID = documentID
  }

  /// Nil for a text that is no `entityID`.
  init?(entityID id: String) {
    guard let slash = id.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    self.init(String(id[..<slash]), String(id[id.utf8.index(after: slash)...]))
  }

  /// `movie/1`: the `_id` of the row. Ids of collections have no slash.
  var entityID: String { collectionID + "/" + documentID }

  // As the database compares them.
  private var exact: (BytewiseString, BytewiseString) {
    (BytewiseString(collectionID), BytewiseString(documentID))
  }

  static func == (lhs: RowIdentity, rhs: RowIdentity) -> Bool { lhs.exact == rhs.exact }

  func hash(into hasher: inout Hasher) {
    hasher.combine(exact.0)
    hasher.combine(exact.1)
  }
}

/// A document of which nothing is read.
private struct Existing: DocumentValueCodable {
  init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {}
  func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.map { _ throws(UseCodable) in }
  }
}
