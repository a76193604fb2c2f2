import DataConnectModel

/// Checks values against types, and brings them into their exact form: a single value in the place
/// of a list becomes a list, a whole number in the place of a Float becomes a float, and so on.
extension CompilerSession {
  /// Nil with an error. `label` is the name of the argument or field.
  func coerce(
    _ value: ValueSyntax, to shape: InputShape, label: String, scope: ValueScope,
    hasDefault: Bool = false
  ) -> Literal? {
    func refuse(_ message: String) -> Literal? { refused(message, at: value.position) }
    if case .variable(let name) = value.kind {
      return coerceVariable(
        name, at: value.position, to: shape, label: label, scope: scope, hasDefault: hasDefault)
    }
    if case .null = value.kind {
      if shape.isNullable { return .null }
      return refuse("\(label) cannot be null: \(advice(for: shape.base)).")
    }
    switch shape.base {
    case .list(let element):
      if case .list(let values) = value.kind {
        let result = values.compactMap {
          coerce($0, to: element, label: "an element of \(label)", scope: scope)
        }
        return result.count == values.count ? .list(result) : nil
      }
      return coerce(value, to: element, label: label, scope: scope).map { .list([$0]) }
    case .object(let name):
      guard let object = object(name) else { return refuse("There is no type \(name).") }
      guard case .object(let members) = value.kind else {
        return refuse("\(label) is of type \(name): \(advice(for: shape.base)).")
      }
      return coerceMembers(members, of: object, at: value.position, scope: scope)
        .map { .object($0) }
    case .choice(let choice):
      return coerceName(value, in: choice.values, of: choice.name, label: label)
    case .onlyTrue:
      if case .bool(true) = value.kind { return .bool(true) }
      return refuse("\(label) takes no value but true: remove it instead.")
    case .expression(let type):
      guard case .string(let source) = value.kind else {
        return refuse("\(label) is of type \(shape.base): \(advice(for: shape.base)).")
      }
      if scope.checksExpressions {
        checkExpression(source, scope.context(.value(type)), at: value.position)
      }
      return .string(source)
    case .value(let type):
      return coerceScalar(value, type, label: label, scope: scope)
    }
  }

  // MARK: - Variables

  private func coerceVariable(
    _ name: String, at position: Position, to shape: InputShape, label: String, scope: ValueScope,
    hasDefault: Bool
  ) -> Literal? {
    func refuse(_ message: String) -> Literal? { refused(message, at: position) }
    if scope.variables != nil, case .expression = shape.base {
      return refuse("\(label) is an expression in CEL: write \"vars.\(name)\" as a string.")
    }
    if scope.variables != nil, case .onlyTrue = shape.base {
      return refuse("\(label) takes no variable: write true.")
    }
    guard let variable = variable(name, at: position, of: "\(shape)", scope: scope) else {
      return nil
    }
    let actual = variable.type.shape
    let hasValue = (variable.defaultValue ?? .null) != .null
    let wanted =
      actual.isNullable && (hasDefault || hasValue) ? InputShape(shape.base) : shape
    if Self.isUsable(actual, as: wanted) { return .variable(name) }
    if Self.isUsable(actual.required, as: wanted) {
      return refuse(
        "\(label) cannot be null, but $\(name) can: declare $\(name): \(actual.required), or give "
          + "it a default value.")
    }
    if case .list(let element) = wanted.base, Self.isUsable(actual, as: element) {
      return refuse("\(label) is a list: write [$\(name)].")
    }
    return refuse(
      "\(label) is of type \(shape.base), but $\(name) is of type \(actual.base): declare "
        + "$\(name): \(InputShape(shape.base, isNullable: shape.isNullable && actual.isNullable)).")
  }

  /// The declaration of a variable that is used. Nil with an error.
  private func variable(
    _ name: String, at position: Position, of type: String, scope: ValueScope
  ) -> Variable? {
    guard let variables = scope.variables else {
      return refused(
        "Variables are not possible here: write a value instead of $\(name).", at: position)
    }
    guard let variable = variables[name] else {
      if brokenVariables.contains(name) { return nil }
      return refused(
        "The variable $\(name) is not declared: add $\(name): \(type) to the operation."
          + (closestName(to: name, among: variables.keys).map { " Did you mean $\($0)?" } ?? ""),
        at: position)
    }
    usedVariables.insert(name)
    return variable
  }

  /// Whether every value of the first type is one of the second.
  private static func isUsable(_ actual: InputShape, as wanted: InputShape) -> Bool {
    if actual.isNullable, !wanted.isNullable { return false }
    if case .list(let actualElement) = actual.base, case .list(let wantedElement) = wanted.base {
      return isUsable(actualElement, as: wantedElement)
    }
    return actual.base == wanted.base
  }

  // MARK: - Scalars and enums

