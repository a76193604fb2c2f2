import Foundation

/// The source of a read. There is no server: all three values read the database.
public enum FirestoreSource: UInt, Sendable {
  /// Reads the database. In an app, the server's data, or else the cache's.
  case `default`
  /// Reads the database.
  case server
  /// Reads the database.
  case cache
}

/// The source of an aggregation. There is no server: `server` reads the database.
public enum AggregateSource: UInt, Sendable {
  /// Reads the database.
  case server
}

/// The source of a listener. There is no server: both values listen to the database.
public enum ListenSource: UInt, Sendable {
  /// Listens to the database.
  case `default`
  /// Listens to the database.
  case cache
}

/// The value that a snapshot shows for a server timestamp that is not committed yet. Has no effect:
/// a snapshot shows committed data only.
public enum ServerTimestampBehavior: Int, Sendable {
  /// In an app: null.
  case none
  /// In an app: an estimate by the device's clock.
  case estimate
  /// In an app: the value before the write.
  case previous
}

/// How a document of a query's result changed.
@frozen public enum DocumentChangeType: Int, Sendable {
  /// The document is in the result now and was not before.
  case added
  /// The document is in the result, and its fields changed; it may have another index.
  case modified
  /// The document is no longer in the result: deleted, or changed so that it does not match.
  case removed
}

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
    self.init(source: .default, includeMetadataChanges: false, token: nil, hasOwnQueue: false)
  }

  private init(
    source: ListenSource, includeMetadataChanges: Bool, token: ChangeToken?, hasOwnQueue: Bool
  ) {
    self.source = source
    self.includeMetadataChanges = includeMetadataChanges
    resumeToken = token
    self.hasOwnQueue = hasOwnQueue
  }

  /// Returns a copy with `includeMetadataChanges`, which has no effect: metadata never changes.
  public func withIncludeMetadataChanges(_ include: Bool) -> SnapshotListenOptions {
    SnapshotListenOptions(
      source: source, includeMetadataChanges: include, token: resumeToken, hasOwnQueue: hasOwnQueue)
  }

  /// Returns a copy with `source`, which has no effect: there is one source.
  public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
    SnapshotListenOptions(
      source: source, includeMetadataChanges: includeMetadataChanges, token: resumeToken,
      hasOwnQueue: hasOwnQueue)
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
    SnapshotListenOptions(
      source: source, includeMetadataChanges: includeMetadataChanges, token: resumeToken,
      hasOwnQueue: own
    )
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
    SnapshotListenOptions(
      source: source, includeMetadataChanges: includeMetadataChanges, token: token,
      hasOwnQueue: hasOwnQueue)
  }

  /// Whether the other object is options with the same values.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotListenOptions else { return false }
    return source == other.source && includeMetadataChanges == other.includeMetadataChanges
      && resumeToken == other.resumeToken && hasOwnQueue == other.hasOwnQueue
  }

  public override var hash: Int { Int(source.rawValue) * 2 + (includeMetadataChanges ? 1 : 0) }
}

/// The options of a transaction.
public final class TransactionOptions: NSObject, NSCopying {
  /// The maximum number of attempts: 1...2,147,483,647, otherwise the transaction fails with
  /// `invalidArgument`.
  ///
  /// The fifth attempt, and each later one, holds the file's write lock while the block runs, for
  /// at most one second. With a maximum below five, no attempt holds the lock.
  public var maxAttempts = 5

  public override init() {}

  var validationError: Status? {
    (1...Int(Int32.max)).contains(maxAttempts)
      ? nil : .invalidArgument("Invalid maxAttempts: \(maxAttempts)")
  }

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = TransactionOptions()
    copy.maxAttempts = maxAttempts
    return copy
  }

  /// Whether the other object is options with the same number of attempts.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? TransactionOptions)?.maxAttempts == maxAttempts
  }

  public override var hash: Int { maxAttempts }
}

#if !canImport(ObjectiveC)
  /// Receives the error of a transaction's block: `errorPointer?.pointee = error`.
  public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
#endif
