import Foundation

/// Switches the learning of indexes on and off.
///
/// On Apple's platforms this is about the cache's own indexes; here the database is the cache. Results
/// of queries never depend on it.
public final class PersistentCacheIndexManager: NSObject {
  /// What the database is asked to do.
  enum Command {
    case enableAutoCreation, disableAutoCreation, deleteAll
  }

  private let carryOut: (Command) -> Void

  init(_ carryOut: @escaping (Command) -> Void) { self.carryOut = carryOut }

  /// Queries that read much more than they return get their index.
  public func enableIndexAutoCreation() { carryOut(.enableAutoCreation) }

  /// No further index is made. Those that exist stay.
  public func disableIndexAutoCreation() { carryOut(.disableAutoCreation) }

  /// Drops the indexes that were learned. Declared ones stay.
  public func deleteAllIndexes() { carryOut(.deleteAll) }
}
