import Foundation

/// The state of a snapshot. Both properties are always false: there is one store and no server.
public final class SnapshotMetadata: NSObject, Sendable {
  /// Whether the snapshot shows writes that are not committed. Always false.
  public let hasPendingWrites = false
  /// Whether the snapshot may be out of date. Always false.
  public let isFromCache = false

  /// The metadata of every snapshot.
  static let committed = SnapshotMetadata()

  private override init() {}

  public override var description: String {
    "<SnapshotMetadata: hasPendingWrites=\(hasPendingWrites) isFromCache=\(isFromCache)>"
  }
}
