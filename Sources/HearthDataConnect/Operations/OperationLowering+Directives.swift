import DataConnectModel

/// `@auth`, `@check`, `@refresh` and the other directives of operations.
extension OperationLowering {
  func lowerDirectives(
    of syntax: OperationSyntax, into operation: inout DataConnectModel.Operation
  ) {
    let place: DirectiveDefinition.Place = operation.kind == .query ? .query : .mutation
    session.checkRepetition(of: syntax.directives)
    for directive in syntax.directives {
      switch directive.name.text {
      case "auth":
        // The expression is checked here, with the variables of the operation.
        guard let arguments = checkedArguments(of: directive, at: place, kind: .auth) else {
          continue
        }
        operation.auth = auth(arguments)
      case "check":
        if let check = check(directive, at: place) { operation.checks.append(check) }
      case "refresh":
        // Expressions in conditions are checked with a context of their own.
        guard session.arguments(of: directive, at: place, scope: Self.unchecked) != nil else {
          continue
        }
        operation.refreshes += refreshes(directive, operation)
      default:
        guard session.arguments(of: directive, at: place) != nil else { continue }
        switch directive.name.text {
        case "transaction": operation.isTransaction = true
        case "retired": operation.isRetired = true
        default: break
        }
      }
    }
    if operation.auth == nil, !isSeed,
      !syntax.directives.contains(where: { $0.name.text == "auth" })
    {
      session.report(
        session.options.isStrict ? .error : .warning,
        "\(operation.name) has no @auth, so that every user of the app can execute it: add "
          + "@auth(level: …).", at: syntax.name?.position ?? syntax.position)
    }
  }

  private static let unchecked = ValueScope(checksExpressions: false)

  private func checkedArguments(
    of directive: DirectiveSyntax, at place: DirectiveDefinition.Place, kind: ExpressionContext.Kind
  ) -> [Literal.Member]? {
    guard let arguments = session.arguments(of: directive, at: place, scope: Self.unchecked)
    else { return nil }
    if let expression = arguments.string("expr") {
      session.checkExpression(
        expression, scope.context(kind), at: directive.position(of: "expr"))
    }
    return arguments
  }

  private func auth(_ arguments: [Literal.Member]) -> Auth {
    let reason = arguments.string("insecureReason")
    guard case .name(let level)? = arguments["level"] else {
      return Auth(expression: arguments.string("expr") ?? "false", insecureReason: reason)
    }
    let expression =
      switch level {
      case "PUBLIC": "true"
      case "USER_ANON": "auth.uid != nil"
      case "USER":
        "auth.uid != nil && auth.token.firebase.sign_in_provider != 'anonymous'"
      case "USER_EMAIL_VERIFIED": "auth.uid != nil && auth.token.email_verified"
      default: "false"
      }
    return Auth(level: level, expression: expression, insecureReason: reason)
  }

  func check(_ directive: DirectiveSyntax, at place: DirectiveDefinition.Place) -> Check? {
    guard let arguments = checkedArguments(of: directive, at: place, kind: .check) else {
      return nil
    }
    let defaults = DirectiveDefinition.byName["check"]?.arguments
    func string(_ name: String) -> String {
      if let text = arguments.string(name) { return text }
      if case .string(let text)? = defaults?.field(name)?.defaultValue { return text }
      return ""
    }
    return Check(
      expression: string("expr"), message: string("message"),
      isOptional: arguments["optional"] == .bool(true))
  }

  // MARK: @refresh

  private func refreshes(
    _ directive: DirectiveSyntax, _ operation: DataConnectModel.Operation
  ) -> [Refresh] {
    var result: [Refresh] = []
    if let every = directive.arguments["every"], case .object(let members) = every.kind {
      if let milliseconds = Self.milliseconds(members), milliseconds > 0 {
        result.append(.every(milliseconds: milliseconds))
      } else {
        session.error(
          "The time of every is not positive: write it like { seconds: 30 }.", at: every.position)
      }
    }
    if let triggers = directive.arguments["onMutationExecuted"] {
      for element in triggers.elements {
        guard case .object(let members) = element.kind,
          let name = members["operation"]?.string
        else { continue }
        let mutation = mutation(name.text, at: name.position)
        let condition = members["condition"]?.string
        if let condition {
          var context = scope.context(.refreshCondition)
          context.mutationVariables = mutation?.variablesByName.mapValues(\.type)
          session.checkExpression(condition.text, context, at: condition.position)
        }
        result.append(.onMutationExecuted(operation: name.text, condition: condition?.text))
      }
    }
    if directive.arguments["every"] == nil, directive.arguments["onMutationExecuted"] == nil {
      session.error(
        "@refresh needs every or onMutationExecuted: add one.", at: directive.name.position)
    }
    return result
  }

  /// The mutation of a trigger. Nil, with a warning, if this connector has none with the name.
  private func mutation(_ name: String, at position: Position) -> Signature? {
    var local = name
    if let slash = name.firstIndex(of: "/") {
      // Mutations of other connectors are not known here.
      guard name[..<slash] == connectorID else { return nil }
      local = String(name[name.index(after: slash)...])
    }
    if let signature = signatures[local] {
      if signature.kind == .mutation { return signature }
      session.warning(
        "\(local) is a query, so that it triggers nothing: name a mutation.", at: position)
      return nil
    }
    guard session.isConnectorComplete else { return nil }
    let mutations = signatures.filter { $0.value.kind == .mutation }.keys
    session.warning(
      "There is no mutation \(local) in this connector."
        + session.suggestion(
          for: local, among: mutations,
          otherwise: "Add it, or write connector/\(local) for one of another connector."),
      at: position)
    return nil
  }

  /// A month counts 30 days, a year 365.
  private static func milliseconds(_ members: [ArgumentSyntax]) -> Int64? {
    let units: [String: Int64] = [
      "milliseconds": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000,
      "days": 86_400_000, "weeks": 604_800_000, "months": 2_592_000_000, "years": 31_536_000_000,
    ]
    var total: Int64 = 0
    for member in members {
      guard case .int(let text) = member.value.kind, let count = Int32(text),
        let unit = units[member.name.text]
      else { return nil }
      let (product, overflows) = Int64(count).multipliedReportingOverflow(by: unit)
      let (sum, sumOverflows) = total.addingReportingOverflow(product)
      if overflows || sumOverflows { return nil }
      total = sum
    }
    return total
  }
}
