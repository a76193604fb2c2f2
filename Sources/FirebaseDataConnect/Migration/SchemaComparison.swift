import DataConnectModel
import Hearth

/// The changes from a schema to another, and those of the rows.
///
/// Tables are the same if their collections are, columns if their names are.
struct SchemaComparison {
  private(set) var changes: [SchemaChange] = []
  /// Those whose rows change, in the order of their collections.
  private(set) var tables: [TableChange] = []

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
    /// Columns that rows must have a value of, and that have no default.
    var required: Set<String> = []
    var removedFields: Set<String> = []

    var collectionID: String { old.table.collectionID }

    var isEmpty: Bool {
      new != nil && added.isEmpty && reset.isEmpty && moved.isEmpty && removedFields.isEmpty
        && required.isEmpty
    }
  }

  init(from old: ConnectorPlan, to new: ConnectorPlan) throws {
    let (oldSchema, newSchema) = (old.connector.schema, new.connector.schema)
    for table in newSchema.tables.sorted(by: { $0.collectionID < $1.collectionID }) {
      guard let before = oldSchema.tables.first(where: { $0.collectionID == table.collectionID })
      else {
        add(.additive, table.typeName, "is a new table")
        continue
      }
      var change = TableChange(old: try old.layout(before.typeName))
      compare(&change, try new.layout(table.typeName))
      if !change.isEmpty { tables.append(change) }
    }
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

  private mutating func add(_ kind: SchemaChange.Kind, _ subject: String, _ summary: String) {
    changes.append(SchemaChange(kind: kind, subject: subject, summary: summary))
  }

  private mutating func compare(_ change: inout TableChange, _ new: TableLayout) {
    let old = change.old
    let name = new.table.typeName
    guard old.table.key == new.table.key, old.keyTypes == new.keyTypes else {
      add(.destructive, name, "has another key: all rows are deleted")
      return
    }
    change.new = new
    for column in new.table.columns {
      compare(column, &change, new)
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
