import DataConnectModel
import Foundation
import Hearth

/// Reads the root fields of a query from one state of the database.
struct QueryRunner {
  let execution: Execution
  let reader: ReadTransaction

  private var builder: FilterBuilder { FilterBuilder(execution: execution) }
  private var firestore: Firestore { execution.firestore }

  func fields(_ roots: [RootField]) throws -> RootFields {
    var fields = RootFields()
    for root in roots where execution.isIncluded(root.modifiers) {
      do {
        try fields.add(value(of: root), of: root, execution)
      } catch {
        throw OperationFailure(error, in: root)
      }
    }
    return fields
  }

  private func value(of root: RootField) throws -> DataValue {
    switch root.action {
    case .lookup:
      let layout = try execution.plan.layout(root.table)
      let projection = try Projection(root.selections, of: layout, execution)
      let value =
        try documentID(root, layout).map { try row($0, layout, projection) } ?? .null
      try projection.checkReached()
      return value
    case .list:
      guard try GroupReader(root, execution) == nil else {
        throw OperationFailure("Groups are not implemented here.")
      }
      let layout = try execution.plan.layout(root.table)
      let projection = try Projection(root.selections, of: layout, execution)
      let page = try builder.page(layout, root.arguments)
      let value = DataValue.list(try page.map { try rows($0, projection) } ?? [])
      try projection.checkReached()
      return value
    case .typename: return "Query"
    case .query: return .object(try fields(root.fields).shown)
    case .search: return .list(try found(root))
    case .similarity: throw OperationFailure("'\(root.name)' is not implemented.")
    case .insert, .insertMany, .upsert, .upsertMany, .update, .updateMany, .delete, .deleteMany:
      throw OperationFailure("'\(root.name)' is a field of mutations.")
    }
  }

  /// `movies_search`: the best rows first.
  private func found(_ root: RootField) throws -> [DataValue] {
    let layout = try execution.plan.layout(root.table)
    guard let fields = layout.searchFields else {
      throw OperationFailure("\(layout.table.typeName) has no column with @searchable.")
    }
    guard case .string(var text)? = execution.argument("query", root.arguments) else { return [] }
    switch execution.argument("queryFormat", root.arguments) ?? "QUERY" {
    case "QUERY": break
    case "PLAIN": text = text.replacing("\"", with: " ").replacing("*", with: " ")
    case "PHRASE": text = "\"\(text.replacing("\"", with: " "))\""
    default: throw OperationFailure("'ADVANCED' searches are not implemented.")
    }
    for name in ["orderBy", "relevanceThreshold", "distinct", "having"]
    where execution.argument(name, root.arguments).map({ !$0.isNull && $0 != .bool(false) }) == true
    {
      throw OperationFailure("'\(name)' of a search is not implemented.")
    }
    let search = layout.collection(firestore).search(text, in: fields)
    guard let page = try builder.page(layout, root.arguments, from: search) else { return [] }
    let projection = try Projection(root.selections, of: layout, execution)
    let values = try found(page, layout, projection)
    try projection.checkReached()
    return values
  }

  private func found(
    _ page: Query, _ layout: TableLayout, _ projection: Projection
  ) throws -> [DataValue] {
    guard !projection.inclusions.isEmpty else { return try rows(page, projection) }
    // Other rows are included with those that were found, and not with a search.
    let ids = try reader.getDocuments(page).documents.map(\.documentID)
    if ids.isEmpty { return [] }
    let query = layout.collection(firestore)
      .whereFilter(.whereField(FieldPath.documentID(), inSet: ids))
    var rows: [String: DataValue] = [:]
    for document in try reader.getDocuments(query.including(projection.inclusions)).documents {
      rows[document.documentID] = try projection.object(document)
    }
    return ids.compactMap { rows[$0] }
  }

  func row(
    _ documentID: String, _ layout: TableLayout, _ projection: Projection
  ) throws -> DataValue {
    let collection = layout.collection(firestore)
    guard projection.inclusions.isEmpty else {
      let query = collection.whereField(FieldPath.documentID(), isEqualTo: documentID)
      let found = try reader.getDocuments(query.including(projection.inclusions)).documents.first
      return try found.map { try projection.object($0) } ?? .null
    }
    let row = try reader.getDocument(collection.document(documentID), as: StoredRow?.self)
    return try row.map { try projection.object($0, documentID: documentID) } ?? .null
  }

  func rows(_ query: Query, _ projection: Projection) throws -> [DataValue] {
    guard projection.inclusions.isEmpty else {
      return try reader.getDocuments(query.including(projection.inclusions)).documents
        .map { try projection.object($0) }
    }
    // Decoded where they lie in the file, without their ids.
    let rows = try reader.getDocuments(query, as: StoredRow.self)
    if rows.allSatisfy(projection.isComplete) {
      return try rows.map { try projection.object($0, documentID: "") }
    }
    return try reader.getDocuments(query).documents.map { document in
      try projection.object(document.data(as: StoredRow.self), documentID: document.documentID)
    }
  }

  /// The document that `key`, `id` or `first` names. Nil if no row can have the key.
  func documentID(_ root: RootField, _ layout: TableLayout) throws -> String? {
    if let first = execution.argument("first", root.arguments) {
      guard case .object = first else { return nil }
      let query = try builder.ordered(
        builder.query(layout, try builder.filters(layout, first["where"])), layout,
        first["orderBy"])
      return try reader.getDocuments(query.limit(to: 1)).documents.first?.documentID
    }
    return try builder.key(layout, root.arguments).map { RowKey.documentID($0) }
  }
}

/// The root fields of a response.
struct RootFields: Sendable {
  /// Without those that are redacted.
  private(set) var shown = DataObject()
  private(set) var all = DataObject()

  /// Throws `OperationFailure` if a check fails.
  mutating func add(
    _ value: DataValue, of root: RootField, _ execution: Execution
  ) throws(OperationFailure) {
    try execution.check(root.modifiers.checks, value)
    all[root.responseKey] = value
    if !root.modifiers.isRedacted { shown[root.responseKey] = value }
  }

  /// In the order of the root fields, in whatever order they were read.
  func shown(in roots: [RootField]) -> DataObject {
    DataObject(roots.compactMap { root in shown[root.responseKey].map { (root.responseKey, $0) } })
  }

  mutating func add(_ reader: GroupReader) async throws {
    guard reader.execution.isIncluded(reader.root.modifiers) else { return }
    do {
      try add(try await reader.value(), of: reader.root, reader.execution)
    } catch {
      throw OperationFailure(error, in: reader.root)
    }
  }
}

extension OperationFailure {
  fileprivate init(_ error: any Error, in root: RootField) {
    self.init(error)
    path.insert(.field(root.responseKey), at: 0)
  }
}
