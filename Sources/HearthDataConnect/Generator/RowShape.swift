import DataConnectModel

/// A structure of a result: `Data`, or one nested in it.
struct RowShape: Hashable {
  /// Everything but the name. Two fields with equal bodies can share a structure.
  struct Body: Hashable {
    var fields: [PropertyShape]
    var rows: [RowShape]
    /// Set if the whole key is selected.
    var key: Key?
  }

  /// The key of a row whose key columns are all selected.
  struct Key: Hashable {
    /// `MovieKey`
    var type: String
    /// Key columns in the order in which the type declares them: labels of the key's `init`, and
    /// properties of the row.
    var columns: [Column]
    var identity: Identity

    struct Column: Hashable {
      var label: String
      var property: String
    }
  }

  /// How a row is `Identifiable`.
  enum Identity: Hashable {
    /// It has a property `id`.
    case declared
    /// By its only key column, which has another name.
    case column(String, type: String)
    /// By its key.
    case key
    /// It has a property `id` that does not identify it.
    case none
  }

  /// Nested structures have simple names: `Movie` in `Data`.
  var name: String
  var body: Body
}

/// Builds the structures of one operation.
struct RowBuilder {
  /// A selected field, before its structure has a name.
  struct Selected {
    enum Kind {
      case value(String)
      /// `type` is the GraphQL type; `table` is nil for objects that are no rows.
      case object(type: String, table: Table?, fields: [Selected], Wrapping)
    }

    var responseKey: String
    var name: String
    var kind: Kind
    var modifiers: Modifiers
    /// Set for a column without an alias.
    var column: String?
  }

  enum Wrapping {
    case one, optional, list

    func type(_ name: String) -> String {
      switch self {
      case .one: name
      case .optional: "\(name)?"
      case .list: "[\(name)]"
      }
    }
  }

  let schema: Schema
  let types: TypeNames
  var uses: TypeUses

  // MARK: Fields

  mutating func field(_ field: RootField) -> Selected {
    var selected = Selected(
      responseKey: field.responseKey, name: field.name, kind: .value("String"),
      modifiers: field.modifiers)
    switch field.action {
    case .lookup: selected.kind = row(field.table, field.selections, .optional)
    case .list, .search, .similarity: selected.kind = row(field.table, field.selections, .list)
    case .insert, .upsert: selected.kind = rowOrKey(field, .one)
    case .update, .delete: selected.kind = rowOrKey(field, .optional)
    case .insertMany, .upsertMany: selected.kind = rowOrKey(field, .list)
    case .updateMany, .deleteMany: selected.kind = .value("Int")
    case .query:
      let fields = field.fields.map { self.field($0) }
      selected.kind = .object(type: "Query", table: nil, fields: fields, .one)
    case .typename: selected.kind = .value("String")
    }
    return selected
  }

  private mutating func rowOrKey(_ field: RootField, _ wrapping: Wrapping) -> Selected.Kind {
    guard field.selections.isEmpty else { return row(field.table, field.selections, wrapping) }
    uses.keys.insert(field.table)
    return .value(wrapping.type(types.key(field.table)))
  }

  private mutating func row(
    _ type: String, _ selections: [Selection], _ wrapping: Wrapping
  ) -> Selected.Kind {
    let table = schema.table(type)
    let fields = selections.map { selection in
      var selected = Selected(
        responseKey: selection.responseKey, name: selection.name,
        kind: kind(of: selection, in: table), modifiers: selection.modifiers)
      if case .column(let name) = selection.kind, selection.responseKey == name {
        selected.column = name
      }
      return selected
    }
    return .object(type: type, table: table, fields: fields, wrapping)
  }

  private mutating func kind(of selection: Selection, in table: Table?) -> Selected.Kind {
    func object(_ type: String, _ wrapping: Wrapping) -> Selected.Kind {
      row(type, selection.selections, wrapping)
    }
    switch selection.kind {
    case .column(let name):
      guard let column = table?.column(name) else { return .value("AnyValue?") }
      uses.add(column.type)
      return .value(types.value(of: column) + (column.isNullable ? "?" : ""))
    case .reference(let name):
      guard let reference = table?.reference(name) else { return .value("AnyValue?") }
      return object(reference.target, reference.isNullable ? .optional : .one)
    case .referring(let source, _, let isSingle):
      return object(source, isSingle ? .optional : .list)
    case .via(let join, _, let far):
      guard let target = schema.table(join)?.reference(far)?.target else {
        return .value("AnyValue?")
      }
      return object(target, .list)
    case .aggregate(let function, let column, _):
      return .value(aggregate(function, of: column.flatMap { table?.column($0) }))
    case .distance, .relevance: return .value("Double?")
    case .metadata: return object("Metadata", .one)
    case .entityID, .typename: return .value("String")
    }
  }

