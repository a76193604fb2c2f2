import Foundation

/// A query for the documents of a collection or of a collection group.
///
///     let recent = db.collection("books")
///       .whereField("pages", isGreaterThan: 300)
///       .order(by: "published", descending: true)
///       .limit(to: 10)
///     for book in try await recent.getDocuments().documents { print(book.documentID) }
///
/// Without conditions it finds all documents, in the order of their paths. An invalid query keeps
/// its first error, and every operation on it fails with `invalidArgument`.
public class Query: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  /// The database of the query.
  public let firestore: Firestore
  let structured: StructuredQuery
  /// The first error of an invalid query.
  let validationError: Status?

  init(_ firestore: Firestore, _ structured: StructuredQuery, validationError: Status? = nil) {
    self.firestore = firestore
    self.structured = structured
    self.validationError = validationError
  }

  /// A query with the change, or this query with the error of the change.
  func changed(_ change: (inout StructuredQuery) throws(Status) -> Void) -> Query {
    guard validationError == nil else { return self }
    var copy = structured
    do throws(Status) {
      try change(&copy)
      return Query(firestore, copy)
    } catch {
      return Query(firestore, structured, validationError: error)
    }
  }

  /// The query after all checks.
  ///
  /// - Parameters:
  ///   - firestore: The database that the query must belong to. Nil: any.
  ///   - isOnlyCounted: The results are only counted, so that `limit(toLast:)` needs no order.
  func checked(
    in firestore: Firestore? = nil, isOnlyCounted: Bool = false
  ) throws(Status) -> StructuredQuery {
    guard firestore == nil || self.firestore === firestore else {
      throw .invalidArgument("Provided query is from a different Cloud Firestore instance.")
    }
    if let validationError { throw validationError }
    guard isOnlyCounted || !structured.isLimitToLast || !structured.orders.isEmpty else {
      throw .invalidArgument(
        "limit(toLast:) queries require specifying at least one OrderBy() clause.")
    }
    try structured.check(cursorsReachImpliedOrders: true)
    return structured
  }

  /// Reads all documents that the query finds.
  ///
  ///     let books = try await db.collection("books").getDocuments()
  ///     for book in books.documents { print(book.documentID) }
  ///
  /// The result is one consistent state of the database. It includes the writes of this process
  /// whose calls have returned before.
  ///
  /// Throws `invalidArgument` for an invalid query, `failedPrecondition` after `terminate` or if
  /// the index policy is `strict` and the query's index does not exist, and `dataLoss` for a
  /// damaged document.
  @discardableResult
  public func getDocuments() async throws -> QuerySnapshot { try await read() }

  /// Same as `getDocuments()`: all sources read the database.
  @discardableResult
  public func getDocuments(source: FirestoreSource) async throws -> QuerySnapshot {
    try await getDocuments()
  }

  /// Reads all documents that the query finds, and calls `completion` on the caller's actor, or
  /// else on the database's callback queue; see `getDocuments()`.
  public func getDocuments(
    isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (QuerySnapshot?, Error?) -> Void
  ) {
    read(firestore.callbackTarget(isolation), completion)
  }

  /// Same as `getDocuments(completion:)`: all sources read the database.
  public func getDocuments(
    source: FirestoreSource, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (QuerySnapshot?, Error?) -> Void
  ) {
    getDocuments(completion: completion)
  }

  // MARK: Listening

  /// The query after the checks for listening.
  func listenable(isOnlyCounted: Bool = false) throws(Status) -> StructuredQuery {
    let query = try checked(isOnlyCounted: isOnlyCounted)
    if case .subtree = query.scope {
      throw .invalidArgument("All-collection queries are not supported by real-time queries.")
    }
    guard query.question.traits.contains(.live) else {
      throw .invalidArgument("Nearest-neighbor queries are not supported by real-time queries.")
    }
    guard query.question.traits.contains(.liveConditions) || query.isResolved else {
      throw .invalidArgument(
        "A listener to a search for words has no condition on other results or on relative times.")
    }
    return query
  }

  /// Equal queries have the same results in the same order: implied orders may be written out, and
  /// a composite filter with one member equals that member.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Query else { return false }
    return firestore === other.firestore && structured.isEquivalent(to: other.structured)
  }

  public override var hash: Int { structured.equivalenceHash }
}
