import DataConnectModel
import Foundation
import TestSupport

@testable import FirebaseDataConnect

/// An argument, or a part of one.
indirect enum OperationInput: Sendable {
  case value(DataValue, ValueType)
  /// `DESC`
  case name(String)
  case variable(String)
  case list([OperationInput])
  case object([(name: String, value: OperationInput)])

  static func text(_ text: String) -> OperationInput { .value(.string(text), .string) }
  static func number(_ number: Int) -> OperationInput { .value(.int(Int64(number)), .int) }
  static func flag(_ flag: Bool) -> OperationInput { .value(.bool(flag), .boolean) }

  /// As GraphQL writes it.
  var text: String {
    switch self {
    case .value(.string(let name), .enumeration), .name(let name): name
    case .value(let value, _): Self.literal(value)
    case .variable(let name): "$" + name
    case .list(let inputs): "[\(inputs.map(\.text).joined(separator: ", "))]"
    case .object(let members):
      "{\(members.map { "\($0.name): \($0.value.text)" }.joined(separator: ", "))}"
    }
  }

  private static func literal(_ value: DataValue) -> String {
    switch value {
    case .list(let values): "[\(values.map(literal).joined(separator: ", "))]"
    case .object(let object):
      "{\(object.members.map { "\($0): \(literal($1))" }.joined(separator: ", "))}"
    default: value.json
    }
  }

  /// With the values of variables. Nil for one that is unset.
  func resolved(_ variables: DataObject) -> DataValue? {
    switch self {
    case .value(let value, _): value
    case .name(let name): .string(name)
    case .variable(let name): variables[name]
    case .list(let inputs): .list(inputs.map { $0.resolved(variables) ?? .null })
    case .object(let members):
      .object(
        DataObject(
          members.compactMap { member in
            member.value.resolved(variables).map { (member.name, $0) }
          }))
    }
  }
}

typealias OperationArguments = [(name: String, value: OperationInput)]

/// A variable, and where its values come from.
struct RandomVariable {
  enum Source {
    case value(ValueType, maximumLength: Int?)
    case list(ValueType, hasNullElements: Bool)
    /// Variables of one group are the key of one row, in most executions of one that exists.
    case keyPart(String, column: String, group: Int)
    case key(String)
    case filter(String)
    case data(String, OperationPurpose, isList: Bool)
    case order(String)
    case direction
    case count
  }

  var name: String
  /// `[String!]`
  var type: String
  var source: Source
  var canBeNull = false
  var canBeUnset = false
}

enum OperationPurpose {
  case insert, upsert, update
}

struct OperationSelection {
  var key: String
  var name: String
  var kind: Selection.Kind
  var arguments: OperationArguments = []
  var selections: [OperationSelection] = []
  /// Of a list: whether its order is that of its rows, without ties.
  var isOrdered = true

  var text: String {
    (key == name ? "" : "\(key): ") + name + OperationRoot.text(of: arguments)
      + OperationRoot.text(of: selections)
  }
}

/// A field of a query or mutation.
struct OperationRoot {
  var key: String
  var name: String
  var action: RootField.Action
  var table = ""
  var arguments: OperationArguments = []
  var selections: [OperationSelection] = []
  var isOrdered = true
  /// Of `query`.
  var fields: [OperationRoot] = []

  var isGrouped: Bool {
    action == .list
      && (arguments.contains { $0.name == "distinct" || $0.name == "having" }
        || selections.contains { if case .aggregate = $0.kind { true } else { false } })
  }

  var text: String {
    let body =
      fields.isEmpty
      ? Self.text(of: selections) : " { \(fields.map(\.text).joined(separator: " ")) }"
    return (key == name ? "" : "\(key): ") + name + Self.text(of: arguments) + body
  }

  static func text(of arguments: OperationArguments) -> String {
    if arguments.isEmpty { return "" }
    return "(\(arguments.map { "\($0.name): \($0.value.text)" }.joined(separator: ", ")))"
  }

  static func text(of selections: [OperationSelection]) -> String {
    selections.isEmpty ? "" : " { \(selections.map(\.text).joined(separator: " ")) }"
  }
}

struct RandomOperation {
  var name: String
  var isMutation: Bool
  var isTransaction = false
  var variables: [RandomVariable] = []
  var roots: [OperationRoot] = []

  var text: String {
    let declared = variables.map { "$\($0.name): \($0.type)" }.joined(separator: ", ")
    return "\(isMutation ? "mutation" : "query") \(name)\(declared.isEmpty ? "" : "(\(declared))")"
      + "\(isTransaction ? " @transaction" : "") {\n"
      + roots.map { "  \($0.text)\n" }.joined() + "}\n"
  }

