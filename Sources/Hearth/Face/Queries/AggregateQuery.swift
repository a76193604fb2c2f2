import Foundation

extension Query {
  /// A query that counts the results.
  ///
  ///     let books = try await db.collection("books").count.getAggregation(source: .server).count
  public var count: AggregateQuery { aggregate([.count()]) }

  /// A query that counts, sums and averages: up to five aggregations at once.
  ///
  ///     let pages = AggregateField.sum("pages")
  ///     let totals = try await books.aggregate([.count(), pages]).getAggregation(source: .server)
  ///     print(totals.count, totals.get(pages))
  ///
  /// A document contributes, also to `count()`, only if it has every field that is summed or
  /// averaged. As in Firestore, a limit without an order takes the documents in the order of these
  /// fields, and not of the names: `limit(to: 3)` and `sum("pages")` add the three smallest numbers.
  ///
  /// A query with `limit(toLast:)` and no order can be counted. With a sum or an average it throws
  /// `invalidArgument`, because no order says which results are the last.
  public func aggregate(_ fields: [AggregateField]) -> AggregateQuery {
    AggregateQuery(self, fields)
  }
}

/// A query that returns aggregations of its results instead of documents.
public final class AggregateQuery: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  /// The query whose results are aggregated.
  public let query: Query
  /// Without duplicates.
  fileprivate let fields: [AggregateField]

  fileprivate init(_ query: Query, _ fields: [AggregateField]) {
    self.query = query
    var seen: Set<AggregateField> = []
    self.fields = fields.filter { seen.insert($0).inserted }
  }

  /// Returns the aggregations, all as of one commit. `source` has no effect.
  ///
  /// Throws `invalidArgument` for an invalid query, an invalid field, no aggregation or more than
  /// five.
  @discardableResult
  public func getAggregation(source: AggregateSource) async throws -> AggregateQuerySnapshot {
    try await read()
  }

  /// Calls `completion` with the aggregations or an error; see `getAggregation(source:)`.
  public func getAggregation(
    source: AggregateSource, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (AggregateQuerySnapshot?, Error?) -> Void
  ) {
    read(query.firestore.callbackTarget(isolation), completion)
  }

  /// The number of results does not depend on their order.
  var isOnlyCounted: Bool { fields.allSatisfy(\.isCount) }

  /// - Parameter firestore: The database that the query must belong to. Nil: any.
  func checked(
    in firestore: Firestore? = nil
  ) throws(Status) -> (aggregations: [Aggregation], over: StructuredQuery) {
    let checked = try query.checked(in: firestore, isOnlyCounted: isOnlyCounted)
    let aggregations = try fields.map { field throws(Status) in Aggregation(try field.kind.get()) }
    try checked.checkOnlyAggregations(aggregations)
    return (aggregations, checked)
  }

  /// Whether the other one aggregates the same fields in the same way, over an equal query.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateQuery else { return false }
    return query == other.query && fields == other.fields
  }

  public override var hash: Int { Hasher.hash(query.hash, fields) }
}

extension AggregateQuery: Readable {
  func request(in firestore: Firestore?) throws(Status) -> ReadRequest {
    let (aggregations, checked) = try checked(in: firestore)
    return .values(of: aggregations, over: checked)
  }

  func shown(_ answer: ReadAnswer) throws -> AggregateQuerySnapshot {
    AggregateQuerySnapshot(self, try answer.values)
  }
}

/// The result of an aggregate query, as of one commit.
public final class AggregateQuerySnapshot: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  /// The query that returned this result.
  public let query: AggregateQuery
  private let values: [Value]

  init(_ query: AggregateQuery, _ values: [Value]) {
    self.query = query
    self.values = values
  }

  /// The number of results. Not a number (NaN) if the query did not request `count()`.
  ///
  /// Firebase's SDK raises an exception in that case, which Swift cannot catch. Hearth does not end
  /// the process: it logs Firebase's message at the level critical and returns NaN. NaN equals no
  /// count; 0 would look like one. `value(of:)` throws instead.
  public var count: NSNumber { self.get(.count()) as? NSNumber ?? NSNumber(value: Double.nan) }

  /// A requested number: `NSNumber`, or `NSNull` for the average of no numbers.
  ///
  /// Returns `NSNull` for a number that was not requested, and logs that at the level critical; see
  /// `count` for the reason. `value(of:)` throws instead.
  public func get(_ field: AggregateField) -> Any {
    do throws(Status) {
      return AnyBridge.any(try requested(field)) { $0 }
    } catch {
      Firestore.logger.critical("\(error.message)")
      return NSNull()
    }
  }

  /// A requested number. Nil for the average of no numbers.
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

  /// Whether the other one has the same values, of an equal query.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateQuerySnapshot else { return false }
    return query == other.query && values == other.values
  }

  public override var hash: Int { Hasher.hash(query.hash, values) }
}
