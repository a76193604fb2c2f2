import DataConnectModel

/// Keys and references, which need each other: a key can have references, and the columns of a
/// reference are those of the other key.
extension SchemaBuilder {
  /// The type of a field that is a column; nil for references and unknown types.
  func valueType(of field: FieldDefinitionSyntax) -> ValueType? {
    let name = field.type.innermostName
    if let scalar = ValueType(scalar: name) { return scalar }
    return session.enums[name] == nil ? nil : .enumeration(name)
  }

  func isReference(_ field: FieldDefinitionSyntax) -> Bool {
    if case .named(let name) = field.type.kind { draftsByName[name] != nil } else { false }
  }

  mutating func key(of draft: Draft) -> [KeyColumn]? {
    switch draft.key {
    case .done(let columns): return columns
    case .failed: return nil
    case .active:
      draft.key = .failed
      return session.refused(
        "The key of \(draft.name.text) refers to itself: name a column of its own in the key.",
        at: draft.keyNames?.first?.position ?? draft.name.position)
    case .open: break
    }
    draft.key = .active
    keyNesting += 1
    defer { keyNesting -= 1 }
    func refuseNesting() {
      session.error(
        "The keys of more than \(Self.maximumKeyNesting) tables refer to each other: name a column "
          + "in the key.", at: draft.name.position)
    }
    guard keyNesting <= Self.maximumKeyNesting else {
      draft.key = .failed
      refuseNesting()
      return nil
    }
    var columns: [KeyColumn] = []
    var isValid = true
    let names = draft.keyNames ?? [Name(text: "id", position: draft.name.position)]
    for name in names {
      guard let found = keyColumns(name, of: draft) else {
        isValid = false
        continue
      }
      for column in found {
        if columns.contains(where: { $0.name == column.name }) {
          session.error(
            "The key has \(column.name) twice: name each column once.", at: name.position)
          isValid = false
        } else {
          columns.append(column)
        }
      }
    }
    if isValid, draft.keyDepth > Self.maximumKeyNesting {
      refuseNesting()
      isValid = false
    }
    if columns.count > Self.maximumKeyColumns {
      session.error(
        "The key has \(columns.count) columns, more than \(Self.maximumKeyColumns): use fewer.",
        at: draft.keyNames?.first?.position ?? draft.name.position)
      isValid = false
    }
    // A cycle is found, and reported, below this call.
    if case .failed = draft.key { isValid = false }
    draft.key = isValid ? .done(columns) : .failed
    return isValid ? columns : nil
  }

  mutating func keyColumns(_ name: Name, of draft: Draft) -> [KeyColumn]? {
    if let field = draft.fieldsByName[name.text] {
      if isReference(field) {
        if field.type.isNullable {
          return session.refused(
            "\(name.text) is part of the key and cannot be null: write "
              + "\(field.type.innermostName)!.", at: field.type.position)
        }
        return keyPart(field, of: draft)?.map {
          KeyColumn(name: $0.name, type: $0.target.type)
        }
      }
      guard let type = valueType(of: field) else { return nil }
      guard case .named = field.type.kind, type != .any, type != .vector else {
        return session.refused(
          "\(name.text) cannot be part of the key: use a column with a single, ordered value.",
          at: name.position)
      }
      if field.type.isNullable {
        return session.refused(
          "\(name.text) is the key and cannot be null: write \(type.name)!.",
          at: field.type.position)
      }
      return [KeyColumn(name: name.text, type: type)]
    }
    if name.text == "id" { return [KeyColumn(name: "id", type: .uuid)] }
    // The column of a reference.
    for field in draft.fields where isReference(field) && !field.type.isNullable {
      guard name.text.hasPrefix(field.name.text) || hasRefFields(field) else { continue }
      if let column = keyPart(field, of: draft)?.first(where: { $0.name == name.text }) {
        return [KeyColumn(name: column.name, type: column.target.type)]
      }
    }
    session.reportUnknown(name, of: draft.name.text, among: draft.fieldsByName.keys)
    return nil
  }

  /// The columns of a reference in the key.
  private mutating func keyPart(
    _ field: FieldDefinitionSyntax, of draft: Draft
  ) -> [ForeignColumn]? {
    guard let columns = foreignColumns(of: field, in: draft) else { return nil }
    let depth = draftsByName[field.type.innermostName]?.keyDepth ?? 1
    draft.keyDepth = max(draft.keyDepth, depth + 1)
    return columns
  }

