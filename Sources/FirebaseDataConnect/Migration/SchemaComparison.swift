import DataConnectModel
import Hearth

/// The changes from a schema to another, and those of the rows.
///
/// Tables are the same if their collections are, columns if their names are.
struct SchemaComparison {
  private(set) var changes: [SchemaChange] = []
  /// Those whose rows change. References to rows are cleared before the rows are deleted.
  private(set) var tables: [TableChange] = []
  /// By the GraphQL type: the reason why all rows of a table are deleted that stays.
  private let emptied: [String: String]

  /// The changes of the rows of a table.
  struct TableChange {
    let old: TableLayout
    /// Nil: all rows are deleted.
    var new: TableLayout?
    /// Columns that get their default, or null, in rows where they have no value.
    var added: Set<String> = []
    /// Columns that lose their values.
    var reset: Set<String> = []
    /// Columns whose values are stored in another way.
    var moved: Set<String> = []
    /// Columns that become null: all rows that their references lead to are deleted.
    var cleared: Set<String> = []
    /// Columns that rows must have a value of, and that have no default.
    var required: Set<String> = []
    var removedFields: Set<String> = []

    var collectionID: String { old.table.collectionID }

    var isEmpty: Bool {
      new != nil && added.isEmpty && reset.isEmpty && moved.isEmpty && cleared.isEmpty
        && removedFields.isEmpty && required.isEmpty
    }

    /// Whether a row may have no form in the new schema: a value is missing, or refers to no row, or
    /// an expression fails.
    var canFail: Bool {
      guard let new else { return false }
      return !required.isEmpty || !moved.isEmpty
        || added.union(reset).contains { name in
          if case .expression? = new.column(name)?.column.defaultValue { return true }
          return new.references.contains { $0.columns.contains(name) }
        }
    }
  }

  init(from old: ConnectorPlan, to new: ConnectorPlan) throws {
    let (oldSchema, newSchema) = (old.connector.schema, new.connector.schema)
    emptied = try Self.emptied(old, new)
    for table in newSchema.tables.sorted(by: { $0.collectionID < $1.collectionID }) {
      guard let before = old.layout(ofCollection: table.collectionID) else {
        add(.additive, table.typeName, "is a new table")
        continue
      }
      var change = TableChange(old: before)
      if let reason = emptied[table.typeName] {
        add(.destructive, table.typeName, "\(reason): all rows are deleted")
      } else {
        compare(&change, try new.layout(table.typeName))
      }
      if !change.isEmpty { tables.append(change) }
    }
    tables = tables.filter { $0.new != nil } + tables.filter { $0.new == nil }
    let collections = Set(newSchema.tables.map(\.collectionID))
    for table in oldSchema.tables where !collections.contains(table.collectionID) {
      add(.destructive, table.typeName, "is removed, with its rows")
      tables.append(TableChange(old: try old.layout(table.typeName)))
    }
    for type in newSchema.enums {
      guard let before = oldSchema.enumType(type.name) else { continue }
      for value in type.values where !before.values.contains(value) {
        add(.additive, type.name, "has the new value \(value)")
      }
      for value in before.values where !type.values.contains(value) {
        add(.destructive, type.name, "has no value \(value) any more: rows with it have it unknown")
      }
    }
  }

  /// Whether all rows of a collection are deleted.
  func isEmptied(_ collectionID: String) -> Bool {
    tables.contains { $0.collectionID == collectionID && $0.new == nil }
  }

  private mutating func add(_ kind: SchemaChange.Kind, _ subject: String, _ summary: String) {
    changes.append(SchemaChange(kind: kind, subject: subject, summary: summary))
  }

  /// The tables of both schemas whose rows are deleted, each with the reason: it has another key, or
  /// its rows must refer to such rows.
  private static func emptied(
    _ old: ConnectorPlan, _ new: ConnectorPlan
  ) throws -> [String: String] {
    var emptied: [String: String] = [:]
    var others: [(old: TableLayout, new: TableLayout)] = []
    for table in new.connector.schema.tables {
      guard let before = old.layout(ofCollection: table.collectionID) else { continue }
      let layouts = (old: before, new: try new.layout(table.typeName))
      if layouts.old.table.key == table.key, layouts.old.keyTypes == layouts.new.keyTypes {
        others.append(layouts)
      } else {
        emptied[table.typeName] = "has another key"
      }
    }
    var hasMore = true
    while hasMore {
      hasMore = false
      for (old, new) in others where emptied[new.table.typeName] == nil {
        let required = new.references.first { reference in
          !reference.isNullable && emptied[reference.target] != nil
            && reference.columns.allSatisfy { old.column($0) != nil }
        }
        guard let required else { continue }
        emptied[new.table.typeName] = "must refer to \(required.target), whose rows are deleted"
        hasMore = true
      }
    }
    return emptied
  }

