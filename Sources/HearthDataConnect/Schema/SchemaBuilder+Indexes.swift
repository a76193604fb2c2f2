import DataConnectModel

/// `@unique` and `@index`.
extension SchemaBuilder {
  mutating func addIndexes(of draft: Draft, to table: inout Table) {
    for field in draft.fields {
      for directive in field.directives where ["unique", "index"].contains(directive.name.text) {
        guard directive.arguments["fields"] == nil else {
          session.error(
            "fields is for @\(directive.name.text) on a type: remove it here.",
            at: directive.position(of: "fields"))
          continue
        }
        addIndex(directive, [field.name], to: &table)
      }
    }
    for directive in draft.directives where directive.name.text != "table" {
      guard session.arguments(of: directive, at: .object) != nil else { continue }
      guard ["unique", "index"].contains(directive.name.text) else { continue }
      guard let names = directive.names("fields"), !names.isEmpty else {
        session.error(
          "@\(directive.name.text) on a type needs fields: add fields: [\"…\"].",
          at: directive.name.position)
        continue
      }
      addIndex(directive, names, to: &table)
    }
  }

  func addIndex(_ directive: DirectiveSyntax, _ names: [Name], to table: inout Table) {
    let isUnique = directive.name.text == "unique"
    var directions: [Bool] = []
    if let order = directive.arguments["order"] {
      directions = order.elements.map { if case .name("DESC") = $0.kind { true } else { false } }
      if directions.count > names.count {
        session.error(
          "order has \(directions.count) directions for \(names.count) fields: give one for each.",
          at: order.position)
      }
    }
    var columns: [String] = []
    var isDescending: [Bool] = []
    for (index, name) in names.enumerated() {
      let found: [String]
      if table.column(name.text) != nil {
        found = [name.text]
      } else if let reference = table.reference(name.text) {
        found = reference.columns
      } else {
        return session.reportUnknown(
          name, of: table.typeName,
          among: table.columns.map(\.name) + table.references.map(\.name))
      }
      for column in found {
        guard !columns.contains(column) else {
          session.error("\(column) is given twice: name each field once.", at: name.position)
          continue
        }
        columns.append(column)
        isDescending.append(index < directions.count && directions[index])
      }
    }
    if isUnique,
      let bad = columns.first(where: { name in
        table.column(name).map { $0.isList || $0.type == .any || $0.type == .vector } ?? false
      })
    {
      session.error(
        "\(bad) cannot be unique: use a column with a single value.", at: directive.name.position)
      return
    }
    let indexName = directive.arguments[isUnique ? "indexName" : "name"]?.string?.text
    if case .name(let type)? = directive.arguments["type"]?.kind,
      ["HNSW", "IVFFLAT"].contains(type)
    {
      session.note(
        "An index of type \(type) has no effect: similarity compares all rows.",
        at: directive.name.position)
      return
    }
    let index = Table.Index(name: indexName, columns: columns, isDescending: isDescending)
    if isUnique { table.uniques.append(index) } else { table.indexes.append(index) }
  }

  /// A reference is one-to-one if its columns contain the key, or the columns of a unique index.
  func withOneToOne(_ tables: [Table]) -> [Table] {
    tables.map { table in
      var table = table
      let unique = [Set(table.key)] + table.uniques.map { Set($0.columns) }
      for index in table.references.indices {
        let columns = Set(table.references[index].columns)
        table.references[index].isOneToOne = unique.contains { $0.isSubset(of: columns) }
      }
      return table
    }
  }
}
