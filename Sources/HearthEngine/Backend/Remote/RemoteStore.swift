/// Tables on a server, which several processes read and write at once: what `RemoteBackend` needs.
///
///     read     one state of what is asked for, and the changes since an earlier state: 1 round trip
///     write    the lock ─▶ reads under it ─▶ everything of a batch, durable: 2 round trips
///     blind    the lock, everything that needs no reading, durable: 1 round trip
///     watch    a signal when there may be new changes
///
/// Law: commits are in one order, that of their sequences, without a gap in the log: whoever holds the lock sees
/// every earlier commit, and a read sees all of a commit or nothing.
package protocol RemoteStore: AnyObject, Sendable {
  /// For logs. Without credentials.
  var name: String { get }

  /// The changes that are kept.
  var retention: ChangeLogRetention { get }

  /// Whether nothing is ever written: `write` then throws `openForReading`.
  var isReadOnly: Bool { get }

  /// Completes on a thread of the store, which must not be blocked.
  func read(_ request: RemoteRead, _ done: @escaping Completion<RemoteAnswer>)

  /// Calls `body` with the means to write. One caller at a time, on a thread that may block. What is
  /// not committed when `body` returns or throws is undone.
  func write<Answer>(
    _ body: (any RemoteWriting) throws(Status) -> Answer
  ) throws(Status) -> Answer

  /// Calls `body` with reads of one state, on a connection of its own. One caller at a time, among all
  /// processes: returns nil at once if there is another one. Blocks.
  func readAlone<Answer>(
    _ body: (_ read: (RemoteRead) throws(Status) -> RemoteAnswer) throws(Status) -> Answer
  ) throws(Status) -> Answer?

  /// Calls `signal` when there may be new changes, until `stopWatching`.
  func watch(_ signal: @escaping @Sendable () -> Void)
  func stopWatching()

  /// Fails what waits with `failedPrecondition`, and closes all connections. Blocks until then.
  func close()
}

/// The means to write, under the lock or before it.
package protocol RemoteWriting: AnyObject {
  /// Reads without the lock.
  func look(_ request: RemoteRead) throws(Status) -> RemoteAnswer
  /// Takes the lock, then reads. Before the calls that follow, and again after a commit.
  func lock(_ request: RemoteRead) throws(Status) -> RemoteAnswer
  func read(_ request: RemoteRead) throws(Status) -> RemoteAnswer
  /// Everything or nothing; returns when it is durable. If the connection is lost before the answer,
  /// finds out by the batch's id which of the two it was. Throws `unavailable` for nothing, and a
  /// status with `mayBeDone` if that cannot be found out.
  func commit(_ batch: RemoteBatch) throws(Status)
  /// Takes the lock and applies what its conditions allow, without `lock` before it. The same promise.
  /// Returns the outcome of each wave; nil for one that was not done, because what it knows is not so.
  func commit(_ batch: RemoteBlindBatch) throws(Status) -> [RemoteBlindAnswer?]
  /// Removes some of the ids of commits that nobody asks for any more. Without the lock. Returns
  /// whether there may be more.
  func removeOldCommitIDs() throws(Status) -> Bool
  /// The greatest of the stored times up to `now`, and of all. After `lock`.
  func times(upTo now: Int64) throws(Status) -> (kept: Int64, newest: Int64)
  /// Corrects all stored times, drops the change log, and commits. After `lock`. Returns the number
  /// of documents with other times.
  func commit(_ repair: TimeRepair, id: [UInt8]) throws(Status) -> Int
}

/// The record of a store as a whole.
package struct RemoteRecord: Sendable, Equatable {
  /// The id of the store's history: about when it was made, or restored.
  package var history: Int64
  package var isRestored: Bool
  /// Of the newest change.
  package var sequence: UInt64
  /// Of the newest commit, in microseconds.
  package var time: Int64
  /// Of the oldest change that is kept.
  package var firstLogged: UInt64
  /// The time of the newest change that is no longer kept; 0 if all are kept.
  package var trimmedTime: Int64
  /// Another one with each change of the indexes.
  package var generation: UInt64
  /// The newest time at which a state was read, or a commit changed nothing. Later commits have later
  /// times.
  package var readTime: Int64

  package init(
    history: Int64, isRestored: Bool, sequence: UInt64, time: Int64, firstLogged: UInt64,
    trimmedTime: Int64, generation: UInt64, readTime: Int64
  ) {
    self.history = history
    self.isRestored = isRestored
    self.sequence = sequence
    self.time = time
    self.firstLogged = firstLogged
    self.trimmedTime = trimmedTime
    self.generation = generation
    self.readTime = readTime
  }
}

extension RemoteRecord {
  /// The next commit gets a later time.
  var latestTime: Instant { Instant(microseconds: max(time, readTime)) }
}

/// Where a document is in the tables.
package struct RemoteKey: Sendable, Hashable {
  /// The ids of the collection's path as key bytes: a prefix of those of all collections below.
  package var collection: [UInt8]
  /// The document's id as key bytes: in the order of ids.
  package var id: [UInt8]
  /// The collection's id, in UTF-8.
  package var collectionID: [UInt8]
  /// The path, in UTF-8.
  package var name: [UInt8]
}

/// One version of a document, as it is stored.
package struct RemoteVersion: Sendable {
  package var sequence: UInt64
  package var createTime: Int64
  package var updateTime: Int64
  package var body: [UInt8]

  package init(sequence: UInt64, createTime: Int64, updateTime: Int64, body: [UInt8]) {
    self.sequence = sequence
    self.createTime = createTime
    self.updateTime = updateTime
    self.body = body
  }
}

