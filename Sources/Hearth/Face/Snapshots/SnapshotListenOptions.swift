import Foundation

/// The source of a listener. There is no server: both values listen to the database.
public enum ListenSource: UInt, Sendable {
  /// Listens to the database.
  case `default`
  /// Listens to the database.
  case cache
}

/// The options of a snapshot listener.
///
///     let options = SnapshotListenOptions().resuming(from: token)
public final class SnapshotListenOptions: NSObject, Sendable {
  /// Has no effect: there is one source.
  public let source: ListenSource
  /// Has no effect: metadata never changes.
  public let includeMetadataChanges: Bool
  /// The token to resume from; see `resuming(from:)`.
  public let resumeToken: ChangeToken?
  /// Whether the listener has its own serial queue; see `withOwnQueue(_:)`.
  public let hasOwnQueue: Bool

  public override convenience init() {
    self.init(nil)
  }

  /// Other options with what is given, or else the defaults.
  private init(
    _ other: SnapshotListenOptions?, source: ListenSource? = nil,
    includeMetadataChanges: Bool? = nil, token: ChangeToken?? = nil, hasOwnQueue: Bool? = nil
  ) {
    self.source = source ?? other?.source ?? .default
    self.includeMetadataChanges = includeMetadataChanges ?? other?.includeMetadataChanges ?? false
    resumeToken = token ?? other?.resumeToken
    self.hasOwnQueue = hasOwnQueue ?? other?.hasOwnQueue ?? false
  }

  /// Returns a copy with `includeMetadataChanges`, which has no effect: metadata never changes.
  public func withIncludeMetadataChanges(_ include: Bool) -> SnapshotListenOptions {
    SnapshotListenOptions(self, includeMetadataChanges: include)
  }

  /// Returns a copy with `source`, which has no effect: there is one source.
  public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
    SnapshotListenOptions(self, source: source)
  }

  /// Calls this listener on its own serial queue, where it waits for no other callback of the
  /// database.
  ///
  ///     let options = SnapshotListenOptions().withOwnQueue(true)
  ///     books.addSnapshotListener(options: options) { snapshot, _ in print(snapshot?.count ?? 0) }
  ///
  /// The callback waits for no other one as long as at most 255 such queues run callbacks. It may
  /// run at the same time as other callbacks: protect the data that it shares with them. Has no
  /// effect for a listener that is added from an actor's code, or with a queue or an executor.
  public func withOwnQueue(_ own: Bool) -> SnapshotListenOptions {
    SnapshotListenOptions(self, hasOwnQueue: own)
  }

  /// Resumes from a snapshot's `token`.
  ///
  /// The changes of the first snapshot are the documents that were added, modified and removed
  /// since the token, also while the process was not running. If the change log does not reach back
  /// that far, or the state of the token was lost, the first snapshot has every document as added,
  /// and its `isFullResync` is true. The same holds for every search, query that includes documents,
  /// and query with times relative to the present. The listener ends with `invalidArgument` for a
  /// token of another database: listen without a token then.
  public func resuming(from token: ChangeToken?) -> SnapshotListenOptions {
    SnapshotListenOptions(self, token: .some(token))
  }

  /// Whether the other object is options with the same values.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotListenOptions else { return false }
    return source == other.source && includeMetadataChanges == other.includeMetadataChanges
      && resumeToken == other.resumeToken && hasOwnQueue == other.hasOwnQueue
  }

  public override var hash: Int { Int(source.rawValue) * 2 + (includeMetadataChanges ? 1 : 0) }
}
