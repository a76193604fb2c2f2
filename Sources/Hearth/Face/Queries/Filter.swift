import Foundation
internal import HearthGeometry

/// A condition on documents, for `Query.whereFilter(_:)`.
///
///     let long = Filter.whereField("pages", isGreaterThan: 1000)
///     let classic = Filter.whereField("tags", arrayContains: "classic")
///     let found = try await books.whereFilter(.orFilter([long, classic])).getDocuments()
///
/// An invalid filter keeps its error: the operation that uses it reports `invalidArgument`.
public final class Filter: NSObject {
  enum Content {
    case field(Result<FieldSegments, Status>, StructuredQuery.Comparison.Operator, Any)
    case composite(isDisjunction: Bool, [Filter])
    case negation(Filter)
    case unordered(Filter)
    case throughArrays(Filter)
    case comparison(Result<StructuredQuery.Comparison, Status>)
    /// The field, or an element of it if it is an array, is among the values of a field of results.
    case results(
      Result<FieldSegments, Status>, isArray: Bool, Query, Result<FieldSegments, Status>)
    case tooDeep
    /// Its value could not be encoded.
    case invalid(any Error)
  }

  /// The maximum nesting of composite filters.
  static let deepest = 100

  let content: Content
  private let depth: Int

  private init(_ content: Content) {
    self.content = content
    depth = 0
  }

  /// A filter of other filters, which are less deep.
  private init(_ content: Content, of filters: [Filter]) {
    depth = 1 + (filters.map(\.depth).max() ?? 0)
    self.content = depth > Filter.deepest ? .tooDeep : content
  }

  private convenience init(
    _ field: Result<FieldSegments, Status>,
    _ comparison: (FieldSegments) -> StructuredQuery.Comparison
  ) {
    self.init(.comparison(field.map(comparison)))
  }

  private convenience init(_ field: Result<FieldSegments, Status>, within region: GeoRegion) {
    self.init(field) { .init(field: $0, within: region) }
  }

  private convenience init(
    _ field: Result<FieldSegments, Status>, isBefore: Bool, nowPlus offset: Duration
  ) {
    self.init(field) { .init(field: $0, isBefore: isBefore, nowPlus: offset.microseconds) }
  }

  private class func between(
    _ days: ClosedRange<Int>, in zone: TimeZone, _ field: Result<FieldSegments, Status>
  ) -> Filter {
    // One more than the last of all days is none.
    let end = days.upperBound.addingReportingOverflow(1).partialValue
    return andFilter([
      Filter(field) { .init(field: $0, isBefore: false, day: days.lowerBound, in: zone) },
      Filter(field) { .init(field: $0, isBefore: true, day: end, in: zone) },
    ])
  }

  convenience init(invalid error: any Error) { self.init(.invalid(error)) }

  /// Matches documents whose `field` equals `value`. Null equals null, and NaN equals NaN.
  public class func whereField(_ field: String, isEqualTo value: Any) -> Filter {
    Filter(.field(.dotted(field), .equal, value))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, isEqualTo value: Any) -> Filter {
    Filter(.field(.path(path), .equal, value))
  }

  /// Matches documents that have `field`, if it is not null and does not equal `value`.
  public class func whereField(_ field: String, isNotEqualTo value: Any) -> Filter {
    Filter(.field(.dotted(field), .notEqual, value))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Filter {
    Filter(.field(.path(path), .notEqual, value))
  }

  /// Matches documents whose `field` is greater than `value`; see `whereField(_:isLessThan:)`.
  public class func whereField(_ field: String, isGreaterThan value: Any) -> Filter {
    Filter(.field(.dotted(field), .greaterThan, value))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Filter {
    Filter(.field(.path(path), .greaterThan, value))
  }

  /// Matches documents whose `field` is at least `value`; see `whereField(_:isLessThan:)`.
  public class func whereField(_ field: String, isGreaterOrEqualTo value: Any) -> Filter {
    Filter(.field(.dotted(field), .greaterThanOrEqual, value))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, isGreaterOrEqualTo value: Any) -> Filter {
    Filter(.field(.path(path), .greaterThanOrEqual, value))
  }

  /// Matches documents whose `field` is less than `value`. Only values of one type compare; all
  /// numbers are one type.
  public class func whereField(_ field: String, isLessThan value: Any) -> Filter {
    Filter(.field(.dotted(field), .lessThan, value))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, isLessThan value: Any) -> Filter {
    Filter(.field(.path(path), .lessThan, value))
  }

