import DataConnectModel
import Foundation
import Hearth

/// The values of a column that its Swift type can read.
struct ColumnForm: Sendable {
  let type: ValueType
  private let isNullable: Bool
  private let isList: Bool
  private let hasNullElements: Bool
  /// The names of an enum's values; empty for other types.
  private let names: Set<String>

  init(_ column: Column, in schema: Schema) {
    type = column.type
    isNullable = column.isNullable
    isList = column.isList
    hasNullElements = column.hasNullElements
    if case .enumeration(let name) = column.type {
      names = Set(schema.enumType(name)?.values ?? [])
    } else {
      names = []
    }
  }

  /// Whether a value of a result has the form. False only for values that were written through another
  /// interface, or with another schema.
  func fits(_ value: DataValue) -> Bool {
    if case .null = value { return isNullable || type == .any }
    guard isList else { return isElement(value) }
    guard case .list(let values) = value else { return type == .any }
    return values.allSatisfy { element in
      if case .null = element { hasNullElements || type == .any } else { isElement(element) }
    }
  }

  private func isElement(_ value: DataValue) -> Bool {
    switch (type, value) {
    case (.any, _), (.string, .string), (.boolean, .bool), (.int, .int), (.int64, .int),
      (.float, .double), (.float, .int), (.timestamp, .timestamp):
      true
    case (.int, .double(let number)), (.int64, .double(let number)):
      Int64(exactly: number) != nil
    case (.float, .string(let text)): ["inf", "-inf", "nan"].contains(text)
    case (.uuid, .string(let text)): (try? UUID(dataConnectText: text)) != nil
    case (.date, .string(let text)): (try? LocalDate(localDateString: text)) != nil
    case (.timestamp, .string(let text)): (try? Timestamp(rfc3339: text)) != nil
    case (.enumeration, .string(let name)): names.contains(name)
    case (.vector, .list(let values)):
      values.allSatisfy { (try? Double(dataConnectValue: $0)) != nil }
    default: false
    }
  }
}
