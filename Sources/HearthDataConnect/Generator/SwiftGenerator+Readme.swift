import DataConnectModel

extension SwiftGenerator {
  /// How to use the package, and how to call each operation.
  func readme(of connector: CompiledConnector, _ shape: ConnectorShape, header: String) -> String {
    var text = """
      <!-- \(header) -->

      # \(settings.package)

      The connector `\(connector.connectorID)` of the service `\(connector.serviceID)`.

      ```swift
      // Package.swift
      .package(path: "…/\(settings.package)")
      // … and for the target
      .product(name: "\(settings.package)", package: "\(settings.package)")
      ```

      ```swift
      import FirebaseDataConnect
      import \(Self.moduleName(settings.package))

      let connector = DataConnect.\(shape.property)
      // On a database of its own, for development:
      connector.useEmulator()
      ```

      Optional variables that are not given are unset: the operation's default counts. To send null, assign
      nil in the closure.

      """
    for (kind, title) in [
      (DataConnectModel.Operation.Kind.query, "Queries"), (.mutation, "Mutations"),
    ] {
      let operations = shape.operations.filter { $0.kind == kind }
      guard !operations.isEmpty else { continue }
      text += "\n## \(title)\n"
      for operation in operations { text += Self.section(operation) }
    }
    return text
  }

  private static func section(_ operation: OperationShape) -> String {
    var text = "\n### \(operation.name)\n"
    for (title, variables) in [
      ("Required", operation.required), ("Optional", operation.optional),
    ] where !variables.isEmpty {
      text += "\n\(title) variables:\n\n"
      for variable in variables {
        let note =
          variable.graphQLType.map { ", as `\($0)`: `try AnyValue(codableValue: …)`" } ?? ""
        text += "- `\(variable.name)`: `\(variable.type)`\(note)\n"
      }
    }
    if operation.variables.isEmpty { text += "\nNo variables.\n" }

    let required = operation.required.map { "\($0.argumentLabel): …" }
    let call = "(\(required.joined(separator: ", ")))"
    let property = "connector.\(SwiftNames.quoted(operation.property))"
    let isQuery = operation.kind == .query
    text += """

      ```swift
      \(isQuery ? "// Once:\n" : "")let result = try await \(property).execute\(call)
      // \(isQuery ? "Observed" : "Later"):
      let ref = \(property).ref\(call)
      try await ref.execute()
      \(isQuery ? "ref.data\n" : "")
      """
    if let first = operation.optional.first {
      let labels = required + ["\(first.argumentLabel): …"]
      let closure = required.isEmpty ? "" : call
      text += """
        // With optional variables:
        \(property).ref(\(labels.joined(separator: ", ")))
        \(property).ref\(closure) { $0.\(first.quoted) = … }

        """
    }
    return text + "```\n"
  }

  /// As SwiftPM derives it from the name of a target.
  private static func moduleName(_ package: String) -> String {
    String(package.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" })
  }
}
