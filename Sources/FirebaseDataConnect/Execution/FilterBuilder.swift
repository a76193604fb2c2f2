import DataConnectModel
import Foundation
import Hearth

/// Builds conditions of queries, groups and counts from `X_Filter` values, and keys from `X_Key` values.
///
/// As in Firestore, a comparison is true or false: `_not` matches exactly the rows that its filter does
/// not match, also those with null. A comparison with a value never matches null.
struct FilterBuilder {
  let execution: Execution
  /// Reads the rows that conditions count. Nil where there are only keys.
  let reader: ReadTransaction?
  /// Whether the alternatives of the filter are queries of their own; see `FilterAlternatives`.
  private var isSplit = false
  /// Finds the aggregates in the condition of groups. Nil for conditions of rows.
  private var findAggregate: FindAggregate?
  /// Whether aggregates are those of different values.
  private var isDistinct = false

  private var plan: ConnectorPlan { execution.plan }

  init(execution: Execution, reader: ReadTransaction?) {
    self.execution = execution
    self.reader = reader
  }

  // MARK: Keys

  /// The values of a key that `id`, `id_expr` or `key` of a root field name. Nil if none is there, or if
  /// one of them is null: no row has it.
  ///
  /// Throws `OperationFailure` for a key without one of its columns.
  func key(_ layout: TableLayout, _ arguments: [Literal.Member]) throws -> [DataValue]? {
    if let key = execution.argument("key", arguments) {
      guard case .object(let object) = key else { return nil }
      return try self.key(layout, object)
    }
    let names = layout.table.key
    var object = DataObject()
    for member in arguments
    where names.contains(member.name) || isExpression(of: names, member.name) {
      guard let value = execution.value(of: member.value) else { return nil }
      object[member.name] = value
    }
    return object.isEmpty ? nil : try key(layout, object)
  }

  private func isExpression(of names: [String], _ name: String) -> Bool {
    name.hasSuffix("_expr") && names.contains(String(name.dropLast(5)))
  }

  /// Columns may be flat, `movieId`, or inside of their reference, `movie: {id: …}`.
  func key(_ layout: TableLayout, _ object: DataObject) throws -> [DataValue]? {
    var values: [DataValue] = []
    for name in layout.table.key {
      guard let value = try keyValue(name, layout, object) else {
        throw OperationFailure("The key of \(layout.table.typeName) lacks \(name).")
      }
      if value.isNull { return nil }
      guard let column = layout.column(name)?.column else { return nil }
      values.append(try execution.coercion.coerced(value, column.type, name))
    }
    return values
  }

  private func keyValue(
    _ name: String, _ layout: TableLayout, _ object: DataObject
  ) throws -> DataValue? {
    if let value = object[name] { return value }
    if case .string(let source)? = object["\(name)_expr"] {
      return try execution.value(ofExpression: source)
    }
    guard let reference = layout.table.reference(withColumn: name),
      let index = reference.columns.firstIndex(of: name), let nested = object[reference.name]
    else { return nil }
    guard case .object(let nested) = nested else { return .null }
    let target = try plan.layout(reference.target)
    return try keyValue(reference.targetColumns[index], target, nested)
  }

  // MARK: Filters

  /// Returns the field of an aggregate in the data that the condition of groups tests. Nil if there is no
  /// such aggregate.
  typealias FindAggregate = (
    _ name: String, _ isDistinct: Bool
  ) throws -> (field: String, type: ValueType)?

  /// No filter for null, or an object without members.
  func filters(_ layout: TableLayout, _ filter: DataValue?) throws -> [Filter] {
    guard let filter else { return [] }
    var builder = self
    builder.isSplit = !FilterAlternatives(of: filter).fitIntoQuery
    return try builder.parts(layout, filter)
  }

