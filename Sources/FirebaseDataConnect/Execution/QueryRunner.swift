import DataConnectModel
import Foundation
import Hearth

/// Reads the root fields of a query from one state of the database.
struct QueryRunner {
  let execution: Execution
  let reader: ReadTransaction

  private var builder: FilterBuilder { FilterBuilder(execution: execution, reader: reader) }
  private var firestore: Firestore { execution.firestore }

  /// The root fields of the operation.
  func fields() throws -> RootFields {
    let known =
      execution.marksRows ? [] : execution.plan.selectedColumns(of: execution.operation.name)
    return try fields(execution.operation.fields, known)
  }

  /// - Parameter known: The selected columns of each root field, where they are known.
  func fields(
    _ roots: [RootField], _ known: [SelectedColumns?] = []
  ) throws -> RootFields {
    var fields = RootFields()
    for (index, root) in roots.enumerated() {
      do {
        try execution.checkIncluded(root)
        guard execution.isIncluded(root.modifiers) else { continue }
        let columns = index < known.count ? known[index] : nil
        try fields.add(value(of: root, columns), of: root, execution)
      } catch {
        throw OperationFailure(error, of: root, in: execution.plan)
      }
    }
    return fields
  }

  private func value(
    of root: RootField, _ columns: SelectedColumns?
  ) throws -> DataValue {
    switch root.action {
    case .typename: return "Query"
    case .query: return .object(try fields(root.fields).shown)
    case .lookup, .list, .search, .similarity:
      let layout = try execution.plan.layout(root.table)
      if root.action == .list,
        let groups = GroupReader(layout, root.arguments, root.selections, execution)
      {
        let values = try groups.value(reader)
        try groups.checkReached()
        return values
      }
      let projection =
        try columns.map { Projection($0, of: layout, execution) }
        ?? Projection(root.selections, of: layout, execution, reader)
      let value: DataValue =
        switch root.action {
        case .lookup: try documentID(root, layout).map { try row($0, layout, projection) } ?? .null
        case .list: .list(try list(root.arguments, layout, projection))
        case .search: .list(try found(root, layout, projection))
        default: .list(try nearest(root, layout, projection))
        }
      try projection.checkReached()
      return value
    case .insert, .insertMany, .upsert, .upsertMany, .update, .updateMany, .delete, .deleteMany:
      throw OperationFailure("'\(root.name)' is a field of mutations.")
    }
  }

  /// A page of the rows.
  ///
  /// - Parameter conditions: Of the rows, beyond the arguments.
  func list(
    _ arguments: [Literal.Member], _ layout: TableLayout, _ projection: Projection,
    _ conditions: [Filter] = []
  ) throws -> [DataValue] {
    let order = try RowOrder(layout, execution.argument("orderBy", arguments), execution.plan)
    if order.isStored {
      let base = conditions.isEmpty ? nil : builder.query(layout, conditions)
      let page = try builder.page(layout, arguments, from: base)
      return try page.map { try rows($0, projection) } ?? []
    }
    let filter = execution.argument("where", arguments)
    let page = try PageBounds(arguments, execution)
    let ids = page.limit == 0 ? [] : try sorted(layout, filter, order, conditions)
    return try rows(page.of(ids), layout, projection)
  }

  /// `movies_search`: the best rows first, or all that were found in the order of `orderBy`.
  private func found(
    _ root: RootField, _ layout: TableLayout, _ projection: Projection
  ) throws -> [DataValue] {
    guard let expression = try searchExpression(root, layout) else { return [] }
    guard let text = expression.searchText else {
      return try found(by: expression, root, layout, projection)
    }
    let isScored = isScored(root, projection)
    let search = try search(text, layout, isScored: isScored)
    if hasOrder(root) {
      let ids = try scored(search, root, projection)
      if ids.isEmpty { return [] }
      return try list(
        root.arguments, layout, projection, [.whereField(FieldPath.documentID(), inSet: ids)])
    }
    guard let page = try builder.page(layout, root.arguments, from: search) else { return [] }
    if isScored { return try rows(scored(page, root, projection), layout, projection) }
    return try found(page, layout, projection)
  }

