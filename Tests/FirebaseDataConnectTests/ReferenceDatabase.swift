import DataConnectModel
import Foundation
import Hearth

@testable import FirebaseDataConnect

/// Hearth has a type of this name, too.
typealias Reference = DataConnectModel.Reference

/// The rules of operations, in plain Swift: rows are dictionaries of their columns, and everything is
/// found by looking at all rows.
///
/// A comparison is true or false, and one with a value is false for null. Null comes first. Foreign keys
/// are checked at the end of a root field, and unique columns at the commit.
struct ReferenceDatabase {
  typealias Row = [String: DataValue]

  struct Failure: Error {
    var reason: String
    init(_ reason: String) { self.reason = reason }
  }

  struct RowKey: Hashable {
    var table: String
    var values: [DataValue]
  }

  let schema: Schema
  private let relations: [String: [Relation]]
  /// By the GraphQL type.
  private(set) var rows: [String: [Row]] = [:]
  private var serials: [String: Int64] = [:]
  private(set) var written: Set<RowKey> = []
  /// The references that the current root field has written, with the keys that they have.
  private var references: [(reference: Reference, key: [DataValue])] = []

  init(_ schema: Schema) {
    self.schema = schema
    relations = schema.relations()
  }

  func table(_ name: String) throws -> Table {
    guard let table = schema.table(name) else { throw Failure("no table \(name)") }
    return table
  }

  func key(of row: Row, _ table: Table) -> [DataValue] { table.key.map { row[$0] ?? .null } }

  private func index(of key: [DataValue], _ table: Table) -> Int? {
    rows[table.typeName]?.firstIndex { self.key(of: $0, table) == key }
  }

  func row(_ key: [DataValue], _ table: Table) -> Row? {
    index(of: key, table).flatMap { rows[table.typeName]?[$0] }
  }

  /// A change by other means than operations.
  mutating func set(_ column: String, to value: DataValue, at key: [DataValue], _ table: Table) {
    guard let index = self.index(of: key, table) else { return }
    rows[table.typeName]?[index][column] = value
  }

  /// With the rows that must refer to it; it is removed from the others.
  mutating func delete(_ key: [DataValue], _ table: Table) {
    guard let index = index(of: key, table) else { return }
    rows[table.typeName]?.remove(at: index)
    for source in schema.tables {
      for reference in source.references where reference.target == table.typeName {
        for row in rows[source.typeName] ?? []
        where reference.columns.map({ row[$0] ?? .null }) == key {
          let other = self.key(of: row, source)
          if reference.isNullable {
            for column in reference.columns { set(column, to: .null, at: other, source) }
          } else {
            delete(other, source)
          }
        }
      }
    }
  }

  // MARK: Values

  func coerced(_ value: DataValue, _ type: ValueType) throws -> DataValue {
    switch (type, value) {
    case (.int64, .string(let text)):
      guard let number = Int64(text) else { throw Failure("no number") }
      return .int(number)
    case (.float, .int(let number)): return .double(Double(number))
    case (.int, .int(let number)):
      guard Int32(exactly: number) != nil else { throw Failure("32 bits") }
      return value
    case (.uuid, .string(let text)):
      return .string(text.lowercased().filter { $0 != "-" })
    case (.date, .string(let text)): return .string(String(text.prefix(10)))
    case (.timestamp, .string(let text)): return .timestamp(try Timestamp(rfc3339: text))
    default: return value
    }
  }

  private func coerced(_ value: DataValue, for column: Column) throws -> DataValue {
    if value.isNull { return .null }
    if column.isList {
      return .list(
        try (value.elements ?? [value]).map { try $0.isNull ? .null : coerced($0, column.type) })
    }
    let value = try self.coerced(value, column.type)
    if let length = column.maximumLength, let text = value.text, text.count > length {
      throw Failure("too long")
    }
    if let size = column.vectorSize, value.elements?.count != size { throw Failure("size") }
    return value
  }

  private func variable(_ expression: DataValue, _ variables: DataObject) throws -> DataValue {
    guard let name = expression.text?.dropFirst("vars.".count),
      let value = variables[String(name)], !value.isNull
    else { throw Failure("an expression without a value") }
    return value
  }

