#if DEBUG
  import Foundation
  import Logging

  /// Replaces files in tests of the public API over `MemoryBackend`: keeps what a database held
  /// when it was closed, by its path. Debug builds only; switched on by
  /// `HEARTH_TEST_BACKEND=memory` in the environment.
  package enum MemoryVolume {
    private struct Saved {
      var state = MemoryState()
      var history: Instant
    }

    package static let isOn = ProcessInfo.processInfo.environment["HEARTH_TEST_BACKEND"] == "memory"

    private static let saved = Guarded<[BytewiseString: Saved]>([:])

    /// The database at a path.
    ///
    /// - Parameter isKept: Its data is kept until it is opened again.
    package static func open(
      _ path: String, isKept: Bool, _ settings: EmbeddedBackend.Settings, _ logger: Logger
    ) -> MemoryBackend {
      let now = settings.now
      let key = BytewiseString(path)
      let known = (isKept ? saved.withLock { $0[key] } : nil) ?? Saved(history: now())
      return MemoryBackend(
        known.state, history: known.history, queueLimitBytes: settings.queueLimitBytes,
        now: now, logger: logger
      ) { state in
        if isKept { saved.withLock { $0[key] = Saved(state: state, history: known.history) } }
      }
    }

    package static func remove(_ path: String) { saved.withLock { $0[BytewiseString(path)] = nil } }
  }
#endif
