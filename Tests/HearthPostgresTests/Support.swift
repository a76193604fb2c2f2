#if Postgres
  import Foundation
  import PostgresTestServer

  @testable import Hearth

  extension PostgresServer {
    /// Another instance of the same database, as another process has it.
    static func open(_ url: String, as name: String) throws -> Firestore {
      try Firestore.open("\(url)&application_name=\(name)")
    }
  }

  extension Firestore {
    /// A transaction whose block throws.
    func inTransaction(_ body: @escaping @Sendable (Transaction) throws -> Void) async throws {
      _ = try await runTransaction { transaction, failure in
        do { try body(transaction) } catch { failure?.pointee = error as NSError }
        return nil
      }
    }
  }

#endif
