#if DEBUG
  import Logging

  /// Opens the databases of the public API elsewhere than in files: its tests are run over other stores.
  package struct BackendSubstitute: Sendable {
    /// The database at a path. If `isKept` is false, its data is removed with it.
    package let open:
      @Sendable (
        _ path: String, _ isKept: Bool, EmbeddedBackend.Settings, Logger
      ) throws -> any Backend
    /// Removes the data of a database that is closed.
    package let remove: @Sendable (_ path: String) -> Void

    package init(
      open:
        @escaping @Sendable (
          _ path: String, _ isKept: Bool, EmbeddedBackend.Settings, Logger
        ) throws -> any Backend,
      remove: @escaping @Sendable (_ path: String) -> Void
    ) {
      self.open = open
      self.remove = remove
    }

    private static let current = Guarded<BackendSubstitute?>(nil)

    /// Nil for files.
    package static var inUse: BackendSubstitute? { current.withLock(\.self) }

    /// Before the first database is opened.
    package static func use(_ substitute: BackendSubstitute) {
      current.withLock { $0 = substitute }
    }
  }
#endif