  /// Whether it reads rows by their keys and nothing else.
  var isByKey: Bool {
    !isMutation
      && roots.allSatisfy { root in
        root.action == .lookup && !root.arguments.contains { $0.name == "first" }
      }
  }
}

/// Makes operations, and whole objects for variables.
struct OperationGenerator {
  let schema: Schema
  let relations: [String: [Relation]]
  var random: SeededGenerator
  /// Declared so far. Nil if the object is for a variable.
  var variables: [RandomVariable]? = []
  private var groups = 0
  private static let noRow = 0

  init(_ schema: Schema, seed: UInt64) {
    self.schema = schema
    relations = schema.relations()
    random = SeededGenerator(seed: seed)
  }

  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
  mutating func table() -> Table { pick(schema.tables) }

  // MARK: Values

  func keyPool(_ type: ValueType) -> [DataValue] {
    Array(RandomValues.pool(of: type, schema).prefix(type == .string ? 5 : 4))
  }

  /// A value in one of its written forms.
  mutating func value(_ type: ValueType, isKey: Bool = false, maximumLength: Int? = nil)
    -> DataValue
  {
    let pool = (isKey ? keyPool(type) : RandomValues.pool(of: type, schema)).filter { value in
      maximumLength.map { value.text?.count ?? 0 <= $0 } ?? true
    }
    let value = pick(pool)
    guard chance(15) else { return value }
    switch (type, value) {
    case (.uuid, .string(let text)):
      let parts = [(0, 8), (8, 4), (12, 4), (16, 4), (20, 12)].map { start, count in
        text.dropFirst(start).prefix(count).uppercased()
      }
      return .string(parts.joined(separator: "-"))
    case (.int64, .int(let number)): return .string(String(number))
    case (.date, .string(let text)): return .string(text + "T12:00:00Z")
    case (.timestamp, .timestamp(let time)): return .string(time.rfc3339)
    default: return value
    }
  }

  private mutating func declare(
    _ type: String, _ source: RandomVariable.Source, canBeNull: Bool = false,
    canBeUnset: Bool = false
  ) -> OperationInput {
    let name = "v\(variables?.count ?? 0)"
    variables?.append(
      RandomVariable(
        name: name, type: type, source: source, canBeNull: canBeNull, canBeUnset: canBeUnset))
    return .variable(name)
  }

  /// A literal or a variable.
  mutating func slot(
    _ type: ValueType, canBeNull: Bool = false, canBeUnset: Bool = true,
    maximumLength: Int? = nil
  ) -> OperationInput {
    if variables != nil, chance(60) {
      let isRequired = !canBeNull && (!canBeUnset || chance(50))
      return declare(
        type.name + (isRequired ? "!" : ""), .value(type, maximumLength: maximumLength),
        canBeNull: canBeNull, canBeUnset: canBeUnset && !isRequired)
    }
    if canBeNull, chance(10) { return .value(.null, type) }
    return .value(value(type, maximumLength: maximumLength), type)
  }

  mutating func list(_ type: ValueType, hasNullElements: Bool = false) -> OperationInput {
    if variables != nil, chance(50) {
      return declare(
        "[\(type.name)\(hasNullElements ? "" : "!")]",
        .list(type, hasNullElements: hasNullElements), canBeUnset: true)
    }
    return .list(
      (0..<below(4)).map { _ in
        hasNullElements && chance(20)
          ? .value(.null, type) : slot(type, canBeUnset: hasNullElements)
      })
  }

  mutating func listValue(_ type: ValueType, hasNullElements: Bool) -> DataValue {
    .list((0..<below(4)).map { _ in hasNullElements && chance(20) ? .null : value(type) })
  }

  // MARK: Keys

  /// A key, flat or with the keys of references inside.
  mutating func key(_ table: Table, isFlat: Bool = false) -> OperationInput {
    if variables != nil, chance(25) {
      return declare("\(table.typeName)_Key!", .key(table.typeName))
    }
    return .object(keyMembers(table, isFlat: isFlat, group: newGroup()))
  }

  private mutating func newGroup() -> Int {
    groups += 1
    return groups
  }