  /// Matches documents whose `field` is at most `value`; see `whereField(_:isLessThan:)`.
  public class func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Filter {
    Filter(.field(.dotted(field), .lessThanOrEqual, value))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Filter {
    Filter(.field(.path(path), .lessThanOrEqual, value))
  }

  /// Matches documents whose `field` is an array with an element equal to `value`. Null and NaN
  /// never match.
  public class func whereField(_ field: String, arrayContains value: Any) -> Filter {
    Filter(.field(.dotted(field), .arrayContains, value))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, arrayContains value: Any) -> Filter {
    Filter(.field(.path(path), .arrayContains, value))
  }

  /// Matches documents whose `field` is an array with an element equal to one of at most 30 values.
  public class func whereField(_ field: String, arrayContainsAny values: [Any]) -> Filter {
    Filter(.field(.dotted(field), .arrayContainsAny, values))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Filter {
    Filter(.field(.path(path), .arrayContainsAny, values))
  }

  /// Matches documents whose `field` equals one of at most 30 values.
  public class func whereField(_ field: String, in values: [Any]) -> Filter {
    Filter(.field(.dotted(field), .in, values))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, in values: [Any]) -> Filter {
    Filter(.field(.path(path), .in, values))
  }

  /// Matches documents that have `field`, if it is not null and equals none of at most 10 values.
  /// With null among the values nothing matches.
  public class func whereField(_ field: String, notIn values: [Any]) -> Filter {
    Filter(.field(.dotted(field), .notIn, values))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, notIn values: [Any]) -> Filter {
    Filter(.field(.path(path), .notIn, values))
  }

  /// Matches documents that match at least one of `filters`. A single filter is used as it is; an
  /// empty list is no condition.
  public class func orFilter(_ filters: [Filter]) -> Filter {
    Filter(.composite(isDisjunction: true, filters), of: filters)
  }

  /// Matches documents that match all of `filters`. A single filter is used as it is; an empty list
  /// is no condition.
  public class func andFilter(_ filters: [Filter]) -> Filter {
    Filter(.composite(isDisjunction: false, filters), of: filters)
  }
}

/// Conditions that Firestore does not have.
extension Filter {
  /// Matches documents whose `field` equals one of the values, which may be any number.
  ///
  ///     books.whereFilter(.whereField(FieldPath.documentID(), inSet: ids))
  ///
  /// A set of document ids reads these documents and no others.
  public class func whereField(_ field: String, inSet values: [Any]) -> Filter {
    Filter(.field(.dotted(field), .inSet, values))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, inSet values: [Any]) -> Filter {
    Filter(.field(.path(path), .inSet, values))
  }

  /// Matches documents whose `field` is an array with elements equal to each of at most 30 values.
  /// Null and NaN never match.
  public class func whereField(_ field: String, arrayContainsAll values: [Any]) -> Filter {
    Filter(.field(.dotted(field), .arrayContainsAll, values))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, arrayContainsAll values: [Any]) -> Filter {
    Filter(.field(.path(path), .arrayContainsAll, values))
  }

  /// Matches documents whose `field` is an array with no other elements than `values`, which may be any
  /// number: an empty array matches. Null and NaN never match.
  public class func whereField(_ field: String, arrayContainedIn values: [Any]) -> Filter {
    Filter(.field(.dotted(field), .arrayContainedIn, values))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, arrayContainedIn values: [Any]) -> Filter {
    Filter(.field(.path(path), .arrayContainedIn, values))
  }

  /// Matches documents whose `field` is a string that begins with `prefix`, byte by byte in UTF-8.
  /// An index on the field serves it.
  public class func whereField(_ field: String, hasPrefix prefix: String) -> Filter {
    Filter(.field(.dotted(field), .hasPrefix, prefix))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, hasPrefix prefix: String) -> Filter {
    Filter(.field(.path(path), .hasPrefix, prefix))
  }

  /// Matches documents whose `field` is a string that ends with `suffix`, byte by byte in UTF-8.
  public class func whereField(_ field: String, hasSuffix suffix: String) -> Filter {
    Filter(.field(.dotted(field), .hasSuffix, suffix))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, hasSuffix suffix: String) -> Filter {
    Filter(.field(.path(path), .hasSuffix, suffix))
  }

  /// Matches documents whose `field` is a string that contains `text`, byte by byte in UTF-8.
  public class func whereField(_ field: String, containsText text: String) -> Filter {
    Filter(.field(.dotted(field), .containsText, text))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, containsText text: String) -> Filter {
    Filter(.field(.path(path), .containsText, text))
  }

