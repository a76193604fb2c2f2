/// A field with an aggregate of rows: `_count`, `price_sum`.
public struct AggregateField: Hashable, Sendable {
  public var name: String
  public var function: Selection.Aggregate
  /// Nil for `_count`.
  public var column: String?
  /// Of the result. Null is possible except for counts.
  public var type: ValueType

  public init(name: String, function: Selection.Aggregate, column: String?, type: ValueType) {
    self.name = name
    self.function = function
    self.column = column
    self.type = type
  }
}

extension Table {
  /// `_count`; of each column a count; of numbers also sum, avg, min and max; of dates and
  /// timestamps also min and max. The names are the same in selections, `orderBy` and `having`.
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
        add(.min, column.type)
        add(.max, column.type)
      case .date, .timestamp:
        add(.min, column.type)
        add(.max, column.type)
      default: break
      }
    }
    return fields
  }
}