  private mutating func keyMembers(
    _ table: Table, isFlat: Bool, group: Int
  ) -> OperationArguments {
    var members: OperationArguments = []
    var done: Set<String> = []
    let nested = table.references.filter { _ in !isFlat && variables != nil && chance(40) }
    for name in table.key where !done.contains(name) {
      if let reference = nested.first(where: { $0.columns.contains(name) }),
        let target = schema.table(reference.target)
      {
        members.append((reference.name, key(target)))
        done.formUnion(reference.columns)
        continue
      }
      guard let column = table.column(name) else { continue }
      done.insert(name)
      let input = keyPart(table, column, group)
      if case .variable(let variable) = input, column.type.hasExpressions, chance(15) {
        members.append((name + "_expr", .text("vars.\(variable)")))
      } else {
        members.append((name, input))
      }
    }
    return members
  }

  private mutating func keyPart(_ table: Table, _ column: Column, _ group: Int) -> OperationInput {
    if variables != nil, chance(80) {
      return declare(
        column.type.name + "!", .keyPart(table.typeName, column: column.name, group: group))
    }
    return .value(value(column.type, isKey: true), column.type)
  }

  /// The arguments that select one row.
  mutating func selector(_ table: Table) -> OperationArguments {
    if chance(15) {
      var members: OperationArguments = [("orderBy", order(table, isUnique: true))]
      if chance(70) { members.append(("where", filter(table))) }
      return [("first", .object(members))]
    }
    if table.key.count == 1, chance(60) {
      return keyMembers(table, isFlat: true, group: newGroup())
    }
    return [("key", key(table))]
  }

  // MARK: Filters

  mutating func filter(_ table: Table) -> OperationInput { filter(table, depth: 2) }

  private mutating func filter(_ table: Table, depth: Int) -> OperationInput {
    if variables != nil, depth == 2, chance(12) {
      return declare(
        "\(table.typeName)_Filter", .filter(table.typeName), canBeUnset: true)
    }
    var members: OperationArguments = []
    func isNew(_ name: String) -> Bool { !members.contains { $0.name == name } }
    for _ in 0..<(chance(5) ? 0 : 1 + below(2)) {
      switch below(depth > 0 ? 10 : 4) {
      case 0...4:
        let column = pick(table.columns)
        guard isNew(column.name) else { continue }
        members.append((column.name, operators(column)))
      case 5:
        guard isNew("_and") else { continue }
        members.append(("_and", filters(table, depth)))
      case 6:
        guard isNew("_or") else { continue }
        members.append(("_or", filters(table, depth)))
      case 7:
        guard isNew("_not") else { continue }
        members.append(("_not", filter(table, depth: depth - 1)))
      case 8:
        guard let reference = table.references.randomElement(using: &random),
          let target = schema.table(reference.target), isNew(reference.name)
        else { continue }
        members.append((reference.name, filter(target, depth: depth - 1)))
      default:
        guard let relation = relations[table.typeName]?.randomElement(using: &random),
          let target = schema.table(relation.target), isNew(relation.name)
        else { continue }
        members.append((relation.name, relationFilter(relation, target, depth)))
      }
    }
    return .object(members)
  }

  private mutating func filters(_ table: Table, _ depth: Int) -> OperationInput {
    // A query of the database has a limit of 30 alternatives.
    let isLong = chance(4)
    let count = isLong ? 31 + below(30) : below(3) + (chance(10) ? 0 : 1)
    return .list((0..<count).map { _ in filter(table, depth: isLong ? 0 : depth - 1) })
  }

  private mutating func relationFilter(
    _ relation: Relation, _ target: Table, _ depth: Int
  ) -> OperationInput {
    if relation.isSingle { return filter(target, depth: depth - 1) }
    var members: OperationArguments = []
    if chance(70) { members.append(("exist", filter(target, depth: depth - 1))) }
    if chance(40) {
      var (name, number) = pick([
        ("gt", 0), ("ge", 1), ("ne", 0), ("eq", 0), ("le", 0), ("lt", 1),
      ])
      if chance(50) {
        (name, number) = (pick(["gt", "ge", "ne", "eq", "le", "lt"]), below(4))
      }
      members.append(("count", .object([(name, .number(number))])))
    }
    return .object(members)
  }

  private mutating func operators(_ column: Column) -> OperationInput {
    var members: OperationArguments = []
    for _ in 0..<(chance(5) ? 0 : chance(15) ? 2 : 1) {
      let member = column.isList ? listOperator(column) : self.operator(column)
      if !members.contains(where: { $0.name.prefix(2) == member.name.prefix(2) }) {
        members.append(member)
      }
    }
    return .object(members)
  }