  /// Negative if the first comes first.
  func order(_ first: DataValue, _ second: DataValue, _ type: ValueType) -> Int {
    func compared<Value: Comparable>(_ first: Value, _ second: Value) -> Int {
      first < second ? -1 : first > second ? 1 : 0
    }
    if case .enumeration(let name) = type, let values = schema.enumType(name)?.values,
      let first = first.text, let second = second.text
    {
      return compared(values.firstIndex(of: first) ?? -1, values.firstIndex(of: second) ?? -1)
    }
    switch (first, second) {
    case (.null, .null): return 0
    case (.null, _): return -1
    case (_, .null): return 1
    case (.int(let first), .int(let second)): return compared(first, second)
    case (.double(let first), .double(let second)): return compared(first, second)
    case (.int(let first), .double(let second)): return compared(Double(first), second)
    case (.double(let first), .int(let second)): return compared(first, Double(second))
    case (.bool(let first), .bool(let second)): return compared(first ? 1 : 0, second ? 1 : 0)
    case (.timestamp(let first), .timestamp(let second)):
      return first.seconds == second.seconds
        ? compared(first.nanoseconds, second.nanoseconds) : compared(first.seconds, second.seconds)
    case (.string(let first), .string(let second)):
      return first.utf8.lexicographicallyPrecedes(second.utf8)
        ? -1 : second.utf8.lexicographicallyPrecedes(first.utf8) ? 1 : 0
    default: return 0
    }
  }

  private func areEqual(_ first: DataValue, _ second: DataValue) -> Bool {
    first.canonicalText == second.canonicalText
  }

  // MARK: Keys

  /// Nil for a key with null.
  func key(_ table: Table, _ object: DataObject, _ variables: DataObject) throws -> [DataValue]? {
    var values: [DataValue] = []
    for name in table.key {
      guard let value = try keyPart(name, table, object, variables),
        let type = table.column(name)?.type
      else { throw Failure("the key lacks \(name)") }
      if value.isNull { return nil }
      values.append(try coerced(value, type))
    }
    return values
  }

  private func keyPart(
    _ name: String, _ table: Table, _ object: DataObject, _ variables: DataObject
  ) throws -> DataValue? {
    if let value = object[name] { return value }
    if let expression = object[name + "_expr"] { return try variable(expression, variables) }
    guard let reference = table.reference(withColumn: name),
      let position = reference.columns.firstIndex(of: name),
      case .object(let inner)? = object[reference.name]
    else { return nil }
    return try keyPart(
      reference.targetColumns[position], self.table(reference.target), inner, variables)
  }

  func selectedKey(
    _ table: Table, _ arguments: DataObject, _ variables: DataObject
  ) throws -> [DataValue]? {
    if let first = arguments["first"] {
      return try list(table, first.fields ?? DataObject(), variables).first
        .map { key(of: $0, table) }
    }
    if case .object(let object)? = arguments["key"] { return try key(table, object, variables) }
    return try key(table, arguments, variables)
  }

  // MARK: Filters

  func matches(
    _ row: Row, _ table: Table, _ filter: DataValue?, _ variables: DataObject
  ) throws -> Bool {
    guard case .object(let object)? = filter else { return true }
    return try object.members.allSatisfy { name, value in
      switch name {
      case "_and":
        return try (value.elements ?? [value]).allSatisfy {
          try matches(row, table, $0, variables)
        }
      case "_or":
        let members = value.elements ?? [value]
        return try members.isEmpty || members.contains { try matches(row, table, $0, variables) }
      case "_not": return try !matches(row, table, value, variables)
      default: break
      }
      if let column = table.column(name) {
        return try (value.fields ?? DataObject()).members.allSatisfy { name, operand in
          try holds(name, operand, row[column.name] ?? .null, column, variables)
        }
      }
      if let reference = table.reference(name) {
        guard let target = try referred(by: reference, of: row) else { return false }
        return try matches(target, self.table(reference.target), value, variables)
      }
      return try relationHolds(name, value, row, table, variables)
    }
  }

  private func relationHolds(
    _ name: String, _ value: DataValue, _ row: Row, _ table: Table, _ variables: DataObject
  ) throws -> Bool {
    guard let relation = relations[table.typeName]?.first(where: { $0.name == name }) else {
      throw Failure("no field \(name)")
    }
    let target = try self.table(relation.target)
    let condition = relation.isSingle ? value : value["exist"]
    let number = try related(relation.kind, to: row, table).filter { found in
      try matches(found.far, target, condition, variables)
    }.count
    guard !relation.isSingle, case .object(let count)? = value["count"] else { return number > 0 }
    let column = Column(name: name, type: .int64, isNullable: false)
    return try count.members.allSatisfy { name, operand in
      try holds(name, operand, .int(Int64(number)), column, variables)
    }
  }

