import Foundation

/// The state of a snapshot. Both properties are always false: there is one store and no server.
public final class SnapshotMetadata: NSObject, Sendable {
  /// Whether the snapshot shows writes that are not committed. Always false.
  public let hasPendingWrites: Bool
  /// Whether the snapshot may be out of date. Always false.
  public let isFromCache: Bool

  init(hasPendingWrites: Bool, isFromCache: Bool) {
    self.hasPendingWrites = hasPendingWrites
    self.isFromCache = isFromCache
  }

  /// Whether the other object is metadata with the same flags.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotMetadata else { return false }
    return hasPendingWrites == other.hasPendingWrites && isFromCache == other.isFromCache
  }

  public override var hash: Int { (hasPendingWrites ? 2 : 0) + (isFromCache ? 1 : 0) }

  public override var description: String {
    "<SnapshotMetadata: hasPendingWrites=\(hasPendingWrites) isFromCache=\(isFromCache)>"
  }
}
