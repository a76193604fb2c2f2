#if Postgres
  import Foundation
  import HearthPostgres
  import Synchronization

  /// The server that `Scripts/postgres` has started.
  package enum PostgresServer {
    /// Nil if there is none: the tests are skipped.
    package static let url = ProcessInfo.processInfo.environment["HEARTH_TEST_POSTGRES"]

    package static var isRunning: Bool { url != nil }

    private static let count = Atomic(0)

    private struct NotRunning: Error {}

    /// The URL of a new and empty schema.
    package static func newURL() throws -> String {
      guard let url else { throw NotRunning() }
      let schema = "own_\(getpid())_\(count.wrappingAdd(1, ordering: .relaxed).newValue)"
      let own = "\(url)?options=-csearch_path%3D\(schema)"
      // On a busy machine a connection may take longer than it may.
      for _ in 1..<12 where (try? PostgresStore.makeSchema(schema, at: url)) != nil {
        return own
      }
      try PostgresStore.makeSchema(schema, at: url)
      return own
    }

    /// The server's port.
    package static var port: UInt16 {
      UInt16(url.flatMap { URLComponents(string: $0)?.port } ?? 0)
    }

    /// The same URL by way of a proxy.
    package static func url(_ url: String, through proxy: PostgresProxy) -> String {
      url.replacingOccurrences(of: ":\(port)/", with: ":\(proxy.port)/")
    }
  }
#endif