  private mutating func compare(_ change: inout TableChange, _ new: TableLayout) {
    let old = change.old
    let name = new.table.typeName
    change.new = new
    for column in new.table.columns {
      compare(column, &change, new)
    }
    for reference in new.references where emptied[reference.target] != nil {
      guard reference.isNullable else {
        // The default of a new column refers to a row that is deleted.
        change.required.formUnion(reference.columns.filter { old.column($0) == nil })
        continue
      }
      let columns = reference.columns.filter { new.column($0)?.column.isNullable == true }
      change.cleared.formUnion(columns)
      if columns.contains(where: { old.column($0) != nil }) {
        add(
          .destructive, "\(name).\(reference.name)",
          "is null in all rows: those of \(reference.target) are deleted")
      }
    }
    for column in old.table.columns where new.table.column(column.name) == nil {
      add(.destructive, "\(name).\(column.name)", "is removed, with its values")
    }
    change.removedFields = old.fields.subtracting(new.fields)
    for (kind, before, after) in [
      ("unique index", old.table.uniques, new.table.uniques),
      ("index", old.table.indexes, new.table.indexes),
    ] {
      for index in after where !before.contains(index) {
        add(.additive, name, "has a new \(kind) on \(index.columns.joined(separator: ", "))")
      }
      for index in before where !after.contains(index) {
        add(.additive, name, "has no \(kind) on \(index.columns.joined(separator: ", ")) any more")
      }
    }
  }

  private mutating func compare(
    _ column: Column, _ change: inout TableChange, _ new: TableLayout
  ) {
    let subject = "\(new.table.typeName).\(column.name)"
    let hasDefault = column.defaultValue != nil || column.isSerial
    guard let before = change.old.table.column(column.name) else {
      change.added.insert(column.name)
      if hasDefault {
        add(.additive, subject, "is a new column: rows get its default")
      } else if column.isNullable {
        add(.additive, subject, "is a new column: null in rows")
      } else {
        change.required.insert(column.name)
        add(.needsDefault, subject, "is a new column that is not null")
      }
      return
    }
    guard before.holdsValues(of: column) else {
      change.reset.insert(column.name)
      if !column.isNullable, !hasDefault { change.required.insert(column.name) }
      add(
        .destructive, subject,
        "changes from \(before.typeText) to \(column.typeText): its values are removed")
      return
    }
    if before.type != column.type {
      add(.additive, subject, "changes from \(before.typeText) to \(column.typeText)")
    }
    if change.old.references(of: column.name) != new.references(of: column.name) {
      change.moved.insert(column.name)
      add(.additive, subject, "is stored for another reference")
    }
    if before.isNullable != column.isNullable {
      if column.isNullable {
        add(.additive, subject, "may be null")
      } else {
        change.added.insert(column.name)
        if !hasDefault { change.required.insert(column.name) }
        add(
          hasDefault ? .additive : .needsDefault, subject,
          "must not be null" + (hasDefault ? ": rows get its default" : ""))
      }
    }
    if before.defaultValue != column.defaultValue || before.maximumLength != column.maximumLength {
      add(.additive, subject, "has another default or length for new values")
    }
  }
}

extension Column {
  /// Whether stored values of this column are values of the other.
  fileprivate func holdsValues(of other: Column) -> Bool {
    guard isList == other.isList, vectorSize == other.vectorSize else { return false }
    switch (type, other.type) {
    case (.int, .int64), (.int, .float), (.enumeration, .string), (.uuid, .string),
      (.date, .string):
      return true
    default: return type == other.type
    }
  }

  fileprivate var typeText: String { isList ? "[\(type.name)]" : type.name }
}

extension TableLayout {
  /// The names of the fields of a row's document.
  fileprivate var fields: Set<String> {
    let stored = table.columns.map(\.name).filter { column($0)?.reference == nil }
    return Set(stored + references.map(\.name))
  }

  fileprivate func references(of column: String) -> [Reference] {
    references.filter { $0.columns.contains(column) }.map { reference in
      var reference = reference
      // Rules have these, and not rows.
      reference.isNullable = false
      reference.isOneToOne = false
      return reference
    }
  }
}
