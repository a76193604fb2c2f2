import Foundation

extension Query {
  /// Counts the results.
  ///
  ///     let books = try await db.collection("books").count.getAggregation(source: .server).count
  public var count: AggregateQuery { aggregate([.count()]) }

  /// Counts, adds up and averages, up to five of them at once.
  ///
  ///     let pages = AggregateField.sum("pages")
  ///     let totals = try await books.aggregate([.count(), pages]).getAggregation(source: .server)
  ///     print(totals.count, totals.get(pages))
  ///
  /// A document counts, also in `count()`, if it has every field that is added up or averaged.
  ///
  /// A query with `limit(toLast:)` and no order can be counted. Its sums and averages fail with `invalidArgument`:
  /// no order says which results are the last.
  public func aggregate(_ fields: [AggregateField]) -> AggregateQuery {
    AggregateQuery(self, fields)
  }
}

/// A query whose results are added up where they are.
public final class AggregateQuery: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  public let query: Query
  /// Each once.
  fileprivate let fields: [AggregateField]

  fileprivate init(_ query: Query, _ fields: [AggregateField]) {
    self.query = query
    var seen: Set<AggregateField> = []
    self.fields = fields.filter { seen.insert($0).inserted }
  }

  @discardableResult
  public func getAggregation(source: AggregateSource) async throws -> AggregateQuerySnapshot {
    try await reporting {
      let (aggregations, checked) = try checked()
      let backend = try query.firestore.database().backend
      let values = try await backend.awaiting {
        backend.aggregate(aggregations, over: checked, .lent, $0)
      }
      return AggregateQuerySnapshot(self, values)
    }
  }

  public func getAggregation(
    source: AggregateSource, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (AggregateQuerySnapshot?, Error?) -> Void
  ) {
    let callback = Callback<Result<AggregateQuerySnapshot, NSError>> { result in
      switch result {
      case .success(let snapshot): completion(snapshot, nil)
      case .failure(let error): completion(nil, error)
      }
    }
    query.answer(query.firestore.courier(isolation), callback) {
      let (aggregations, checked) = try checked()
      let backend = try query.firestore.database().backend
      return { backend.aggregate(aggregations, over: checked, .busy, $0) }
    } showing: { [self] in
      AggregateQuerySnapshot(self, $0)
    }
  }

  /// The number of results does not depend on their order.
  var isOnlyCounted: Bool { fields.allSatisfy(\.isCount) }

  func checked() throws(Status) -> (aggregations: [Aggregation], over: StructuredQuery) {
    let checked = try query.checked(isOnlyCounted: isOnlyCounted)
    var aggregations: [Aggregation] = []
    for field in fields { aggregations.append(Aggregation(try field.kind.get())) }
    try query.structured.check(aggregations, cursorsReachImpliedOrders: true)
    return (aggregations, checked)
  }

  /// As `checked()`; the query has to be one of this database.
  func checked(
    in firestore: Firestore
  ) throws(Status) -> (aggregations: [Aggregation], over: StructuredQuery) {
    try query.check(in: firestore)
    return try checked()
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateQuery else { return false }
    return query == other.query && fields == other.fields
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(query.hash)
    hasher.combine(fields)
    return hasher.finalize()
  }
}

/// What an aggregate query found, as it was at one moment.
public final class AggregateQuerySnapshot: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  public let query: AggregateQuery
  private let values: [Value]

  init(_ query: AggregateQuery, _ values: [Value]) {
    self.query = query
    self.values = values
  }

  /// How many results there are. Not a number (NaN) if the query did not request `count()`.
  ///
  /// Firebase's SDK raises an exception there, which Swift cannot catch. Hearth does not end the process. It logs
  /// Firebase's sentence at the level critical and returns NaN, which equals no count: 0 would pass for one.
  /// `value(of:)` throws instead.
  public var count: NSNumber { self.get(.count()) as? NSNumber ?? NSNumber(value: Double.nan) }

  /// A requested number: `NSNumber`, or `NSNull` for the average of no numbers.
  ///
  /// `NSNull` for a number that was not requested, which is also logged at the level critical; see `count` for the
  /// reason. `value(of:)` throws instead.
  public func get(_ field: AggregateField) -> Any {
    do throws(Status) {
      return AnyBridge.any(try requested(field)) { $0 }
    } catch {
      Firestore.logger.critical("\(error.message)")
      return NSNull()
    }
  }

  /// A requested number; nil for the average of no numbers.
  ///
  ///     let pages = try totals.value(of: .sum("pages"))?.int64Value
  ///
  /// Throws `invalidArgument` if the query did not request it.
  public func value(of field: AggregateField) throws -> NSNumber? {
    do throws(Status) {
      return AnyBridge.any(try requested(field)) { $0 } as? NSNumber
    } catch {
      throw error.nsError
    }
  }

  private func requested(_ field: AggregateField) throws(Status) -> Value {
    guard let index = query.fields.firstIndex(of: field), index < values.count else {
      throw .invalidArgument("'\(field.call)' was not requested in the aggregation query")
    }
    return values[index]
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateQuerySnapshot else { return false }
    return query == other.query && values == other.values
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(query.hash)
    hasher.combine(values)
    return hasher.finalize()
  }
}
