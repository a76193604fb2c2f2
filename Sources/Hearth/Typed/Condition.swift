import Foundation

/// A condition on the documents of a model, which the compiler has checked.
///
///     books.where { $0.pages > 400 && ($0.author == "Herbert" || $0.tags.contains("sand")) }
///
/// Each operator gives the filter of the same name in `Filter`: null equals null, and a missing
/// field matches nothing.
public struct Condition<Model: DocumentModel> {
  /// The same condition for untyped queries.
  public let filter: Filter

  /// Any filter, which the compiler has not checked: for those without an operator of their own.
  ///
  ///     let praised = db.collection("reviews").whereField("stars", isGreaterThan: 4)
  ///     let found = books.where { $0.pages > 400 && Condition(.exists(in: praised, referringBy: "book")) }
  public init(_ filter: Filter) { self.filter = filter }

  /// A filter on a value that is encoded as the model's would be. One that cannot be encoded is
  /// reported by the query.
  init<Input>(_ input: @autoclosure () throws -> Input, _ make: (Input) -> Filter) {
    do {
      filter = make(try input())
    } catch {
      filter = Filter(invalid: error)
    }
  }
}

extension Condition {
  /// Both conditions hold.
  public static func && (lhs: Condition, rhs: Condition) -> Condition {
    Condition(.andFilter(lhs.parts(isDisjunction: false) + rhs.parts(isDisjunction: false)))
  }

  /// At least one of the conditions holds.
  public static func || (lhs: Condition, rhs: Condition) -> Condition {
    Condition(.orFilter(lhs.parts(isDisjunction: true) + rhs.parts(isDisjunction: true)))
  }

  /// A chain of one operator is one filter, not one in another.
  private func parts(isDisjunction: Bool) -> [Filter] {
    guard case .composite(isDisjunction, let parts) = filter.content else { return [filter] }
    return parts
  }

  /// The condition does not hold; also for documents without its fields.
  public static prefix func ! (condition: Condition) -> Condition {
    Condition(.notFilter(condition.filter))
  }
}

// MARK: Comparisons, in closures

extension QueryField where Value: Encodable {
  /// The field equals the value.
  public static func == (field: QueryField, value: Value) -> Condition<Model> {
    Condition(try plainValue(of: value)) { .whereField(field.path, isEqualTo: $0) }
  }

  /// The field is there, not null, and another value.
  public static func != (field: QueryField, value: Value) -> Condition<Model> {
    Condition(try plainValue(of: value)) { .whereField(field.path, isNotEqualTo: $0) }
  }

  /// The field is less than the value.
  public static func < (field: QueryField, value: Value) -> Condition<Model> {
    Condition(try plainValue(of: value)) { .whereField(field.path, isLessThan: $0) }
  }

  /// The field is less than the value, or equal.
  public static func <= (field: QueryField, value: Value) -> Condition<Model> {
    Condition(try plainValue(of: value)) { .whereField(field.path, isLessThanOrEqualTo: $0) }
  }

  /// The field is greater than the value.
  public static func > (field: QueryField, value: Value) -> Condition<Model> {
    Condition(try plainValue(of: value)) { .whereField(field.path, isGreaterThan: $0) }
  }

  /// The field is greater than the value, or equal.
  public static func >= (field: QueryField, value: Value) -> Condition<Model> {
    Condition(try plainValue(of: value)) { .whereField(field.path, isGreaterOrEqualTo: $0) }
  }

  /// The field is one of at most 30 values.
  public func `in`(_ values: [Value]) -> Condition<Model> {
    Condition(try plainValues(of: values)) { .whereField(path, in: $0) }
  }

  /// The field is there, not null, and none of at most 10 values. Nothing matches if one of them is
  /// null. With no value or with more than 10, the query fails with `invalidArgument` when it is used.
  public func notIn(_ values: [Value]) -> Condition<Model> {
    Condition(try plainValues(of: values)) { .whereField(path, notIn: $0) }
  }
}

extension QueryField {
  /// The array has an element that equals the value.
  public func contains<Element: Encodable>(
    _ element: Element
  ) -> Condition<Model> where Value == [Element] {
    Condition(try plainValue(of: element)) { .whereField(path, arrayContains: $0) }
  }

  /// The array has an element that equals one of at most 30 values.
  public func contains<Element: Encodable>(
    anyOf elements: [Element]
  ) -> Condition<Model> where Value == [Element] {
    Condition(try plainValues(of: elements)) { .whereField(path, arrayContainsAny: $0) }
  }
}

extension QueryField where Value: Encodable {
  /// The field is one of the values, which may be any number.
  public func inSet(_ values: [Value]) -> Condition<Model> {
    Condition(try plainValues(of: values)) { .whereField(path, inSet: $0) }
  }
}

extension QueryField {
  /// The array has elements that equal each of at most 30 values.
  public func contains<Element: Encodable>(
    allOf elements: [Element]
  ) -> Condition<Model> where Value == [Element] {
    Condition(try plainValues(of: elements)) { .whereField(path, arrayContainsAll: $0) }
  }

  /// The array has no other elements than these, of any number.
  public func isContained<Element: Encodable>(
    in elements: [Element]
  ) -> Condition<Model> where Value == [Element] {
    Condition(try plainValues(of: elements)) { .whereField(path, arrayContainedIn: $0) }
  }
}

/// A field of text: a string, or an optional one.
public protocol QueryableText {}
extension String: QueryableText {}
extension String?: QueryableText {}

extension QueryField where Value: QueryableText {
  /// The text begins with `prefix`, byte by byte in UTF-8.
  public func hasPrefix(_ prefix: String) -> Condition<Model> {
    Condition(.whereField(path, hasPrefix: prefix))
  }

