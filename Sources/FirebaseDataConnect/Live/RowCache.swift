import Logging
import Synchronization

/// Something that has rows of results, and learns which of them were written.
protocol RowCache: AnyObject, Sendable {
  /// Whether the executor whose rows these are exists. Without it, no query uses the cache.
  var hasSource: Bool { get }
  /// Returns when the old rows are not used any more.
  func invalidate(_ rows: Set<RowIdentity>) async throws
  func invalidateAll() async throws
}

/// The caches that mutations invalidate, as long as somebody has them.
final class RowCaches: Sendable {
  private struct Weak {
    weak var cache: (any RowCache)?
    let tables: Set<String>
  }

  private let caches = Mutex<[Weak]>([])

  var isEmpty: Bool { all.isEmpty }

  private var all: [any RowCache] { caches.withLock { $0.compactMap(\.cache) } }

  /// The ids of the collections whose rows other processes report to the caches.
  var tables: Set<String> {
    // Caches and their sources are released outside of the lock.
    let caches = caches.withLock(\.self)
    return caches.reduce(into: []) { tables, entry in
      if entry.cache?.hasSource == true { tables.formUnion(entry.tables) }
    }
  }

  /// - Parameter tables: The ids of the collections whose rows other processes report to the cache.
  func add(_ cache: any RowCache, of tables: Set<String> = []) {
    caches.withLock { caches in
      caches.removeAll { $0.cache == nil }
      caches.append(Weak(cache: cache, tables: tables))
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
