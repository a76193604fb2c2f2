#if Postgres
  import Foundation
  import Testing

  @testable import Hearth
  @testable import HearthPostgres

  /// The server that `Scripts/postgres` has started.
  enum PostgresServer {
    /// Nil if there is none: the tests are skipped.
    static let url = ProcessInfo.processInfo.environment["HEARTH_TEST_POSTGRES"]

    static var isRunning: Bool { url != nil }

    private static let count = Guarded(0)

    /// The URL of a new and empty schema.
    static func newURL() throws -> String {
      let url = try #require(url)
      let number = count.withLock { count in
        count += 1
        return count
      }
      let schema = "own_\(getpid())_\(number)"
      try PostgresStore.makeSchema(schema, at: url)
      return "\(url)?options=-csearch_path%3D\(schema)"
    }

    /// The server's port.
    static var port: UInt16 {
      UInt16(url.flatMap { URLComponents(string: $0)?.port } ?? 0)
    }

    /// The same URL by way of a proxy.
    static func url(_ url: String, through proxy: PostgresProxy) -> String {
      url.replacingOccurrences(of: ":\(port)/", with: ":\(proxy.port)/")
    }

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

  /// Whether long tests run.
  let isSoaking = ProcessInfo.processInfo.environment["HEARTH_SOAK"] == "1"
#endif