  private mutating func listOperator(
    _ column: Column
  ) -> (name: String, value: OperationInput) {
    let name = pick(["includes", "excludes", "includesAll", "excludesAll"])
    return (name, name.hasSuffix("All") ? list(column.type) : slot(column.type))
  }

  private mutating func `operator`(_ column: Column) -> (name: String, value: OperationInput) {
    let type = column.type
    var names = ["eq", "ne", "in", "nin", "isNull"]
    switch type {
    case .string:
      names += [
        "gt", "ge", "lt", "le", "contains", "startsWith", "endsWith", "pattern", "contains",
      ]
    case .int, .int64, .float, .date, .timestamp, .enumeration: names += ["gt", "ge", "lt", "le"]
    case .boolean, .uuid, .any, .vector: break
    }
    let name = pick(names)
    switch name {
    case "isNull": return (name, .flag(chance(50)))
    case "in", "nin": return (name, list(type))
    case "contains", "startsWith", "endsWith": return (name, .text(pick(["a", "b", "", "/", "ä"])))
    case "pattern":
      var members: OperationArguments =
        chance(60)
        ? [("like", .text(pick(["a%", "%b", "_", "a_b", "%", "%_", "B%", "%/%", "b:\\%"])))]
        : [("regex", .text(pick(["^a", "b$", "-"])))]
      if chance(40) { members.append(("ignoreCase", .flag(chance(70)))) }
      return (name, .object(members))
    default: break
    }
    let hasExpression = ["eq", "ne"].contains(name) || ![.string, .uuid].contains(type)
    if variables != nil, hasExpression, type.hasExpressions, type != .any, chance(10) {
      let input = declare(type.name + "!", .value(type, maximumLength: nil))
      guard case .variable(let variable) = input else { return (name, input) }
      return (name + "_expr", .text("vars.\(variable)"))
    }
    return (name, slot(type, canBeNull: true))
  }

  // MARK: Orders

  /// - Parameter isUnique: Ends with the key: no two rows are equal.
  mutating func order(
    _ table: Table, isUnique: Bool
  ) -> OperationInput {
    if variables != nil, isUnique, chance(10) {
      return declare("[\(table.typeName)_Order!]!", .order(table.typeName))
    }
    let columns = table.columns.filter { column in
      !column.isList && column.type != .vector && column.type != .any
    }
    var entries: [OperationInput] = []
    for _ in 0..<below(3) {
      if chance(20), let reference = table.references.randomElement(using: &random),
        let target = schema.table(reference.target)
      {
        let inner = order(target, isUnique: false)
        guard case .list(let members) = inner else { continue }
        entries += members.map { .object([(reference.name, $0)]) }
        continue
      }
      guard let column = columns.randomElement(using: &random) else { continue }
      let direction =
        variables != nil && chance(30)
        ? declare("OrderDirection", .direction, canBeNull: true, canBeUnset: true)
        : .name(chance(50) ? "ASC" : "DESC")
      entries.append(.object([(column.name, direction)]))
    }
    if isUnique {
      for name in table.key {
        entries.append(.object([(name, .name(chance(50) ? "ASC" : "DESC"))]))
      }
    }
    return .list(entries)
  }

  /// `where`, `orderBy`, `limit`, `offset`. Pages are of a unique order.
  mutating func page(
    _ table: Table
  ) -> (arguments: OperationArguments, isOrdered: Bool) {
    var arguments: OperationArguments = []
    let isOrdered = chance(75)
    if chance(60) { arguments.append(("where", filter(table))) }
    if isOrdered || chance(30) {
      arguments.append(("orderBy", order(table, isUnique: isOrdered)))
    }
    if isOrdered {
      if chance(40) { arguments.append(("limit", count())) }
      if chance(25) { arguments.append(("offset", count())) }
    }
    return (arguments, isOrdered)
  }

  private mutating func count() -> OperationInput {
    if variables != nil, chance(40) { return declare("Int", .count, canBeUnset: true) }
    return .number(below(5))
  }

  // MARK: Selections