  /// Without conditions: such a filter changes no rows.
  func isEmpty(_ filter: DataValue?, _ table: Table) -> Bool {
    guard case .object(let object)? = filter else { return true }
    return object.members.allSatisfy { name, value in
      let members = value.elements ?? [value]
      switch name {
      case "_and": return members.allSatisfy { isEmpty($0, table) }
      case "_or": return members.isEmpty || members.contains { isEmpty($0, table) }
      case "_not": return false
      default: return table.column(name) != nil && value.fields?.isEmpty ?? true
      }
    }
  }

  private func holds(
    _ name: String, _ operand: DataValue, _ value: DataValue, _ column: Column,
    _ variables: DataObject
  ) throws -> Bool {
    var name = name
    var operand = operand
    if name.hasSuffix("_expr") {
      name.removeLast(5)
      operand = try variable(operand, variables)
    }
    let type = column.type
    func operands() throws -> [DataValue] {
      try (operand.elements ?? [operand]).map { try coerced($0, type) }
    }
    func contains(_ element: DataValue) throws -> Bool {
      let element = try self.coerced(element, type)
      return value.elements?.contains { areEqual($0, element) } ?? false
    }
    if name == "isNull" { return value.isNull == (operand == .bool(true)) }
    if operand.isNull {
      switch name {
      case "eq": return value.isNull
      case "ne": return !value.isNull
      default: return false
      }
    }
    if value.isNull { return false }
    switch name {
    case "eq": return areEqual(value, try coerced(operand, type))
    case "ne": return !areEqual(value, try coerced(operand, type))
    case "in": return try operands().contains { areEqual(value, $0) }
    case "nin": return try !operands().contains { areEqual(value, $0) }
    case "gt": return order(value, try coerced(operand, type), type) > 0
    case "ge": return order(value, try coerced(operand, type), type) >= 0
    case "lt": return order(value, try coerced(operand, type), type) < 0
    case "le": return order(value, try coerced(operand, type), type) <= 0
    case "includes": return try contains(operand)
    case "excludes": return try !contains(operand)
    case "includesAll": return try (operand.elements ?? [operand]).allSatisfy(contains)
    case "excludesAll": return try !(operand.elements ?? [operand]).contains(where: contains)
    default: break
    }
    let text = Array((value.text ?? "").unicodeScalars)
    let part = Array((operand.text ?? "").unicodeScalars)
    switch name {
    case "startsWith": return text.starts(with: part)
    case "endsWith": return text.reversed().starts(with: part.reversed())
    case "contains": return Self.isPart(part, of: text)
    case "pattern":
      func folded(_ text: String) -> [Unicode.Scalar] {
        Array((operand["ignoreCase"] == .bool(true) ? text.lowercased() : text).unicodeScalars)
      }
      let text = folded(value.text ?? "")
      if let like = operand["like"]?.text { return Self.isLike(text[...], folded(like)[...]) }
      return switch operand["regex"]?.text {
      case "^a": text.first == "a"
      case "b$": text.last == "b"
      default: Self.isPart(["-"], of: text)
      }
    default: throw Failure("no operator \(name)")
    }
  }

  private static func isPart(_ part: [Unicode.Scalar], of text: [Unicode.Scalar]) -> Bool {
    (0...text.count).contains { text.dropFirst($0).starts(with: part) }
  }

