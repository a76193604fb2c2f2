import Foundation

/// A query whose results are of one model.
///
///     let books = db.collection("books", of: Book.self)
///     let found = try await books
///       .where { $0.author == "Herbert" && $0.pages > 400 }
///       .order(by: \.title)
///       .limit(to: 10)
///       .getDocuments()
///
/// `untyped` is the same query for everything that has no typed form.
public struct TypedQuery<Model: DocumentModel>: TypedQueryable {
  public let untyped: Query

  init(_ untyped: Query) { self.untyped = untyped }
}

/// A collection or a query of a model.
public protocol TypedQueryable<Model>: Sendable {
  /// The type that documents are decoded as.
  associatedtype Model: DocumentModel
  /// `Query`; of a collection, `CollectionReference`.
  associatedtype Untyped: Query
  /// The same query without the model.
  var untyped: Untyped { get }
}

extension TypedQueryable {
  private func changed(_ change: (Query) -> Query) -> TypedQuery<Model> {
    TypedQuery(change(untyped))
  }

  // MARK: Conditions

  /// Matches documents that meet the condition.
  ///
  ///     books.where { $0.pages > 400 && $0.tags.contains("sand") }
  public func `where`(
    _ condition: (FieldTable<Model>) -> Condition<Model>
  ) -> TypedQuery<Model> {
    self.where(condition(FieldTable()))
  }

  /// Same, for one comparison: `books.where(\.pages > 400)`.
  public func `where`(_ condition: Condition<Model>) -> TypedQuery<Model> {
    changed { $0.whereFilter(condition.filter) }
  }

  // MARK: Order and limits

  /// Orders the results by the field; see `Query.order(by:descending:)`.
  public func order<Value>(
    by field: KeyPath<Model.Fields, Field<Value>>, descending: Bool = false
  ) -> TypedQuery<Model> {
    changed { $0.order(by: Model.fields[keyPath: field].path, descending: descending) }
  }

  /// Orders the results by a field of a map: `order { $0.author.name }`.
  public func order<Value>(
    descending: Bool = false, by field: (FieldTable<Model>) -> QueryField<Model, Value>
  ) -> TypedQuery<Model> {
    changed { $0.order(by: field(FieldTable()).path, descending: descending) }
  }

  /// Limits the results to the first `limit`, which is positive.
  public func limit(to limit: Int) -> TypedQuery<Model> { changed { $0.limit(to: limit) } }

  /// Limits the results to the last `limit`, which is positive.
  public func limit(toLast limit: Int) -> TypedQuery<Model> { changed { $0.limit(toLast: limit) } }

  /// Skips the first results; see `Query.offset`.
  public func offset(_ count: Int) -> TypedQuery<Model> { changed { $0.offset(count) } }

  // MARK: Cursors

  /// Starts at the results with these values, one for each of the first orders.
  public func start<each Value: Encodable>(at values: repeat each Value) -> TypedQuery<Model> {
    cursor(repeat each values, by: { $0.start(at: $1) })
  }

  /// Starts after the results with these values; see `start(at:)`.
  public func start<each Value: Encodable>(after values: repeat each Value) -> TypedQuery<Model> {
    cursor(repeat each values, by: { $0.start(after: $1) })
  }

  /// Ends before the results with these values; see `start(at:)`.
  public func end<each Value: Encodable>(before values: repeat each Value) -> TypedQuery<Model> {
    cursor(repeat each values, by: { $0.end(before: $1) })
  }

  /// Ends at the results with these values, inclusive; see `start(at:)`.
  public func end<each Value: Encodable>(at values: repeat each Value) -> TypedQuery<Model> {
    cursor(repeat each values, by: { $0.end(at: $1) })
  }

  private func cursor<each Value: Encodable>(
    _ values: repeat each Value, by change: (Query, [Any]) -> Query
  ) -> TypedQuery<Model> {
    var all: [Any] = []
    do {
      for value in repeat each values { all.append(try plainValue(of: value)) }
    } catch {
      return changed { $0.whereFilter(Filter(invalid: error)) }
    }
    return changed { change($0, all) }
  }

  // MARK: Reading

  /// Reads all results; see `Query.getDocuments(as:)`.
  public func getDocuments() async throws -> [Model] {
    try await untyped.getDocuments(as: Model.self)
  }

  /// The results, and their new state after each commit that changes them.
  ///
  ///     for try await books in books.where(\.pages > 400).snapshots { print(books.count) }
  ///
  /// See `Query.snapshots`. Throws `DecodingError` if a result does not match the model.
  public var snapshots: TypedQuerySnapshots<Model> { TypedQuerySnapshots(query: untyped) }

  // MARK: Aggregations

  /// The number of results.
  public func count() async throws -> Int {
    try await untyped.count.getAggregation(source: .server).count.intValue
  }

  /// The sum of the numbers in a field.
  public func sum<Value: Numeric>(
    _ field: KeyPath<Model.Fields, Field<Value>>
  ) async throws -> Double {
    try await number(AggregateField.sum(Model.fields[keyPath: field].path)) ?? 0
  }

  /// The mean of the numbers in a field; nil if there are none.
  public func average<Value: Numeric>(
    _ field: KeyPath<Model.Fields, Field<Value>>
  ) async throws -> Double? {
    try await number(AggregateField.average(Model.fields[keyPath: field].path))
  }

  private func number(_ field: AggregateField) async throws -> Double? {
    let found = try await untyped.aggregate([field]).getAggregation(source: .server)
    return (found.get(field) as? NSNumber)?.doubleValue
  }
}

// MARK: Groups

extension TypedQueryable {
  /// Groups the results by the values of fields; see `Query.group(by:aggregating:)`.
  ///
  ///     let groups = try await books.group(by: \.genre).getGroups()
  public func group<each Value>(
    by fields: repeat KeyPath<Model.Fields, Field<each Value>>,
    aggregating aggregates: [AggregateField] = [.count()]
  ) -> GroupedAggregateQuery {
    var paths: [FieldPath] = []
    repeat paths.append(Model.fields[keyPath: each fields].path)
    return untyped.group(by: paths, aggregating: aggregates)
  }
}

// MARK: Writing all results

extension TypedQueryable {
  /// Changes fields of every document that the query finds, in one commit. Returns the number of these
  /// documents; see `Query.updateAll(_:limit:)`.
  ///
  ///     try await books.where(\.publisher == "Chilton").updateAll { $0.pages += 6 }
  @discardableResult
  public func updateAll(
    limit: Int = Query.writeLimit, _ changes: (inout FieldUpdates<Model>) -> Void
  ) async throws -> Int {
    try await untyped.updateAll(FieldUpdates(changes).checkedData(), limit: limit)
  }

  /// Deletes every document that the query finds, in one commit. Returns the number of these documents;
  /// see `Query.deleteAll(limit:)`.
  @discardableResult
  public func deleteAll(limit: Int = Query.writeLimit) async throws -> Int {
    try await untyped.deleteAll(limit: limit)
  }
}