  /// The condition of groups, on their aggregates: `{_or: [{_count: {gt: 1}}, {year_max: {ge: 1990}}]}`.
  ///
  /// `_distinct: true` makes the aggregates of its object, and of the objects inside of it, those of
  /// different values: `{_distinct: true, genre_count: {gt: 1}}`.
  func having(
    _ layout: TableLayout, _ condition: DataValue, _ find: @escaping FindAggregate
  ) throws -> Filter {
    var builder = self
    builder.findAggregate = find
    return .andFilter(try builder.parts(layout, condition))
  }

  /// The conditions of a part of a filter of rows, or of groups.
  private func parts(_ layout: TableLayout, _ filter: DataValue) throws -> [Filter] {
    guard case .object(let object) = filter else { return [] }
    var builder = self
    if case .bool(let isDistinct)? = object["_distinct"] { builder.isDistinct = isDistinct }
    var filters = try object.members.flatMap { try builder.filters(layout, $0, $1) }
    guard isSplit else { return filters }
    while filters.count > FilterAlternatives.limit {
      filters = parts(filters).map { isResult(layout, .andFilter($0)) }
    }
    return filters
  }

  private func filters(
    _ layout: TableLayout, _ name: String, _ value: DataValue
  ) throws -> [Filter] {
    switch name {
    case "_and": return try (value.elements ?? [value]).flatMap { try parts(layout, $0) }
    case "_or":
      let members = try (value.elements ?? [value]).map { try parts(layout, $0) }
      // A member without a condition matches everything.
      if members.isEmpty || members.contains(where: \.isEmpty) { return [] }
      return [any(layout, members.map { .andFilter($0) })]
    case "_not":
      let members = try parts(layout, value)
      // Nothing is not everything.
      if members.isEmpty { return [Self.nothing] }
      let all = Filter.andFilter(members)
      return [.notFilter(isSplit ? isResult(layout, all) : all)]
    case "_distinct" where findAggregate != nil: return []
    default: break
    }
    if let findAggregate {
      guard let (field, type) = try findAggregate(name, isDistinct),
        case .object(let comparisons) = value
      else {
        throw OperationFailure(
          "'\(name)' is no aggregate of \(layout.table.typeName): 'having' has no other conditions."
        )
      }
      return try filters(layout, ofValue: field, type, comparisons)
    }
    if value.isNull { return [] }
    if let column = layout.column(name) {
      guard case .object(let operators) = value else {
        throw OperationFailure("The filter of \(name) must be an object.")
      }
      let comparison = ColumnFilter(
        column: column.column, reference: column.reference, place: name, layout: layout,
        builder: self)
      return try operators.members.flatMap { operation, operand in
        try comparison.filtersOfReferredRow(operation, operand)
          ?? comparison.filters(operation, operand)
      }
    }
    if let reference = layout.table.reference(name) {
      let target = try plan.layout(reference.target)
      let rows = query(target, try filters(target, value))
      guard layout.references.contains(reference) else {
        guard let fields = layout.fields(of: reference, to: target) else {
          throw notByKey(reference, layout)
        }
        return [
          .whereField(
            FieldPath([fields.own]), isInResultsOf: rows, field: FieldPath([fields.target]))
        ]
      }
      return [.whereField(reference.name, isInResultsOf: rows)]
    }
    return [try relationFilter(layout, name, value)]
  }

  /// The comparisons of a value that is no column: an aggregate, or a number of related rows.
  private func filters(
    _ layout: TableLayout, ofValue field: String, _ type: ValueType, _ comparisons: DataObject
  ) throws -> [Filter] {
    try comparisons.members.flatMap { name, operand in
      let (name, operand) = try execution.comparison(name, operand, type)
      return try ColumnFilter(
        column: Column(name: field, type: type, isNullable: true), reference: nil, place: name,
        layout: layout, builder: self
      ).filters(name, operand)
    }
  }

  /// Each of the filters is one alternative if the builder splits.
  private func any(_ layout: TableLayout, _ filters: [Filter]) -> Filter {
    if !isSplit { return .orFilter(filters) }
    var filters = filters
    while filters.count > 1 {
      filters = parts(filters).map { isResult(layout, .orFilter($0)) }
    }
    return .orFilter(filters)
  }

