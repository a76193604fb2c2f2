import DataConnectModel
import HearthCEL

/// Checks expressions in CEL: their syntax, the names that they read, and the types of their results.
enum ExpressionChecker {
  /// The error of an expression, with the position in it. Nil for none.
  static func error(in source: String, _ context: ExpressionContext) -> String? {
    do {
      let expression = try CELExpression(parsing: source)
      let type = try expression.check(against: scope(context))
      let wanted: CELType
      switch context.kind {
      case .auth, .check, .refreshCondition: wanted = .bool
      case .value(let valueType): wanted = self.type(valueType)
      }
      if accepts(wanted, type, context.kind) { return nil }
      return "the expression is of the type \(type), and must be of the type \(wanted)"
    } catch {
      let message = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
      return "\(message), at character \(error.position.offset + 1) of the expression"
    }
  }

  /// A sentence for each comparison of `@auth(expr:)` that lets in callers without authentication, for
  /// whom the members of `auth` are null.
  static func warnings(in source: String, _ context: ExpressionContext) -> [String] {
    guard context.kind == .auth, let expression = try? CELExpression(parsing: source) else {
      return []
    }
    return expression.nullMatches(in: scope(context)).map { match in
      let root = match.nullPath.components.prefix { $0 != "uid" && $0 != "token" }
        .joined(separator: ".")
      let other = match.other.map { ", and \($0) may be null" } ?? ""
      return
        "\(match.comparison), at character \(match.position.offset + 1), lets in callers without "
        + "authentication: \(match.nullPath) is null for them\(other). Add \(root) != null &&"
    }
  }

  private static func accepts(
    _ wanted: CELType, _ type: CELType, _ kind: ExpressionContext.Kind
  ) -> Bool {
    if wanted.accepts(type, allowingNull: true) { return true }
    switch kind {
    case .value(.float): return CELType.int.accepts(type, allowingNull: true)
    // The day of a time in UTC.
    case .value(.date): return CELType.timestamp.accepts(type, allowingNull: true)
    case .value(.any): return true
    default: return false
    }
  }

  private static let auth = CELType.nullable(
    .object(fields: ["uid": .string, "token": .map(key: .string, value: .dyn)]))

  private static func scope(_ context: ExpressionContext) -> CELScope {
    let vars = CELType.object(fields: context.variables.mapValues(type))
    var request: [String: CELType] = ["auth": auth, "variables": vars]
    var roots: [String: CELType] = [:]
    // A condition of a signal is about two operations, and names the one of each value.
    if context.kind != .refreshCondition {
      roots = ["auth": auth, "vars": vars]
      request["operationName"] = .string
      request["time"] = .timestamp
    }
    roots["request"] = .object(fields: request)
    switch context.kind {
    case .check, .value:
      roots["this"] = .dyn
      roots["response"] = .object(
        fields: Dictionary(first: context.responseKeys.map { ($0, CELType.dyn) }))
    case .refreshCondition:
      let variables = context.mutationVariables.map { CELType.object(fields: $0.mapValues(type)) }
      roots["mutation"] = .object(fields: ["variables": variables ?? .dyn, "auth": auth])
    case .auth: break
    }
    return CELScope(
      variables: roots, nullMembers: ["auth", "request.auth", "mutation.auth"], hasMatcher: false)
  }

  private static func type(_ input: InputType) -> CELType {
    let type: CELType
    switch input {
    case .value(let valueType, _): type = self.type(valueType)
    case .list(let element, _): type = .list(of: self.type(element))
    case .key, .data, .filter, .order: type = .dyn
    case .orderDirection, .searchQueryFormat: type = .string
    }
    return input.isNullable && type != .dyn ? .nullable(type) : type
  }

  private static func type(_ valueType: ValueType) -> CELType {
    switch valueType {
    case .string, .uuid, .date, .enumeration: .string
    case .int, .int64: .int
    case .float: .double
    case .boolean: .bool
    case .timestamp: .timestamp
    case .any: .dyn
    case .vector: .list(of: .double)
    }
  }
}
