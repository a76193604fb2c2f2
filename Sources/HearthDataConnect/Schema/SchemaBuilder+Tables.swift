import DataConnectModel

/// Tables and their columns.
extension SchemaBuilder {
  mutating func table(of draft: Draft) -> Table {
    let typeName = draft.name.text
    let key = key(of: draft)
    if key == nil { session.brokenTypes.insert(typeName) }
    var table = Table(
      typeName: typeName,
      collectionID: draft.tableArguments.string("name") ?? Naming.snakeCase(typeName),
      singular: draft.tableArguments.string("singular") ?? Naming.lowerFirst(typeName),
      plural: "", columns: [], references: [], key: key?.map(\.name) ?? [])
    table.plural = draft.tableArguments.string("plural") ?? Naming.plural(table.singular)
    if table.plural == table.singular {
      session.note(
        "The singular and the plural of \(typeName) are both \(table.singular), so that there is "
          + "no field for lists: add plural: to @table.", at: draft.name.position)
    }
    let needsID = key.map { $0.contains { $0.name == "id" } } ?? (draft.keyNames == nil)
    if needsID, draft.fieldsByName["id"] == nil {
      table.columns.append(
        Column(
          name: "id", type: .uuid, isNullable: false, defaultValue: .expression("uuidV4()"),
          isImplicit: true))
    }
    for field in draft.fields { add(field, of: draft, to: &table) }
    addIndexes(of: draft, to: &table)
    if table.key.isEmpty { table.key = table.columns.first.map { [$0.name] } ?? ["id"] }
    return table
  }

  mutating func add(
    _ field: FieldDefinitionSyntax, of draft: Draft, to table: inout Table
  ) {
    let name = field.name
    session.checkRepetition(of: field.directives)
    if let argument = field.arguments.first {
      session.error(
        "Fields with arguments need a resolver, which is not supported: compute the value in the "
          + "app, or store it in a column.", at: argument.name.position)
    }
    let typeName = field.type.innermostName
    if isReference(field) {
      addReference(field, of: draft, to: &table)
    } else if let type = valueType(of: field) {
      addColumn(field, type, of: draft, to: &table)
    } else {
      markBroken(name.text, of: draft)
      if draftsByName[typeName] != nil {
        session.error(
          "Lists of tables are no fields: declare a reference to \(draft.name.text) in "
            + "\(typeName), and select \(Naming.plural(Naming.lowerFirst(typeName)))_on_….",
          at: field.type.position)
      } else if !session.brokenTypes.contains(typeName) {
        session.error(unknownType(typeName), at: field.type.position)
      }
    }
  }

  func unknownType(_ name: String) -> String {
    let others = [
      "ID": "UUID or String", "DateTime": "Timestamp", "Time": "Timestamp", "JSON": "Any",
      "Double": "Float", "Bool": "Boolean", "Integer": "Int", "Long": "Int64",
      "BigInt": "Int64", "Text": "String",
    ]
    if let other = others[name] { return "There is no type \(name): use \(other)." }
    return "There is no type \(name)."
      + session.suggestion(
        for: name, among: ValueType.scalars.map(\.name) + session.enums.keys + draftsByName.keys,
        otherwise: "Define it, or use a scalar like String.")
  }

  mutating func addReference(
    _ field: FieldDefinitionSyntax, of draft: Draft, to table: inout Table
  ) {
    let name = field.name.text
    for directive in field.directives {
      let found = session.arguments(
        of: directive, at: .fieldDefinition, scope: ValueScope(checksExpressions: false),
        rawArgument: "value")
      guard found != nil else { continue }
      if ["col", "default", "searchable"].contains(directive.name.text) {
        session.error(
          "@\(directive.name.text) is for columns, and \(name) is a reference: put it on the "
            + "column, declared as a field.", at: directive.name.position)
      }
    }
    guard let foreign = foreignColumns(of: field, in: draft) else {
      markBroken(name, of: draft)
      return
    }
    for column in foreign {
      if let declared = draft.fieldsByName[column.name] {
        guard !isReference(declared), case .named = declared.type.kind,
          valueType(of: declared) == column.target.type
        else {
          session.error(
            "\(column.name) is the column of the reference \(name) and is of type "
              + "\(column.target.type.name): declare it so, or name another in @ref(fields:).",
            at: declared.name.position)
          markBroken(name, of: draft)
          return
        }
        if declared.type.isNullable, !field.type.isNullable {
          session.error(
            "\(column.name) can be null, and the reference \(name) cannot: write "
              + "\(column.target.type.name)!.", at: declared.type.position)
        }
      } else if let index = table.columns.firstIndex(where: { $0.name == column.name }) {
        // Two references share the column.
        if table.columns[index].type != column.target.type {
          session.error(
            "\(column.name) is of type \(table.columns[index].type.name) in another reference: "
              + "name another column in @ref(fields:).", at: field.name.position)
          markBroken(name, of: draft)
          return
        }
        if !field.type.isNullable { table.columns[index].isNullable = false }
      } else {
        table.columns.append(
          Column(
            name: column.name, type: column.target.type, isNullable: field.type.isNullable,
            isImplicit: true))
        fieldPositions[draft.name.text, default: [:]][column.name] = field.name.position
      }
    }
    let columns = foreign.map(\.name)
    if field.type.isNullable,
      columns.allSatisfy({ draft.fieldsByName[$0]?.type.isNullable == false })
    {
      session.error(
        "The columns of \(name) cannot be null: write \(field.type.innermostName)!.",
        at: field.type.position)
    }
    table.references.append(
      Reference(
        name: name, target: field.type.innermostName, columns: columns,
        targetColumns: foreign.map(\.target.name), isNullable: field.type.isNullable,
        isOneToOne: false))
  }