  mutating func selections(_ table: Table, depth: Int) -> [OperationSelection] {
    var result: [OperationSelection] = []
    func add(_ selection: OperationSelection) {
      var selection = selection
      if result.contains(where: { $0.key == selection.key }) {
        selection.key = "a\(result.count)"
      }
      result.append(selection)
    }
    for column in table.columns where chance(50) {
      let key = chance(20) ? "c\(result.count)" : column.name
      add(OperationSelection(key: key, name: column.name, kind: .column(column.name)))
    }
    if depth > 0 {
      for reference in table.references where chance(40) {
        guard let target = schema.table(reference.target) else { continue }
        add(
          OperationSelection(
            key: reference.name, name: reference.name, kind: .reference(reference.name),
            selections: selections(target, depth: depth - 1)))
      }
      let relations = relations[table.typeName] ?? []
      for relation in relations + relations where chance(20) {
        guard let target = schema.table(relation.target),
          let subject = schema.table(relation.argumentTable)
        else { continue }
        let page = relation.isSingle ? ([], true) : self.page(subject)
        add(
          OperationSelection(
            key: relation.name, name: relation.name, kind: relation.kind, arguments: page.0,
            selections: selections(target, depth: depth - 1), isOrdered: page.1))
      }
    }
    if result.isEmpty || chance(5) {
      add(OperationSelection(key: "__typename", name: "__typename", kind: .typename))
    }
    return result
  }

  // MARK: Data

  /// `around` is the reference to the row that contains this one.
  mutating func data(
    _ table: Table, _ purpose: OperationPurpose, around: Reference? = nil,
    needsKey: Bool = false, hasChildren: Bool = true
  ) -> OperationInput {
    var members: OperationArguments = []
    let isKeyGiven = purpose == .upsert ? chance(90) : purpose == .insert || chance(6)
    let keyReferences = table.references.filter { table.key.contains($0.columns[0]) }
    let ofReferences = Set(table.references.flatMap(\.columns))
    // The key of a new row is of any, known or not.
    let group = purpose == .insert ? Self.noRow : newGroup()
    for name in table.key where !ofReferences.contains(name) {
      guard let column = table.column(name), isKeyGiven else { continue }
      if column.defaultValue != nil, purpose == .insert, !needsKey, chance(50) { continue }
      if purpose == .update, column.type == .int, variables != nil, chance(40) {
        members.append((name + "_update", .object([("inc", .number(below(2)))])))
      } else {
        members.append((name, keyPart(table, column, group)))
      }
    }
    for reference in table.references where reference.name != around?.name {
      let isKey = keyReferences.contains(reference)
      if isKey, !isKeyGiven, purpose != .insert { continue }
      if !isKey, purpose != .insert || reference.isNullable, chance(45) { continue }
      members += referenceMembers(table, reference, group: isKey ? group : nil)
    }
    for column in table.columns
    where !ofReferences.contains(column.name) && !table.key.contains(column.name) {
      let isRequired = !column.isNullable && column.defaultValue == nil && !column.isSerial
      let isGiven =
        isRequired && purpose != .update ? variables != nil || !chance(3) : chance(50)
      if isGiven { members.append(columnMember(column, purpose)) }
    }
    if hasChildren, purpose != .update, variables != nil, around == nil,
      let relation = relations[table.typeName]?.filter({ !$0.isSingle }).randomElement(
        using: &random), chance(25), case .referring(let source, let name, _) = relation.kind,
      let child = schema.table(source), let reference = child.reference(name)
    {
      let rows = (0..<1 + below(2)).map { _ in
        data(child, .insert, around: reference, needsKey: true, hasChildren: false)
      }
      members.append((relation.name, .list(rows)))
    }
    return .object(members)
  }

  private mutating func referenceMembers(
    _ table: Table, _ reference: Reference, group: Int?
  ) -> OperationArguments {
    guard let target = schema.table(reference.target) else { return [] }
    if reference.isNullable, chance(12) {
      return reference.columns.compactMap { name in
        table.column(name).map { (name, .value(.null, $0.type)) }
      }
    }
    if variables != nil, chance(50) {
      if reference.isNullable, chance(10) { return [(reference.name, .value(.null, .any))] }
      return [(reference.name, key(target))]
    }
    // Of a row that exists, in most executions: one of this table for a part of its key.
    let keyGroup = newGroup()
    var members: OperationArguments = []
    for (name, targetName) in zip(reference.columns, reference.targetColumns) {
      guard let column = target.column(targetName) else { continue }
      // One of several columns, which is no reference yet.
      if reference.isNullable, reference.columns.count > 1, chance(10) { continue }
      if let group, chance(50), let own = table.column(name) {
        members.append((name, keyPart(table, own, group)))
      } else {
        members.append((name, keyPart(target, column, keyGroup)))
      }
    }
    return members
  }