  /// As many in each as a query has.
  private func parts(_ filters: [Filter]) -> [[Filter]] {
    let limit = FilterAlternatives.limit
    return stride(from: 0, to: filters.count, by: limit).map { start in
      Array(filters[start..<min(start + limit, filters.count)])
    }
  }

  /// Matches the rows that pass the filter, as one alternative.
  private func isResult(_ layout: TableLayout, _ filter: Filter) -> Filter {
    .whereField(FieldPath.documentID(), isInResultsOf: query(layout, [filter]))
  }

  /// Matches no row. A list of values must not be empty.
  static var nothing: Filter {
    let one = Filter.whereField(FieldPath.documentID(), isEqualTo: "_")
    return .andFilter([one, .notFilter(one)])
  }

  private func notByKey(_ reference: Reference, _ layout: TableLayout) -> OperationFailure {
    OperationFailure(
      "A filter by \(layout.table.typeName).\(reference.name) is not implemented: it refers to several "
        + "columns of \(reference.target) that are not its key.")
  }

  func query(_ layout: TableLayout, _ filters: [Filter]) -> Query {
    let query = layout.collection(execution.firestore)
    return filters.isEmpty ? query : query.whereFilter(.andFilter(filters))
  }

  /// `reviews_on_movie: {exist: …}`, `movieMetadata_on_movie: {…}`, `actors_via_MovieActor: {exist: …}`.
  private func relationFilter(
    _ layout: TableLayout, _ name: String, _ value: DataValue
  ) throws -> Filter {
    guard let relation = plan.relation(name, of: layout.table) else { throw layout.unknown(name) }
    let condition = relation.isSingle ? value : value["exist"]
    let target = try plan.layout(relation.target)
    var rows = query(target, try filters(target, condition))
    let field: String
    /// Of this table, if the rows refer to it and not to the document.
    var referred: String?
    switch relation.kind {
    case .referring(_, let name, _):
      guard let reference = target.table.reference(name) else { throw target.unknown(name) }
      if target.references.contains(reference) {
        field = name
      } else if let fields = target.fields(of: reference, to: layout) {
        (field, referred) = (fields.own, fields.target)
      } else {
        throw notByKey(reference, target)
      }
    case .via(let join, let near, let far):
      field = near
      rows = query(try plan.layout(join), [.whereField(far, isInResultsOf: rows)])
    default: throw OperationFailure("'\(name)' is no relation.")
    }
    let exists =
      referred.map {
        .whereField(FieldPath([$0]), isInResultsOf: rows, field: FieldPath([field]))
      } ?? Filter.exists(in: rows, referringBy: field)
    guard !relation.isSingle, let count = value["count"], case .object(let comparisons) = count
    else { return exists }
    return try counted(layout, comparisons, rows, by: field, of: referred, exists)
  }

  /// Whether there are any rows is decided by an index. Other numbers are counted.
  private func counted(
    _ layout: TableLayout, _ comparisons: DataObject, _ rows: Query, by field: String,
    of referred: String?, _ exists: Filter
  ) throws -> Filter {
    let filters = try filters(layout, ofValue: "count", .int64, comparisons)
    let predicate = try Filter.andFilter(filters).predicate(in: execution.firestore)
    func matches(_ count: Int) throws -> Bool { try predicate(["count": count]) }
    let includesNone = try matches(0)
    // A comparison with one number that distinguishes 0 from 1, and 1 not from 2, distinguishes no others.
    if comparisons.values.count == 1, comparisons["in"] == nil, comparisons["nin"] == nil,
      try matches(1) != includesNone, try matches(2) != includesNone
    {
      return includesNone ? .notFilter(exists) : exists
    }
    guard let reader else { throw OperationFailure("A count is not read here.") }
    var values: [Any] = []
    var known: [Int: Bool] = [:]
    for group in try reader.getGroups(rows.group(by: [field], aggregating: [.count()])) {
      let isMatch = try known[group.count] ?? matches(group.count)
      known[group.count] = isMatch
      guard isMatch != includesNone, let value = group[field], !(value is NSNull) else { continue }
      if referred != nil {
        values.append(value)
      } else if let row = value as? DocumentReference {
        values.append(row.documentID)
      }
    }
    let path = referred.map { FieldPath([$0]) } ?? FieldPath.documentID()
    let found = values.isEmpty ? Self.nothing : Filter.whereField(path, inSet: values)
    return includesNone ? .notFilter(found) : found
  }

