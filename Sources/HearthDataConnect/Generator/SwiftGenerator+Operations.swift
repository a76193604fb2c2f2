extension SwiftGenerator {
  func write(_ operation: OperationShape, _ types: TypeNames, to source: inout SwiftSource) {
    let reference = operation.kind == .query ? "QueryRefObservation" : "MutationRef"
    source.line("/// The \(operation.kind.rawValue) `\(operation.name)`.")
    source.scope("public final class \(operation.className): Sendable") { source in
      source.line("public static let OperationName = \(SwiftNames.literal(operation.name))")
      source.line()
      source.line("public typealias Ref = \(reference)<Data, Variables>")
      source.line()
      source.line("let dataConnect: DataConnect")
      source.line()
      source.scope("init(dataConnect: DataConnect)") {
        $0.line("self.dataConnect = dataConnect")
      }
      source.line()
      writeVariables(of: operation, to: &source)
      source.line()
      source.line("/// The result of the \(operation.kind.rawValue).")
      write(operation.data, types, to: &source)
      source.line()
      writeRef(of: operation, to: &source)
      source.line()
      writeExecute(of: operation, to: &source)
    }
  }

  // MARK: Variables

  private func writeVariables(of operation: OperationShape, to source: inout SwiftSource) {
    source.line("/// The variables of the \(operation.kind.rawValue).")
    source.scope("public struct Variables: DataConnectVariables") { source in
      for property in operation.variables { source.line(declaration(of: property)) }
      if !operation.variables.isEmpty { source.line() }
      var parameters = operation.required.map { "\($0.label): \($0.type)" }
      let closure = Self.closureName(operation)
      if !operation.optional.isEmpty {
        parameters.append("_ \(closure): (inout Variables) -> Void = { _ in }")
      }
      if operation.variables.isEmpty {
        source.line("public init() {}")
      } else {
        source.function("public init", parameters) { source in
          for property in operation.required {
            source.line("self.\(property.quoted) = \(property.quoted)")
          }
          if !operation.optional.isEmpty { source.line("\(closure)(&self)") }
        }
      }
      source.line()
      writeValues(of: operation.variables, to: &source)
    }
  }

  /// The parameter for the closure with optional variables. A variable can have the same name.
  private static func closureName(_ operation: OperationShape) -> String {
    var name = "optionalVars"
    while operation.variables.contains(where: { $0.name == name }) { name += "_" }
    return name
  }

  // MARK: Results

  private func write(_ row: RowShape, _ types: TypeNames, to source: inout SwiftSource) {
    let body = row.body
    var protocols = ["DataConnectRow"]
    if let key = body.key {
      protocols.append("Hashable")
      if key.identity != .none { protocols.append("Identifiable") }
    }
    source.scope(
      "public struct \(SwiftNames.quoted(row.name)): \(protocols.joined(separator: ", "))"
    ) { source in
      for nested in body.rows {
        write(nested, types, to: &source)
        source.line()
      }
      for field in body.fields { source.line("public let \(field.quoted): \(field.type)") }
      if !body.fields.isEmpty { source.line() }
      if let key = body.key { writeKey(key, of: row, types, to: &source) }
      guard !body.fields.isEmpty else {
        return source.line("public init(row: DataConnectReader) throws {}")
      }
      source.scope("public init(row: DataConnectReader) throws") { source in
        for field in body.fields { source.line(Self.reading(field)) }
      }
      if let key = body.key { writeEquality(by: key, to: &source) }
    }
  }

  private func writeKey(
    _ key: RowShape.Key, of row: RowShape, _ types: TypeNames, to source: inout SwiftSource
  ) {
    var names = types.members(and: Set(row.body.fields.map(\.name) + row.body.rows.map(\.name)))
    let property = names.add("\(Naming.lowerFirst(row.name))Key")
    switch key.identity {
    case .declared, .none: break
    case .column(let name, let type):
      source.line("public var id: \(type) { \(SwiftNames.quoted(name)) }")
      source.line()
    case .key:
      source.line("public var id: \(key.type) { \(property) }")
      source.line()
    }
    let arguments = key.columns.map {
      SwiftItem("\(SwiftNames.argumentLabel($0.label)): \(SwiftNames.quoted($0.property))")
    }
    source.accessor("public var \(property): \(key.type)", SwiftItem("\(key.type)(", arguments))
    source.line()
  }

  /// Rows with equal keys are equal, whatever their other columns are.
  private func writeEquality(by key: RowShape.Key, to source: inout SwiftSource) {
    let properties = key.columns.map { SwiftNames.quoted($0.property) }
    source.line()
    source.scope("public static func == (lhs: Self, rhs: Self) -> Bool") { source in
      let terms = properties.map { "lhs.\($0) == rhs.\($0)" }
      let line = terms.joined(separator: " && ")
      if source.fits(line) {
        source.line(line)
      } else {
        source.line(terms[0])
        source.indented { source in
          for term in terms.dropFirst() { source.line("&& \(term)") }
        }
      }
    }
    source.line()
    source.scope("public func hash(into hasher: inout Hasher)") { source in
      for property in properties {
        source.line("hasher.combine(\(property == "hasher" ? "self.hasher" : property))")
      }
    }
  }

  // MARK: Calls

  /// A way to pass the variables of an operation.
  private struct CallForm {
    var comment: String?
    var parameters: [String]
    var arguments: [SwiftItem]
  }

  /// With a closure for optional variables, and with labels for them:
  ///
  ///     ref(genre: "Sci-Fi") { $0.offset = nil }     null
  ///     ref(genre: "Sci-Fi", offset: 10)             without `offset`: unset
  private static func callForms(of operation: OperationShape) -> [CallForm] {
    let parameters = operation.required.map { "\($0.label): \($0.type)" }
    let arguments = arguments(operation.required)
    if operation.optional.isEmpty {
      return [CallForm(parameters: parameters, arguments: arguments)]
    }
    let closure = closureName(operation)
    return [
      CallForm(
        comment: "/// Optional variables that the closure does not assign are unset; nil is null.",
        parameters: parameters + ["_ \(closure): (inout Variables) -> Void"],
        arguments: arguments + [SwiftItem(closure)]),
      CallForm(
        comment: "/// Optional variables that are nil are unset.",
        parameters: parameters + operation.optional.map { "\($0.label): \($0.type)? = nil" },
        arguments: arguments + Self.arguments(operation.optional)),
    ]
  }

  private static func arguments(_ properties: [PropertyShape]) -> [SwiftItem] {
    properties.map { SwiftItem("\($0.argumentLabel): \($0.quoted)") }
  }

  /// A member of the class as it is written in its methods: a variable can have the same name.
  private static func member(_ name: String, of operation: OperationShape) -> String {
    operation.variables.contains { $0.name == name } ? "self.\(name)" : name
  }

  private func writeRef(of operation: OperationShape, to source: inout SwiftSource) {
    for (index, form) in Self.callForms(of: operation).enumerated() {
      if index > 0 { source.line() }
      source.line("/// The \(operation.kind.rawValue) with its variables.")
      if let comment = form.comment { source.line(comment) }
      source.function("public func ref", form.parameters, " -> Ref") { source in
        if index == 0 {
          source.call(
            "\(Self.member("dataConnect", of: operation)).\(operation.kind.rawValue)(",
            [
              "name: Self.OperationName", SwiftItem("variables: Variables(", form.arguments),
              "resultsDataType: Data.self",
            ], ")")
        } else {
          writeAssignments(of: operation, to: &source)
        }
      }
    }
  }

  /// `ref(id: id) {`, the assignments of the optional variables that are given, `}`
  private func writeAssignments(of operation: OperationShape, to source: inout SwiftSource) {
    func assign(to source: inout SwiftSource) {
      for property in operation.optional {
        source.line("if let \(property.quoted) { $0.\(property.quoted) = \(property.quoted) }")
      }
    }
    let ref = Self.member("ref", of: operation)
    if operation.required.isEmpty {
      source.scope(ref, assign)
    } else {
      source.function(ref, Self.arguments(operation.required).map(\.text), "", assign)
    }
  }

  private func writeExecute(of operation: OperationShape, to source: inout SwiftSource) {
    let isQuery = operation.kind == .query
    let policy = isQuery ? ["fetchPolicy: QueryFetchPolicy = .preferCache"] : []
    for (index, form) in Self.callForms(of: operation).enumerated() {
      if index > 0 { source.line() }
      source.line("/// Executes the \(operation.kind.rawValue) once.")
      if let comment = form.comment { source.line(comment) }
      source.line("@discardableResult")
      source.function(
        "public func execute", policy + form.parameters,
        " async throws -> OperationResult<Data>"
      ) {
        $0.list(
          "try await \(Self.member("ref", of: operation))(", form.arguments.map(\.text),
          isQuery ? ").execute(fetchPolicy: fetchPolicy)" : ").execute()")
      }
    }
  }
}
