import Foundation

/// One aggregation over the results of a query: a count, a sum or an average; or one that Firestore
/// does not have: the smallest value, the largest one, the number of values, and the number, the sum
/// and the average of different ones.
public final class AggregateField: NSObject, Sendable {
  let kind: Result<Aggregation.Kind, Status>
  private let text: String
  /// As Firebase's messages write it: `count()`, `sum(pages)`, `avg(pages)`.
  let call: String

  private init(_ text: String, call: String, _ kind: Result<Aggregation.Kind, Status>) {
    self.text = text
    self.call = call
    self.kind = kind
  }

  /// The number of results.
  public class func count() -> AggregateField {
    AggregateField("count", call: "count()", .success(.count(upTo: nil)))
  }

  /// The sum of the numbers in a field.
  ///
  /// An integer if every number is one and the sum fits, otherwise a double. 0 if there are no
  /// numbers.
  public class func sum(_ field: String) -> AggregateField {
    make("sum", field, .dotted(field)) { .sum($0) }
  }
  /// The same for a field given as a `FieldPath`.
  public class func sum(_ path: FieldPath) -> AggregateField {
    make("sum", path, .path(path)) { .sum($0) }
  }

  /// The mean of the numbers in a field. `NSNull` if there are no numbers.
  public class func average(_ field: String) -> AggregateField {
    make("average", call: "avg", field, .dotted(field)) { .average($0) }
  }
  /// The same for a field given as a `FieldPath`.
  public class func average(_ path: FieldPath) -> AggregateField {
    make("average", call: "avg", path, .path(path)) { .average($0) }
  }

  /// The smallest value of a field that is not null, in Firestore's order of all values. `NSNull` if
  /// there is none. Of equal numbers, such as 1 and 1.0, the integer is returned.
  public class func minimum(_ field: String) -> AggregateField {
    make("minimum", call: "min", field, .dotted(field)) { .minimum($0) }
  }
  /// The same for a field given as a `FieldPath`.
  public class func minimum(_ path: FieldPath) -> AggregateField {
    make("minimum", call: "min", path, .path(path)) { .minimum($0) }
  }

  /// The largest value of a field that is not null; see `minimum(_:)`.
  public class func maximum(_ field: String) -> AggregateField {
    make("maximum", call: "max", field, .dotted(field)) { .maximum($0) }
  }
  /// The same for a field given as a `FieldPath`.
  public class func maximum(_ path: FieldPath) -> AggregateField {
    make("maximum", call: "max", path, .path(path)) { .maximum($0) }
  }

  /// The number of different values of a field that are not null. 1 equals 1.0.
  public class func countDistinct(_ field: String) -> AggregateField {
    make("countDistinct", field, .dotted(field)) { .distinct($0) }
  }
  /// The same for a field given as a `FieldPath`.
  public class func countDistinct(_ path: FieldPath) -> AggregateField {
    make("countDistinct", path, .path(path)) { .distinct($0) }
  }

  /// The number of values of a field that are not null.
  public class func countValues(_ field: String) -> AggregateField {
    make("countValues", field, .dotted(field)) { .values($0) }
  }
  /// The same for a field given as a `FieldPath`.
  public class func countValues(_ path: FieldPath) -> AggregateField {
    make("countValues", path, .path(path)) { .values($0) }
  }

  /// The sum of the different numbers in a field: equal ones, such as 1 and 1.0, are added once.
  public class func sumDistinct(_ field: String) -> AggregateField {
    make("sumDistinct", field, .dotted(field)) { .distinctSum($0) }
  }
  /// The same for a field given as a `FieldPath`.
  public class func sumDistinct(_ path: FieldPath) -> AggregateField {
    make("sumDistinct", path, .path(path)) { .distinctSum($0) }
  }

  /// The mean of the different numbers in a field. `NSNull` if there are no numbers.
  public class func averageDistinct(_ field: String) -> AggregateField {
    make("averageDistinct", field, .dotted(field)) { .distinctAverage($0) }
  }
  /// The same for a field given as a `FieldPath`.
  public class func averageDistinct(_ path: FieldPath) -> AggregateField {
    make("averageDistinct", path, .path(path)) { .distinctAverage($0) }
  }

  private class func make(
    _ function: String, call: String? = nil, _ name: some CustomStringConvertible,
    _ field: Result<FieldSegments, Status>, _ kind: (FieldSegments) -> Aggregation.Kind
  ) -> AggregateField {
    AggregateField("\(function)(\(name))", call: "\(call ?? function)(\(name))", field.map(kind))
  }

  /// Whether this is a count, which needs no field.
  var isCount: Bool { if case .success(.count) = kind { true } else { false } }

  /// Whether the other one aggregates the same field in the same way.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateField else { return false }
    switch (kind, other.kind) {
    case (.success(let mine), .success(let theirs)): return mine == theirs
    case (.failure, .failure): return BytewiseString(text) == BytewiseString(other.text)
    default: return false
    }
  }

  public override var hash: Int {
    if case .success(let kind) = kind { return kind.hashValue }
    return 0
  }

  /// `sum(pages)`
  public override var description: String { text }
}