  // MARK: Pages

  /// A page of rows. Nil for a limit of 0.
  func page(
    _ layout: TableLayout, _ arguments: [Literal.Member], from base: Query? = nil
  ) throws -> Query? {
    let filters = try filters(layout, execution.argument("where", arguments))
    var query = base ?? layout.collection(execution.firestore)
    if !filters.isEmpty { query = query.whereFilter(.andFilter(filters)) }
    query = try RowOrder(layout, execution.argument("orderBy", arguments), plan).ordered(query)
    let bounds = try PageBounds(arguments, execution)
    if bounds.offset > 0 { query = query.offset(bounds.offset) }
    return bounds.limit == 0 ? nil : query.limit(to: bounds.limit)
  }
}

/// The conditions of one column, or of a value that is compared as one: `{ge: 1980, lt: 1990}`.
private struct ColumnFilter {
  let column: Column
  /// The name of the reference that the column is read from. Nil for a field.
  let reference: String?
  /// Names a value in errors.
  let place: String
  let layout: TableLayout
  let builder: FilterBuilder

  private var type: ValueType { column.type }
  private var field: String { reference ?? column.name }

  /// A reference has no text that compares: the row that it refers to has. Nil for other conditions.
  func filtersOfReferredRow(_ name: String, _ value: DataValue) throws -> [Filter]? {
    let comparisons = ["gt", "ge", "lt", "le", "contains", "startsWith", "endsWith", "pattern"]
    guard type == .string, comparisons.contains(name),
      let reference = reference.flatMap({ layout.table.reference($0) }),
      let key = reference.targetColumns.first
    else { return nil }
    let target = try builder.execution.plan.layout(reference.target)
    let filter = DataValue.object(DataObject([(key, .object(DataObject([(name, value)])))]))
    let rows = builder.query(target, try builder.filters(target, filter))
    return [.whereField(reference.name, isInResultsOf: rows)]
  }

  func filters(_ name: String, _ value: DataValue) throws -> [Filter] {
    let (name, value) = try builder.execution.comparison(name, value, type)
    switch name {
    case "isNull":
      let isNull = Filter.whereField(field, isEqualTo: NSNull())
      return value == .bool(true) ? [isNull] : [.notFilter(isNull)]
    case "eq": return [.whereField(field, isEqualTo: try stored(value))]
    case "ne":
      let isEqual = Filter.whereField(field, isEqualTo: try stored(value))
      return value.isNull ? [.notFilter(isEqual)] : notNull([.notFilter(isEqual)])
    case "in", "includesAny": return [isIn(try storedList(value))]
    case "nin":
      let values = try storedList(value)
      // The negation of nothing would be two alternatives.
      return notNull(values.isEmpty ? [] : [.notFilter(isIn(values))])
    case "gt", "ge", "lt", "le":
      if value.isNull { return [FilterBuilder.nothing] }
      return [.unordered(try inequality(name, value))]
    case "contains": return [.whereField(field, containsText: try text(value))]
    case "startsWith": return [.whereField(field, hasPrefix: try text(value))]
    case "endsWith": return [.whereField(field, hasSuffix: try text(value))]
    case "pattern": return [try pattern(value)]
    case "includes": return [includes(try stored(value))]
    case "excludes": return notNull([.notFilter(includes(try stored(value)))])
    case "includesAll":
      let elements = try storedList(value)
      return elements.isEmpty
        ? notNull([]) : [.whereField(field, arrayContainsAll: elements)]
    case "excludesAll":
      return notNull(
        try storedList(value).map { .notFilter(includes($0)) })
    default: throw OperationFailure("The type \(type.name) has no comparison '\(name)'.")
    }
  }

