import DataConnectModel
import Foundation
import Hearth
import TestSupport

@testable import FirebaseDataConnect

/// A schema with three to five tables, as GraphQL and as the compiler should understand it.
///
///     Book ◀── Shop          keys: implicit, String, Int, Date, enum, two columns …
///      ▲  ▲      ▲
///      │  └ Stock┘           a join table, in most schemas
///     Note, Tag              refer to any of them, with references in their keys, too
struct RandomSchema {
  private(set) var schema = Schema(tables: [], enums: [])
  private(set) var text = ""
  private var random: SeededGenerator

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed &* 7919 &+ 1)
    // Rows are in the order of the texts, and compare by the positions: only a key has both in common.
    schema.enums = [
      EnumType(name: "Grade", values: ["A", "B", "C"]),
      EnumType(name: "Level", values: ["LOW", "MID", "HIGH"]),
    ]
    text = schema.enums.map { "enum \($0.name) { \($0.values.joined(separator: " ")) }\n" }.joined()
    addTable("Book", referringTo: [])
    addTable("Shop", referringTo: ["Book"])
    if chance(75) { addTable("Stock", referringTo: ["Book", "Shop"], isJoin: true) }
    if chance(75) { addTable("Note", referringTo: others(1 + below(2))) }
    if chance(50) { addTable("Tag", referringTo: others(1 + below(2))) }
    for index in schema.tables.indices { markOneToOne(&schema.tables[index]) }
  }

  private mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
  private mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  private mutating func others(_ count: Int) -> [String] {
    Array(schema.tables.map(\.typeName).shuffled(using: &random).prefix(count))
  }

  // MARK: Tables

  /// A table while it is written.
  private struct Draft {
    var table: Table
    var lines: [String] = []
    /// Of `@table(key:)`: names of columns and references. Nil for an implicit id.
    var keyFields: [String]? = []

    mutating func add(_ column: Column, _ directives: String = "") {
      table.columns.append(column)
      let element =
        column.isList
        ? "[\(column.type.name)\(column.hasNullElements ? "" : "!")]" : column.type.name
      lines.append("\(column.name): \(element)\(column.isNullable ? "" : "!")\(directives)")
    }
  }

  private mutating func addTable(_ name: String, referringTo others: [String], isJoin: Bool = false)
  {
    let singular = name.lowercased()
    var draft = Draft(
      table: Table(
        typeName: name, collectionID: singular, singular: singular, plural: singular + "s",
        columns: [], references: [], key: []))
    var isKey = others.prefix(1).map { _ in isJoin || chance(25) }
    isKey += others.dropFirst().map { _ in isJoin || (isKey.first == true && chance(30)) }
    let isAlone = isKey.first != true
    let hasOwnKey = !isJoin && (isAlone || chance(50))
    if hasOwnKey {
      addKey(to: &draft, isAlone: isAlone)
    }
    for (name, isPart) in zip(others, isKey) {
      addReference(to: name, named: name.lowercased(), isKey: isPart, in: &draft)
    }
    if !isJoin, chance(30), draft.keyFields == nil || !isKey.contains(true) {
      addReference(to: nil, named: "parent", isKey: false, in: &draft)
    }
    for index in 0..<(isJoin ? 2 : 3 + below(3)) { addColumn("c\(index)", to: &draft) }
    var directives = ""
    if let fields = draft.keyFields {
      directives = "(key: [\(fields.map { "\"\($0)\"" }.joined(separator: ", "))])"
    }
    let single = draft.table.columns.filter { isComparable($0) }.map(\.name)
    directives = " @table" + directives
    if chance(20), single.count > 1 {
      let columns = Array(single.shuffled(using: &random).prefix(2))
      draft.table.uniques.append(Table.Index(columns: columns))
      directives += " @unique(fields: [\"\(columns[0])\", \"\(columns[1])\"])"
    }
    if chance(40), single.count > 1 {
      let columns = Array(single.shuffled(using: &random).prefix(2))
      draft.table.indexes.append(Table.Index(columns: columns, isDescending: [false, true]))
      directives +=
        " @index(fields: [\"\(columns[0])\", \"\(columns[1])\"], order: [ASC, DESC])"
    }
    text += "type \(name)\(directives) {\n  \(draft.lines.joined(separator: "\n  "))\n}\n"
    schema.tables.append(draft.table)
  }

  private func isComparable(_ column: Column) -> Bool {
    !column.isList && column.type != .any && column.type != .vector
  }

  private mutating func addKey(to draft: inout Draft, isAlone: Bool) {
    func column(_ name: String, _ type: ValueType) -> Column {
      Column(name: name, type: type, isNullable: false)
    }
    let types: [ValueType] = [
      .string, .int, .string, .date, .enumeration("Grade"), .int64, .timestamp, .float, .uuid,
    ]
    switch below(isAlone ? 10 : 5) {
    case 0...2 where isAlone:
      // Implicit, or written out.
      draft.table.key = ["id"]
      var id = Column(
        name: "id", type: .uuid, isNullable: false, defaultValue: .expression("uuidV4()"))
      if chance(50) {
        draft.keyFields = nil
        id.isImplicit = true
        draft.table.columns.append(id)
      } else {
        draft.keyFields = ["id"]
        draft.add(id, " @default(expr: \"uuidV4()\")")
      }
    case 3, 4:
      draft.add(column("code", .string))
      draft.add(column("number", .int))
      draft.table.key = ["code", "number"]
      draft.keyFields = draft.table.key
    default:
      let type = types[below(types.count)]
      var key = column(type == .string && chance(50) ? "id" : "code", type)
      var directives = ""
      if chance(15) { directives = addDefault(to: &key) }
      draft.add(key, directives)
      draft.table.key = [key.name]
      draft.keyFields = draft.table.key
    }
  }

  /// - Parameter target: Nil is the table itself.
  private mutating func addReference(
    to target: String?, named name: String, isKey: Bool, in draft: inout Draft
  ) {
    let other = target.flatMap { schema.table($0) } ?? draft.table
    let isNullable = target == nil || (!isKey && chance(50))
    let columns = other.key.map { name + $0.prefix(1).uppercased() + $0.dropFirst() }
    for (column, targetColumn) in zip(columns, other.key) {
      guard let type = other.column(targetColumn)?.type else { continue }
      draft.table.columns.append(
        Column(name: column, type: type, isNullable: isNullable, isImplicit: true))
    }
    draft.table.references.append(
      Reference(
        name: name, target: other.typeName, columns: columns, targetColumns: other.key,
        isNullable: isNullable, isOneToOne: false))
    var line = "\(name): \(other.typeName)\(isNullable ? "" : "!")"
    if !isKey, target != nil, chance(20) {
      line += " @unique"
      draft.table.uniques.append(Table.Index(columns: columns))
    }
    draft.lines.append(line)
    if isKey {
      draft.table.key += columns
      draft.keyFields?.append(name)
    }
  }

  // MARK: Columns

  private mutating func addColumn(_ name: String, to draft: inout Draft) {
    let types: [ValueType] = [
      .string, .string, .int, .int, .int64, .float, .boolean, .uuid, .date, .timestamp, .any,
      .vector, .enumeration("Level"), .enumeration("Grade"),
    ]
    var column = Column(name: name, type: types[below(types.count)], isNullable: chance(60))
    var directives = ""
    if column.type == .vector {
      column.vectorSize = 2
      directives += " @col(size: 2)"
    } else if chance(25) {
      column.isList = true
      column.hasNullElements = column.type != .any && chance(30)
    } else if column.type == .string, chance(20) {
      column.maximumLength = 2
      directives += " @col(dataType: \"varchar(2)\")"
    } else if column.type == .int, !column.isNullable, chance(20) {
      column.isSerial = true
      directives += " @col(dataType: \"serial\")"
    }
    if !column.isSerial, column.type != .any, column.type != .vector, chance(25) {
      directives += addDefault(to: &column)
    }
    if isComparable(column), chance(8) {
      draft.table.uniques.append(Table.Index(columns: [name]))
      directives += " @unique"
    } else if column.type != .any, column.type != .vector, chance(15) {
      draft.table.indexes.append(Table.Index(columns: [name]))
      directives += " @index"
    }
    draft.add(column, directives)
  }

  private mutating func addDefault(to column: inout Column) -> String {
    let type = column.type
    let fits = RandomValues.pool(of: type, schema).filter { value in
      column.maximumLength.map { value.text?.count ?? 0 <= $0 } ?? true
    }
    let values = column.isList ? fits.prefix(2).map(\.self) : [fits[below(fits.count)]]
    let literals = values.map { OperationInput.value($0, type) }
    let input = column.isList ? OperationInput.list(literals) : literals[0]
    column.defaultValue = .value(
      column.isList ? .list(values.map { $0.literal(type) }) : values[0].literal(type))
    return " @default(value: \(input.text))"
  }

  /// A reference with the columns of the key, or of a unique index, is of one row at most.
  private func markOneToOne(_ table: inout Table) {
    let unique = ([table.key] + table.uniques.map(\.columns)).map(Set.init)
    for index in table.references.indices {
      let columns = Set(table.references[index].columns)
      table.references[index].isOneToOne = unique.contains { $0.isSubset(of: columns) }
    }
  }
}

