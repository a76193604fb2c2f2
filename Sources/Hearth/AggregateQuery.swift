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
      let (aggregations, effective) = try checked()
      let database = try query.firestore.database()
      await database.writer.settle(effective.scope.readScope)
      return try database.store.read {
        AggregateQuerySnapshot(
          self, try database.aggregate(aggregations, over: effective, in: $0))
      }
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
    query.answer(query.firestore.courier(isolation), callback) { [self] database, snapshot in
      let (aggregations, effective) = try checked()
      return AggregateQuerySnapshot(
        self, try database.aggregate(aggregations, over: effective, in: snapshot))
    }
  }

  func checked() throws(Status) -> ([Aggregation], EffectiveQuery) {
    let effective = try query.effective()
    var aggregations: [Aggregation] = []
    for field in fields { aggregations.append(Aggregation(try field.kind.get())) }
    try query.structured.check(aggregations, cursorsReachImpliedOrders: true)
    return (aggregations, effective)
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

  /// How many, if that was asked.
  public var count: NSNumber { self.get(.count()) as? NSNumber ?? 0 }

  /// A number that was asked for: `NSNumber`, or `NSNull` for the average of nothing. What was not
  /// asked for is `NSNull` too, and logged as an error.
  public func get(_ field: AggregateField) -> Any {
    guard let index = query.fields.firstIndex(of: field) else {
      Firestore.logger.error("'\(field)' was not requested in the aggregation query.")
      return NSNull()
    }
    return AnyBridge.any(values[index]) { $0 }
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
