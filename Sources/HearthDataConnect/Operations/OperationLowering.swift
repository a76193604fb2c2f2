import DataConnectModel

/// Checks an operation and brings it into its compiled form.
///
///     OperationSyntax ─▶ variables ─▶ directives ─▶ fields ─▶ Operation
///                                                     │ fragments are replaced by their fields,
///                                                     │ fields with one response key are merged
struct OperationLowering {
  /// Of fields after fragments are replaced. Fragments can multiply without bound.
  static let maximumFields = 10_000

  /// The declaration of an operation, which conditions of other operations need.
  struct Signature {
    var kind: DataConnectModel.Operation.Kind
    var variables: [Variable]
    /// Names of variables whose declaration has an error.
    var brokenVariables: Set<String>

    var variablesByName: [String: Variable] {
      Dictionary(first: variables.map { ($0.name, $0) })
    }
  }

  let session: CompilerSession
  let connectorID: String
  let fragments: [String: FragmentSyntax]
  /// By name.
  let signatures: [String: Signature]
  /// Operations of data files are executed by the owner of the data: `@auth` is not needed.
  let isSeed: Bool

  var usedFragments: Set<String> = []
  var fieldCount = 0
  var scope = ValueScope()

  mutating func lower(
    _ syntax: OperationSyntax, name: String, signature: Signature
  ) -> DataConnectModel.Operation {
    session.usedVariables = []
    session.brokenVariables = signature.brokenVariables
    fieldCount = 0
    scope = ValueScope()
    scope.operationKind = signature.kind
    scope.variables = signature.variablesByName
    var operation = DataConnectModel.Operation(
      kind: signature.kind, name: name, variables: signature.variables, fields: [])
    lowerDirectives(of: syntax, into: &operation)
    operation.fields = merged(
      lowerRoots(syntax.selections, kind: signature.kind, isNested: false)
    ).compactMap(\.root)
    return operation
  }
}
