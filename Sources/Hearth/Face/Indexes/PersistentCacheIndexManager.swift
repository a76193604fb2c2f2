import Foundation

/// Turns the automatic creation of indexes on and off.
///
/// In Firebase's SDK this concerns the indexes of the cache; here the database is the cache. The
/// results of queries never depend on indexes.
///
/// These calls cannot throw; they log errors. After `terminate`, Firebase's SDK raises an
/// exception; here the call does nothing and logs "The client has already been terminated." The
/// calls of `Firestore.indexes` throw.
public final class PersistentCacheIndexManager: NSObject {
  /// A request to the database.
  enum Command {
    case enableAutoCreation, disableAutoCreation, deleteAll
  }

  private let carryOut: (Command) throws -> Void

  init(_ carryOut: @escaping (Command) throws -> Void) { self.carryOut = carryOut }

  /// Creates indexes for queries that read much more than they return; see
  /// `FirestoreSettings.IndexPolicy.automatic`.
  public func enableIndexAutoCreation() { ask(.enableAutoCreation) }

  /// Creates no further index automatically. Existing indexes stay.
  public func disableIndexAutoCreation() { ask(.disableAutoCreation) }

  /// Drops the indexes that were created automatically. Declared indexes stay. Returns before they
  /// are dropped.
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
