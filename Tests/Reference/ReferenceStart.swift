#if DEBUG
  import Foundation

  import HearthEngine

  /// Runs the tests of the public API over another store than files, if `HEARTH_TEST_BACKEND` is `memory`, or
  /// `postgres` with a server's URL in `HEARTH_TEST_POSTGRES`. Called before `main`, by `start.c`.
  @_cdecl("hearth_start_reference") public func startReference() {
    let environment = ProcessInfo.processInfo.environment
    switch environment["HEARTH_TEST_BACKEND"] {
    case "memory": BackendSubstitute.use(MemoryVolume.substitute)
    case "postgres":
      #if Postgres
        guard let server = environment["HEARTH_TEST_POSTGRES"] else { return }
        BackendSubstitute.use(PostgresVolume.substitute(at: server))
      #endif
    default: break
    }
  }
#endif