  /// Null is possible except for counts: of no rows, and of nulls.
  private mutating func aggregate(
    _ function: Selection.Aggregate, of column: Column?
  ) -> String {
    switch function {
    case .count: "Int"
    case .avg: "Double?"
    case .sum, .min, .max: (column.map { types.value($0.type) } ?? "Double") + "?"
    }
  }

  // MARK: Structures

  mutating func body(table: Table?, fields: [Selected]) -> RowShape.Body {
    var properties = types.members()
    // Positions count retired fields too: results have them.
    let visible = fields.filter { !$0.modifiers.isRedacted }.enumerated()
      .filter { !$0.element.modifiers.isRetired }
    let names = visible.map { properties.add($0.element.responseKey) }
    // A structure may have the name of one around it, and of no other type in use.
    var structures = NameScope(
      reserving: types.taken.union(properties.taken).union(["CodingKeys", "Ref", "Variables"]))
    var body = RowShape.Body(fields: [], rows: [], key: nil)
    /// The first structure of each type.
    var first: [String: RowShape] = [:]
    for ((index, selected), name) in zip(visible, names) {
      let type: String
      switch selected.kind {
      case .value(let value): type = value
      case .object(let typeName, let table, let fields, let wrapping):
        let nested = self.body(table: table, fields: fields)
        let hasAlias = selected.responseKey != selected.name
        let structure: String
        if !hasAlias, let known = first[typeName], known.body == nested {
          structure = known.name
        } else {
          let suffix =
            hasAlias || first[typeName] != nil ? Naming.upperFirst(selected.responseKey) : ""
          structure = structures.add(typeName + suffix)
          let row = RowShape(name: structure, body: nested)
          body.rows.append(row)
          if !hasAlias && first[typeName] == nil { first[typeName] = row }
        }
        type = wrapping.type(structure)
      }
      let becomesOptional = selected.modifiers.isConditional && !type.hasSuffix("?")
      body.fields.append(
        PropertyShape(
          name: name, wireName: selected.responseKey, type: becomesOptional ? "\(type)?" : type,
          index: index))
    }
    if let table { body.key = key(of: table, visible.map(\.element), body.fields) }
    return body
  }

  /// Nil unless all key columns are selected without an alias and without a condition.
  private mutating func key(
    of table: Table, _ selected: [Selected], _ fields: [PropertyShape]
  ) -> RowShape.Key? {
    var property: [String: PropertyShape] = [:]
    for (selected, field) in zip(selected, fields) where !selected.modifiers.isConditional {
      if let column = selected.column { property[column] = field }
    }
    let key = KeyShape.properties(of: table, types: types)
    let columns: [RowShape.Key.Column] = key.compactMap { column in
      property[column.wireName].map { .init(label: column.name, property: $0.name) }
    }
    guard !columns.isEmpty, columns.count == table.key.count else { return nil }
    uses.keys.insert(table.typeName)
    return RowShape.Key(
      type: types.key(table.typeName), columns: columns,
      identity: identity(of: table, property, fields))
  }

  private func identity(
    of table: Table, _ property: [String: PropertyShape], _ fields: [PropertyShape]
  ) -> RowShape.Identity {
    guard fields.contains(where: { $0.name == "id" }) else {
      guard table.key.count == 1, let only = property[table.key[0]] else { return .key }
      return .column(only.name, type: only.type)
    }
    // Another column called `id`, or an alias, counts only if no two rows have the same.
    guard property["id"] != nil, let column = table.column("id") else { return .none }
    let isUnique =
      table.key == ["id"]
      || (!column.isNullable && table.uniques.contains { $0.columns == ["id"] })
    return isUnique ? .declared : .none
  }
}
