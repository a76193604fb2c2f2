import Foundation

/// A question to the database, for the documents of a collection or of a collection group.
///
/// Without further conditions: all of them, in the order of their paths.
public class Query: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is constant.
  public let firestore: Firestore
  let target: WatchTarget
  /// What keeps this query from being asked.
  let fault: Status?

  init(_ firestore: Firestore, _ target: WatchTarget, fault: Status? = nil) {
    self.firestore = firestore
    self.target = target
    self.fault = fault
  }

  /// All documents the query finds, as they are now.
  @discardableResult
  public func getDocuments() async throws -> QuerySnapshot {
    try await reporting {
      let database = try resolved()
      return QuerySnapshot(self, first: try await database.documents(of: target))
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
    let courier = firestore.courier(isolation)
    let callback = Callback<Result<QuerySnapshot, NSError>> { result in
      switch result {
      case .success(let snapshot): completion(snapshot, nil)
      case .failure(let error): completion(nil, error)
      }
    }
    fetch { courier.carry($0, to: callback) }
  }

  public func getDocuments(
    source: FirestoreSource, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (QuerySnapshot?, Error?) -> Void
  ) {
    getDocuments(completion: completion)
  }

  private func fetch(_ done: @escaping @Sendable (Result<QuerySnapshot, NSError>) -> Void) {
    do {
      let database = try resolved()
      database.writer.whenSettled(target.scope) { [self] in
        // Not on the writer's thread: a collection can be long.
        DispatchQueue.global().async { [self] in
          do {
            let list = try database.store.read {
              ResultList(sorted: try $0.documents(of: target))
            }
            done(.success(QuerySnapshot(self, first: list)))
          } catch {
            done(.failure(Status(readingFailed: error).nsError))
          }
        }
      }
    } catch {
      done(.failure(Status(readingFailed: error).nsError))
    }
  }

  /// The database, with the query checked. Throws `Status`.
  func resolved() throws -> Database {
    if let fault { throw fault }
    switch target {
    case .collection(let path), .document(let path): try path.checkNames()
    case .group(let id): try ResourcePath([id]).checkNames()
    }
    return try firestore.database()
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Query else { return false }
    return firestore === other.firestore && target == other.target
  }

  public override var hash: Int { target.hashValue }
}