  private mutating func columnMember(
    _ column: Column, _ purpose: OperationPurpose
  ) -> (name: String, value: OperationInput) {
    let type = column.type
    if column.isList {
      if purpose == .update, variables != nil, chance(40) {
        let updates = (0..<1 + below(2)).map { _ -> OperationInput in
          .object([(pick(["append", "prepend", "add", "remove"]), list(type))])
        }
        return (column.name + "_update", chance(50) ? updates[0] : .list(updates))
      }
      if column.isNullable, chance(15) { return (column.name, .value(.null, type)) }
      if variables == nil {
        return (
          column.name, .value(listValue(type, hasNullElements: column.hasNullElements), type)
        )
      }
      return (column.name, list(type, hasNullElements: column.hasNullElements))
    }
    if purpose == .update, variables != nil, type.hasUpdates, chance(40) {
      let name = pick(["inc", "dec"])
      let updates = (0..<1 + below(2)).map { _ -> OperationInput in
        .object([(name, step(type))])
      }
      return (column.name + "_update", chance(60) ? updates[0] : .list(updates))
    }
    if variables != nil, type.hasExpressions, type != .any, chance(8) {
      let input = declare(
        type.name + "!", .value(type, maximumLength: column.maximumLength))
      if case .variable(let variable) = input {
        return (column.name + "_expr", .text("vars.\(variable)"))
      }
    }
    if variables != nil, type == .date, chance(20) {
      return (
        column.name + "_date",
        .object([("on", .text("2024-01-31")), (pick(["add", "sub"]), step(type))])
      )
    }
    if variables != nil, type == .timestamp, chance(20) {
      return (
        column.name + "_time",
        .object([("at", .text("2024-01-31T10:00:00Z")), (pick(["add", "sub"]), step(type))])
      )
    }
    // A variable can have any value; the compiler refuses literals.
    if variables != nil, chance(50) {
      let isRequired = !column.isNullable && chance(80)
      return (
        column.name,
        declare(
          type.name + (isRequired ? "!" : ""),
          .value(type, maximumLength: chance(90) ? column.maximumLength : nil),
          canBeNull: !isRequired, canBeUnset: !isRequired)
      )
    }
    if column.isNullable, chance(15) { return (column.name, .value(.null, type)) }
    if type == .vector, variables == nil, chance(10) { return (column.name, .value([1.0], type)) }
    return (
      column.name,
      .value(
        value(type, maximumLength: variables == nil && chance(10) ? nil : column.maximumLength),
        type)
    )
  }

  private mutating func step(_ type: ValueType) -> OperationInput {
    switch type {
    case .date:
      .object([(pick(["days", "weeks", "months", "years"]), .number(below(40) - 5))])
    case .timestamp:
      .object([
        (
          pick(["milliseconds", "seconds", "minutes", "hours", "days", "weeks"]),
          .number(below(2000) - 500)
        )
      ])
    default: slot(type, canBeUnset: false)
    }
  }

  // MARK: Operations

  mutating func operation(_ name: String, isMutation: Bool, isByKey: Bool = false)
    -> RandomOperation
  {
    variables = []
    var operation = RandomOperation(name: name, isMutation: isMutation)
    let count = chance(isMutation ? 45 : 20) ? 2 + below(2) : 1
    for index in 0..<count {
      let key = "r\(index)"
      if isByKey {
        operation.roots.append(lookup(key, isByKey: true))
      } else if isMutation {
        operation.roots.append(mutation(key))
      } else {
        operation.roots.append(query(key))
      }
    }
    operation.isTransaction = isMutation && (count == 1 ? chance(20) : chance(60))
    operation.variables = variables ?? []
    return operation
  }

  private mutating func lookup(_ key: String, isByKey: Bool = false) -> OperationRoot {
    let table = self.table()
    var selector = self.selector(table)
    while isByKey, selector.contains(where: { $0.name == "first" }) {
      selector = self.selector(table)
    }
    return OperationRoot(
      key: key, name: table.singular, action: .lookup, table: table.typeName,
      arguments: selector, selections: selections(table, depth: 2))
  }

  private mutating func query(_ key: String) -> OperationRoot {
    switch below(10) {
    case 0...2: return lookup(key)
    case 3...7:
      let table = self.table()
      let page = self.page(table)
      return OperationRoot(
        key: key, name: table.plural, action: .list, table: table.typeName,
        arguments: page.arguments, selections: selections(table, depth: 2),
        isOrdered: page.isOrdered)
    default: return groups(key)
    }
  }

