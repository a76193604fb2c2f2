import Logging
import Synchronization

/// Something that has rows of results, and learns which of them were written.
protocol RowCache: AnyObject, Sendable {
  /// Returns when the old rows are not used any more.
  func invalidate(_ rows: Set<RowIdentity>) async throws
  func invalidateAll() async throws
}

/// The caches that mutations invalidate, as long as somebody has them.
final class RowCaches: Sendable {
  private struct Weak {
    weak var cache: (any RowCache)?
  }

  private let caches = Mutex<[Weak]>([])

  var isEmpty: Bool { all.isEmpty }

  private var all: [any RowCache] { caches.withLock { $0.compactMap(\.cache) } }

  func add(_ cache: any RowCache) {
    caches.withLock { caches in
      caches.removeAll { $0.cache == nil }
      caches.append(Weak(cache: cache))
    }
  }

  /// Returns when no cache answers with a row that was written.
  func invalidate(_ rows: Set<RowIdentity>) async {
    await invalidate { try await $0.invalidate(rows) }
  }

  func invalidateAll() async { await invalidate { try await $0.invalidateAll() } }

  private func invalidate(_ body: (any RowCache) async throws -> Void) async {
    for cache in all {
      do {
        try await body(cache)
      } catch {
        Logger(label: "hearth").warning(
          "A cache is out of date.", metadata: ["error": "\(error)"])
      }
    }
  }
}