  /// A search with `-word` or `or`. Each term is a search of its own; the scores of those that a row
  /// has are added.
  private func found(
    by expression: SearchExpression, _ root: RootField, _ layout: TableLayout,
    _ projection: Projection
  ) throws -> [DataValue] {
    let threshold = threshold(root) ?? -.infinity
    var everything: [BytewiseString]?
    let scores = try expression.scores { text in
      let query = try search(text, layout, isScored: true)
      return try reader.getDocuments(query).documents.reduce(into: [:]) { scores, document in
        scores[BytewiseString(document.documentID)] = document[Self.scoreField] as? Double ?? 0
      }
    } everything: {
      if let everything { return everything }
      let ids = try reader.getDocuments(
        layout.collection(firestore).select([FieldPath.documentID()])
      ).documents.map { BytewiseString($0.documentID) }
      everything = ids
      return ids
    }
    .filter { $0.value >= threshold }
    projection.setScores(scores)
    if scores.isEmpty { return [] }
    let isFound = Filter.whereField(
      FieldPath.documentID(), inSet: scores.keys.sorted().map(\.string))
    if hasOrder(root) { return try list(root.arguments, layout, projection, [isFound]) }
    let filters = try builder.filters(layout, execution.argument("where", root.arguments))
    let page = try PageBounds(root.arguments, execution)
    if page.limit == 0 { return [] }
    let kept = try reader.getDocuments(builder.query(layout, filters + [isFound])).documents
      .map(\.documentID)
    let best = kept.map { BytewiseString($0) }
      .sorted { (scores[$1] ?? 0, $0) < (scores[$0] ?? 0, $1) }.map(\.string)
    return try rows(page.of(best), layout, projection)
  }

  /// The ids that a search finds, without those below the threshold, which are the last ones. The
  /// projection has their scores.
  private func scored(
    _ search: Query, _ root: RootField, _ projection: Projection
  ) throws -> [String] {
    let threshold = threshold(root) ?? -.infinity
    var scores: [BytewiseString: Double] = [:]
    var ids: [String] = []
    for document in try reader.getDocuments(search).documents {
      let score = document[Self.scoreField] as? Double ?? .infinity
      if score < threshold { break }
      scores[BytewiseString(document.documentID)] = score
      ids.append(document.documentID)
    }
    projection.setScores(scores)
    return ids
  }

  /// Of a document that a search has found. No column has the name.
  private static let scoreField = "@relevance"

  private func threshold(_ root: RootField) -> Double? {
    execution.argument("relevanceThreshold", root.arguments)
      .flatMap { $0.isNull ? nil : try? Double(dataConnectValue: $0) }
  }

  private func isScored(_ root: RootField, _ projection: Projection) -> Bool {
    projection.hasRelevance || threshold(root) != nil
  }

  /// Whether a search has another order than that of its scores.
  private func hasOrder(_ root: RootField) -> Bool {
    let orders = execution.argument("orderBy", root.arguments)
    return orders.map { $0.elements ?? [$0] }?.contains { $0.fields?.isEmpty == false } ?? false
  }

  /// A page of a search that is a query of the database: the best rows first. Nil for a search that
  /// needs scores, another order or several queries, and for one that finds nothing.
  func searchPage(
    _ root: RootField, _ layout: TableLayout, _ projection: Projection
  ) throws -> Query? {
    guard let text = try searchExpression(root, layout)?.searchText, !hasOrder(root),
      !isScored(root, projection)
    else { return nil }
    return try builder.page(layout, root.arguments, from: try search(text, layout, isScored: false))
  }

