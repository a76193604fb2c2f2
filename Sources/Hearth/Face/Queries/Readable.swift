import Foundation

/// A query of any kind. Each form of reading checks it, asks for its request, and shows the answer.
protocol Readable: Watchable {
  var query: Query { get }

  /// - Parameter firestore: The database that the query must belong to. Nil: any.
  func request(in firestore: Firestore?) throws(Status) -> ReadRequest

  func shown(_ answer: ReadAnswer) throws -> Snapshot
}

/// The forms of reading. In each, an invalid query does not need a database.
extension Readable {
  /// - Parameter time: Reads the state at this time. Nil: the newest.
  func read(in firestore: Firestore? = nil, at time: Timestamp? = nil) async throws -> Snapshot {
    try await reporting {
      let request = try request(in: firestore)
      let backend = try query.firestore.database().backend
      guard let time else { return try shown(try await backend.read(request)) }
      return try shown(try await backend.versioned(request, at: time).answer)
    }
  }

  /// Blocks the thread.
  func readBlocking(in firestore: Firestore) throws -> Snapshot {
    try reporting {
      let request = try request(in: firestore)
      return try shown(firestore.database().backend.readBlocking(request))
    }
  }

  /// Reads the state of a closure.
  func read(from state: any DocumentState, in firestore: Firestore) throws -> Snapshot {
    try shown(state.answer(request(in: firestore)))
  }

  /// Calls `completion` on the target with the answer or an error.
  func read(
    _ callbackTarget: CallbackTarget, _ completion: @escaping (Snapshot?, Error?) -> Void
  ) {
    let callback = Callback(splitting: completion)
    do {
      let request = try request(in: nil)
      try query.firestore.database().call({ $0.read(request, .busy, { try self.shown($0) }, $1) }) {
        callbackTarget.carry($0.mapError { $0.nsError }, to: callback)
      }
    } catch {
      callbackTarget.carry(.failure(Status(readingFailed: error).nsError), to: callback)
    }
  }
}
