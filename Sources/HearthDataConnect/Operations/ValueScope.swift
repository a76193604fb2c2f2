import DataConnectModel

/// The surroundings of a value.
struct ValueScope {
  /// The use of a row's data.
  enum Purpose {
    case none, insert, upsert, update
  }

  /// Nil where variables are not possible: in schemas, default values and most directives.
  var variables: [String: Variable]?
  /// The value is the default of a variable.
  var isOfVariable = false
  var purpose = Purpose.none
  var operationKind: DataConnectModel.Operation.Kind?
  /// False if the caller checks the expressions in the value.
  var checksExpressions = true
  /// The root fields before this one.
  var responseKeys: [String] = []
  /// The reference that nested data has from the row that surrounds it.
  var givenReference: String?

  func context(_ kind: ExpressionContext.Kind) -> ExpressionContext {
    ExpressionContext(
      kind: kind, operationKind: operationKind, variables: (variables ?? [:]).mapValues(\.type),
      responseKeys: responseKeys)
  }
}