  /// Matches documents whose `field` is a string that equals `text` if both are `lowercased()`.
  public class func whereField(_ field: String, equalsIgnoringCase text: String) -> Filter {
    Filter(.field(.dotted(field), .equalsIgnoringCase, text))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, equalsIgnoringCase text: String) -> Filter {
    Filter(.field(.path(path), .equalsIgnoringCase, text))
  }

  /// Matches documents whose `field` equals a value that some result of `query` has in `other`; by
  /// default, is a reference to a result.
  ///
  ///     let polish = db.collection("authors").whereField("country", isEqualTo: "PL")
  ///     let found = books.whereFilter(.whereField("author", isInResultsOf: polish))
  ///
  /// Both are read from one state, and listeners receive the changes of both. A result whose `other` is
  /// an array has each of its elements. Null and NaN never match. Such conditions may be nested 8 deep.
  public class func whereField(
    _ field: String, isInResultsOf query: Query, field other: FieldPath = .documentID()
  ) -> Filter {
    Filter(.results(.dotted(field), isArray: false, query, .path(other)))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(
    _ path: FieldPath, isInResultsOf query: Query, field other: FieldPath = .documentID()
  ) -> Filter {
    Filter(.results(.path(path), isArray: false, query, .path(other)))
  }

  /// Matches documents whose `field` is an array with an element that equals a value which some
  /// result of `query` has in `other`; see `whereField(_:isInResultsOf:field:)`.
  public class func whereField(
    _ field: String, arrayContainsAnyInResultsOf query: Query,
    field other: FieldPath = .documentID()
  ) -> Filter {
    Filter(.results(.dotted(field), isArray: true, query, .path(other)))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(
    _ path: FieldPath, arrayContainsAnyInResultsOf query: Query,
    field other: FieldPath = .documentID()
  ) -> Filter {
    Filter(.results(.path(path), isArray: true, query, .path(other)))
  }

  /// Matches documents that some result of `query` refers to: its `field` is a reference to the
  /// document, or an array with one.
  ///
  ///     let praised = db.collection("reviews").whereField("stars", isGreaterThan: 4)
  ///     let found = books.whereFilter(.exists(in: praised, referringBy: "book"))
  ///
  /// `notFilter` of it matches the documents that no result refers to.
  public class func exists(in query: Query, referringBy field: String) -> Filter {
    Filter(.results(.success(.documentID), isArray: false, query, .dotted(field)))
  }
  /// The same for a field given as a `FieldPath`.
  public class func exists(in query: Query, referringBy path: FieldPath) -> Filter {
    Filter(.results(.success(.documentID), isArray: false, query, .path(path)))
  }

  /// Matches documents whose `field` is a string in which a regular expression is found.
  ///
  ///     books.whereFilter(.whereField("isbn", matchesPattern: "^978-?0"))
  ///
  /// Takes time linear in the text, whatever the pattern. The syntax is that of most libraries; back
  /// references and look-around are refused with `invalidArgument`. `\\d`, `\\w`, `\\s` and `\\b` are
  /// ASCII. An index on the field serves a pattern that begins with `^` and literal characters.
  ///
  /// A pattern with long repetitions, such as `(y{1,300}y{1,300})z`, may take thousands of steps for
  /// each character. A text that needs more than 16,777,216 of them is an error, `invalidArgument`, of
  /// the query, the closure or the listener that tests it: such a document is never just not found.
  ///
  /// - Parameters:
  ///   - field: The field, with dots into maps.
  ///   - pattern: The regular expression. It may match anywhere in the string.
  ///   - options: Letters: `i` ignores case, `m` lets `^` and `$` match at lines, `s` lets `.`
  ///     match newlines, `x` ignores white space in the pattern.
  public class func whereField(
    _ field: String, matchesPattern pattern: String, options: String = ""
  ) -> Filter {
    Filter(.dotted(field)) { .init(field: $0, matching: pattern, options: options) }
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(
    _ path: FieldPath, matchesPattern pattern: String, options: String = ""
  ) -> Filter {
    Filter(.path(path)) { .init(field: $0, matching: pattern, options: options) }
  }

  /// Matches documents whose `field` is a `GeoPoint` at most `meters` away from `center`, on a sphere
  /// with the Earth's mean radius.
  ///
  ///     shops.whereFilter(.whereField("place", isWithin: 2000, metersOf: center))
  ///
  /// An index on the field's cells serves it: `FirestoreIndex("shops", .cells("place"))`.
  public class func whereField(
    _ field: String, isWithin meters: Double, metersOf center: GeoPoint
  ) -> Filter {
    Filter(.dotted(field), within: .circle(of: meters, around: center))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(
    _ path: FieldPath, isWithin meters: Double, metersOf center: GeoPoint
  ) -> Filter {
    Filter(.path(path), within: .circle(of: meters, around: center))
  }

  /// Matches documents whose `field` is a `GeoPoint` in a rectangle of degrees, its edges included. It
  /// crosses the antimeridian if its west is greater than its east. An index on cells serves it.
  public class func whereField(
    _ field: String, isWithinBoxFrom southwest: GeoPoint, to northeast: GeoPoint
  ) -> Filter {
    Filter(.dotted(field), within: .box(from: southwest, to: northeast))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(
    _ path: FieldPath, isWithinBoxFrom southwest: GeoPoint, to northeast: GeoPoint
  ) -> Filter {
    Filter(.path(path), within: .box(from: southwest, to: northeast))
  }

  /// Matches documents whose `field` is a `GeoPoint` in a polygon, its edges included: straight lines
  /// in the plane of degrees. It has 3 to 10,000 vertices and may be concave. An index on cells serves
  /// it.
  public class func whereField(
    _ field: String, isWithinPolygon vertices: [GeoPoint]
  ) -> Filter {
    Filter(.dotted(field), within: .polygon(of: vertices))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(
    _ path: FieldPath, isWithinPolygon vertices: [GeoPoint]
  ) -> Filter {
    Filter(.path(path), within: .polygon(of: vertices))
  }

  /// Matches documents whose `field` is a timestamp later than the time of the read plus `offset`.
  ///
  ///     let due = tasks.whereFilter(.notFilter(.whereField("due", isAfterNow: .zero)))
  ///     let soon = tasks.whereFilter(.whereField("due", isBeforeNow: .seconds(3600)))
  ///
  /// A listener's result changes when time passes. Results are not ordered by the field.
  ///
  /// - Parameters:
  ///   - field: The field, with dots into maps.
  ///   - offset: May be negative, for times in the past. In whole microseconds.
  public class func whereField(_ field: String, isAfterNow offset: Duration) -> Filter {
    Filter(.dotted(field), isBefore: false, nowPlus: offset)
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, isAfterNow offset: Duration) -> Filter {
    Filter(.path(path), isBefore: false, nowPlus: offset)
  }

  /// Matches documents whose `field` is a timestamp not later than the time of the read plus
  /// `offset`; see `whereField(_:isAfterNow:)`.
  public class func whereField(_ field: String, isBeforeNow offset: Duration) -> Filter {
    Filter(.dotted(field), isBefore: true, nowPlus: offset)
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(_ path: FieldPath, isBeforeNow offset: Duration) -> Filter {
    Filter(.path(path), isBefore: true, nowPlus: offset)
  }

  /// Matches documents whose `field` is a timestamp on one of some days, which are counted from the day of
  /// the read: 0 is today, 1 tomorrow.
  ///
  ///     let today = tasks.whereFilter(.whereField("due", isOnDays: 0...0, in: .current))
  ///     let lastWeek = tasks.whereFilter(.whereField("due", isOnDays: -7 ... -1, in: .gmt))
  ///
  /// A listener's result changes at midnight, without a write. A day starts and ends as clocks in the zone show it: it
  /// has 23 or 25 hours where they are put forward or back. Results are not ordered by the field. More than 4,000,000
  /// days from today are `invalidArgument`.
  ///
  /// - Parameters:
  ///   - field: The field, with dots into maps.
  ///   - days: The first and the last day.
  ///   - zone: Where it is that day. `TimeZone.current` is the zone of the process at the time of this call.
  public class func whereField(
    _ field: String, isOnDays days: ClosedRange<Int>, in zone: TimeZone
  ) -> Filter {
    between(days, in: zone, .dotted(field))
  }
  /// The same for a field given as a `FieldPath`.
  public class func whereField(
    _ path: FieldPath, isOnDays days: ClosedRange<Int>, in zone: TimeZone
  ) -> Filter {
    between(days, in: zone, .path(path))
  }

  /// Matches exactly the documents that `filter` does not match, also those without its fields.
  ///
  ///     let other = Filter.notFilter(.whereField("author", isEqualTo: "Herbert"))
  ///
  /// `isNotEqualTo` differs: it matches only documents that have the field, if it is not null, and
  /// orders the results by it. The negation of an empty list of filters is no condition.
  public class func notFilter(_ filter: Filter) -> Filter {
    Filter(.negation(filter), of: [filter])
  }

  /// Matches the same documents as `filter`, whose inequalities are only conditions then.
  ///
  ///     let found = books.whereFilter(
  ///       .unordered(.orFilter([
  ///         .whereField("pages", isGreaterThan: 400), .whereField("tags", arrayContains: "long"),
  ///       ])))
  ///
  /// In Firestore, an inequality also orders the results by its field, and documents without that field
  /// are no results, even if another member of an `orFilter` matches them. A query with `unordered` has
  /// the orders that it names, may have any number of inequalities, and finds the documents with the tag
  /// that have no number of pages.
  ///
  /// Firestore's limits of 30 alternatives, of 10 and 30 values in a list, of one `arrayContains`, and
  /// of 100 filters do not apply to these conditions: a query takes time in proportion to their number.
  /// Beyond 30 alternatives an index serves only what all of them have in common.
  public class func unordered(_ filter: Filter) -> Filter {
    Filter(.unordered(filter), of: [filter])
  }

  /// Matches the documents that `filter` matches if its dotted fields also lead through arrays: a name
  /// after an array leads into each of its elements that is a map.
  ///
  ///     // doses: [{drug: "ibu", amount: 2}, {drug: "asa", amount: 1}]
  ///     let found = books.whereFilter(.throughArrays(.whereField("doses.drug", isEqualTo: "ibu")))
  ///
  /// Each condition holds if one of the values that its field leads to passes; two conditions may hold for
  /// two elements. `notFilter` of it matches documents in which none passes. No index serves such a
  /// condition, except for one on the first name, which finds the documents that have it. The query
  /// fails with `invalidArgument` for a condition on the results of a query, and for one relative to the
  /// time of the read.
  public class func throughArrays(_ filter: Filter) -> Filter {
    Filter(.throughArrays(filter), of: [filter])
  }

  /// Returns a function that tests data by the filter, as a query tests the data of a document.
  ///
  ///     let isLong = try Filter.whereField("pages", isGreaterThan: 1000).predicate(in: db)
  ///     let draft: [String: Any] = ["title": "The Stand", "pages": 1153]
  ///     if try isLong(draft) { print("It is long.") }
  ///
  /// The data belongs to no document: its id equals no other. Firestore's limits do not apply, as in
  /// `unordered(_:)`. Throws `invalidArgument` for an invalid filter, for a condition on the results of a
  /// query, and for one relative to the time of the read. The function throws it for data that no document
  /// can have, such as a `FieldValue` or an array in an array, and for a pattern that takes too many
  /// steps. Call the function on one thread at a time.
  public func predicate(in firestore: Firestore) throws -> ([String: Any]) throws -> Bool {
    let query = firestore.collection("data").whereFilter(.unordered(self))
    let passes = try reporting { try query.checked().predicate() }
    let database = firestore.databaseIdentity
    return { data in
      try reporting {
        var reader = UserDataReader(source: .argument, database: database)
        return try passes(reader.readFields(data))
      }
    }
  }
}

extension GeoRegion {
  fileprivate static func circle(of meters: Double, around center: GeoPoint) -> GeoRegion {
    .circle(latitude: center.latitude, longitude: center.longitude, radiusMeters: meters)
  }

  fileprivate static func box(from southwest: GeoPoint, to northeast: GeoPoint) -> GeoRegion {
    .box(
      south: southwest.latitude, west: southwest.longitude, north: northeast.latitude,
      east: northeast.longitude)
  }

  fileprivate static func polygon(of vertices: [GeoPoint]) -> GeoRegion {
    .polygon(vertices.map { .init(latitude: $0.latitude, longitude: $0.longitude) })
  }
}

extension Duration {
  /// Rounded toward zero; the nearest number if there are too many.
  fileprivate var microseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (sum, overflows) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000)
    return overflow || overflows ? (seconds < 0 ? .min : .max) : sum
  }
}

extension Result where Success == FieldSegments, Failure == Status {
  /// The field with a name in which dots lead into maps.
  // As in Firestore, a dotted string may also be `__name__`.
  static func dotted(_ field: String) -> Self {
    Result { () throws(Status) in try FieldSegments(dotted: field) }
  }

  static func path(_ path: FieldPath) -> Self {
    Result { () throws(Status) in try path.segments() }
  }
}