  /// `%` is any text, `_` one character; a backslash before one of them makes it itself.
  private static func isLike(
    _ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>
  ) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    switch first {
    case "%": return isLike(text, rest) || (!text.isEmpty && isLike(text.dropFirst(), pattern))
    case "_": return !text.isEmpty && isLike(text.dropFirst(), rest)
    case "\\" where !rest.isEmpty:
      return text.first == rest.first && isLike(text.dropFirst(), rest.dropFirst())
    default: return text.first == first && isLike(text.dropFirst(), rest)
    }
  }

  // MARK: Relations

  private func referred(by reference: Reference, of row: Row) throws -> Row? {
    let key = reference.columns.map { row[$0] ?? .null }
    if key.contains(.null) { return nil }
    return try self.row(key, table(reference.target))
  }

  /// The rows that refer to a row, each with the one that it is about.
  private func related(
    _ kind: Selection.Kind, to row: Row, _ table: Table
  ) throws -> [(near: Row, far: Row)] {
    func referring(_ source: Table, _ name: String) throws -> [Row] {
      guard let reference = source.reference(name) else { return [] }
      let key = self.key(of: row, table)
      return (rows[source.typeName] ?? []).filter { found in
        reference.columns.map { found[$0] ?? .null } == key
      }
    }
    switch kind {
    case .referring(let source, let name, _):
      return try referring(self.table(source), name).map { ($0, $0) }
    case .via(let join, let near, let far):
      let source = try self.table(join)
      guard let reference = source.reference(far) else { return [] }
      return try referring(source, near).compactMap { row in
        try referred(by: reference, of: row).map { (row, $0) }
      }
    default: return []
    }
  }

  // MARK: Queries

  private func page<Element>(
    _ found: [Element], _ table: Table, _ arguments: DataObject, _ variables: DataObject,
    _ row: (Element) -> Row
  ) throws -> [Element] {
    let matching = try found.filter {
      try matches(row($0), table, arguments["where"], variables)
    }
    var keys: [(value: (Row) throws -> DataValue, type: ValueType, direction: DataValue)] = []
    func add(
      _ entry: DataValue, _ table: Table, _ find: @escaping (Row) throws -> Row?
    ) throws {
      for (name, value) in entry.fields?.members ?? zip([], []) where value != .null {
        if let reference = table.reference(name) {
          try add(value, self.table(reference.target)) { row in
            try find(row).flatMap { try referred(by: reference, of: $0) }
          }
        } else {
          keys.append(
            ({ try find($0)?[name] ?? .null }, table.column(name)?.type ?? .string, value))
        }
      }
    }
    for entry in arguments["orderBy"]?.elements ?? [] { try add(entry, table) { $0 } }
    let ordered = try matching.sorted { first, second in
      for key in keys {
        let order = try self.order(key.value(row(first)), key.value(row(second)), key.type)
        if order != 0 { return (order < 0) == (key.direction == "ASC") }
      }
      return false
    }
    return try Self.page(ordered, arguments)
  }

  private static func page<Element>(
    _ elements: [Element], _ arguments: DataObject
  ) throws -> [Element] {
    func number(_ name: String) throws -> Int? {
      guard case .int(let number)? = arguments[name] else { return nil }
      guard number >= 0 else { throw Failure("\(name) is negative") }
      return Int(number)
    }
    let limit = try number("limit") ?? 100
    return try Array(elements.dropFirst(number("offset") ?? 0).prefix(limit))
  }

  private func list(
    _ table: Table, _ arguments: DataObject, _ variables: DataObject
  ) throws -> [Row] {
    try page(rows[table.typeName] ?? [], table, arguments, variables) { $0 }
  }

  func value(of root: OperationRoot, _ variables: DataObject) throws -> DataValue {
    let arguments = OperationInput.object(root.arguments).resolved(variables)?.fields
    let table = try self.table(root.table)
    guard let arguments else { throw Failure("no arguments") }
    try check(root.selections, variables)
    if root.action == .lookup {
      let key = try selectedKey(table, arguments, variables)
      return try key.flatMap { row($0, table) }
        .map { try object($0, table, root.selections, variables) } ?? .null
    }
    if root.isGrouped { return try groups(root, table, arguments, variables) }
    return .list(
      try list(table, arguments, variables).map {
        try object($0, table, root.selections, variables)
      })
  }

  /// Throws for a page of a negative number of rows, also if there are none.
  private func check(_ selections: [OperationSelection], _ variables: DataObject) throws {
    for selection in selections {
      let arguments = OperationInput.object(selection.arguments).resolved(variables)?.fields
      _ = try Self.page([Row](), arguments ?? DataObject())
      try check(selection.selections, variables)
    }
  }

  private func object(
    _ row: Row, _ table: Table, _ selections: [OperationSelection], _ variables: DataObject
  ) throws -> DataValue {
    var result = DataObject()
    for selection in selections {
      let value: DataValue
      switch selection.kind {
      case .column(let name): value = row[name] ?? .null
      case .reference(let name):
        guard let reference = table.reference(name) else { throw Failure("no \(name)") }
        value =
          try referred(by: reference, of: row).map {
            try object($0, self.table(reference.target), selection.selections, variables)
          } ?? .null
      case .referring(let source, _, let isSingle):
        let rows = try related(selection, to: row, table, self.table(source), variables)
        value = isSingle ? rows.first ?? .null : .list(rows)
      case .via(let join, _, _):
        value = .list(try related(selection, to: row, table, self.table(join), variables))
      default: value = .string(table.typeName)
      }
      result[selection.key] = value
    }
    return .object(result)
  }

  private func related(
    _ selection: OperationSelection, to row: Row, _ table: Table, _ subject: Table,
    _ variables: DataObject
  ) throws -> [DataValue] {
    let arguments = OperationInput.object(selection.arguments).resolved(variables)?.fields
    let found = try page(
      related(selection.kind, to: row, table), subject, arguments ?? DataObject(), variables
    ) { $0.near }
    guard let name = relations[table.typeName]?.first(where: { $0.name == selection.name })?.target
    else { throw Failure("no \(selection.name)") }
    let target = try self.table(name)
    return try found.map { try object($0.far, target, selection.selections, variables) }
  }

  // MARK: Groups

  private func groups(
    _ root: OperationRoot, _ table: Table, _ arguments: DataObject, _ variables: DataObject
  ) throws -> DataValue {
    let columns = root.selections.compactMap { selection -> String? in
      if case .column(let name) = selection.kind { name } else { nil }
    }
    let matching = try (rows[table.typeName] ?? []).filter {
      try matches($0, table, arguments["where"], variables)
    }
    var order: [String] = []
    var groups: [String: [Row]] = [:]
    for row in matching {
      let key = DataValue.list(columns.map { row[$0] ?? .null }).canonicalText
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(row)
    }
    // Aggregates of no rows are one row.
    if columns.isEmpty, matching.isEmpty {
      order = [""]
      groups[""] = []
    }
    func aggregate(_ name: String, _ rows: [Row], _ isDistinct: Bool = false) -> DataValue? {
      table.aggregates.first { $0.name == name }.map {
        self.aggregate($0.function, $0.column, isDistinct && $0.column != nil, rows)
      }
    }
    var found = order.map { groups[$0] ?? [] }
    func meets(_ having: DataValue, _ rows: [Row], _ isDistinct: Bool = false) throws -> Bool {
      let isDistinct = having["_distinct"].map { $0 == .bool(true) } ?? isDistinct
      return try (having.fields ?? DataObject()).members.allSatisfy { name, value in
        let members = value.elements ?? [value]
        switch name {
        case "_distinct": return true
        case "_and": return try members.allSatisfy { try meets($0, rows, isDistinct) }
        case "_or":
          return try members.isEmpty || members.contains { try meets($0, rows, isDistinct) }
        case "_not": return try !meets(value, rows, isDistinct)
        default: break
        }
        let type = table.aggregates.first { $0.name == name }?.type ?? .any
        let column = Column(name: name, type: .any, isNullable: true)
        return try (value.fields ?? DataObject()).members.allSatisfy { comparison, operand in
          let coerced: DataValue =
            switch operand {
            case .list(let elements): .list(try elements.map { try self.coerced($0, type) })
            case .bool: operand
            default: try self.coerced(operand, type)
            }
          return try holds(
            comparison, coerced, aggregate(name, rows, isDistinct) ?? .null, column, variables)
        }
      }
    }
    if let having = arguments["having"] { found = try found.filter { try meets(having, $0) } }
    let orders = (arguments["orderBy"]?.elements ?? []).flatMap { entry in
      entry.fields.map { Array($0.members) } ?? []
    }
    found.sort { first, second in
      for (name, direction) in orders {
        let order = self.order(
          aggregate(name, first) ?? first.first?[name] ?? .null,
          aggregate(name, second) ?? second.first?[name] ?? .null,
          table.column(name)?.type ?? .any)
        if order != 0 { return (order < 0) == (direction == "ASC") }
      }
      return false
    }
    return .list(
      try Self.page(found, arguments).map { rows in
        .object(
          DataObject(
            root.selections.map { selection in
              switch selection.kind {
              case .column(let name): (selection.key, rows.first?[name] ?? .null)
              case .aggregate(let function, let column, let isDistinct):
                (selection.key, self.aggregate(function, column, isDistinct, rows))
              default: (selection.key, .null)
              }
            }))
      })
  }

  private func aggregate(
    _ function: Selection.Aggregate, _ column: String?, _ isDistinct: Bool, _ rows: [Row]
  ) -> DataValue {
    guard let column else { return .int(Int64(rows.count)) }
    var values = rows.map { $0[column] ?? .null }.filter { !$0.isNull }
    if isDistinct {
      var seen: Set<String> = []
      values = values.filter { seen.insert($0.canonicalText).inserted }
    }
    let numbers = values.map { value -> Double in
      switch value {
      case .int(let number): Double(number)
      case .double(let number): number
      default: 0
      }
    }
    switch function {
    case .count: return .int(Int64(values.count))
    case .sum:
      if values.isEmpty { return .null }
      let whole = values.compactMap { if case .int(let number) = $0 { number } else { nil } }
      guard whole.count == values.count else { return .double(numbers.reduce(0, +)) }
      return .int(whole.reduce(0, &+))
    case .avg: return values.isEmpty ? .null : .double(numbers.reduce(0, +) / Double(values.count))
    case .min: return values.min { order($0, $1, .any) < 0 } ?? .null
    case .max: return values.max { order($0, $1, .any) < 0 } ?? .null
    }
  }

  // MARK: Mutations

  /// - Parameter response: What the database has returned: the source of keys that it has made.
  mutating func run(
    _ root: OperationRoot, _ variables: DataObject, _ response: DataValue?
  ) throws -> DataValue {
    if root.action == .query {
      return .object(
        DataObject(try root.fields.map { ($0.key, try value(of: $0, variables)) }))
    }
    let table = try self.table(root.table)
    guard let arguments = OperationInput.object(root.arguments).resolved(variables)?.fields else {
      throw Failure("no arguments")
    }
    references = []
    switch root.action {
    case .insert, .upsert:
      guard case .object(let data)? = arguments["data"] else { throw Failure("no data") }
      let key = try save(
        data, table, isUpsert: root.action == .upsert, made: response?["id"], variables)
      try checkReferences()
      return try result(key, table, root, variables)
    case .insertMany, .upsertMany:
      var keys: [[DataValue]] = []
      for (index, data) in (arguments["data"]?.elements ?? []).enumerated() {
        let made = response?.elements.flatMap { index < $0.count ? $0[index]["id"] : nil }
        keys.append(
          try save(
            data.fields ?? DataObject(), table, isUpsert: root.action == .upsertMany, made: made,
            variables))
      }
      try checkReferences()
      return .list(try keys.map { try result($0, table, root, variables) })
    case .update:
      let data = try self.changes(arguments["data"]?.fields ?? DataObject(), table, variables)
      guard let key = try selectedKey(table, arguments, variables),
        try update(key, data, table)
      else {
        try check(root.selections, variables)
        return .null
      }
      try checkReferences()
      written.insert(RowKey(table: table.typeName, values: key))
      return try result(key, table, root, variables)
    case .updateMany:
      let data = try self.changes(arguments["data"]?.fields ?? DataObject(), table, variables)
      let keys = try self.keys(table, arguments, variables)
      for key in keys { _ = try update(key, data, table) }
      try checkReferences()
      return .int(Int64(keys.count))
    case .delete:
      guard let key = try selectedKey(table, arguments, variables), row(key, table) != nil else {
        try check(root.selections, variables)
        return .null
      }
      let result = try self.result(key, table, root, variables)
      delete(key, table)
      written.insert(RowKey(table: table.typeName, values: key))
      return result
    case .deleteMany:
      let keys = try self.keys(table, arguments, variables)
      for key in keys { delete(key, table) }
      return .int(Int64(keys.count))
    default: throw Failure("no mutation")
    }
  }

  private func keys(
    _ table: Table, _ arguments: DataObject, _ variables: DataObject
  ) throws -> [[DataValue]] {
    guard arguments["all"] == .bool(true) || !isEmpty(arguments["where"], table) else { return [] }
    return try (rows[table.typeName] ?? []).filter {
      try matches($0, table, arguments["where"], variables)
    }.map { key(of: $0, table) }
  }

  private func result(
    _ key: [DataValue], _ table: Table, _ root: OperationRoot, _ variables: DataObject
  ) throws -> DataValue {
    guard root.selections.isEmpty else {
      try check(root.selections, variables)
      return try row(key, table).map { try object($0, table, root.selections, variables) } ?? .null
    }
    return .object(
      DataObject(
        table.columns.compactMap { column in
          table.key.firstIndex(of: column.name).map { (column.name, key[$0]) }
        }))
  }

  private struct Changes {
    var values: Row = [:]
    var updates: [(column: Column, operation: String, operand: DataValue)] = []
    var children: [(table: Table, reference: Reference, rows: [DataObject])] = []
  }

  private func changes(
    _ data: DataObject, _ table: Table, _ variables: DataObject
  ) throws -> Changes {
    var changes = Changes()
    for (name, value) in data.members {
      if let column = table.column(name) {
        changes.values[name] = try coerced(value, for: column)
      } else if let reference = table.reference(name) {
        let target = try self.table(reference.target)
        if value.isNull {
          for column in reference.columns { changes.values[column] = .null }
        } else {
          guard let key = try self.key(target, value.fields ?? DataObject(), variables) else {
            throw Failure("no key")
          }
          for (column, value) in zip(reference.columns, key) { changes.values[column] = value }
        }
      } else if let end = name.lastIndex(of: "_"), let column = table.column(String(name[..<end])) {
        switch name[end...] {
        case "_expr":
          changes.values[column.name] = try coerced(variable(value, variables), for: column)
        case "_date", "_time":
          changes.values[column.name] = try Self.relative(value, isDate: name.hasSuffix("_date"))
        default:
          for update in value.elements ?? [value] {
            for (operation, operand) in update.fields?.members ?? zip([], []) {
              changes.updates.append((column, operation, operand))
            }
          }
        }
      } else if let relation = relations[table.typeName]?.first(where: { $0.name == name }),
        case .referring(let source, let referenceName, _) = relation.kind,
        let reference = try self.table(source).reference(referenceName)
      {
        changes.children.append(
          (try self.table(source), reference, value.elements?.compactMap(\.fields) ?? []))
      } else {
        throw Failure("no field \(name)")
      }
    }
    return changes
  }

  private mutating func save(
    _ data: DataObject, _ table: Table, isUpsert: Bool, made: DataValue?, _ variables: DataObject
  ) throws -> [DataValue] {
    var changes = try self.changes(data, table, variables)
    func givenKey() -> [DataValue]? {
      let key = self.key(of: changes.values, table)
      return key.contains(.null) ? nil : key
    }
    if isUpsert {
      // A default is a part of the key, too.
      for name in table.key where changes.values[name] == nil {
        if case .value(let literal)? = table.column(name)?.defaultValue,
          let column = table.column(name)
        {
          changes.values[name] = try coerced(literal.constant, for: column)
        }
      }
      if let key = givenKey(), row(key, table) != nil {
        _ = try update(key, changes, table)
        written.insert(RowKey(table: table.typeName, values: key))
        try saveChildren(of: key, table, changes, variables)
        return key
      }
    }
    guard changes.updates.isEmpty else { throw Failure("a new row has no value to update") }
    for column in table.columns where changes.values[column.name] == nil {
      if column.isSerial {
        let name = "\(table.typeName).\(column.name)"
        serials[name, default: 0] += 1
        changes.values[column.name] = .int(serials[name] ?? 0)
        continue
      }
      switch column.defaultValue {
      case .value(let literal):
        changes.values[column.name] = try coerced(literal.constant, for: column)
      case .expression: changes.values[column.name] = made ?? .string(UUID().dataConnectText)
      case nil: changes.values[column.name] = .null
      }
    }
    for column in table.columns
    where !column.isNullable && changes.values[column.name] ?? .null == .null {
      throw Failure("\(column.name) must have a value")
    }
    note(referencesOf: changes.values, table)
    guard let key = givenKey(), row(key, table) == nil else { throw Failure("there is a row") }
    rows[table.typeName, default: []].append(changes.values)
    written.insert(RowKey(table: table.typeName, values: key))
    try saveChildren(of: key, table, changes, variables)
    return key
  }

  private mutating func saveChildren(
    of key: [DataValue], _ table: Table, _ changes: Changes, _ variables: DataObject
  ) throws {
    for (child, reference, rows) in changes.children {
      for var row in rows {
        for (column, value) in zip(reference.columns, key) { row[column] = value }
        _ = try save(row, child, isUpsert: false, made: nil, variables)
      }
    }
  }

  private mutating func note(
    referencesOf row: Row, _ table: Table, changed: Set<String>? = nil
  ) {
    for reference in table.references {
      if let changed, changed.isDisjoint(with: reference.columns) { continue }
      let key = reference.columns.map { row[$0] ?? .null }
      if !key.contains(.null) { references.append((reference, key)) }
    }
  }

  /// The rows of one field refer to each other in any order.
  private func checkReferences() throws {
    for (reference, key) in references {
      guard try row(key, table(reference.target)) != nil else {
        throw Failure("\(reference.name) refers to nothing")
      }
    }
  }

  /// False if there is no such row.
  private mutating func update(
    _ key: [DataValue], _ changes: Changes, _ table: Table
  ) throws -> Bool {
    guard let index = self.index(of: key, table), let old = row(key, table) else { return false }
    var new = old
    for (name, value) in changes.values { new[name] = value }
    for (column, operation, operand) in changes.updates {
      new[column.name] = try updated(new[column.name] ?? .null, column, operation, operand)
    }
    if self.key(of: new, table) != key { throw Failure("the key does not change") }
    for column in table.columns where !column.isNullable && new[column.name] ?? .null == .null {
      throw Failure("\(column.name) must have a value")
    }
    let changed = Set(changes.values.keys).union(changes.updates.map(\.column.name))
    note(referencesOf: new, table, changed: changed)
    rows[table.typeName]?[index] = new
    return true
  }

  private func updated(
    _ value: DataValue, _ column: Column, _ operation: String, _ operand: DataValue
  ) throws -> DataValue {
    if column.isList {
      let old = value.elements ?? []
      let given = try (operand.elements ?? [operand]).map { try coerced($0, column.type) }
      func isIn(_ list: [DataValue]) -> (DataValue) -> Bool {
        { value in list.contains { areEqual($0, value) } }
      }
      switch operation {
      case "append": return .list(old + given)
      case "prepend": return .list(given + old)
      case "add":
        return .list(given.reduce(into: old) { if !isIn($0)($1) { $0.append($1) } })
      default: return .list(old.filter { !isIn(given)($0) })
      }
    }
    let sign: Int64 = operation == "inc" ? 1 : -1
    if value.isNull { return .null }
    switch (value, try coerced(operand, column.type)) {
    case (.int(let number), .int(let change)):
      let (sum, isOverflow) =
        sign > 0
        ? number.addingReportingOverflow(change) : number.subtractingReportingOverflow(change)
      if isOverflow { throw Failure("overflow") }
      return try coerced(.int(sum), column.type)
    case (.double(let number), .double(let change)): return .double(number + Double(sign) * change)
    default: return try Self.moved(value, operand, Int(sign))
    }
  }

  // MARK: Times

  private static func relative(_ value: DataValue, isDate: Bool) throws -> DataValue {
    var time =
      isDate ? value["on"] ?? .null : .timestamp(try Timestamp(rfc3339: value["at"]?.text ?? ""))
    for (name, sign) in [("add", 1), ("sub", -1)] {
      if let duration = value[name] { time = try moved(time, duration, sign) }
    }
    return time
  }

  /// By one unit.
  private static func moved(
    _ value: DataValue, _ duration: DataValue, _ sign: Int
  ) throws -> DataValue {
    guard let unit = duration.fields?.names.first,
      case .int(let number)? = duration.fields?.values.first
    else { throw Failure("no duration") }
    let count = Int(number) * sign
    if case .timestamp(let time) = value {
      let milliseconds =
        [
          "milliseconds": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000,
          "days": 86_400_000, "weeks": 604_800_000,
        ][unit] ?? 0
      let nanoseconds =
        Int(time.seconds) * 1_000_000_000 + Int(time.nanoseconds) + count * milliseconds * 1_000_000
      let seconds = (nanoseconds - (nanoseconds < 0 ? 999_999_999 : 0)) / 1_000_000_000
      return .timestamp(
        Timestamp(
          seconds: Int64(seconds), nanoseconds: Int32(nanoseconds - seconds * 1_000_000_000)))
    }
    let parts = (value.text ?? "").split(separator: "-").compactMap { Int($0) }
    var (year, month, day) = (parts[0], parts[1], parts[2])
    func length() -> Int {
      switch month {
      case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
      case 4, 6, 9, 11: 30
      default: 31
      }
    }
    if unit == "months" || unit == "years" {
      let months = year * 12 + month - 1 + count * (unit == "years" ? 12 : 1)
      (year, month) = (months / 12, months % 12 + 1)
      day = min(day, length())
    } else {
      day += count * (unit == "weeks" ? 7 : 1)
      while day > length() {
        day -= length()
        (year, month) = month == 12 ? (year + 1, 1) : (year, month + 1)
      }
      while day < 1 {
        (year, month) = month == 1 ? (year - 1, 12) : (year, month - 1)
        day += length()
      }
    }
    func padded(_ number: Int, _ count: Int) -> String {
      String(repeating: "0", count: max(0, count - String(number).count)) + String(number)
    }
    return .string("\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))")
  }

  // MARK: Commits

  /// Throws if a unique value occurs twice.
  func checkUniqueValues() throws {
    for table in schema.tables {
      for unique in table.uniques {
        var seen: Set<String> = []
        for row in rows[table.typeName] ?? [] {
          let values = unique.columns.map { row[$0] ?? .null }
          guard !values.contains(.null) else { continue }
          guard seen.insert(DataValue.list(values).canonicalText).inserted else {
            throw Failure("\(unique.columns) are unique")
          }
        }
      }
    }
  }

  mutating func forgetWritten() { written = [] }
}