  func hasRefFields(_ field: FieldDefinitionSyntax) -> Bool {
    field.directives.contains { $0.name.text == "ref" && $0.arguments["fields"] != nil }
  }

  mutating func foreignColumns(
    of field: FieldDefinitionSyntax, in draft: Draft
  ) -> [ForeignColumn]? {
    let name = field.name.text
    switch draft.foreign[name] ?? .open {
    case .done(let columns): return columns
    case .failed, .active: return nil
    case .open: break
    }
    draft.foreign[name] = .active
    referenceNesting += 1
    defer { referenceNesting -= 1 }
    guard referenceNesting <= Self.maximumReferenceNesting else {
      draft.foreign[name] = .failed
      return session.refused(
        "More than \(Self.maximumReferenceNesting) references refer to each other: refer to a "
          + "column that is no reference.", at: field.name.position)
    }
    let columns = resolveForeignColumns(of: field)
    draft.foreign[name] = columns.map { .done($0) } ?? .failed
    return columns
  }

  mutating func resolveForeignColumns(of field: FieldDefinitionSyntax) -> [ForeignColumn]? {
    guard let target = draftsByName[field.type.innermostName] else { return nil }
    let ref = field.directives.first { $0.name.text == "ref" }
    var targets: [KeyColumn]
    if let names = ref?.names("references") {
      targets = []
      for name in names {
        guard let column = column(name.text, of: target) else {
          session.reportUnknown(
            name, as: "column", of: target.name.text, among: target.fieldsByName.keys)
          return nil
        }
        targets.append(column)
      }
      guard isUnique(targets.map(\.name), of: target) else {
        return session.refused(
          "A reference is to the key or to unique columns: add @unique to \(target.name.text)."
            + targets.map(\.name).joined(separator: ", ") + ".",
          at: ref?.arguments["references"]?.position ?? field.name.position)
      }
    } else {
      guard let key = key(of: target) else { return nil }
      targets = key
    }
    let names =
      ref?.names("fields")
      ?? targets.map {
        Name(
          text: field.name.text + Naming.upperFirst($0.name), position: field.name.position)
      }
    guard names.count == targets.count else {
      return session.refused(
        "The reference has \(names.count) fields for \(targets.count) columns of "
          + "\(target.name.text): name a field for each of "
          + "\(targets.map(\.name).joined(separator: ", ")).",
        at: ref?.arguments["fields"]?.position ?? field.name.position)
    }
    for name in names where !Self.isFieldName(name.text) {
      return session.refused(
        "\"\(name.text)\" is no name of a field: use letters, digits and _, and begin with a "
          + "letter.", at: name.position)
    }
    return zip(names, targets).map { ForeignColumn(name: $0.text, target: $1) }
  }

  /// A column of a draft, also one of a reference.
  mutating func column(_ name: String, of draft: Draft) -> KeyColumn? {
    if let field = draft.fieldsByName[name] {
      guard case .named = field.type.kind else { return nil }
      return valueType(of: field).map { KeyColumn(name: name, type: $0) }
    }
    if name == "id", draft.keyNames.map({ $0.contains { $0.text == "id" } }) ?? true {
      return KeyColumn(name: name, type: .uuid)
    }
    for field in draft.fields where isReference(field) {
      if let found = foreignColumns(of: field, in: draft)?.first(where: { $0.name == name }) {
        return KeyColumn(name: name, type: found.target.type)
      }
    }
    return nil
  }

  mutating func isUnique(_ columns: [String], of draft: Draft) -> Bool {
    let wanted = Set(columns)
    if let key = key(of: draft), Set(key.map(\.name)) == wanted { return true }
    for directive in draft.directives where directive.name.text == "unique" {
      var names: Set<String> = []
      for name in directive.names("fields") ?? [] {
        if let field = draft.fieldsByName[name.text], isReference(field) {
          names.formUnion(foreignColumns(of: field, in: draft)?.map(\.name) ?? [])
        } else {
          names.insert(name.text)
        }
      }
      if names == wanted { return true }
    }
    for field in draft.fields where field.directives.contains(where: { $0.name.text == "unique" }) {
      if isReference(field) {
        let names = foreignColumns(of: field, in: draft)?.map(\.name) ?? []
        if Set(names) == wanted { return true }
      } else if wanted == [field.name.text] {
        return true
      }
    }
    return false
  }
}
