import Dispatch
import Foundation
import Hearth

extension Query {
  // MARK: Reading

  /// Reads the results, all from one state of the database.
  ///
  ///     let books = try Book.query("publishingYear" > 1960).find()
  ///
  /// Throws `ParseError`: `.invalidQuery`, `.invalidKeyName`, `.invalidClassName` and
  /// `.invalidValue` for a query that cannot be executed, `.missingObjectId` for a condition with
  /// an unsaved object, `.incorrectType` if a stored value is not of its property's type,
  /// `.notInitialized`, and `.internalServer` if the database fails. The error of an object that cannot
  /// be read names it; `findReadable()` returns the others.
  public func find() throws(ParseError) -> [T] { try finding(.fail).objects }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func find() async throws(ParseError) -> [T] { try await finding(.fail).objects }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func find(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<[T], ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await find() }
  }

  /// Reads the results that can be read, and the errors of those that cannot.
  ///
  ///     let found = try Book.query().findReadable()
  ///     for failure in found.failures {
  ///       print(failure.className ?? "", failure.objectId ?? "", failure.key ?? "", failure.message)
  ///     }
  ///
  /// Throws as `find()`, but not for a stored value that is not of its property's type.
  public func findReadable() throws(ParseError) -> ReadableObjects<T> { try finding(.collect) }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func findReadable() async throws(ParseError) -> ReadableObjects<T> {
    try await finding(.collect)
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func findReadable(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<ReadableObjects<T>, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await findReadable() }
  }

  private static var none: ReadableObjects<T> { ReadableObjects(objects: [], failures: []) }

  private func finding(
    _ unreadable: ObjectReading.Unreadable
  ) throws(ParseError) -> ReadableObjects<T> {
    if limit == 0 { return Self.none }
    return try reporting {
      let context = try ParseSwift.context
      if let (query, edges) = try page(context) {
        let found = try context.firestore.blocking.getDocuments(query).documents
        if let objects = edges.objects(found, T.className) {
          return try read(objects, context, unreadable)
        }
      }
      let database = context.firestore.blocking
      return try found(context, unreadable, database.getDocuments, database.getDocuments)
    }
  }

  /// The results, read with closures.
  private func found(
    _ context: QueryContext, _ unreadable: ObjectReading.Unreadable,
    _ documents: (Hearth.Query) throws -> QuerySnapshot,
    _ including: (IncludingQuery) throws -> IncludingSnapshot
  ) throws -> ReadableObjects<T> {
    for required in try requiredKeys(context) {
      let query = try built(context, requiring: required)
      if paths.isEmpty {
        let found = try documents(query).documents
        if required == nil || found.count == limit { return try read(found, context, unreadable) }
      } else {
        let found = try including(query.including(paths.map(\.inclusion))).documents
        if required == nil || found.count == limit { return try read(found, context, unreadable) }
      }
    }
    return Self.none
  }

  /// The keys that are required of results, one attempt after another, until the page is full. The last
  /// one requires nothing.
  private func requiredKeys(_ context: QueryContext) throws -> [String?] {
    try leadingKey(context).map { [$0, nil] } ?? [nil]
  }

  private func finding(
    _ unreadable: ObjectReading.Unreadable
  ) async throws(ParseError) -> ReadableObjects<T> {
    if limit == 0 { return Self.none }
    return try await reporting {
      let context = try ParseSwift.context
      if let (query, edges) = try page(context) {
        let found = try await query.getDocuments().documents
        if let objects = edges.objects(found, T.className) {
          return try read(objects, context, unreadable)
        }
      }
      for required in try requiredKeys(context) {
        let query = try built(context, requiring: required)
        if paths.isEmpty {
          let found = try await query.getDocuments().documents
          if required == nil || found.count == limit { return try read(found, context, unreadable) }
        } else {
          let found = try await query.including(paths.map(\.inclusion)).getDocuments().documents
          if required == nil || found.count == limit { return try read(found, context, unreadable) }
        }
      }
      return Self.none
    }
  }

  /// The objects of documents, as they are returned.
  func read(
    _ documents: [IncludingDocument], _ context: QueryContext,
    _ unreadable: ObjectReading.Unreadable
  ) throws -> ReadableObjects<T> {
    arranged(
      try ObjectReading.objects(documents, as: T.self, including: paths, context, unreadable),
      context)
  }

  /// The same without included objects.
  func read(
    _ documents: [DocumentSnapshot], _ context: QueryContext,
    _ unreadable: ObjectReading.Unreadable
  ) throws -> ReadableObjects<T> {
    arranged(
      try ObjectReading.objects(documents, as: T.self, context, unreadable), context)
  }

  /// In the order of distances, if that is the query's.
  private func arranged(
    _ found: ReadableObjects<T>, _ context: QueryContext
  ) -> ReadableObjects<T> {
    guard let center else { return found }
    var arranged = found
    let sorted = found.objects.map { object in
      (
        object,
        distance: ObjectReading.point(center.key, of: object, context)?
          .distanceInRadians(center.point)
      )
    }.sorted { ($0.distance ?? .infinity) < ($1.distance ?? .infinity) }.map(\.0)
    arranged.objects = Array(sorted.dropFirst(skip).prefix(limit ?? .max))
    return arranged
  }

  /// Same as `find()`, for a query for all objects. Throws as it does, and `ParseError` with
  /// `.invalidQuery` for a query that has orders, a limit, a cursor, or results to skip.
  ///
  /// - Parameter batchLimit: Has no effect. In Parse's SDK, the number of objects in a request;
  ///   here, all results are from one state of the database.
  public func findAll(batchLimit: Int? = nil) throws(ParseError) -> [T] {
    try checkedForAll().find()
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func findAll(batchLimit: Int? = nil) async throws(ParseError) -> [T] {
    try await checkedForAll().find()
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func findAll(
    batchLimit: Int? = nil, callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<[T], ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await findAll() }
  }

  private func checkedForAll() throws(ParseError) -> Query<T> {
    guard isPlain else {
      throw ParseError(
        .invalidQuery, "findAll has no order, no limit, no cursor and skips nothing.")
    }
    return self
  }

  /// Reads the first result. Throws as `find()`, and `ParseError` with `.objectNotFound` if there
  /// is none.
  ///
  ///     let dune = try Book.query("title" == "Dune").first()
  public func first() throws(ParseError) -> T {
    guard let first = try atMostOne.find().first else { throw ObjectGraph.notFound }
    return first
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func first() async throws(ParseError) -> T {
    guard let first = try await atMostOne.find().first else { throw ObjectGraph.notFound }
    return first
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func first(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<T, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await first() }
  }

  private var atMostOne: Query<T> { limit(min(limit ?? 1, 1)) }

  // MARK: Counting

  /// The number of objects that meet the conditions, as that of `withCount()`: without `limit`,
  /// `skip` and `after`. Reads no objects where an index has what the conditions need. Throws as
  /// `find()`.
  ///
  /// Of a relation without further conditions, the edges are counted, unless the request has an
  /// identity: an edge that was written without this module, and has no object, or is the second one
  /// of an object, counts until the relation is repaired.
  public func count() throws(ParseError) -> Int {
    try reporting {
      let context = try ParseSwift.context
      return try context.firestore.blocking.getAggregation(counted(context).count).count.intValue
    }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func count() async throws(ParseError) -> Int {
    try await reporting {
      try await counted(ParseSwift.context).count.getAggregation(source: .server).count.intValue
    }
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func count(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Int, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await count() }
  }

  /// Reads the results, and counts all results without `limit`, `skip` and `after`, in one state of
  /// the database. Throws as `find()`.
  ///
  ///     let (page, total) = try Book.query().limit(20).withCount()
  public func withCount() throws(ParseError) -> ([T], Int) {
    try reporting {
      let context = try ParseSwift.context
      return try context.firestore.read { try counted($0, context) }
    }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func withCount() async throws(ParseError) -> ([T], Int) {
    try await reporting {
      let context = try ParseSwift.context
      return try await context.firestore.read { try counted($0, context) }
    }
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func withCount(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<([T], Int), ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await withCount() }
  }

  private func counted(_ state: ReadTransaction, _ context: QueryContext) throws -> ([T], Int) {
    let count = try state.getAggregation(self.counted(context).count).count.intValue
    if limit == 0 { return ([], count) }
    return (
      try found(context, .fail, state.getDocuments, state.getDocuments).objects, count
    )
  }

  // MARK: Values

  /// The different values of a property among all results, in their order. Objects without it do
  /// not count. Throws as `find()`, and `ParseError` with `.incorrectType` if a value has another
  /// type, and with `.aggregateError` for a query with an order, a limit or results to skip.
  ///
  ///     let years: [Int] = try Book.query().distinct("publishingYear")
  public func distinct<Value: Decodable & Sendable>(
    _ key: String
  ) throws(ParseError) -> [Value] {
    try reporting {
      let context = try ParseSwift.context
      return try values(
        context.firestore.blocking.getGroups(groups([key], [.count()], context)), key)
    }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func distinct<Value: Decodable & Sendable>(
    _ key: String
  ) async throws(ParseError) -> [Value] {
    try await reporting {
      try values(await groups([key], [.count()], ParseSwift.context).getGroups(), key)
    }
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func distinct<Value: Decodable & Sendable>(
    _ key: String, callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<[Value], ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await distinct(key) }
  }

  private func values<Value: Decodable>(
    _ groups: [AggregateGroup], _ key: String
  ) throws -> [Value] {
    try groups.compactMap { group in
      guard let value = group[key], !(value is NSNull) else { return nil }
      return try ObjectReading.row(
        [key: value], as: [String: Value].self, ofClass: T.className)[key]
    }
  }

  func groups(
    _ keys: [String], _ aggregates: [AggregateField], _ context: QueryContext
  ) throws -> GroupedAggregateQuery {
    guard isPlain else {
      throw ParseError(
        .aggregateError,
        "Groups are of all results: without an order, a limit, results to skip, and an object to "
          + "begin after.")
    }
    let types = context.querying(T.self)
    for key in keys { try QueryConstraint.refuseArrays(key, types) }
    return try built(context).group(
      by: keys.map { try QueryConstraint.path($0) }, aggregating: aggregates)
  }

  // MARK: Explaining

  /// Explains the plan of the query: the indexes that it reads, and an index that would serve it
  /// better; as parts, what it includes. For a page of a relation, explains the query for its
  /// edges; for a page in descending order, that for the objects that have the key. Throws as
  /// `find()`.
  ///
  ///     print(try await Book.query("publishingYear" > 1960).explain())
  ///
  /// - Parameter analyze: Whether the query is also run, and its reads are counted. False by
  ///   default.
  public func explain(analyze: Bool = false) async throws(ParseError) -> QueryExplanation {
    try await reporting {
      let context = try ParseSwift.context
      if let query = try page(context)?.query { return try await query.explain(analyze: analyze) }
      let query = try built(context, requiring: leadingKey(context))
      if paths.isEmpty { return try await query.explain(analyze: analyze) }
      return try await query.including(paths.map(\.inclusion)).explain(analyze: analyze)
    }
  }

  /// Explains the plan of `count()`, as `explain(analyze:)` does.
  public func countExplain(
    analyze: Bool = false
  ) async throws(ParseError) -> QueryExplanation {
    try await reporting { try await counted(ParseSwift.context).count.explain(analyze: analyze) }
  }
}

/// The results of a query that can be read, and the errors of those that cannot.
///
/// A document that was written through another interface, or by another version of the program, may
/// have a value of another type than its property. `find()` throws its error then;
/// `Query.findReadable()` returns the other objects.
public struct ReadableObjects<T: ParseObject>: Sendable {
  /// The results, in the order of the query. An included object that cannot be read has only its id.
  public internal(set) var objects: [T]
  /// The error of each object that cannot be read, of a result or of an included object. Its `className`
  /// and `objectId` name the object, and its `key` the property. In the order of the results; empty if
  /// all of them can be read.
  public internal(set) var failures: [ParseError]

  /// The results by their ids.
  var byID: [String: T] {
    Dictionary(objects.map { ($0.objectId ?? "", $0) }) { first, _ in first }
  }
}