  /// Firestore allows one 'arrayContains' in a condition, also if it is negated twice.
  private func includes(_ element: Any) -> Filter {
    .whereField(field, arrayContainsAll: [element])
  }

  private func isIn(_ values: [Any]) -> Filter {
    values.isEmpty ? FilterBuilder.nothing : .whereField(field, inSet: values)
  }

  private func notNull(_ filters: [Filter]) -> [Filter] {
    filters + [.notFilter(.whereField(field, isEqualTo: NSNull()))]
  }

  private func inequality(_ name: String, _ value: DataValue) throws -> Filter {
    if case .enumeration(let enumName) = type {
      // Values of an enum compare by their positions.
      guard let values = builder.execution.plan.enumType(enumName)?.values,
        case .string(let text) = value, let position = values.firstIndex(of: text)
      else { throw OperationFailure("\(value.json) is no value of \(enumName).") }
      let range =
        switch name {
        case "gt": values[(position + 1)...]
        case "ge": values[position...]
        case "lt": values[..<position]
        default: values[...position]
        }
      return isIn(Array(range))
    }
    let stored = try stored(value)
    return switch name {
    case "gt": .whereField(field, isGreaterThan: stored)
    case "ge": .whereField(field, isGreaterOrEqualTo: stored)
    case "lt": .whereField(field, isLessThan: stored)
    default: .whereField(field, isLessThanOrEqualTo: stored)
    }
  }

  private func text(_ value: DataValue) throws -> String {
    guard case .string(let text) = value else {
      throw OperationFailure("A comparison of \(field) needs a text.")
    }
    return text
  }

  /// `{like: "%a_b"}` or `{regex: "…"}`, with `ignoreCase` and `invert`.
  private func pattern(_ value: DataValue) throws -> Filter {
    let source: String
    if case .string(let like)? = value["like"] {
      source = "^" + like.unicodeScalars.reduce(into: "") { $0 += Self.expression(of: $1) } + "$"
    } else if case .string(let regex)? = value["regex"] {
      source = regex
    } else {
      throw OperationFailure("A pattern has one of 'like' and 'regex'.")
    }
    // A like pattern's percent sign matches newlines, too.
    var options = value["like"] == nil ? "" : "s"
    if value["ignoreCase"] == .bool(true) { options += "i" }
    let matches = Filter.whereField(field, matchesPattern: source, options: options)
    return value["invert"] == .bool(true)
      ? .andFilter(notNull([.notFilter(matches)])) : matches
  }

  private static func expression(of scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "%": ".*"
    case "_": "."
    case _ where "\\^$.|?*+()[]{}".unicodeScalars.contains(scalar): "\\" + String(scalar)
    default: String(scalar)
    }
  }

  /// As queries take it: a document for the column of a reference.
  private func stored(_ value: DataValue) throws -> Any {
    if value.isNull { return NSNull() }
    let coerced = try builder.execution.coercion.coerced(value, type, place)
    if let name = reference, let reference = layout.table.reference(name) {
      let target = try builder.execution.plan.layout(reference.target)
      return target.document([coerced], in: builder.execution.firestore)
    }
    // An element that is a list is stored in another form than a column that is one.
    guard column.isList else { return try StoredValue(coerced, column).queryValue }
    let list = try StoredValue(.list([coerced]), column)
    guard case .list(let elements) = list, let element = elements.first else { return NSNull() }
    return element.queryValue
  }

  private func storedList(_ value: DataValue) throws -> [Any] {
    try (value.elements ?? [value]).map { try stored($0) }
  }
}
