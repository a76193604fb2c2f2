import Dispatch
import Foundation
import Hearth

/// A query for the objects of a class.
///
///     let books = try Book.query("publishingYear" > 1960)
///       .order([.descending("publishingYear")]).limit(10).include("isbn")
///       .find()
///
/// Without an order, results are in the order of their ids. There is no limit unless one is set.
public struct Query<T: ParseObject>: Sendable {
  /// The order of results by one key.
  public enum Order: Hashable, Sendable {
    case ascending(String)
    case descending(String)
  }

  private var constraints: [QueryConstraint]
  private var orders: [Order] = []
  private var limit: Int?
  private var skip = 0
  private var includes: [String] = []

  init(_ constraints: [QueryConstraint]) { self.constraints = constraints }

  // MARK: Building

  /// Adds conditions: results meet all of them, also several of one key.
  public func `where`(_ constraints: QueryConstraint...) -> Query<T> {
    var query = self
    query.constraints += constraints
    return query
  }

  /// The largest number of results; negative numbers set no limit.
  public func limit(_ value: Int) -> Query<T> {
    var query = self
    query.limit = value < 0 ? nil : value
    return query
  }

  /// The number of results to leave out at the beginning.
  public func skip(_ value: Int) -> Query<T> {
    var query = self
    query.skip = max(0, value)
    return query
  }

  /// Orders results by these keys, the first one first. Objects without one of them are no results.
  public func order(_ orders: [Order]?) -> Query<T> {
    var query = self
    query.orders = orders ?? []
    return query
  }

  /// Reads objects of these keys with the results. Dots lead on: `author.publisher`. Objects that do not
  /// exist keep only their ids.
  public func include(_ keys: String...) -> Query<T> { include(keys) }

  /// Same as `include(_:)`, with a list.
  public func include(_ keys: [String]) -> Query<T> {
    var query = self
    query.includes += keys
    return query
  }

  // MARK: Reading

  /// The results. Throws `ParseError`.
  public func find() throws(ParseError) -> [T] {
    if limit == 0 { return [] }
    return try reporting {
      let firestore = try ParseSwift.firestore
      let query = try built(in: firestore)
      let paths = IncludePath.tree(includes)
      if paths.isEmpty {
        return try ObjectReading.objects(
          firestore.blocking.getDocuments(query).documents, as: T.self)
      }
      let including = query.including(paths.map(\.inclusion))
      return try ObjectReading.objects(
        firestore.blocking.getDocuments(including).documents, as: T.self, including: paths)
    }
  }

  /// The form that suspends.
  public func find() async throws(ParseError) -> [T] {
    if limit == 0 { return [] }
    return try await reporting {
      let firestore = try ParseSwift.firestore
      let query = try built(in: firestore)
      let paths = IncludePath.tree(includes)
      if paths.isEmpty {
        return try ObjectReading.objects(await query.getDocuments().documents, as: T.self)
      }
      let including = query.including(paths.map(\.inclusion))
      return try ObjectReading.objects(
        await including.getDocuments().documents, as: T.self, including: paths)
    }
  }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
  public func find(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<[T], ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await find() }
  }

  /// The first result. Throws `ParseError` with `.objectNotFound` if there is none.
  public func first() throws(ParseError) -> T {
    guard let first = try atMostOne.find().first else { throw ObjectGraph.notFound }
    return first
  }

  /// The form that suspends.
  public func first() async throws(ParseError) -> T {
    guard let first = try await atMostOne.find().first else { throw ObjectGraph.notFound }
    return first
  }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
  public func first(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<T, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await first() }
  }

  private var atMostOne: Query<T> { limit(min(limit ?? 1, 1)) }

  /// The number of results. Reads no objects where an index has what the conditions need. Throws
  /// `ParseError`.
  public func count() throws(ParseError) -> Int {
    if limit == 0 { return 0 }
    return try reporting {
      let firestore = try ParseSwift.firestore
      return try firestore.blocking.getAggregation(built(in: firestore).count).count.intValue
    }
  }

  /// The form that suspends.
  public func count() async throws(ParseError) -> Int {
    if limit == 0 { return 0 }
    return try await reporting {
      try await built(in: ParseSwift.firestore).count.getAggregation(source: .server).count.intValue
    }
  }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
  public func count(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Int, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await count() }
  }

  // MARK: For Firestore's API

  /// The query for the documents.
  func built(in firestore: Firestore) throws -> Hearth.Query {
    var query: Hearth.Query = firestore.collection(T.className)
    for constraint in constraints { query = query.whereFilter(try constraint.filter(firestore)) }
    for order in orders {
      switch order {
      case .ascending(let key): query = query.order(by: try QueryConstraint.path(key))
      case .descending(let key):
        query = query.order(by: try QueryConstraint.path(key), descending: true)
      }
    }
    if skip > 0 { query = query.offset(skip) }
    if let limit { query = query.limit(to: limit) }
    return query
  }

  /// The query for the documents, with the objects to include.
  func including(in firestore: Firestore) throws -> (query: IncludingQuery, paths: [IncludePath]) {
    let paths = IncludePath.tree(includes)
    return (try built(in: firestore).including(paths.map(\.inclusion)), paths)
  }
}

extension ParseObject {
  /// A query for the objects of the class that meet all conditions.
  public static func query(_ constraints: QueryConstraint...) -> Query<Self> { query(constraints) }

  /// Same as `query(_:)`, with a list.
  public static func query(_ constraints: [QueryConstraint]) -> Query<Self> { Query(constraints) }
}
