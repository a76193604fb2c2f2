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
  private let file: () throws -> any FileBackend

  init(_ file: @escaping () throws -> any FileBackend) { self.file = file }

  /// Creates indexes for queries that read much more than they return; see
  /// `FirestoreSettings.IndexPolicy.automatic`.
  public func enableIndexAutoCreation() { carryOut { $0.learnIndexes(true) } }

  /// Creates no further index automatically. Existing indexes stay.
  public func disableIndexAutoCreation() { carryOut { $0.learnIndexes(false) } }

  /// Drops the indexes that were created automatically. Declared indexes stay. Returns before they
  /// are dropped.
  public func deleteAllIndexes() { carryOut { try $0.dropLearnedIndexes() } }

  private func carryOut(_ command: (any FileBackend) throws -> Void) {
    do {
      try command(file())
    } catch {
      let sentence = (error as? Status)?.message ?? "The index manager failed."
      Firestore.logger.error("\(sentence)", metadata: ["error": "\(error)"])
    }
  }
}
