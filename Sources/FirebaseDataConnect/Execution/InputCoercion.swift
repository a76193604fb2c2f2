import DataConnectModel
import Foundation
import Hearth
internal import HearthText

/// Checks the values of variables against their types, and gives them the form of results.
struct InputCoercion {
  private let plan: ConnectorPlan
  /// The maximum nesting of a variable: what reads it calls itself.
  private static let deepest = 64

  init(_ plan: ConnectorPlan) { self.plan = plan }

  /// Throws `OperationFailure` for an unknown variable, one that is missing, or of another type.
  func variables(
    _ given: DataObject, of operation: Operation
  ) throws(OperationFailure) -> DataObject {
    for name in given.names where !operation.variables.contains(where: { $0.name == name }) {
      throw .invalid("The operation \(operation.name) has no variable $\(name).")
    }
    var variables = DataObject()
    for variable in operation.variables {
      if let value = given[variable.name] {
        guard value.isNested(within: Self.deepest) else {
          throw .invalid("$\(variable.name) is nested more than \(Self.deepest) levels deep.")
        }
        // The limits first: what they refuse costs nothing more.
        try check(variable, value)
        try refuseLiterals(in: value, variable.type.shape, "$\(variable.name)")
        variables[variable.name] = try coerced(value, variable.type, "$\(variable.name)")
      } else if let literal = variable.defaultValue {
        variables[variable.name] = try coerced(
          literal.constant, variable.type, "$\(variable.name)")
      } else if !variable.type.isNullable {
        throw .invalid("The variable $\(variable.name) is missing.")
      }
    }
    return variables
  }

  /// Throws `OperationFailure` for a member that only the text of an operation may have: an
  /// expression would be evaluated with the rights of the operation.
  private func refuseLiterals(
    in value: DataValue, _ shape: InputShape, _ place: String
  ) throws(OperationFailure) {
    switch shape.base {
    case .value, .expression, .onlyTrue, .choice: return
    case .list(let element):
      for (index, value) in (value.elements ?? [value]).enumerated() {
        try refuseLiterals(in: value, element, "\(place)[\(index)]")
      }
    case .object(let name):
      guard let type = plan.inputTypes.object(name) else { return }
      // A filter with one alternative need not be a list.
      for value in value.elements ?? [value] {
        for (name, value) in value.fields?.members ?? DataObject().members {
          guard let field = type.field(name) else {
            throw .invalid("\(place) has no field \(name).")
          }
          guard !field.isLiteralOnly else {
            throw .invalid(
              "\(place).\(name) is allowed in the text of an operation only, and not in variables.")
          }
          try refuseLiterals(in: value, field.shape, "\(place).\(name)")
        }
      }
    }
  }

  private func check(_ variable: Variable, _ value: DataValue) throws(OperationFailure) {
    let values = value.elements ?? [value]
    if let count = variable.maximumCount, values.count > count {
      throw .invalid("The variable $\(variable.name) has more than \(count) elements.")
    }
    guard let allowed = variable.allowedFields else { return }
    for case .object(let object) in values {
      for name in object.names where !allowed.contains(name) {
        throw .invalid("The variable $\(variable.name) must not have the field \(name).")
      }
    }
  }

  /// - Parameter place: Names the value in errors.
  func coerced(
    _ value: DataValue, _ type: InputType, _ place: String
  ) throws(OperationFailure) -> DataValue {
    if value.isNull {
      guard type.isNullable else { throw .invalid("\(place) must not be null.") }
      return .null
    }
    switch type {
    case .value(let type, _): return try coerced(value, type, place)
    case .list(let element, _):
      var elements: [DataValue] = []
      for (index, value) in (value.elements ?? [value]).enumerated() {
        elements.append(try coerced(value, element, "\(place)[\(index)]"))
      }
      return .list(elements)
    case .orderDirection: return try name(value, InputShape.Choice.orderDirection.values, place)
    case .searchQueryFormat:
      return try name(value, InputShape.Choice.searchQueryFormat.values, place)
    case .key, .data, .filter, .order:
      guard case .object = value else { throw .invalid("\(place) must be an object.") }
      return value
    }
  }

  private func name(
    _ value: DataValue, _ names: [String], _ place: String
  ) throws(OperationFailure) -> DataValue {
    guard case .string(let name) = value, names.contains(name) else {
      throw .invalid("\(place) must be one of \(names.joined(separator: ", ")).")
    }
    return value
  }

