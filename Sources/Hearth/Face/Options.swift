import Foundation

/// Where to read. There is no server: all three read the database.
public enum FirestoreSource: UInt, Sendable {
  case `default`, server, cache
}

/// Where to aggregate. There is no server: the database does.
public enum AggregateSource: UInt, Sendable {
  case server
}

/// Where a listener's news comes from. There is no server: both listen to the database.
public enum ListenSource: UInt, Sendable {
  case `default`, cache
}

/// What stands for a server timestamp that is not known yet. Here it always is: a snapshot shows
/// committed data only.
public enum ServerTimestampBehavior: Int, Sendable {
  case none, estimate, previous
}

/// What happened to a document in a query's result.
@frozen public enum DocumentChangeType: Int, Sendable {
  case added, modified, removed
}

/// What is known about a snapshot besides its data.
public final class SnapshotMetadata: NSObject, Sendable {
  /// Whether the snapshot shows writes that are not committed.
  public let hasPendingWrites: Bool
  /// Whether the snapshot may be out of date.
  public let isFromCache: Bool

  init(hasPendingWrites: Bool, isFromCache: Bool) {
    self.hasPendingWrites = hasPendingWrites
    self.isFromCache = isFromCache
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotMetadata else { return false }
    return hasPendingWrites == other.hasPendingWrites && isFromCache == other.isFromCache
  }

  public override var hash: Int { (hasPendingWrites ? 2 : 0) + (isFromCache ? 1 : 0) }

  public override var description: String {
    "<SnapshotMetadata: hasPendingWrites=\(hasPendingWrites) isFromCache=\(isFromCache)>"
  }
}

/// How a listener listens.
///
///     let options = SnapshotListenOptions().withChanges(since: token)
public final class SnapshotListenOptions: NSObject, Sendable {
  public let source: ListenSource
  /// Changes nothing: metadata never changes here.
  public let includeMetadataChanges: Bool
  /// What is known already: the first snapshot's changes are those since.
  public let token: ChangeToken?
  /// Whether the listener has a serial queue of its own.
  public let hasOwnQueue: Bool

  public override convenience init() {
    self.init(source: .default, includeMetadataChanges: false, token: nil, hasOwnQueue: false)
  }

  private init(
    source: ListenSource, includeMetadataChanges: Bool, token: ChangeToken?, hasOwnQueue: Bool
  ) {
    self.source = source
    self.includeMetadataChanges = includeMetadataChanges
    self.token = token
    self.hasOwnQueue = hasOwnQueue
  }

  public func withIncludeMetadataChanges(_ include: Bool) -> SnapshotListenOptions {
    SnapshotListenOptions(
      source: source, includeMetadataChanges: include, token: token, hasOwnQueue: hasOwnQueue)
  }

  public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
    SnapshotListenOptions(
      source: source, includeMetadataChanges: includeMetadataChanges, token: token,
      hasOwnQueue: hasOwnQueue)
  }

  /// Calls this listener back on a serial queue of its own, where it waits for no other callback of the
  /// database, as long as no more than 255 such queues run callbacks.
  ///
  ///     let options = SnapshotListenOptions().withOwnQueue(true)
  ///     books.addSnapshotListener(options: options) { snapshot, _ in render(snapshot) }
  ///
  /// The callback may then run at the same time as others: what it shares with them needs a lock. Changes nothing for
  /// a listener that was added by an actor's code, or with a queue or an executor.
  public func withOwnQueue(_ own: Bool) -> SnapshotListenOptions {
    SnapshotListenOptions(
      source: source, includeMetadataChanges: includeMetadataChanges, token: token, hasOwnQueue: own
    )
  }

  /// Goes on from a snapshot's `token`: the first snapshot tells what was added, modified and removed
  /// since, also what happened while the process was down. If the change log does not reach back that
  /// far, the first snapshot has everything as added, and its `isReset` is true.
  public func withChanges(since token: ChangeToken?) -> SnapshotListenOptions {
    SnapshotListenOptions(
      source: source, includeMetadataChanges: includeMetadataChanges, token: token,
      hasOwnQueue: hasOwnQueue)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotListenOptions else { return false }
    return source == other.source && includeMetadataChanges == other.includeMetadataChanges
      && token == other.token && hasOwnQueue == other.hasOwnQueue
  }

  public override var hash: Int { Int(source.rawValue) * 2 + (includeMetadataChanges ? 1 : 0) }
}

/// How a transaction runs.
public final class TransactionOptions: NSObject, NSCopying {
  /// How often a transaction is tried. At least once; otherwise the transaction reports `invalidArgument`. The fifth
  /// attempt, and each after it, holds the file's write lock while the block runs, for at most one second; with fewer
  /// than five none does.
  public var maxAttempts = 5

  public override init() {}

  var fault: Status? {
    (1...Int(Int32.max)).contains(maxAttempts)
      ? nil : .invalidArgument("Invalid maxAttempts: \(maxAttempts)")
  }

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = TransactionOptions()
    copy.maxAttempts = maxAttempts
    return copy
  }

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? TransactionOptions)?.maxAttempts == maxAttempts
  }

  public override var hash: Int { maxAttempts }
}

#if !canImport(ObjectiveC)
  /// Where a transaction's block puts its error: `errorPointer?.pointee = error`.
  public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
#endif
