import DataConnectModel

/// Checks objects and arguments: names, groups, and the columns behind them.
extension CompilerSession {
  /// The members of an object, or arguments, in the order of the source. Nil with an error.
  ///
  /// `given` are names that count for groups and required fields, if not those of the members.
  func coerceMembers(
    _ members: [ArgumentSyntax], of object: InputObject, at position: Position, scope: ValueScope,
    given: [String]? = nil
  ) -> [Literal.Member]? {
    var result: [Literal.Member] = []
    var isValid = true
    var seen: [String: Position] = [:]
    func refuse(_ message: String, at position: Position) {
      error(message, at: position)
      isValid = false
    }
    for member in members {
      let name = member.name.text
      guard let field = object.field(name) else {
        if let table = object.table, isBroken(name, in: table) {
          isValid = false
          continue
        }
        refuse(unknownMember(name, of: object), at: member.name.position)
        continue
      }
      guard seen.updateValue(member.name.position, forKey: name) == nil else {
        refuse("\(name) is given twice: keep one.", at: member.name.position)
        continue
      }
      if scope.isOfVariable, field.isLiteralOnly {
        refuse(
          "\(name) is not possible in the value of a variable: write it in the operation.",
          at: member.name.position)
        continue
      }
      var inner = scope
      if case .relation? = field.subject, object.role == .data {
        guard scope.purpose == .insert || scope.purpose == .upsert else {
          refuse(
            "\(name) is possible only in new rows: add rows with mutations of their own.",
            at: member.name.position)
          continue
        }
        inner.givenReference = referringReference(name, of: object.table)
      } else {
        inner.givenReference = nil
      }
      if field.form == .updates, scope.purpose == .insert {
        refuse(
          "\(name) changes a value, and a new row has none: give the value itself.",
          at: member.name.position)
        continue
      }
      let value = coerce(
        member.value, to: field.shape, label: name, scope: inner,
        hasDefault: field.defaultValue != nil)
      guard let value else {
        isValid = false
        continue
      }
      if object.role == .data || field.shape.base == .value(.vector) {
        isValid =
          checkColumn(field, of: object, value, at: member.value.position) && isValid
      }
      result.append(.init(name, value))
    }

    let present = Set(given ?? Array(seen.keys))
    // A required member of a group counts only with a value.
    func isGiven(_ name: String) -> Bool { present.contains(name) && result[name] != .null }
    for group in object.groups {
      let givenNames = group.names.filter(present.contains)
      if givenNames.count > 1 {
        let second =
          givenNames.compactMap { seen[$0] }
          .max { ($0.line, $0.column) < ($1.line, $1.column) } ?? position
        refuse(
          "\(givenNames.joined(separator: " and ")) exclude each other: keep one.", at: second)
      } else if group.isRequired, !group.names.contains(where: isGiven), isValid {
        refuse(missingGroup(group, of: object), at: position)
      }
    }
    for field in object.fields
    where !field.shape.isNullable && field.defaultValue == nil && !present.contains(field.name) {
      refuse(
        "\(object.name) needs \(field.name): add \(field.name): … of type \(field.shape).",
        at: position)
    }
    // After another error, a column can be missing because its name is misspelled.
    if object.role == .data, isValid {
      isValid = checkRequiredColumns(of: object, present, at: position, scope)
    }
    return isValid ? result : nil
  }

  /// Whether a field of a table, also with a suffix like `_expr`, was reported in the schema.
  func isBroken(_ name: String, in table: String) -> Bool {
    brokenFields[table]?.contains { name == $0 || name.hasPrefix("\($0)_") } == true
  }

  private func unknownMember(_ name: String, of object: InputObject) -> String {
    if name.hasSuffix("_embed") {
      return "\(name) needs a model in the cloud, which does not exist here: give the vector "
        + "itself."
    }
    let word =
      switch object.role {
      case .arguments: "argument"
      case .operators: "operator"
      default: "field"
      }
    let names = object.fields.map(\.name)
    let sentence = "\(object.name) has no \(word) \"\(name)\"."
    let suggestion = suggestion(for: name, among: names)
    if !suggestion.isEmpty { return sentence + suggestion }
    if names.isEmpty { return sentence + " Remove it." }
    let plain = object.fields.filter { $0.form == .plain }.map(\.name)
    let shown = plain.prefix(14).joined(separator: ", ")
    return sentence + " It has \(shown)\(plain.count > 14 ? ", …" : "")."
  }

