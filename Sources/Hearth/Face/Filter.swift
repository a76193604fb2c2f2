import Foundation

/// A condition on documents, for `Query.whereFilter(_:)`.
///
///     let long = Filter.whereField("pages", isGreaterThan: 1000)
///     let classic = Filter.whereField("tags", arrayContains: "classic")
///     let found = try await books.whereFilter(.orFilter([long, classic])).getDocuments()
///
/// What is wrong with one is reported by the operation that uses it.
public final class Filter: NSObject {
  enum Content {
    case field(Result<FieldSegments, Status>, StructuredQuery.Comparison.Operator, Any)
    case composite(isDisjunction: Bool, [Filter])
    case tooDeep
  }

  /// Composite filters inside one another.
  static let deepest = 100

  let content: Content
  private let depth: Int

  private init(_ field: String, _ operator: StructuredQuery.Comparison.Operator, _ value: Any) {
    content = .field(
      Result { () throws(Status) in
        // As in Firestore: a plain text may say `__name__` too.
        try FieldSegments(dotted: field)
      }, `operator`, value)
    depth = 0
  }

  private init(_ path: FieldPath, _ operator: StructuredQuery.Comparison.Operator, _ value: Any) {
    content = .field(Result { () throws(Status) in try path.segments() }, `operator`, value)
    depth = 0
  }

  private init(isDisjunction: Bool, _ filters: [Filter]) {
    depth = 1 + (filters.map(\.depth).max() ?? 0)
    content =
      depth > Filter.deepest ? .tooDeep : .composite(isDisjunction: isDisjunction, filters)
  }

  public class func whereField(_ field: String, isEqualTo value: Any) -> Filter {
    Filter(field, .equal, value)
  }
  public class func whereField(_ path: FieldPath, isEqualTo value: Any) -> Filter {
    Filter(path, .equal, value)
  }

  public class func whereField(_ field: String, isNotEqualTo value: Any) -> Filter {
    Filter(field, .notEqual, value)
  }
  public class func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Filter {
    Filter(path, .notEqual, value)
  }

  public class func whereField(_ field: String, isGreaterThan value: Any) -> Filter {
    Filter(field, .greaterThan, value)
  }
  public class func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Filter {
    Filter(path, .greaterThan, value)
  }

  public class func whereField(_ field: String, isGreaterOrEqualTo value: Any) -> Filter {
    Filter(field, .greaterThanOrEqual, value)
  }
  public class func whereField(_ path: FieldPath, isGreaterOrEqualTo value: Any) -> Filter {
    Filter(path, .greaterThanOrEqual, value)
  }

  public class func whereField(_ field: String, isLessThan value: Any) -> Filter {
    Filter(field, .lessThan, value)
  }
  public class func whereField(_ path: FieldPath, isLessThan value: Any) -> Filter {
    Filter(path, .lessThan, value)
  }

  public class func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Filter {
    Filter(field, .lessThanOrEqual, value)
  }
  public class func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Filter {
    Filter(path, .lessThanOrEqual, value)
  }

  public class func whereField(_ field: String, arrayContains value: Any) -> Filter {
    Filter(field, .arrayContains, value)
  }
  public class func whereField(_ path: FieldPath, arrayContains value: Any) -> Filter {
    Filter(path, .arrayContains, value)
  }

  public class func whereField(_ field: String, arrayContainsAny values: [Any]) -> Filter {
    Filter(field, .arrayContainsAny, values)
  }
  public class func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Filter {
    Filter(path, .arrayContainsAny, values)
  }

  public class func whereField(_ field: String, in values: [Any]) -> Filter {
    Filter(field, .in, values)
  }
  public class func whereField(_ path: FieldPath, in values: [Any]) -> Filter {
    Filter(path, .in, values)
  }

  public class func whereField(_ field: String, notIn values: [Any]) -> Filter {
    Filter(field, .notIn, values)
  }
  public class func whereField(_ path: FieldPath, notIn values: [Any]) -> Filter {
    Filter(path, .notIn, values)
  }

  /// At least one of them holds. Of one it is that one, of none it is no condition.
  public class func orFilter(_ filters: [Filter]) -> Filter {
    Filter(isDisjunction: true, filters)
  }

  /// All of them hold. Of one it is that one, of none it is no condition.
  public class func andFilter(_ filters: [Filter]) -> Filter {
    Filter(isDisjunction: false, filters)
  }
}
