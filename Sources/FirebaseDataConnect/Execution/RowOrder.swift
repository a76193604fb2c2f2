import DataConnectModel
import Hearth

/// An order of rows. The database does not have one by columns of referred rows, or by the positions of
/// an enum's values: the rows are read, and sorted here.
///
///     orderBy: [{author: {name: ASC}}, {status: DESC}]
///
/// Null comes first, as in Firestore; rows that are equal are in the order of their ids. The rows of a
/// relation are sorted for each row that has them.
struct RowOrder {
  private struct Step {
    /// The references that lead to the row.
    let path: [String]
    let layout: TableLayout
    let column: TableLayout.ColumnLayout
    let isDescending: Bool
  }

  private let plan: ConnectorPlan
  private var steps: [Step] = []
  /// Whether the database has the order.
  private(set) var isStored = true
  /// The paths to the columns of the steps: rows that an order leaves equal are equal by it again.
  private var ordered: Set<[String]> = []

  init(_ layout: TableLayout, _ orders: DataValue?, _ plan: ConnectorPlan) throws {
    self.plan = plan
    for order in orders.map({ $0.elements ?? [$0] }) ?? [] { try add(order, layout, []) }
  }

  private mutating func add(
    _ order: DataValue, _ layout: TableLayout, _ path: [String]
  ) throws {
    guard case .object(let object) = order else { return }
    for (name, value) in object.members where !value.isNull {
      if let column = layout.column(name), case .string(let direction) = value {
        if case .enumeration = column.column.type { isStored = false }
        guard ordered.insert(path + [name]).inserted else { continue }
        steps.append(
          Step(path: path, layout: layout, column: column, isDescending: direction == "DESC"))
      } else if let reference = layout.references.first(where: { $0.name == name }) {
        isStored = false
        try add(value, plan.layout(reference.target), path + [name])
      } else {
        throw OperationFailure(
          "Rows of \(layout.table.typeName) cannot be ordered by \(name): an order is by columns.")
      }
    }
  }

  /// The query in this order, which the database must have.
  func ordered(_ query: Query) -> Query {
    steps.reduce(query) { query, step in
      query.order(
        by: step.column.reference ?? step.column.column.name, descending: step.isDescending)
    }
  }

  /// The referred rows. Response keys do not begin with "@".
  var inclusions: [DocumentInclusion] { Self.inclusions(steps.map { $0.path[...] }) }

  private static let mark = "@"

  private static func inclusions(_ paths: [ArraySlice<String>]) -> [DocumentInclusion] {
    var names: [String] = []
    for case let name? in paths.map(\.first) where !names.contains(name) { names.append(name) }
    return names.map { name in
      .reference(
        name, as: mark + name,
        including: inclusions(paths.filter { $0.first == name }.map { $0.dropFirst() }))
    }
  }

  /// Documents that were read with the inclusions, in order.
  func sorted(_ documents: [IncludingDocument]) throws -> [IncludingDocument] {
    var rows: [(document: IncludingDocument, keys: [DataValue])] = []
    for document in documents {
      rows.append((document, try steps.map { try key($0, document) }))
    }
    rows.sort { one, other in
      for (index, step) in steps.enumerated() {
        // Values of other types are of documents that were written by hand.
        let order = one.keys[index].order(other.keys[index]) ?? 0
        if order != 0 { return step.isDescending ? order > 0 : order < 0 }
      }
      return one.document.documentID.utf8.lexicographicallyPrecedes(
        other.document.documentID.utf8)
    }
    return rows.map(\.document)
  }

  private func key(_ step: Step, _ document: IncludingDocument) throws -> DataValue {
    var found: IncludingDocument? = document
    for name in step.path { found = found?.first(Self.mark + name) }
    guard let found else { return .null }
    let value = step.layout.value(
      of: step.column, in: try found.data(as: StoredRow.self), documentID: found.documentID)
    return plan.sortKey(of: value, step.column.column.type)
  }
}

extension ConnectorPlan {
  /// A value that is in the order of the type: of an enum, the position.
  func sortKey(of value: DataValue, _ type: ValueType) -> DataValue {
    guard case .enumeration(let name) = type, case .string(let text) = value,
      let position = enumType(name)?.values.firstIndex(of: text)
    else { return value }
    return .int(Int64(position))
  }
}

extension DataValue {
  /// Negative, zero or positive: the order of two values of one type, with null first, false before
  /// true, and texts by their bytes. Nil for values of different types.
  func order(_ other: DataValue) -> Int? {
    func order<T: Comparable>(_ one: T, _ other: T) -> Int {
      one < other ? -1 : one > other ? 1 : 0
    }
    return switch (self, other) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.bool(let one), .bool(let other)): order(one ? 1 : 0, other ? 1 : 0)
    case (.int(let one), .int(let other)): order(one, other)
    case (.double(let one), .double(let other)):
      one.isNaN || other.isNaN
        ? order(one.isNaN ? 0 : 1, other.isNaN ? 0 : 1) : order(one, other)
    case (.int(let one), .double): DataValue.double(Double(one)).order(other)
    case (.double, .int(let other)): self.order(.double(Double(other)))
    case (.string(let one), .string(let other)):
      one == other ? 0 : one.utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
    case (.timestamp(let one), .timestamp(let other)): one.compare(other).rawValue
    default: nil
    }
  }
}
