#if Postgres
  import Foundation
  import PostgresTestServer

  @testable import Hearth

  extension PostgresServer {
    /// Another instance of the same database, as another process has it.
    static func open(_ url: String, as name: String) throws -> Firestore {
      let url = "\(url)&application_name=\(name)"
      // On a busy machine a connection may take longer than it may.
      for _ in 1..<12 {
        do {
          return try Firestore.open(url)
        } catch FirestoreErrorCode.unavailable {
          continue
        }
      }
      return try Firestore.open(url)
    }
  }

  extension Firestore {
    /// A transaction whose block throws. On a busy machine the fifth attempt may hold all writes for longer than it
    /// may: nothing was applied then, and it begins again.
    func inTransaction(_ body: @escaping @Sendable (Transaction) throws -> Void) async throws {
      while true {
        let began = ContinuousClock.now
        do {
          return try await runTransaction { try body($0) }
        } catch FirestoreErrorCode.aborted where ContinuousClock.now - began >= .seconds(1) {}
      }
    }
  }

#endif