/// Few values of each type, so that random rows have values in common.
enum RandomValues {
  static func pool(of type: ValueType, _ schema: Schema) -> [DataValue] {
    switch type {
    // The first are keys. In the order of their documents' ids, too.
    case .string: ["a", "c/d", "a-b", "", "_x", "b:%", "ä", "Ab", "bb\nb"]
    case .int: [1, 2, 0, -1, 10, 2_147_483_647]
    case .int64: [1, 2, 0, -9_007_199_254_740_993, 10, 9_223_372_036_854_775_807]
    case .float: [0.5, 2.0, 0.0, -1.5, 10.0, 1e10]
    case .boolean: [true, false]
    case .uuid:
      (1...4).map { .string("0000000000000000000000000000000\($0)") }
        + ["abcdefabcdefabcdefabcdefabcdefab"]
    case .date: ["2024-02-29", "1999-12-31", "2024-01-01", "2024-03-31"]
    case .timestamp:
      [
        time(1_704_067_200, 0), time(1_704_067_200, 1000), time(946_684_799, 500_000_000),
        time(-14_182_940, 0),
      ]
    case .any: [1, "a", true, ["a": 1, "b": [1, "x"]], [1, [2]], 1.5, []]
    case .vector: [[0.0, 1.0], [1.0, 0.5], [0.0, 0.0]]
    case .enumeration(let name): schema.enumType(name)?.values.map { .string($0) } ?? []
    }
  }

  private static func time(_ seconds: Int64, _ nanoseconds: Int32) -> DataValue {
    .timestamp(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
  }
}

extension DataValue {
  /// As the compiler stores it.
  fileprivate func literal(_ type: ValueType) -> Literal {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .double(let value): .float(value)
    case .string(let value): if case .enumeration = type { .name(value) } else { .string(value) }
    case .timestamp(let value): .string(value.rfc3339)
    case .list(let values): .list(values.map { $0.literal(type) })
    case .object(let object): .object(object.members.map { .init($0, $1.literal(type)) })
    }
  }
}
