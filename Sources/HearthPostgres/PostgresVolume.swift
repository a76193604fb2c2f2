#if DEBUG && Postgres
  import Foundation
  import HearthEngine

  /// Replaces files in tests of the public API over PostgreSQL: a schema for each path. Debug builds
  /// only; switched on by `HEARTH_TEST_BACKEND=postgres` in the environment, with a server's URL in
  /// `HEARTH_TEST_POSTGRES`.
  package enum PostgresVolume {
    private static let server: String? = {
      let environment = ProcessInfo.processInfo.environment
      return environment["HEARTH_TEST_BACKEND"] == "postgres"
        ? environment["HEARTH_TEST_POSTGRES"] : nil
    }()

    private static let schemas = Guarded<(last: Int, byPath: [BytewiseString: String])>((0, [:]))

    /// The URL of the database at a path; nil if tests are not over PostgreSQL.
    ///
    /// - Parameter isKept: Its data is kept until it is opened again.
    package static func url(at path: String, isKept: Bool) throws -> String? {
      guard let server else { return nil }
      let key = BytewiseString(path)
      let (schema, isNew) = schemas.withLock { schemas in
        if isKept, let known = schemas.byPath[key] { return (known, false) }
        schemas.last += 1
        let schema = "test_\(getpid())_\(schemas.last)"
        if isKept { schemas.byPath[key] = schema }
        return (schema, true)
      }
      if isNew { try PostgresStore.makeSchema(schema, at: server) }
      let separator = server.contains("?") ? "&" : "?"
      return server + separator + "options=-csearch_path%3D" + schema
    }

    package static func remove(_ path: String) {
      schemas.withLock { $0.byPath[BytewiseString(path)] = nil }
    }
  }
#endif
