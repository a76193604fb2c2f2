import Foundation

/// A number out of all results of a query.
public final class AggregateField: NSObject, Sendable {
  let kind: Result<Aggregation.Kind, Status>
  private let text: String
  /// In Firebase's sentences: `count()`, `sum(pages)`, `avg(pages)`.
  let call: String

  private init(_ text: String, call: String, _ kind: Result<Aggregation.Kind, Status>) {
    self.text = text
    self.call = call
    self.kind = kind
  }

  /// How many results there are.
  public class func count() -> AggregateField {
    AggregateField("count", call: "count()", .success(.count(upTo: nil)))
  }

  /// The numbers in a field, added up: an integer if all are and it fits, else a double. 0 of none.
  public class func sum(_ field: String) -> AggregateField {
    make("sum", call: "sum", field) { () throws(Status) in .sum(try FieldSegments(dotted: field)) }
  }
  public class func sum(_ path: FieldPath) -> AggregateField {
    make("sum", call: "sum", path.description) { () throws(Status) in .sum(try path.segments()) }
  }

  /// The mean of the numbers in a field. `NSNull` of none.
  public class func average(_ field: String) -> AggregateField {
    make("average", call: "avg", field) { () throws(Status) in
      .average(try FieldSegments(dotted: field))
    }
  }
  public class func average(_ path: FieldPath) -> AggregateField {
    make("average", call: "avg", path.description) { () throws(Status) in
      .average(try path.segments())
    }
  }

  private class func make(
    _ name: String, call: String, _ field: String, _ kind: () throws(Status) -> Aggregation.Kind
  ) -> AggregateField {
    AggregateField("\(name)(\(field))", call: "\(call)(\(field))", Result(catching: kind))
  }

  /// Only counts need no field.
  var isCount: Bool { if case .success(.count) = kind { true } else { false } }

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