  mutating func addColumn(
    _ field: FieldDefinitionSyntax, _ type: ValueType, of draft: Draft, to table: inout Table
  ) {
    let name = field.name
    var column = Column(name: name.text, type: type, isNullable: field.type.isNullable)
    if case .list(let element) = field.type.kind {
      guard case .named = element.kind, type != .vector else {
        session.error(
          "\(name.text) is a list of lists: use a list of values, or Any.",
          at: field.type.position)
        markBroken(name.text, of: draft)
        return
      }
      column.isList = true
      column.hasNullElements = element.isNullable
    }
    var hasSize = false
    for directive in field.directives {
      guard
        let arguments = session.arguments(
          of: directive, at: .fieldDefinition, scope: ValueScope(checksExpressions: false),
          rawArgument: "value")
      else { continue }
      switch directive.name.text {
      case "col":
        setType(of: &column, directive, arguments)
        hasSize = hasSize || column.vectorSize != nil
      case "default": setDefault(of: &column, directive, arguments)
      case "searchable":
        if type == .string, !column.isList {
          column.searchLanguage = arguments.string("language") ?? "english"
        } else {
          session.error(
            "@searchable is for columns of type String: \(name.text) is of type "
              + "\(column.shape).", at: directive.name.position)
        }
      case "ref":
        session.error(
          "@ref is for references, and \(name.text) is a column: use a table as its type.",
          at: directive.name.position)
      default: break
      }
    }
    if type == .vector, !hasSize {
      session.error("A Vector needs its number of elements: add @col(size: …).", at: name.position)
    }
    table.columns.append(column)
  }

  func setType(
    of column: inout Column, _ directive: DirectiveSyntax, _ arguments: [Literal.Member]
  ) {
    if case .int(let size)? = arguments["size"] {
      if column.type != .vector {
        session.error(
          "size is for columns of type Vector: remove it.", at: directive.position(of: "size"))
      } else if size < 1 {
        session.error(
          "size is at least 1: write the number of elements.", at: directive.position(of: "size"))
      } else {
        column.vectorSize = Int(size)
      }
    }
    guard let written = arguments.string("dataType") else { return }
    let type = written.lowercased().filter { $0 != " " }
    let isText = column.type == .string && !column.isList
    for prefix in ["varchar(", "char(", "charactervarying(", "character("]
    where type.hasPrefix(prefix) {
      guard isText, type.hasSuffix(")"), let count = Int(type.dropFirst(prefix.count).dropLast()),
        count > 0
      else {
        session.error(
          "\(written) is a length of a String: write it like varchar(30), on a String.",
          at: directive.position(of: "dataType"))
        return
      }
      column.maximumLength = count
      return
    }
    switch type {
    case "serial", "bigserial", "smallserial":
      guard column.type == .int || column.type == .int64, !column.isList else {
        session.error(
          "\(written) is for columns of type Int or Int64: change the type, or remove it.",
          at: directive.position(of: "dataType"))
        return
      }
      column.isSerial = true
    case "text", "varchar": break
    default:
      session.note(
        "The type \(written) has no effect: values are stored as \(column.type.name).",
        at: directive.position(of: "dataType"))
    }
  }

  func setDefault(
    of column: inout Column, _ directive: DirectiveSyntax, _ arguments: [Literal.Member]
  ) {
    if let value = directive.arguments["value"] {
      let shape = column.shape.required
      if let literal = session.coerce(value, to: shape, label: column.name, scope: ValueScope()) {
        column.defaultValue = .value(literal)
      }
    } else if let expression = arguments.string("expr") {
      let position = directive.position(of: "expr")
      session.checkExpression(
        expression, ExpressionContext(kind: .value(column.type)), at: position)
      column.defaultValue = .expression(expression)
    } else if let sql = arguments.string("sql") {
      switch sql.lowercased().filter({ $0 != " " }) {
      case "now()", "current_timestamp", "current_date":
        column.defaultValue = .expression("request.time")
      case "gen_random_uuid()", "uuid_generate_v4()":
        column.defaultValue = .expression("uuidV4()")
      default:
        session.error(
          "Defaults in SQL are not supported: write expr: with CEL, like \"request.time\" or "
            + "\"uuidV4()\".", at: directive.position(of: "sql"))
      }
    }
  }
}
