import DataConnectModel
import Foundation
import Hearth
import HearthCEL
import Synchronization

/// Foundation has a type of the same name.
typealias Operation = DataConnectModel.Operation

/// One execution of an operation: its variables, and the values of its expressions.
struct Execution: Sendable {
  let plan: ConnectorPlan
  let firestore: Firestore
  let operation: Operation
  /// Coerced, with defaults, without those that are unset.
  let variables: DataObject
  let auth: DataConnectAuth?
  let time: Timestamp
  /// Whether rows of the result have `Projection.rowMember`, for a cache.
  var marksRows = false
  /// Of a mutation: the root fields that were executed, also those that are redacted.
  var responses = DataObject() {
    didSet { responseRoot = Once() }
  }
  /// Shared by the copies of the execution.
  let misfits: Misfits
  /// The values that expressions read, made for the first expression: an operation may evaluate one
  /// for each row.
  private let requestRoots = Once<[String: CELValue]>()
  private var responseRoot = Once<CELValue>()

  /// Throws `OperationFailure` for variables that do not have their types.
  init(
    _ operation: Operation, _ variables: DataObject, _ auth: DataConnectAuth?,
    in plan: ConnectorPlan, _ firestore: Firestore
  ) throws(OperationFailure) {
    self.plan = plan
    self.firestore = firestore
    self.operation = operation
    misfits = Misfits(isKept: !operation.fields.haveRedacted)
    self.auth = auth
    time = Timestamp()
    self.variables = try InputCoercion(plan).variables(variables, of: operation)
  }

  var coercion: InputCoercion { InputCoercion(plan) }

  // MARK: Literals

  /// The value of a literal; nil for a variable that is unset. Objects lack members that are unset.
  func value(of literal: Literal) -> DataValue? { literal.value { variables[$0] } }

  func argument(_ name: String, _ arguments: [Literal.Member]) -> DataValue? {
    guard let literal = arguments.first(where: { $0.name == name })?.value else { return nil }
    return value(of: literal)
  }

  /// Whether directives leave the field in.
  func isIncluded(_ modifiers: Modifiers) -> Bool {
    if let skip = modifiers.skip, value(of: skip) == .bool(true) { return false }
    if let include = modifiers.include, value(of: include) == .bool(false) { return false }
    return true
  }

  // MARK: Expressions

  /// Throws `OperationFailure` for an expression that fails.
  func evaluate(_ source: String, this: DataValue? = nil) throws -> CELValue {
    do {
      return try plan.expression(source).evaluate(in: environment(this))
    } catch {
      throw OperationFailure("The expression '\(source)' fails: \(error)", cause: error)
    }
  }

  /// The value of `…_expr`. Null is refused: there is nobody who is signed in, for example.
  func value(ofExpression source: String) throws -> DataValue {
    let value = DataValue(try evaluate(source))
    if value.isNull { throw OperationFailure("The expression '\(source)' is null.") }
    return value
  }

  /// A comparison of a filter, without a suffix of its name: the operands of `lt_expr`, `ge_date` and
  /// `eq_time` are computed.
  func comparison(
    _ name: String, _ value: DataValue, _ type: ValueType
  ) throws -> (name: String, value: DataValue) {
    let stem = String(name.dropLast(5))
    if name.hasSuffix("_expr"), case .string(let source) = value {
      return (stem, try self.value(ofExpression: source))
    }
    if name.hasSuffix("_date") || name.hasSuffix("_time") {
      return (stem, try RelativeTime(now: time).value(value, isDate: type == .date))
    }
    return (name, value)
  }

  /// Whether a condition holds. An error is no.
  func allows(_ source: String, this: DataValue? = nil) -> Bool {
    guard let expression = try? plan.expression(source) else { return false }
    return (try? expression.evaluateCondition(in: environment(this))) ?? false
  }

  private func environment(_ this: DataValue?) -> CELEnvironment {
    var roots = requestRoots.value { makeRequestRoots() }
    roots["response"] = responseRoot.value { CELValue(responses) }
    if let this { roots["this"] = CELValue(this) }
    return CELEnvironment(variables: roots, nullMembers: Self.nullMembers)
  }

  private static let nullMembers: Set<String> = ["auth", "request.auth"]

