import Foundation

extension Query {
  /// A query that groups the results by the values of fields, and aggregates each group.
  ///
  ///     let pages = AggregateField.sum("pages")
  ///     let groups = try await db.collection("books")
  ///       .group(by: ["author"], aggregating: [.count(), pages])
  ///       .having(.count(), isGreaterThan: 10)
  ///       .order(by: pages, descending: true)
  ///       .limit(to: 3)
  ///       .getGroups()
  ///     for group in groups { print(group["author"] ?? "-", group.count, group.get(pages)) }
  ///
  /// A document that lacks one of the fields belongs to the group with null. Values are equal as in
  /// queries: 1 and 1.0 are one group, whose value is the integer. A document that lacks an aggregated
  /// field counts, but does not contribute to that aggregation. Without fields all results are one
  /// group, if there are any.
  public func group(
    by fields: [String], aggregating aggregates: [AggregateField] = [.count()]
  ) -> GroupedAggregateQuery {
    GroupedAggregateQuery(self, fields.map { .dotted($0) }, aggregates)
  }

  /// The same for fields given as `FieldPath`s.
  public func group(
    by paths: [FieldPath], aggregating aggregates: [AggregateField] = [.count()]
  ) -> GroupedAggregateQuery {
    GroupedAggregateQuery(self, paths.map { .path($0) }, aggregates)
  }
}

/// A query that returns groups of its results; see `Query.group(by:aggregating:)`.
///
/// Each method returns a query with one more condition. An invalid query fails with `invalidArgument`
/// when it is used.
public struct GroupedAggregateQuery: Sendable, Readable {
  /// The query whose results are grouped.
  public let query: Query
  private let fields: [Result<FieldSegments, Status>]
  /// Without duplicates.
  fileprivate private(set) var aggregates: [AggregateField]
  private var having: [(AggregateField, StructuredQuery.Comparison.Operator, Value)] = []
  private var orders: [(output: Output, isDescending: Bool)] = []
  private var limit: Int?
  private var offset = 0
  private var error: Status?

  private enum Output {
    case field(Result<FieldSegments, Status>)
    case aggregate(AggregateField)
  }

  fileprivate init(
    _ query: Query, _ fields: [Result<FieldSegments, Status>], _ aggregates: [AggregateField]
  ) {
    self.query = query
    self.fields = fields
    var seen: Set<AggregateField> = []
    self.aggregates = aggregates.filter { seen.insert($0).inserted }
  }

  // MARK: Conditions on groups

  /// Returns only groups whose aggregation equals `value`.
  public func having(_ aggregate: AggregateField, isEqualTo value: Any) -> Self {
    condition(aggregate, .equal, value)
  }

  /// Returns only groups whose aggregation is neither null nor equal to `value`.
  public func having(_ aggregate: AggregateField, isNotEqualTo value: Any) -> Self {
    condition(aggregate, .notEqual, value)
  }

  /// Returns only groups whose aggregation is less than `value`.
  public func having(_ aggregate: AggregateField, isLessThan value: Any) -> Self {
    condition(aggregate, .lessThan, value)
  }

  /// Returns only groups whose aggregation is less than or equal to `value`.
  public func having(_ aggregate: AggregateField, isLessThanOrEqualTo value: Any) -> Self {
    condition(aggregate, .lessThanOrEqual, value)
  }

  /// Returns only groups whose aggregation is greater than `value`.
  public func having(_ aggregate: AggregateField, isGreaterThan value: Any) -> Self {
    condition(aggregate, .greaterThan, value)
  }

  /// Returns only groups whose aggregation is greater than or equal to `value`.
  public func having(_ aggregate: AggregateField, isGreaterThanOrEqualTo value: Any) -> Self {
    condition(aggregate, .greaterThanOrEqual, value)
  }

  private func condition(
    _ aggregate: AggregateField, _ operator: StructuredQuery.Comparison.Operator, _ value: Any
  ) -> Self {
    changed { grouped in
      do throws(Status) {
        let operand = try UserDataReader.argument(
          value, database: query.firestore.databaseIdentity, allowsNestedArrays: false)
        grouped.having.append((aggregate, `operator`, operand))
      } catch {
        grouped.error = grouped.error ?? error
      }
    }
  }

  // MARK: Order and limits of groups

  /// Orders the groups by an aggregation. Groups are ordered by their fields at last, ascending.
  public func order(by aggregate: AggregateField, descending: Bool = false) -> Self {
    changed { $0.orders.append((.aggregate(aggregate), descending)) }
  }

  /// Orders the groups by one of the fields that they are formed by.
  public func order(by field: String, descending: Bool = false) -> Self {
    changed { $0.orders.append((.field(.dotted(field)), descending)) }
  }

  /// The same for a field given as a `FieldPath`.
  public func order(by path: FieldPath, descending: Bool = false) -> Self {
    changed { $0.orders.append((.field(.path(path)), descending)) }
  }

  /// Returns at most that many groups.
  public func limit(to limit: Int) -> Self { changed { $0.limit = limit } }

  /// Skips the first groups.
  public func offset(_ count: Int) -> Self { changed { $0.offset = count } }

  private func changed(_ change: (inout Self) -> Void) -> Self {
    var grouped = self
    change(&grouped)
    return grouped
  }

  // MARK: Reading

  /// Returns the groups, all as of one commit.
  ///
  /// Throws `invalidArgument` for an invalid query, and for a condition or an order by an aggregation
  /// or a field that the query does not have.
  public func getGroups() async throws -> [AggregateGroup] { try await read() }

