import DataConnectModel

/// Variables and their types.
extension CompilerSession {
  func signature(of syntax: OperationSyntax) -> OperationLowering.Signature {
    var result = OperationLowering.Signature(
      kind: syntax.kind == .mutation ? .mutation : .query, variables: [], brokenVariables: [])
    for variable in syntax.variables {
      let name = variable.name
      guard !result.variables.contains(where: { $0.name == name.text }) else {
        error("The variable $\(name.text) is declared twice: keep one.", at: name.position)
        continue
      }
      guard let type = inputType(variable.type) else {
        result.brokenVariables.insert(name.text)
        continue
      }
      var lowered = Variable(name: name.text, type: type)
      if let value = variable.defaultValue {
        let scope = ValueScope(variables: nil, isOfVariable: true)
        lowered.defaultValue = coerce(value, to: type.shape, label: "$\(name.text)", scope: scope)
      }
      lowerDirectives(of: variable, into: &lowered)
      result.variables.append(lowered)
    }
    return result
  }

  func inputType(_ syntax: TypeSyntax) -> InputType? {
    let isNullable = syntax.isNullable
    switch syntax.kind {
    case .list(let element):
      return inputType(element).map { .list($0, isNullable: isNullable) }
    case .named(let name):
      if let scalar = ValueType(scalar: name) { return .value(scalar, isNullable: isNullable) }
      if enums[name] != nil { return .value(.enumeration(name), isNullable: isNullable) }
      if name == "OrderDirection" { return .orderDirection(isNullable: isNullable) }
      if name == "SearchQueryFormat" { return .searchQueryFormat(isNullable: isNullable) }
      let object = types.object(name)
      if let object, let table = object.table {
        switch object.role {
        case .key: return .key(table, isNullable: isNullable)
        case .data: return .data(table, isNullable: isNullable)
        case .filter: return .filter(table, isNullable: isNullable)
        case .order: return .order(table, isNullable: isNullable)
        default: break
        }
      }
      if isBroken(name) { return nil }
      return refused(unknownType(name, object: object), at: syntax.position)
    }
  }

  private func isBroken(_ name: String) -> Bool {
    brokenTypes.contains { name == $0 || name.hasPrefix("\($0)_") }
  }

  private func unknownType(_ name: String, object: InputObject?) -> String {
    if object != nil {
      return "\(name) is not possible as the type of a variable: write the object in the "
        + "operation, with variables for its values."
    }
    if tables[name] != nil {
      return "\(name) is a table, not the type of a variable: use \(name)_Key or \(name)_Data."
    }
    let scalars = ValueType.scalars.map(\.name) + ["OrderDirection", "SearchQueryFormat"]
    if name == "ID" { return "There is no type ID: use UUID or String." }
    let suffixes = ["_Key", "_Data", "_Filter", "_Order"]
    return "There is no type \(name)."
      + suggestion(
        for: name,
        among: scalars + enums.keys + tables.keys.flatMap { table in suffixes.map { table + $0 } },
        otherwise: "Use a scalar, an enum, or a type like Movie_Key.")
  }

  func lowerDirectives(of syntax: VariableSyntax, into variable: inout Variable) {
    checkRepetition(of: syntax.directives)
    var element = variable.type
    var isList = false
    if case .list(let inner, _) = element { (element, isList) = (inner, true) }
    let table: String? = if case .data(let name, _) = element { name } else { nil }
    for directive in syntax.directives {
      guard let arguments = arguments(of: directive, at: .variable) else { continue }
      switch directive.name.text {
      case "retired": variable.isRetired = true
      case "allow":
        if case .int(let count)? = arguments["maxCount"] {
          if !isList || count < 0 {
            error(
              isList
                ? "maxCount is at least 0: write the number of rows."
                : "maxCount is for lists, and $\(variable.name) is none: remove it.",
              at: directive.position(of: "maxCount"))
          } else {
            variable.maximumCount = Int(count)
          }
        }
        guard let names = directive.names("fields") else { continue }
        guard let table, let object = types.object("\(table)_Data") else {
          error(
            "fields is for variables of a type like Movie_Data: remove it.",
            at: directive.position(of: "fields"))
          continue
        }
        var allowed: [String] = []
        for name in names {
          for word in name.text.split(whereSeparator: { " ,\n\t".contains($0) }).map(String.init) {
            let field = object.field(word)
            switch field?.subject {
            case .column where field?.form == .plain, .reference: allowed.append(word)
            default:
              if isBroken(word, in: table) { continue }
              reportUnknown(
                Name(text: word, position: name.position), of: table,
                among: tables[table]?.table.columns.map(\.name) ?? [])
            }
          }
        }
        variable.allowedFields = allowed
      default: break
      }
    }
    if table != nil, !syntax.directives.contains(where: { $0.name.text == "allow" }) {
      report(
        options.isStrict ? .error : .warning,
        "A client can set every column with $\(variable.name): add @allow(fields: \"…\").",
        at: syntax.name.position)
    }
  }

  /// Reports variables without a use. Called after all expressions are known.
  func reportUnusedVariables(of syntax: OperationSyntax, used: Set<String>) {
    for variable in syntax.variables {
      let name = variable.name.text
      guard !used.contains(name), !wordsInExpressions.contains(name) else { continue }
      warning("The variable $\(name) is not used: remove it.", at: variable.name.position)
    }
  }
}
