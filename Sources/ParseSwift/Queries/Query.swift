import Foundation
import Hearth

/// A query for the objects of a class.
///
///     let books = try Book.query("publishingYear" > 1960)
///       .order([.descending("publishingYear")]).limit(10).include("isbn")
///       .find()
///
/// A value: each method returns a changed copy, and `find()` and others execute it. Without an
/// order, results are in the order of their ids: objects that were saved without an id of their own
/// are in the order of creation. There is no limit unless one is set.
public struct Query<T: ParseObject>: Sendable {
  /// The order of results by one key.
  public enum Order: Hashable, Sendable {
    /// The least value of the key first.
    case ascending(String)
    /// The greatest value of the key first.
    case descending(String)
  }

  private(set) var constraints: [QueryConstraint]
  private(set) var orders: [Order] = []
  private(set) var limit: Int?
  private(set) var skip = 0
  /// The objects to include, without those of `includeAll()`.
  private var includes: [String] = []
  private var includesAll = false
  private var selection: [String]?
  private var exclusion: [String] = []
  /// The object before the first result.
  private var last: T?
  /// If the query is for all objects of a relation, and has no other conditions.
  private var edges: RelationEdges?

  init(_ constraints: [QueryConstraint]) { self.constraints = constraints }

  /// All objects of a relation.
  init(of edges: RelationEdges) {
    constraints = [edges.constraint]
    self.edges = edges
  }

  // MARK: Building

  private func changed(_ change: (inout Query<T>) -> Void) -> Query<T> {
    var query = self
    change(&query)
    return query
  }

  /// Adds conditions. Results meet all conditions of the query, also several of one key.
  public func `where`(_ constraints: QueryConstraint...) -> Query<T> { `where`(constraints) }

  /// Same as `where(_:)`, with a list.
  public func `where`(_ constraints: [QueryConstraint]) -> Query<T> {
    changed { query in
      query.constraints += constraints
      if !constraints.isEmpty { query.edges = nil }
    }
  }

  /// Sets the largest number of results. 0 returns none, without a read; a negative number is no
  /// limit. `count()` ignores it.
  public func limit(_ value: Int) -> Query<T> { changed { $0.limit = value < 0 ? nil : value } }

  /// Leaves out so many results at the beginning. Negative numbers count as 0. For pages,
  /// `after(_:)` costs less. In a relation, an edge that was written without this module and has no
  /// object may count as one that is left out, until the relation is repaired.
  public func skip(_ value: Int) -> Query<T> { changed { $0.skip = max(0, value) } }

  /// Orders results by these keys, the first key first, in place of an earlier order. Objects without a
  /// key are ordered as if it was null: before all others, or after them if the order is descending. Nil
  /// removes the order.
  ///
  /// Indexes have no entries for objects without a key. A page in descending order of one key is
  /// read from an index if enough objects have the key. A page in another order reads and sorts all
  /// objects that meet the conditions, unless a condition requires the keys:
  ///
  ///     let first = Book.query(exists(key: "title")).order([.ascending("title")]).limit(20)
  ///
  /// The query throws `ParseError` with `.invalidQuery` for a key that leads through an array.
  public func order(_ orders: [Order]?) -> Query<T> { changed { $0.orders = orders ?? [] } }

  /// Begins after an object in the query's order, such as the last one of the page before. It may
  /// have been deleted since.
  ///
  ///     let first = try query.limit(20).find()
  ///     let second = try query.limit(20).after(first.last).find()
  ///
  /// A page of a relation in the order of ids costs what it returns, wherever it begins. With an
  /// order, the object must have been read with the keys of the order. Nil begins at the first
  /// result. The query throws `ParseError` with `.missingObjectId` for an unsaved object, and with
  /// `.invalidQuery` for an object that was not read and for an order by distance.
  public func after(_ object: T?) -> Query<T> { changed { $0.last = object } }

  /// Reads the objects that these keys refer to with the results. A dot follows a reference of an
  /// included object: `author.publisher`. Objects that do not exist have only their ids.
  public func include(_ keys: String...) -> Query<T> { include(keys) }

  /// Same as `include(_:)` with a list. `*` is the same as `includeAll()`.
  public func include(_ keys: [String]) -> Query<T> {
    changed { query in
      query.includes += keys.filter { $0 != "*" }
      if keys.contains("*") { query.includesAll = true }
    }
  }