  private func coerceName(
    _ value: ValueSyntax, in names: [String], of type: String, label: String
  ) -> Literal? {
    switch value.kind {
    case .name(let name) where names.contains(name): .name(name)
    case .name(let name):
      refused(
        "\(type) has no value \(name)."
          + (closestName(to: name, among: names).map { " Did you mean \($0)?" }
            ?? " Write one of \(names.prefix(10).joined(separator: ", "))."),
        at: value.position)
    case .string(let text) where names.contains(text):
      refused("\(label) is of type \(type): write \(text) without quotes.", at: value.position)
    default:
      refused(
        "\(label) is of type \(type): write one of \(names.prefix(10).joined(separator: ", ")).",
        at: value.position)
    }
  }

  private func coerceScalar(
    _ value: ValueSyntax, _ type: ValueType, label: String, scope: ValueScope
  ) -> Literal? {
    switch (type, value.kind) {
    case (.enumeration(let name), _):
      return coerceName(value, in: enums[name]?.values ?? [], of: name, label: label)
    case (.any, _): return coerceAny(value, label: label, scope: scope)
    case (.string, .string(let text)): return .string(text)
    case (.boolean, .bool(let flag)): return .bool(flag)
    case (.int, .int(let text)):
      if let number = Int32(text) { return .int(Int64(number)) }
    case (.int64, .int(let text)), (.int64, .string(let text)):
      if let number = Int64(text) { return .int(number) }
    case (.float, .int(let text)), (.float, .float(let text)):
      if let number = Double(text), number.isFinite { return .float(number) }
    case (.uuid, .string(let text)):
      if let canonical = ScalarForms.uuid(text) { return .string(canonical) }
    case (.date, .string(let text)):
      if let canonical = ScalarForms.date(text) { return .string(canonical) }
    case (.timestamp, .string(let text)):
      if ScalarForms.isTimestamp(text) { return .string(text) }
    case (.vector, .list(let elements)):
      var numbers: [Literal] = []
      for element in elements {
        guard
          let number = coerce(
            element, to: InputShape(.value(.float), isNullable: false), label: label, scope: scope)
        else { return nil }
        numbers.append(number)
      }
      return .list(numbers)
    default: break
    }
    return refused(
      "\(label) is of type \(type.name): \(advice(for: .value(type))).", at: value.position)
  }

  /// A value of `Any`: JSON, in which variables are possible.
  private func coerceAny(_ value: ValueSyntax, label: String, scope: ValueScope) -> Literal? {
    switch value.kind {
    case .null: return .null
    case .bool(let flag): return .bool(flag)
    case .string(let text): return .string(text)
    case .int(let text), .float(let text):
      if case .int = value.kind, let number = Int64(text) { return .int(number) }
      if let number = Double(text), number.isFinite { return .float(number) }
      return refused("The number is too large: use a smaller one.", at: value.position)
    case .name(let name):
      return refused("\(label) is of type Any: write \"\(name)\" in quotes.", at: value.position)
    case .variable(let name):
      return variable(name, at: value.position, of: "Any", scope: scope).map { _ in
        .variable(name)
      }
    case .list(let elements):
      let result = elements.compactMap { coerceAny($0, label: label, scope: scope) }
      return result.count == elements.count ? .list(result) : nil
    case .object(let members):
      var result: [Literal.Member] = []
      var names: Set<String> = []
      for member in members {
        guard names.insert(member.name.text).inserted else {
          error("\"\(member.name.text)\" is given twice: keep one.", at: member.name.position)
          continue
        }
        if let literal = coerceAny(member.value, label: label, scope: scope) {
          result.append(.init(member.name.text, literal))
        }
      }
      return result.count == members.count ? .object(result) : nil
    }
  }

  /// The remedy for a value of another type.
  private func advice(for base: InputShape.Base) -> String {
    switch base {
    case .value(let type):
      switch type {
      case .string: "write a string in double quotes"
      case .int: "write a whole number from -2147483648 to 2147483647"
      case .int64: "write a whole number of 64 bits"
      case .float: "write a number"
      case .boolean: "write true or false"
      case .uuid: "write a string with 32 hexadecimal digits, with or without dashes"
      case .date: "write a string like \"2024-02-29\""
      case .timestamp: "write a string like \"2024-02-29T12:00:00Z\""
      case .any: "write any value"
      case .vector: "write a list of numbers"
      case .enumeration(let name):
        "write one of \((enums[name]?.values ?? []).prefix(10).joined(separator: ", "))"
      }
    case .expression: "write an expression in CEL as a string"
    case .onlyTrue: "write true"
    case .choice(let choice): "write one of \(choice.values.joined(separator: ", "))"
    case .object(let name):
      if let first = object(name)?.fields.first(where: { !$0.name.hasPrefix("_") })?.name {
        "write an object like { \(first): … }"
      } else {
        "write an object"
      }
    case .list(let element): "write a list, or \(advice(for: element.base).dropFirst(6))"
    }
  }
}
