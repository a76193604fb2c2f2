import Foundation

/// A question to the database, for the documents of a collection or of a collection group.
///
///     let recent = db.collection("books")
///       .whereField("pages", isGreaterThan: 300)
///       .order(by: "published", descending: true)
///       .limit(to: 10)
///     for book in try await recent.getDocuments().documents { print(book.documentID) }
///
/// Without conditions: all of them, in the order of their paths. A query that cannot be asked
/// remembers the first thing that is wrong with it, and whatever is done with it reports
/// `invalidArgument`.
public class Query: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  public let firestore: Firestore
  let structured: StructuredQuery
  /// What keeps this query from being asked.
  let fault: Status?

  init(_ firestore: Firestore, _ structured: StructuredQuery, fault: Status? = nil) {
    self.firestore = firestore
    self.structured = structured
    self.fault = fault
  }

  /// This query, changed; or this query with what was wrong with the change.
  func changed(_ change: (inout StructuredQuery) throws(Status) -> Void) -> Query {
    guard fault == nil else { return self }
    var copy = structured
    do throws(Status) {
      try change(&copy)
      return Query(firestore, copy)
    } catch {
      return Query(firestore, structured, fault: error)
    }
  }

  /// The query, everything checked.
  ///
  /// - Parameter isOnlyCounted: Nobody sees which results are the last.
  func checked(isOnlyCounted: Bool = false) throws(Status) -> StructuredQuery {
    if let fault { throw fault }
    guard isOnlyCounted || !structured.isLimitToLast || !structured.orders.isEmpty else {
      throw .invalidArgument(
        "limit(toLast:) queries require specifying at least one OrderBy() clause.")
    }
    try structured.check(cursorsReachImpliedOrders: true)
    return structured
  }

  /// As `checked()`; the query has to be one of this database.
  func checked(in firestore: Firestore) throws(Status) -> StructuredQuery {
    try check(in: firestore)
    return try checked()
  }

  func check(in firestore: Firestore) throws(Status) {
    guard self.firestore === firestore else {
      throw .invalidArgument("Provided query is from a different Cloud Firestore instance.")
    }
  }

  /// All documents the query finds, as they are now.
  @discardableResult
  public func getDocuments() async throws -> QuerySnapshot {
    try await reporting {
      let query = try checked()
      let documents = try await firestore.database().backend.documents(matching: query)
      return QuerySnapshot(self, first: documents)
    }
  }

  @discardableResult
  public func getDocuments(source: FirestoreSource) async throws -> QuerySnapshot {
    try await getDocuments()
  }

  public func getDocuments(
    isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (QuerySnapshot?, Error?) -> Void
  ) {
    let callback = Callback<Result<QuerySnapshot, NSError>> { result in
      switch result {
      case .success(let snapshot): completion(snapshot, nil)
      case .failure(let error): completion(nil, error)
      }
    }
    answer(firestore.courier(isolation), callback) {
      // In this order: a query that cannot be asked needs no database.
      let query = try checked()
      let backend = try firestore.database().backend
      return { backend.documents(matching: query, .busy, $0) }
    } showing: { [self] in
      QuerySnapshot(self, first: $0)
    }
  }

  public func getDocuments(
    source: FirestoreSource, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (QuerySnapshot?, Error?) -> Void
  ) {
    getDocuments(completion: completion)
  }

  /// Runs the verb that `ask` checks and chooses, and tells its answer to `callback`.
  func answer<Found: Sendable, Answer: Sendable>(
    _ courier: CallbackTarget, _ callback: Callback<Result<Answer, NSError>>,
    _ ask: () throws -> (@escaping @Sendable (Result<Found, Status>) -> Void) -> Void,
    showing: @escaping @Sendable (Found) -> Answer
  ) {
    do {
      let verb = try ask()
      verb { courier.carry($0.map(showing).mapError(\.nsError), to: callback) }
    } catch {
      courier.carry(.failure(Status(readingFailed: error).nsError), to: callback)
    }
  }

  // MARK: Listening

  /// What a listener to this query watches, and where. Throws `Status`.
  func watched() throws -> SnapshotRegistration.Watched {
    // In this order: a query that cannot be listened to needs no database.
    let query = try listenable()
    return (try firestore.database().backend, .results(of: query))
  }

  /// The query, if it can be listened to.
  func listenable(isOnlyCounted: Bool = false) throws(Status) -> StructuredQuery {
    let query = try checked(isOnlyCounted: isOnlyCounted)
    if case .subtree = query.scope {
      throw .invalidArgument("All-collection queries are not supported by real-time queries.")
    }
    guard query.nearest == nil else {
      throw .invalidArgument("Nearest-neighbor queries are not supported by real-time queries.")
    }
    return query
  }

  /// Equal queries find the same, and say so in the same way: orders that are implied may be spelled
  /// out, and a composite filter with one member is that member.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Query else { return false }
    return firestore === other.firestore && structured.isEquivalent(to: other.structured)
  }

  public override var hash: Int { structured.equivalenceHash }
}