  private func missingGroup(_ group: InputObject.Group, of object: InputObject) -> String {
    let names = group.names.joined(separator: ", ")
    if group.names == ["where", "all"] {
      return "\(object.name) without a filter changes all rows: give where, or all: true."
    }
    if object.role == .key {
      return "\(object.name) needs \(group.names[0]): every column of the key is given, as one of "
        + "\(names)."
    }
    return group.names.count == 1
      ? "\(object.name) needs \(names)." : "\(object.name) needs one of \(names)."
  }

  /// The reference of the other table behind a relation: `reviews_on_movie` → `movie`.
  private func referringReference(_ relation: String, of table: String?) -> String? {
    guard let table, let found = types.relations[table]?.first(where: { $0.name == relation }),
      case .referring(_, let reference, _) = found.kind
    else { return nil }
    return reference
  }

  // MARK: - Columns

  /// Limits of a column that its type has not: null, length, size.
  private func checkColumn(
    _ field: InputObject.Field, of object: InputObject, _ value: Literal, at position: Position
  ) -> Bool {
    guard let table = object.table.flatMap({ tables[$0]?.table }) else { return true }
    func refuse(_ message: String) -> Bool {
      error(message, at: position)
      return false
    }
    switch (field.subject, value) {
    case (.reference(let name)?, .null):
      guard let reference = table.reference(name), !reference.isNullable else { return true }
      return refuse("\(name) cannot be null: give the key of a row of \(reference.target).")
    case (.column(let name)?, .null) where field.form == .plain:
      guard let column = table.column(name), !column.isNullable else { return true }
      return refuse("\(name) cannot be null: give a value, or leave it out.")
    case (.column(let name)?, .string(let text)) where field.form == .plain:
      guard let maximum = table.column(name)?.maximumLength,
        text.unicodeScalars.count > maximum
      else { return true }
      return refuse("\(name) has at most \(maximum) characters: use a shorter string.")
    case (.column(let name)?, .list(let elements)) where field.form == .plain:
      guard let column = table.column(name), column.type == .vector,
        let size = column.vectorSize, elements.count != size
      else { return true }
      return refuse("\(name) has \(size) numbers, and this list \(elements.count): write \(size).")
    default: return true
    }
  }

  /// Reports columns without a value in data for a new row.
  private func checkRequiredColumns(
    of object: InputObject, _ present: Set<String>, at position: Position, _ scope: ValueScope
  ) -> Bool {
    guard scope.purpose == .insert || scope.purpose == .upsert,
      let table = object.table.flatMap({ tables[$0]?.table })
    else { return true }
    var isValid = true
    let given = scope.givenReference.flatMap { table.reference($0) }
    var covered = Set(given?.columns ?? [])
    for name in present.sorted() {
      let columns: [String]
      switch object.field(name)?.subject {
      case .column(let column)?: columns = [column]
      case .reference(let reference)?: columns = table.reference(reference)?.columns ?? []
      default: continue
      }
      if let given, columns.contains(where: given.columns.contains) {
        error("\(given.name) is the row around this one: remove \(name).", at: position)
        isValid = false
      }
      covered.formUnion(columns)
    }
    var reported: Set<String> = []
    for column in table.columns
    where !column.isNullable && column.defaultValue == nil && !column.isSerial
      && !covered.contains(column.name)
    {
      let name = table.reference(withColumn: column.name)?.name ?? column.name
      guard reported.insert(name).inserted else { continue }
      if scope.purpose == .insert {
        error(
          "A new row of \(table.typeName) needs \(name), which has no default: add \(name).",
          at: position)
        isValid = false
      } else {
        warning(
          "\(name) has no default: the upsert fails if there is no such row of "
            + "\(table.typeName). Add \(name).", at: position)
      }
    }
    return isValid
  }
}