  /// Reads the objects that any key of the class refers to with the results, but not those that
  /// these refer to.
  public func includeAll() -> Query<T> { changed { $0.includesAll = true } }

  /// Reads only these keys, the ids, the times and the ACL. Other properties are nil, and a save of
  /// such an object keeps them. A key with a dot reads the whole property; a query also reads the
  /// keys of its order, or the point by whose distance it is ordered. Further calls add keys.
  public func select(_ keys: String...) -> Query<T> { select(keys) }

  /// Same as `select(_:)`, with a list.
  public func select(_ keys: [String]) -> Query<T> {
    changed { $0.selection = ($0.selection ?? []) + keys }
  }

  /// Reads all keys except for these. Ids, times, the ACL and the keys of the order are always read, and
  /// the point of a query that is ordered by distance. A key with a dot excludes nothing:
  /// properties are read as a whole. Further calls add keys.
  public func exclude(_ keys: String...) -> Query<T> { exclude(keys) }

  /// Same as `exclude(_:)`, with a list.
  public func exclude(_ keys: [String]) -> Query<T> { changed { $0.exclusion += keys } }

  /// Parse's choice of an index.
  @available(*, unavailable, message: "The planner chooses the index: see explain(analyze:).")
  public func hint(_ index: String) -> Query<T> { self }

  /// Parse's choice of a replica.
  @available(*, unavailable, message: "There are no replicas.")
  public func readPreference(_ preference: String) -> Query<T> { self }

  /// Parse's order by the score of a search, for a class without one.
  @available(*, unavailable, message: "The class has no score: see ParseQueryScorable.")
  @_disfavoredOverload
  public func sortByTextScore() -> Query<T> { self }

  // MARK: For Firestore's API

  /// The key and the point by whose distance results are ordered, which happens after the read.
  var center: QueryConstraint.Center? {
    orders.isEmpty ? constraints.lazy.compactMap(\.center).first : nil
  }

  /// The query for the documents.
  ///
  /// - Parameters:
  ///   - isWhole: For all results in any order, which are counted.
  ///   - required: A key that every result has.
  func built(
    _ context: QueryContext, isWhole: Bool = false, requiring required: String? = nil
  ) throws -> Hearth.Query {
    let context = context.querying(T.self)
    let name = try ObjectGraph.collection(T.self)
    var query: Hearth.Query = context.firestore.collection(name)
    let searches = constraints.compactMap(\.search)
    var filters: [Filter] = []
    for constraint in constraints where constraint.search == nil || searches.count > 1 {
      filters.append(try constraint.filter(context))
    }
    if let access = context.access { filters.append(access) }
    if let required { filters.append(try exists(key: required).filter(context)) }
    if limit == 0, !isWhole { filters.append(.nothing(in: context.firestore)) }
    // At once: each call copies the query.
    if !filters.isEmpty { query = query.whereFilter(.unordered(.andFilter(filters))) }
    // More orders are refused.
    for order in isWhole ? [] : orders.prefix(Self.mostOrders + 1) {
      try QueryConstraint.refuseArrays(order.key, context)
      query = query.order(
        by: try QueryConstraint.path(order.key), descending: order.isDescending,
        keepingMissing: order.key != required)
    }
    if let search = searches.first {
      query = query.search(
        search.text, in: SearchFields(search.key, language: search.language),
        scoreField: T.self is any ParseQueryScorable.Type && !isWhole ? "score" : nil)
    }
    if isWhole { return query }
    if let last {
      guard center == nil else {
        throw ParseError(.invalidQuery, "Results that are ordered by distance have no cursor.")
      }
      query = try started(query, last, context.firestore)
    }
    if center == nil {
      if skip > 0 { query = query.offset(skip) }
      if let limit, limit > 0 { query = query.limit(to: limit) }
    }
    for key in selection ?? [] { _ = try QueryConstraint.path(key) }
    if let keys = selectedKeys {
      query = query.select(try keys.map { try QueryConstraint.path($0) })
    }
    return query
  }

