import Foundation

/// Switches the learning of indexes on and off.
///
/// On Apple's platforms this is about the cache's own indexes; here the database is the cache. Results
/// of queries never depend on it.
///
/// Its calls have no way to report an error, so that one is logged. Firebase's SDK raises an exception after
/// `terminate`; here such a call does nothing and logs "The client has already been terminated." The calls of
/// `Firestore.indexes` throw.
public final class PersistentCacheIndexManager: NSObject {
  /// What the database is asked to do.
  enum Command {
    case enableAutoCreation, disableAutoCreation, deleteAll
  }

  private let carryOut: (Command) throws -> Void

  init(_ carryOut: @escaping (Command) throws -> Void) { self.carryOut = carryOut }

  /// Queries that read much more than they return get their index.
  public func enableIndexAutoCreation() { ask(.enableAutoCreation) }

  /// No further index is made. Those that exist stay.
  public func disableIndexAutoCreation() { ask(.disableAutoCreation) }

  /// Drops the indexes that were learned. Declared ones stay.
  public func deleteAllIndexes() { ask(.deleteAll) }

  private func ask(_ command: Command) {
    do {
      try carryOut(command)
    } catch {
      let sentence = (error as? Status)?.message ?? "The index manager failed."
      Firestore.logger.error("\(sentence)", metadata: ["error": "\(error)"])
    }
  }
}