  private mutating func groups(_ key: String) -> OperationRoot {
    let table = self.table()
    var selections: [OperationSelection] = []
    var columns: [String] = []
    for column in table.columns where chance(25) {
      columns.append(column.name)
      selections.append(
        OperationSelection(key: column.name, name: column.name, kind: .column(column.name)))
    }
    let isDistinct = !columns.isEmpty && chance(30)
    let aggregates = table.aggregates.filter { isImplemented($0, in: table) }
    if !isDistinct {
      for aggregate in [aggregates[0]] + aggregates.filter({ _ in chance(30) }) {
        var selection = OperationSelection(
          key: "a\(selections.count)", name: aggregate.name,
          kind: .aggregate(aggregate.function, column: aggregate.column, isDistinct: false))
        if [.count, .sum, .avg].contains(aggregate.function), let name = aggregate.column,
          chance(50)
        {
          selection.arguments = [("distinct", .flag(true))]
          selection.kind = .aggregate(aggregate.function, column: name, isDistinct: true)
        }
        selections.append(selection)
      }
    }
    var arguments: OperationArguments = isDistinct ? [("distinct", .flag(true))] : []
    if chance(40) { arguments.append(("where", filter(table))) }
    if !isDistinct, chance(30) {
      let aggregate = pick(aggregates)
      arguments.append(
        (
          "having",
          having(
            [
              (
                aggregate.name,
                .object([(pick(["eq", "ne", "gt", "ge", "lt", "le"]), slot(aggregate.type))])
              )
            ], aggregates)
        ))
    }
    let ordered = columns.filter { name in
      table.column(name).map { column in
        !column.isList && column.type != .any && column.type != .vector
      } ?? false
    }
    let isOrdered = ordered.count == columns.count && chance(70)
    if isOrdered {
      var entries: [OperationInput] = []
      if !isDistinct, chance(40) {
        // A sum of no values is null in results, and 0 in orders.
        let sums = aggregates.filter { aggregate in
          aggregate.function != .sum
            || aggregate.column.flatMap { table.column($0) }?.isNullable == false
        }
        entries.append(.object([(pick(sums).name, .name(chance(50) ? "ASC" : "DESC"))]))
      }
      entries += columns.map { .object([($0, .name(chance(50) ? "ASC" : "DESC"))]) }
      arguments.append(("orderBy", .list(entries)))
      if chance(30) { arguments.append(("limit", count())) }
      if chance(20) { arguments.append(("offset", count())) }
    }
    return OperationRoot(
      key: key, name: table.plural, action: .list, table: table.typeName, arguments: arguments,
      selections: selections, isOrdered: isOrdered)
  }

  /// The condition, or one in which it is a part.
  private mutating func having(
    _ condition: OperationArguments, _ aggregates: [AggregateField]
  ) -> OperationInput {
    let aggregate = pick(aggregates)
    let list = OperationInput.list(
      (0..<below(3)).map { _ in .value(value(aggregate.type), aggregate.type) })
    let other: OperationInput =
      chance(50)
      ? .object([(aggregate.name, .object([(pick(["in", "nin"]), list)]))])
      : .object([(aggregate.name, .object([("isNull", .flag(chance(50)))]))])
    return switch below(7) {
    case 0: .object([("_or", .list([.object(condition), other]))])
    case 1: .object([("_not", .object(condition))])
    case 2: .object([("_and", .list([.object(condition), other]))])
    case 3: .object(condition + [("_distinct", .flag(chance(70)))])
    default: .object(condition)
    }
  }

  private func isImplemented(_ aggregate: AggregateField, in table: Table) -> Bool {
    guard let name = aggregate.column else { return true }
    // Sums of large numbers are rounded.
    if [.sum, .avg].contains(aggregate.function) { return table.column(name)?.type != .int64 }
    return table.column(name)?.isList == false
  }

