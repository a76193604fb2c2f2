/// A field whose value is an aggregate of rows: `_count`, `price_sum`.
public struct AggregateField: Hashable, Sendable {
  /// The field as operations write it: `price_sum`.
  public var name: String
  /// The aggregate that the field calculates.
  public var function: Selection.Aggregate
  /// The column whose values are aggregated. Nil for `_count`.
  public var column: String?
  /// The type of the result. Every aggregate except a count is nullable.
  public var type: ValueType

  /// Creates the description of an aggregate field; `Table.aggregates` makes those of a table.
  public init(name: String, function: Selection.Aggregate, column: String?, type: ValueType) {
    self.name = name
    self.function = function
    self.column = column
    self.type = type
  }
}

extension Table {
  /// The aggregate fields of the table: `_count`, then `count` of each column, then `sum`, `avg`,
  /// `min` and `max` of a number, `min` and `max` of a date or timestamp. A list has only `count`.
  /// The names are the same in selections, `orderBy` and `having`.
  public var aggregates: [AggregateField] {
    var fields = [AggregateField(name: "_count", function: .count, column: nil, type: .int)]
    for column in columns {
      func add(_ function: Selection.Aggregate, _ type: ValueType) {
        fields.append(
          AggregateField(
            name: "\(column.name)_\(function.rawValue)", function: function, column: column.name,
            type: type))
      }
      add(.count, .int)
      guard !column.isList else { continue }
      switch column.type {
      case .int, .int64, .float:
        add(.sum, column.type)
        add(.avg, .float)
        fallthrough
      case .date, .timestamp:
        add(.min, column.type)
        add(.max, column.type)
      default: break
      }
    }
    return fields
  }
}