  /// A scalar, or a value of an enum.
  func coerced(
    _ value: DataValue, _ type: ValueType, _ place: String
  ) throws(OperationFailure) -> DataValue {
    func invalid() -> OperationFailure {
      .invalid("\(place) must be of the type \(type.name), and is \(value.json.prefix(100)).")
    }
    func integer() throws(OperationFailure) -> Int64 {
      if case .string = value, type != .int64 { throw invalid() }
      guard let number: Int64 = value.integer() else { throw invalid() }
      return number
    }
    switch type {
    case .any: return value
    case .string:
      guard case .string = value else { throw invalid() }
      return value
    case .boolean:
      guard case .bool = value else { throw invalid() }
      return value
    case .int:
      let number = try integer()
      guard Int32(exactly: number) != nil else {
        throw .invalid("\(place) must fit in 32 bits, and is \(number). Use Int64.")
      }
      return .int(number)
    case .int64: return .int(try integer())
    case .float:
      guard let number = value.number else { throw invalid() }
      return .double(number)
    case .uuid:
      guard case .string(let text) = value else { throw invalid() }
      // Usual: what this module has written.
      if text.utf8.count == 32,
        text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
      {
        return value
      }
      guard let uuid = try? UUID(dataConnectText: text) else { throw invalid() }
      return .string(uuid.dataConnectText)
    case .date:
      if case .timestamp(let time) = value {
        // Rounded down, also before 1970.
        let days = time.seconds.quotientAndRemainder(floorDividingBy: 86_400).quotient
        guard let date = try? LocalDate(daysSince1970: Int(days)) else { throw invalid() }
        return .string(date.description)
      }
      guard case .string(let text) = value, let date = try? LocalDate(localDateString: text) else {
        throw invalid()
      }
      return .string(date.description)
    case .timestamp:
      guard let time = try? Timestamp(dataConnectValue: value) else { throw invalid() }
      let isText = if case .string = value { true } else { false }
      guard
        isText
          ? time.seconds >= Timestamp.firstSecondOfVariables
          : RFC3339.seconds.contains(time.seconds)
      else { throw invalid() }
      // Stored with microseconds.
      return .timestamp(
        Timestamp(seconds: time.seconds, nanoseconds: time.nanoseconds / 1000 * 1000))
    case .vector:
      guard case .list(let values) = value else { throw invalid() }
      return .list(
        try values.map { value throws(OperationFailure) in
          try coerced(value, .float, place)
        })
    case .enumeration(let enumName):
      guard let enumType = plan.enumType(enumName) else { throw invalid() }
      return try name(value, enumType.values, place)
    }
  }

  /// A value of a column: checked for null, list, length and size, too.
  func coerced(
    _ value: DataValue, for column: Column, _ place: String
  ) throws(OperationFailure) -> DataValue {
    if value.isNull {
      guard column.isNullable else { throw .invalid("\(place) must not be null.") }
      return .null
    }
    guard !column.isList else {
      let element = InputType.value(column.type, isNullable: column.hasNullElements)
      return try coerced(value, .list(element, isNullable: column.isNullable), place)
    }
    let coerced = try coerced(value, column.type, place)
    // As PostgreSQL counts: code points.
    if let length = column.maximumLength, case .string(let text) = coerced,
      text.unicodeScalars.count > length
    {
      throw .invalid("\(place) has more than \(length) characters.")
    }
    if let size = column.vectorSize, case .list(let values) = coerced, values.count != size {
      throw .invalid("\(place) must have \(size) numbers, and has \(values.count).")
    }
    return coerced
  }
}

extension Literal {
  /// The value of a literal without variables.
  var constant: DataValue { value { _ in .null } ?? .null }

  /// The value, with those of variables. Nil for a variable that has none; objects lack such members.
  func value(_ variables: (String) -> DataValue?) -> DataValue? {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .float(let value): .double(value)
    case .string(let value), .name(let value): .string(value)
    case .variable(let name): variables(name)
    case .list(let literals): .list(literals.map { $0.value(variables) ?? .null })
    case .object(let members):
      .object(
        DataObject(
          members.compactMap { member in
            member.value.value(variables).map { (member.name, $0) }
          }))
    }
  }
}

extension DataValue {
  fileprivate func isNested(within levels: Int) -> Bool {
    switch self {
    case .list(let values):
      levels > 0 && values.allSatisfy { $0.isNested(within: levels - 1) }
    case .object(let object):
      levels > 0 && object.values.allSatisfy { $0.isNested(within: levels - 1) }
    case .null, .bool, .int, .double, .string, .timestamp: true
    }
  }
}