  /// The expression of a search. Nil if it finds nothing: its text is null, or has no word with content.
  private func searchExpression(
    _ root: RootField, _ layout: TableLayout
  ) throws -> SearchExpression? {
    for name in ["distinct", "having"]
    where execution.argument(name, root.arguments).map({ !$0.isNull && $0 != .bool(false) }) == true
    {
      throw OperationFailure("'\(name)' of a search is not implemented.")
    }
    guard case .string(let text)? = execution.argument("query", root.arguments) else { return nil }
    let format = execution.argument("queryFormat", root.arguments)?.text ?? "QUERY"
    return try SearchExpression.parsed(
      text, format: SearchQueryFormat(rawValue: format) ?? .QUERY,
      SearchWords(language: layout.searchLanguage))
  }

  /// All that a search finds, without its conditions.
  private func search(_ text: String, _ layout: TableLayout, isScored: Bool) throws -> Query {
    guard let fields = layout.searchFields else {
      throw OperationFailure("\(layout.table.typeName) has no column with @searchable.")
    }
    return layout.collection(firestore).search(
      text, in: fields, scoreField: isScored ? Self.scoreField : nil)
  }

  private func found(
    _ page: Query, _ layout: TableLayout, _ projection: Projection
  ) throws -> [DataValue] {
    guard !projection.inclusions.isEmpty else { return try rows(page, projection) }
    // Other rows are included with those that were found, and not with a search.
    let ids = try reader.getDocuments(page).documents.map(\.documentID)
    return try rows(ids, layout, projection)
  }

  /// The rows with these ids, in this order.
  ///
  /// - Parameter distances: Of a similarity, by id.
  private func rows(
    _ ids: [String], _ layout: TableLayout, _ projection: Projection,
    distances: [BytewiseString: Double] = [:]
  ) throws -> [DataValue] {
    if ids.isEmpty { return [] }
    let query = layout.collection(firestore)
      .whereFilter(.whereField(FieldPath.documentID(), inSet: ids))
    var rows: [BytewiseString: DataValue] = [:]
    for document in try reader.getDocuments(query.including(projection.inclusions)).documents {
      let id = BytewiseString(document.documentID)
      rows[id] = try projection.object(document, distance: distances[id])
    }
    return ids.compactMap { rows[BytewiseString($0)] }
  }

  /// The ids of the rows that pass a filter, in an order that the database does not have.
  private func sorted(
    _ layout: TableLayout, _ filter: DataValue?, _ order: RowOrder,
    _ conditions: [Filter] = []
  ) throws -> [String] {
    let query = builder.query(layout, try builder.filters(layout, filter) + conditions)
    return try order.sorted(reader.getDocuments(query.including(order.inclusions)).documents)
      .map(\.documentID)
  }

  /// `movies_plot_similarity`: the nearest rows first.
  private func nearest(
    _ root: RootField, _ layout: TableLayout, _ projection: Projection
  ) throws -> [DataValue] {
    guard let name = root.column, let column = layout.column(name)?.column else {
      throw OperationFailure("\(root.name) has no vector.")
    }
    let filters = try builder.filters(layout, execution.argument("where", root.arguments))
    let page = try PageBounds(root.arguments, execution)
    let wanted = execution.argument("compare", root.arguments) ?? .null
    let compared = try execution.coercion.coerced(wanted, for: column, "compare")
    guard page.limit > 0, case .vector(let vector) = try StoredValue(compared, column) else {
      return []
    }
    let measure: DistanceMeasure =
      switch execution.argument("method", root.arguments) ?? "L2" {
      case "COSINE": .cosine
      case "INNER_PRODUCT": .dotProduct
      default: .euclidean
      }
    // As in pgvector, a distance of inner products is negative: the smaller, the nearer.
    let sign: Double = measure == .dotProduct ? -1 : 1
    var within: Double?
    if let value = execution.argument("within", root.arguments), !value.isNull {
      within = sign * (try Double(dataConnectValue: value))
    }
    let found = try reader.getDocuments(
      builder.query(layout, filters).findNearest(
        vectorField: FieldPath([name]), queryVector: VectorValue(vector),
        limit: min(page.offset + page.limit, Self.mostNearest), distanceMeasure: measure,
        distanceResultField: Self.distanceField, distanceThreshold: within))
    var distances: [BytewiseString: Double] = [:]
    for document in found.documents {
      distances[BytewiseString(document.documentID)] =
        (document[Self.distanceField] as? Double).map { sign * $0 }
    }
    let ids = found.documents.dropFirst(page.offset).map(\.documentID)
    return try rows(ids, layout, projection, distances: distances)
  }