  private func makeRequestRoots() -> [String: CELValue] {
    let vars = CELValue(variables, of: operation.variables)
    let user = CELValue(auth)
    return [
      "auth": user, "vars": vars,
      "request": .map([
        "auth": user, "variables": vars, "operationName": .string(operation.kind.rawValue),
        "time": CELValue(.timestamp(time)),
      ]),
    ]
  }

  // MARK: Checks

  /// Throws `OperationFailure` if `@auth` does not allow the execution.
  ///
  /// - Parameter isStrict: An operation without `@auth` is refused, as in the cloud.
  func checkAccess(isStrict: Bool) throws(OperationFailure) {
    guard let auth = operation.auth else {
      if isStrict {
        throw .invalid("The operation \(operation.name) has no @auth, and nobody has access.")
      }
      return
    }
    guard allows(auth.expression) else { throw .invalid("permission denied") }
  }

  func check(_ checks: [Check], _ value: DataValue) throws(OperationFailure) {
    for check in checks where !allows(check.expression, this: value) {
      throw .check(check.message)
    }
  }

  /// Throws `OperationFailure` if directives leave the field out, and it has a check that is not
  /// optional: the check is not reached.
  func checkIncluded(_ root: RootField) throws(OperationFailure) {
    if !isIncluded(root.modifiers), let check = root.requiredCheck { throw .check(check.message) }
  }

  func checkIncluded(_ selections: [Selection]) throws(OperationFailure) {
    for selection in selections where !isIncluded(selection.modifiers) {
      if let check = selection.requiredCheck { throw .check(check.message) }
    }
  }
}

/// A value that is made when it is first needed.
final class Once<Value: Sendable>: Sendable {
  private let known = Mutex<Value?>(nil)

  func value(_ make: () -> Value) -> Value {
    if let value = known.withLock({ $0 }) { return value }
    let made = make()
    return known.withLock { known in
      let value = known ?? made
      known = value
      return value
    }
  }
}

extension RootField {
  /// The first check of the field, or in it, that is not optional.
  var requiredCheck: Check? {
    modifiers.requiredCheck ?? fields.lazy.compactMap(\.requiredCheck).first
      ?? selections.lazy.compactMap(\.requiredCheck).first
  }
}

extension Selection {
  /// The first check of the field, or in it, that is not optional.
  fileprivate var requiredCheck: Check? {
    modifiers.requiredCheck ?? selections.lazy.compactMap(\.requiredCheck).first
  }
}

extension Modifiers {
  fileprivate var requiredCheck: Check? { checks.first { !$0.isOptional } }
}

extension CELValue {
  init(_ value: DataValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .int(let value): self = .int(value)
    case .double(let value): self = .double(value)
    case .string(let value): self = .string(value)
    case .timestamp(let value):
      self = .timestamp(seconds: value.seconds, nanoseconds: value.nanoseconds)
    case .list(let values): self = .list(values.map { CELValue($0) })
    case .object(let object): self.init(object)
    }
  }

  /// - Parameter variables: Those without a value are unset.
  init(_ object: DataObject, of variables: [Variable] = []) {
    var members: [CELValue: CELValue] = [:]
    for variable in variables { members[.string(variable.name)] = .unset }
    for (name, value) in object.members { members[.string(name)] = CELValue(value) }
    self = .map(members)
  }

  init(_ auth: DataConnectAuth?) {
    guard let auth else {
      self = .null
      return
    }
    self = .map(["uid": .string(auth.uid), "token": CELValue(auth.token)])
  }
}

extension DataValue {
  init(_ value: CELValue) {
    switch value {
    case .null, .unset: self = .null
    case .bool(let value): self = .bool(value)
    case .int(let value): self = .int(value)
    case .uint(let value): self = Int64(exactly: value).map { .int($0) } ?? .double(Double(value))
    case .double(let value): self = .double(value)
    case .string(let value): self = .string(value)
    case .bytes(let bytes): self = .string(Data(bytes).base64EncodedString())
    case .list(let values): self = .list(values.map { DataValue($0) })
    case .map(let members):
      var object = DataObject()
      for (name, value) in members.sorted(by: { $0.key.description < $1.key.description }) {
        if case .string(let name) = name { object[name] = DataValue(value) }
      }
      self = .object(object)
    case .timestamp(let seconds, let nanoseconds):
      self = .timestamp(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    case .duration, .type: self = .string(value.description)
    }
  }
}
