#if DEBUG && Postgres
  import Foundation
  import Logging

  @testable import HearthEngine
  import HearthPostgres

  /// A schema of a PostgreSQL server for each path.
  final class PostgresVolume: Sendable {
    /// Its URL.
    private let server: String
    private let schemas = Guarded<(last: Int, byPath: [BytewiseString: String])>((0, [:]))

    private init(at server: String) { self.server = server }

    static func substitute(at server: String) -> BackendSubstitute {
      let volume = PostgresVolume(at: server)
      return BackendSubstitute { path, isKept, settings, logger in
        let store = try PostgresStore(
          try volume.url(at: path, isKept: isKept), retention: settings.changeLog, logger: logger)
        return try RemoteBackend(store, settings, logger: logger)
      } remove: { path in
        volume.schemas.withLock { $0.byPath[BytewiseString(path)] = nil }
      }
    }

    private func url(at path: String, isKept: Bool) throws -> String {
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
  }
#endif