  /// The text ends with `suffix`, byte by byte in UTF-8.
  public func hasSuffix(_ suffix: String) -> Condition<Model> {
    Condition(.whereField(path, hasSuffix: suffix))
  }

  /// The text contains `text`, byte by byte in UTF-8.
  public func contains(_ text: String) -> Condition<Model> {
    Condition(.whereField(path, containsText: text))
  }

  /// The text equals `text` if both are `lowercased()`.
  public func equalsIgnoringCase(_ text: String) -> Condition<Model> {
    Condition(.whereField(path, equalsIgnoringCase: text))
  }

  /// A regular expression is found in the text; see `Filter.whereField(_:matchesPattern:options:)`.
  public func matchesPattern(_ pattern: String, options: String = "") -> Condition<Model> {
    Condition(.whereField(path, matchesPattern: pattern, options: options))
  }
}

/// A field with a time: a `Date` or a `Timestamp`, or an optional one.
public protocol QueryableTime {}
extension Date: QueryableTime {}
extension Timestamp: QueryableTime {}
extension Optional: QueryableTime where Wrapped: QueryableTime {}

extension QueryField where Value: QueryableTime {
  /// The time is on one of some days in a time zone: 0 is the day of the read, 1 the day after. A listener's
  /// result changes at midnight; see `Filter.whereField(_:isOnDays:in:)`.
  ///
  ///     let today = books.where { $0.updated.isOnDays(0...0, in: .current) }
  public func isOnDays(_ days: ClosedRange<Int>, in zone: TimeZone) -> Condition<Model> {
    Condition(.whereField(path, isOnDays: days, in: zone))
  }

  /// The time is later than that of the read plus `offset`, which may be negative. A listener's result changes
  /// when time passes.
  public func isAfterNow(_ offset: Duration = .zero) -> Condition<Model> {
    Condition(.whereField(path, isAfterNow: offset))
  }

  /// The time is not later than that of the read plus `offset`; see `isAfterNow(_:)`.
  public func isBeforeNow(_ offset: Duration = .zero) -> Condition<Model> {
    Condition(.whereField(path, isBeforeNow: offset))
  }
}

/// A field with a point: a `GeoPoint`, or an optional one.
public protocol QueryablePoint {}
extension GeoPoint: QueryablePoint {}
extension Optional: QueryablePoint where Wrapped: QueryablePoint {}

extension QueryField where Value: QueryablePoint {
  /// The point is at most `meters` away from `center`; see `Filter.whereField(_:isWithin:metersOf:)`.
  public func isWithin(_ meters: Double, metersOf center: GeoPoint) -> Condition<Model> {
    Condition(.whereField(path, isWithin: meters, metersOf: center))
  }

  /// The point is in a rectangle of degrees; see `Filter.whereField(_:isWithinBoxFrom:to:)`.
  public func isWithinBox(from southwest: GeoPoint, to northeast: GeoPoint) -> Condition<Model> {
    Condition(.whereField(path, isWithinBoxFrom: southwest, to: northeast))
  }

  /// The point is in a polygon; see `Filter.whereField(_:isWithinPolygon:)`.
  public func isWithinPolygon(_ vertices: [GeoPoint]) -> Condition<Model> {
    Condition(.whereField(path, isWithinPolygon: vertices))
  }
}

extension QueryField {
  /// The field refers to a result of another query; see `Filter.whereField(_:isInResultsOf:field:)`.
  ///
  ///     let long = books.where { $0.pages > 400 }
  ///     let found = books.where { $0.sequel.isInResults(of: long) }
  public func isInResults<Other>(
    of query: some TypedQueryable<Other>
  ) -> Condition<Model> where Value == Reference<Other> {
    Condition(.whereField(path, isInResultsOf: query.untyped))
  }

  /// Same, for a field that may be missing.
  public func isInResults<Other>(
    of query: some TypedQueryable<Other>
  ) -> Condition<Model> where Value == Reference<Other>? {
    Condition(.whereField(path, isInResultsOf: query.untyped))
  }
}

// MARK: Comparisons of key paths

// `books.where(\.pages > 400)`.

/// The field equals the value.
public func == <Model: DocumentModel, Value: Encodable>(
  field: KeyPath<Model.Fields, Field<Value>>, value: Value
) -> Condition<Model> {
  QueryField<Model, Value>(names: Model.fields[keyPath: field].names) == value
}

/// The field is there, not null, and another value.
public func != <Model: DocumentModel, Value: Encodable>(
  field: KeyPath<Model.Fields, Field<Value>>, value: Value
) -> Condition<Model> {
  QueryField<Model, Value>(names: Model.fields[keyPath: field].names) != value
}

/// The field is less than the value.
public func < <Model: DocumentModel, Value: Encodable>(
  field: KeyPath<Model.Fields, Field<Value>>, value: Value
) -> Condition<Model> {
  QueryField<Model, Value>(names: Model.fields[keyPath: field].names) < value
}

/// The field is less than the value, or equal.
public func <= <Model: DocumentModel, Value: Encodable>(
  field: KeyPath<Model.Fields, Field<Value>>, value: Value
) -> Condition<Model> {
  QueryField<Model, Value>(names: Model.fields[keyPath: field].names) <= value
}

/// The field is greater than the value.
public func > <Model: DocumentModel, Value: Encodable>(
  field: KeyPath<Model.Fields, Field<Value>>, value: Value
) -> Condition<Model> {
  QueryField<Model, Value>(names: Model.fields[keyPath: field].names) > value
}

/// The field is greater than the value, or equal.
public func >= <Model: DocumentModel, Value: Encodable>(
  field: KeyPath<Model.Fields, Field<Value>>, value: Value
) -> Condition<Model> {
  QueryField<Model, Value>(names: Model.fields[keyPath: field].names) >= value
}