  func request(in firestore: Firestore?) throws(Status) -> ReadRequest {
    .groups(try checked(in: firestore))
  }

  func shown(_ answer: ReadAnswer) throws -> [AggregateGroup] { groups(try answer.groups) }

  private func groups(_ groups: [QueryGroup]) -> [AggregateGroup] {
    // Only a valid query has groups.
    let places = AggregateGroup.Places(self, fields.compactMap { try? $0.get() })
    return groups.map { AggregateGroup(places: places, group: $0) }
  }

  // MARK: Listening

  /// Calls `listener` with the groups, and again after each commit that changes them; see
  /// `Query.addSnapshotListener(_:)`.
  ///
  ///     let registration = db.collection("books").group(by: ["author"])
  ///       .addSnapshotListener { groups, error in
  ///         for group in groups ?? [] { print(group["author"] ?? "-", group.count) }
  ///       }
  ///
  /// The aggregations are updated from the changes, without reading the results again.
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping ([AggregateGroup]?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(query.firestore.callbackTarget(isolation), listener)
  }

  func watched() throws -> SnapshotRegistration.Watched {
    let grouped = try checked()
    try query.refuseListeningToSearch()
    return (try query.firestore.database().backend, .groups(grouped))
  }

  func shown(_ event: ResultEvent) -> [AggregateGroup] {
    groups(
      (event.values ?? []).map { value in
        guard case .array(let values) = value else { return QueryGroup(keys: [], values: []) }
        return QueryGroup(
          keys: Array(values.prefix(fields.count)), values: Array(values.dropFirst(fields.count)))
      })
  }

  /// - Parameter firestore: The database that the query must belong to. Nil: any.
  func checked(in firestore: Firestore? = nil) throws(Status) -> GroupedQuery {
    if let error { throw error }
    let results = try query.checked(in: firestore)
    let keys = try fields.map { field throws(Status) in try field.get() }
    let places = AggregateGroup.Places(self, keys)
    func position(of aggregate: AggregateField) throws(Status) -> FieldSegments {
      guard let index = places.aggregates[aggregate] else {
        throw .invalidArgument("'\(aggregate.call)' was not requested in the aggregation query")
      }
      return GroupedQuery.field(ofAggregation: index)
    }
    var aggregations = try aggregates.map { one throws(Status) in Aggregation(try one.kind.get()) }
    if places.count == aggregates.count { aggregations.append(Aggregation(.count(upTo: nil))) }
    var grouped = GroupedQuery(results, by: keys, aggregations)
    grouped.limit = limit
    grouped.offset = offset
    for (aggregate, `operator`, operand) in having {
      grouped.having.append(
        .comparison(
          StructuredQuery.Comparison(
            field: try position(of: aggregate), operator: `operator`, operand: operand)))
    }
    for (output, isDescending) in orders {
      let field: FieldSegments
      switch output {
      case .aggregate(let aggregate): field = try position(of: aggregate)
      case .field(let name):
        let name = try name.get()
        guard let index = places.fields[name] else {
          throw .invalidArgument("The query does not group by \(name.canonicalText).")
        }
        field = GroupedQuery.field(ofKey: index)
      }
      grouped.orders.append(StructuredQuery.Order(field: field, isDescending: isDescending))
    }
    try grouped.checkOnlyGroups()
    return grouped
  }
}

/// A group of documents with equal values, and its aggregations.
public struct AggregateGroup: Sendable {
  /// Where the values of fields and aggregations are, in all groups of one result.
  fileprivate final class Places: Sendable {
    let firestore: Firestore
    let fields: [FieldSegments: Int]
    let aggregates: [AggregateField: Int]
    /// The position of the number of documents: after the aggregations, if they have no `count()`.
    let count: Int

    init(_ query: GroupedAggregateQuery, _ fields: [FieldSegments]) {
      firestore = query.query.firestore
      self.fields = Dictionary(
        zip(fields, fields.indices), uniquingKeysWith: { first, _ in first })
      aggregates = Dictionary(
        zip(query.aggregates, query.aggregates.indices), uniquingKeysWith: { first, _ in first })
      count = query.aggregates.firstIndex(where: \.isCount) ?? query.aggregates.count
    }
  }

  fileprivate let places: Places
  fileprivate let group: QueryGroup

  /// The value of a field that all documents of the group have; `NSNull` for documents without it. Nil
  /// for a field that the query does not group by.
  public subscript(field: String) -> Any? {
    guard let names = try? FieldSegments(dotted: field) else { return nil }
    return value(of: names)
  }

  /// The same for a field given as a `FieldPath`.
  public subscript(path: FieldPath) -> Any? {
    guard let names = try? path.segments() else { return nil }
    return value(of: names)
  }

  private func value(of field: FieldSegments) -> Any? {
    guard let index = places.fields[field], index < group.keys.count else { return nil }
    return any(group.keys[index])
  }

  /// An aggregation. `NSNull` for the average, the smallest or the largest of no values, and for an
  /// aggregation that was not requested.
  public func get(_ aggregate: AggregateField) -> Any {
    places.aggregates[aggregate].map(value) ?? NSNull()
  }

  /// The number of documents in the group, even if the query did not request `count()`.
  public var count: Int {
    guard places.count < group.values.count, case .integer(let count) = group.values[places.count]
    else { return 0 }
    return Int(clamping: count)
  }

  private func value(_ index: Int) -> Any {
    index < group.values.count ? any(group.values[index]) : NSNull()
  }

  private func any(_ value: Value) -> Any {
    let firestore = places.firestore
    return AnyBridge.any(value) { DocumentReference(firestore, $0) }
  }
}