  /// Of a document that `findNearest` has found. No column has the name.
  private static let distanceField = "@distance"
  /// Firestore's limit.
  private static let mostNearest = 1000

  func row(
    _ documentID: String, _ layout: TableLayout, _ projection: Projection
  ) throws -> DataValue {
    let collection = layout.collection(firestore)
    guard projection.inclusions.isEmpty else {
      let query = collection.whereField(FieldPath.documentID(), isEqualTo: documentID)
      let found = try reader.getDocuments(query.including(projection.inclusions)).documents.first
      return try found.map { try projection.object($0) } ?? .null
    }
    let row = try reader.getDocument(
      collection.document(documentID), as: ProjectedRow?.self, decoder: projection.decoder)
    return try row.map { try projection.object($0, documentID: documentID) } ?? .null
  }

  func rows(_ query: Query, _ projection: Projection) throws -> [DataValue] {
    guard projection.inclusions.isEmpty else {
      return try reader.getDocuments(query.including(projection.inclusions)).documents
        .map { try projection.object($0) }
    }
    // Decoded where they lie in the file, without their ids.
    if !projection.needsDocumentID {
      let rows = try reader.getDocuments(
        query, as: ProjectedRow.self, decoder: projection.decoder)
      if rows.allSatisfy(\.isComplete) {
        return try rows.map { try projection.object($0, documentID: "") }
      }
    }
    return try reader.getDocuments(query).documents.map { document in
      try projection.object(
        document.data(as: ProjectedRow.self, decoder: projection.decoder),
        documentID: document.documentID)
    }
  }

  /// The document that `key`, `id` or `first` names. Nil if no row can have the key.
  func documentID(_ root: RootField, _ layout: TableLayout) throws -> String? {
    if let first = execution.argument("first", root.arguments) {
      guard case .object = first else { return nil }
      let order = try RowOrder(layout, first["orderBy"], execution.plan)
      guard order.isStored else { return try sorted(layout, first["where"], order).first }
      let query = builder.query(layout, try builder.filters(layout, first["where"]))
      return try reader.getDocuments(order.ordered(query).limit(to: 1)).documents.first?.documentID
    }
    return try builder.key(layout, root.arguments).map { RowKey.documentID($0) }
  }
}

/// The part of a list that `offset` and `limit` name.
struct PageBounds {
  let offset: Int
  let limit: Int

  init(_ arguments: [Literal.Member], _ execution: Execution) throws {
    func number(_ name: String) throws -> Int? {
      guard let value = execution.argument(name, arguments), !value.isNull else { return nil }
      guard case .int(let number) = value, number >= 0 else {
        throw OperationFailure("\(name) must be a number that is not negative.")
      }
      return Int(number)
    }
    offset = try number("offset") ?? 0
    limit = try number("limit") ?? 100
  }

  func of<Row>(_ rows: [Row]) -> [Row] { Array(rows.dropFirst(offset).prefix(limit)) }
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
    if !root.modifiers.isRedacted {
      shown[root.responseKey] = value.withoutRedacted(root.selections)
    }
  }
}

extension OperationFailure {
  fileprivate init(_ error: any Error, of root: RootField, in plan: ConnectorPlan) {
    self.init(error, in: plan)
    path.insert(.field(root.responseKey), at: 0)
  }
}