  /// The key of a page in descending order, if objects without it come after the page: those with
  /// the key are read first, and are the results if they fill the page. Nil for another query.
  func leadingKey(_ context: QueryContext) throws -> String? {
    guard let limit, limit > 0, orders.count == 1, orders[0].isDescending,
      orders[0].key != "objectId", !constraints.contains(where: { $0.search != nil })
    else { return nil }
    let key = orders[0].key
    guard let last else { return key }
    guard let document = try last.original(in: context.firestore) else { return nil }
    let value = document.get(try QueryConstraint.path(key))
    return value == nil || value is NSNull ? nil : key
  }

  /// The query inside of another one: what its results are is all that matters.
  func subquery(_ context: QueryContext) throws -> Hearth.Query {
    var query = self
    (query.selection, query.exclusion) = (nil, [])
    guard center == nil || limit == 0 || (limit == nil && skip == 0) else {
      throw ParseError(
        .invalidQuery, "A query inside another one does not limit results by their distance.")
    }
    return try query.built(context)
  }

  private func started(
    _ query: Hearth.Query, _ last: T, _ firestore: Firestore
  ) throws -> Hearth.Query {
    let reference = try last.toPointer().reference(in: firestore)
    if orders.isEmpty { return query.order(by: .documentID()).start(after: [reference.documentID]) }
    guard let document = try last.original(in: firestore) else {
      throw ParseError(.invalidQuery, "A page begins after an object that was read.")
    }
    return query.start(afterDocument: document)
  }

  /// Nil for all.
  private var selectedKeys: [String]? {
    guard selection != nil || !exclusion.isEmpty else { return nil }
    let all = Set(FieldNames.types(of: T.self).keys).subtracting(["objectId", "originalData"])
    var keys = selection.map { Set($0.map(Self.property)) } ?? all
    keys.subtract(exclusion)
    keys.formUnion(["createdAt", "updatedAt", "ACL"])
    if let center { keys.insert(Self.property(center.key)) }
    keys.formUnion(orders.map { Self.property($0.key) })
    return keys.subtracting(["objectId"]).sorted()
  }

  /// The property of a key. A save would write a part of a map over all of it.
  private static func property(_ key: String) -> String { String(key.prefix { $0 != "." }) }

  /// Firestore's limit of filters and orders.
  private static var mostOrders: Int { 100 }

  /// The objects to include.
  var paths: [IncludePath] {
    var keys = includes
    if includesAll {
      keys += FieldNames.types(of: T.self).filter { PropertyKind($0.value).isObject }.keys.sorted()
    }
    return IncludePath.tree(keys)
  }

  /// The query whose results are counted, without `limit`, `skip` and `after`: of a relation, its edges,
  /// which end with their objects.
  func counted(_ context: QueryContext) throws -> Hearth.Query {
    guard let edges, context.identity == nil else { return try built(context, isWhole: true) }
    return try edges.counted(T.className, context.firestore)
  }

  /// The query for the edges of a page of a relation; nil for another query.
  func page(
    _ context: QueryContext
  ) throws -> (query: IncludingQuery, edges: RelationEdges)? {
    guard let edges, let limit, limit > 0, orders.isEmpty, context.identity == nil,
      selectedKeys == nil
    else { return nil }
    let last = try last?.toPointer().reference(in: context.firestore)
    let inclusions = paths.map(\.inclusion)
    return (
      try edges.page(after: last, skip: skip, limit: limit, inclusions, context.firestore), edges
    )
  }

  /// Whether a part of the results is read, or of each of them.
  var isPlain: Bool { orders.isEmpty && limit == nil && skip == 0 && last == nil }
}

extension Query.Order {
  var key: String {
    switch self {
    case .ascending(let key), .descending(let key): key
    }
  }

  var isDescending: Bool { if case .descending = self { true } else { false } }
}

extension ParseObject {
  /// A query for the objects of the class that meet all conditions. Without conditions, for all
  /// objects.
  ///
  ///     let books = try Book.query("publishingYear" > 1960).find()
  public static func query(_ constraints: QueryConstraint...) -> Query<Self> { query(constraints) }

  /// Same as `query(_:)`, with a list.
  public static func query(_ constraints: [QueryConstraint]) -> Query<Self> { Query(constraints) }

  /// A query for all objects of the class.
  ///
  ///     let books = try Book.query.find()
  public static var query: Query<Self> { Query([]) }
}