  private mutating func mutation(_ key: String) -> OperationRoot {
    let table = self.table()
    var root = OperationRoot(key: key, name: "", action: .insert, table: table.typeName)
    var selectsRow = chance(20)
    switch below(20) {
    case 0...4:
      root.action = .insert
      root.arguments = [("data", wholeData(table, .insert) ?? data(table, .insert))]
    case 5, 6:
      root.action = .insertMany
      root.arguments = [
        (
          "data",
          wholeData(table, .insert, isList: true)
            ?? .list((0..<1 + below(3)).map { _ in data(table, .insert) })
        )
      ]
    case 7...9:
      root.action = .upsert
      root.arguments = [("data", wholeData(table, .upsert) ?? data(table, .upsert))]
    case 10:
      root.action = .upsertMany
      root.arguments = [
        ("data", .list((0..<1 + below(3)).map { _ in data(table, .upsert) }))
      ]
    case 11...13:
      root.action = .update
      root.arguments = selector(table)
      root.arguments.append(("data", wholeData(table, .update) ?? data(table, .update)))
    case 14, 15:
      root.action = .updateMany
      root.arguments = chance(20) ? [("all", .flag(true))] : [("where", nonEmptyFilter(table))]
      root.arguments.append(("data", data(table, .update)))
      selectsRow = false
    case 16, 17:
      root.action = .delete
      root.arguments = selector(table)
    case 18:
      root.action = .deleteMany
      root.arguments = chance(10) ? [("all", .flag(true))] : [("where", nonEmptyFilter(table))]
      selectsRow = false
    default:
      root.action = .query
      root.name = "query"
      root.fields = [chance(50) ? lookup("q") : listInMutation("q")]
      return root
    }
    root.name = "\(table.singular)_\(root.action.rawValue)"
    if selectsRow {
      root.selections = selections(table, depth: 1)
      for name in table.key where !root.selections.contains(where: { $0.key == name }) {
        root.selections.append(OperationSelection(key: name, name: name, kind: .column(name)))
      }
    }
    return root
  }

  private mutating func listInMutation(_ key: String) -> OperationRoot {
    let table = self.table()
    let page = self.page(table)
    return OperationRoot(
      key: key, name: table.plural, action: .list, table: table.typeName,
      arguments: page.arguments, selections: selections(table, depth: 1),
      isOrdered: page.isOrdered)
  }

  private mutating func nonEmptyFilter(_ table: Table) -> OperationInput {
    while true {
      let filter = self.filter(table)
      if case .object(let members) = filter, members.isEmpty { continue }
      return filter
    }
  }

  private mutating func wholeData(
    _ table: Table, _ purpose: OperationPurpose, isList: Bool = false
  ) -> OperationInput? {
    guard chance(30) else { return nil }
    return declare(
      isList ? "[\(table.typeName)_Data!]!" : "\(table.typeName)_Data!",
      .data(table.typeName, purpose, isList: isList))
  }

  // MARK: Values of variables

  /// - Parameter key: The key of a row that exists, by its columns.
  mutating func values(
    of operation: RandomOperation, _ key: (Table, inout SeededGenerator) -> [String: DataValue]?
  ) -> DataObject {
    variables = nil
    var values = DataObject()
    var groups: [Int: [String: DataValue]] = [:]
    func existing(_ table: String) -> [String: DataValue] {
      guard chance(70), let table = schema.table(table) else { return [:] }
      return key(table, &random) ?? [:]
    }
    for variable in operation.variables {
      if variable.canBeUnset, chance(12) { continue }
      if variable.canBeNull, chance(10) {
        values[variable.name] = .null
        continue
      }
      switch variable.source {
      case .value(let type, let length):
        values[variable.name] = value(type, maximumLength: length)
      case .list(let type, let hasNullElements):
        values[variable.name] = listValue(type, hasNullElements: hasNullElements)
      case .keyPart(let table, let column, let group):
        if groups[group] == nil { groups[group] = group == Self.noRow ? [:] : existing(table) }
        if let value = groups[group]?[column] {
          values[variable.name] = value
        } else if let type = schema.table(table)?.column(column)?.type {
          values[variable.name] = value(type, isKey: true)
        }
      case .key(let name):
        guard let table = schema.table(name) else { continue }
        let known = existing(name)
        values[variable.name] = .object(
          DataObject(
            table.key.map { column in
              (
                column,
                known[column] ?? value(table.column(column)?.type ?? .string, isKey: true)
              )
            }))
      case .filter(let name):
        guard let table = schema.table(name) else { continue }
        values[variable.name] = filter(table, depth: 1).resolved([:])
      case .order(let name):
        guard let table = schema.table(name) else { continue }
        values[variable.name] = order(table, isUnique: true).resolved([:])
      case .data(let name, let purpose, let isList):
        guard let table = schema.table(name) else { continue }
        let rows = (0..<(isList ? below(3) : 1)).map { _ in
          data(table, purpose).resolved([:]) ?? .null
        }
        values[variable.name] = isList ? .list(rows) : rows[0]
      case .direction: values[variable.name] = chance(50) ? "ASC" : "DESC"
      case .count: values[variable.name] = .int(Int64(below(6) - (chance(10) ? 6 : 0)))
      }
    }
    return values
  }
}