/// A change as it is read.
package struct RemoteLoggedChange: Sendable {
  package var sequence: UInt64
  package var time: Int64
  package var endsCommit: Bool
  package var name: [UInt8]
  package var before: RemoteVersion?
  package var after: RemoteVersion?

  package init(
    sequence: UInt64, time: Int64, endsCommit: Bool, name: [UInt8], before: RemoteVersion?,
    after: RemoteVersion?
  ) {
    self.sequence = sequence
    self.time = time
    self.endsCommit = endsCommit
    self.name = name
    self.before = before
    self.after = after
  }
}

/// A set of documents, which may be larger than what is needed.
package enum RemoteScope: Sendable, Hashable {
  case documents([RemoteKey])
  /// The documents of one collection.
  case collection([UInt8], RemotePage?)
  /// The documents of all collections with an id below a path.
  case group([UInt8], below: [UInt8])
  /// The documents below a path.
  case subtree(below: [UInt8])
  /// The first documents after one, in collections with an id, or in all for nil: in the order of
  /// collections and ids. At least one if there is one, up to the one that exceeds a limit.
  case following([UInt8]?, after: RemoteKey?, PageLimits)
  /// The documents with an entry of an index in one of the ranges; of one range, also the first or
  /// last ones.
  case entries(index: UInt32, [RemoteRange], RemotePage?)
}

/// The first or last documents of a part of a collection, by id, or of an index, by entry.
package struct RemotePage: Sendable, Hashable {
  package var limit: Int
  package var isBackward: Bool
  /// The first and last id, both inclusive. Not of an index.
  package var from: [UInt8]?
  package var through: [UInt8]?
}

package struct RemoteRange: Sendable, Hashable {
  /// Inclusive.
  package var lower: [UInt8]
  /// Exclusive.
  package var upper: [UInt8]
}

package struct RemoteRead: Sendable {
  /// The changes after a sequence, in their order. At least one if there is one, up to the one that
  /// exceeds a limit.
  package struct Changes: Sendable {
    package var after: UInt64
    package var limits: PageLimits
  }

  package var scopes: [RemoteScope] = []
  package var changes: Changes?
  /// Also what the documents of `changedScopes` were after this change, of those that have changed
  /// since.
  package var undoesChangesAfter: UInt64?
  /// The scopes, or larger ones: an index has no entries of earlier versions.
  package var changedScopes: [RemoteScope] = []
  /// Also the names of all documents in a scope without limits, and without their bodies.
  package var names: RemoteScope?
  /// Also the last change at or before a time, in microseconds.
  package var lastChangeAt: Int64?
  /// Also the last change that the log must lose to have at most so many bytes.
  package var logLimitBytes: Int?
  /// Also the time of one change.
  package var timeOf: UInt64?
  package var withIndexes = false
  /// Also the number of all documents.
  package var withCount = false
}

package struct RemoteAnswer: Sendable {
  package var record: RemoteRecord
  /// Names, in UTF-8, and versions. Each document once.
  package var documents: [(name: [UInt8], version: RemoteVersion)] = []
  package var changes: [RemoteLoggedChange] = []
  /// Names, in UTF-8, and versions before the first change; nil if there was none. A name may repeat.
  package var formerVersions: [(name: [UInt8], version: RemoteVersion?)] = []
  /// A page may have been cut at the wrong key: the store has shortened keys there.
  package var isInexact = false
  /// Paths in UTF-8.
  package var names: [[UInt8]] = []
  package var lastChangeAt: UInt64?
  /// Nil if the log has no more bytes than it may. Of very many changes one in between.
  package var lastExcess: UInt64?
  package var timeOf: Int64?
  package var count: Int64?
  /// Records of indexes, by number.
  package var indexes: [UInt32: [UInt8]] = [:]

  package init(record: RemoteRecord) { self.record = record }

  func stored() throws(Status) -> [StoredDocument] {
    try documents.map { name, version throws(Status) in
      try StoredDocument(ResourcePath(remote: name), version)
    }
  }

  /// Whether there may be more documents behind these.
  func reaches(_ limits: PageLimits) -> Bool {
    documents.count >= limits.count
      || documents.reduce(0) { $0 + $1.name.count + $1.version.body.count } >= limits.byteCount
  }
}

/// The content of one commit of the server.
package struct RemoteBatch: Sendable {
  /// 16 random bytes, by which the commit is found again.
  package var id: [UInt8]
  package var record: RemoteRecord
  package var changes: [LoggedChange] = []
  /// Entries of indexes that are added and removed.
  package var addedEntries: [RemoteEntry] = []
  package var removedEntries: [RemoteEntry] = []
  /// Records of indexes; nil to remove one with its entries.
  package var indexes: [UInt32: [UInt8]?] = [:]
  /// Changes up to this one are no longer kept.
  package var trimsThrough: UInt64?
}

package struct RemoteEntry: Sendable, Hashable {
  package var index: UInt32
  package var key: [UInt8]
  package var document: RemoteKey
}

extension RemoteBatch {
  /// Whether it changes more than times.
  package var isNews: Bool {
    !changes.isEmpty || !indexes.isEmpty || trimsThrough != nil || !addedEntries.isEmpty
      || !removedEntries.isEmpty
  }

  /// The entries that are there after the batch and were not before it, and the opposite.
  package var netEntries: (added: [RemoteEntry], removed: [RemoteEntry]) {
    var net: [RemoteEntry: Int] = [:]
    for entry in addedEntries { net[entry, default: 0] += 1 }
    for entry in removedEntries { net[entry, default: 0] -= 1 }
    return (net.filter { $0.value > 0 }.map(\.key), net.filter { $0.value < 0 }.map(\.key))
  }
}
