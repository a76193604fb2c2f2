#if DEBUG
  import Foundation
  import Logging

  @testable import HearthEngine

  /// Keeps what a database held when it was closed, by its path.
  enum MemoryVolume {
    private struct Saved {
      var state = MemoryState()
      var history: Instant
    }

    private static let saved = Guarded<[BytewiseString: Saved]>([:])

    static let substitute = BackendSubstitute(open: open, remove: remove)

    @Sendable private static func open(
      _ path: String, isKept: Bool, _ settings: EmbeddedBackend.Settings, _ logger: Logger
    ) -> any Backend {
      let now = settings.store.now
      let key = BytewiseString(path)
      let known = (isKept ? saved.withLock { $0[key] } : nil) ?? Saved(history: now())
      return MemoryBackend(
        known.state, history: known.history, queueLimitBytes: settings.queueLimitBytes,
        now: now, logger: logger
      ) { state in
        if isKept { saved.withLock { $0[key] = Saved(state: state, history: known.history) } }
      }
    }

    @Sendable private static func remove(_ path: String) {
      saved.withLock { $0[BytewiseString(path)] = nil }
    }
  }
#endif
