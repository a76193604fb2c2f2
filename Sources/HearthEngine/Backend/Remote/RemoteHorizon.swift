/// The newest commit that this process has seen. A store whose newest commit is older has lost some: by a
/// failover to a server that did not have them, or by a restore to an earlier time.
///
///     … 104 105 │106 107 108│            seen: 108     the store: 105
///     … 104 105 └───lost────┘ … 1048684  what the store goes on from: tokens, listeners and
///                                        transactions of any process find that the log begins later
final class RemoteHorizon: Sendable {
  private let newest = Guarded<(sequence: UInt64, time: Int64)>((0, 0))

  /// Another process has not seen so many commits more than this one.
  private static let gap: UInt64 = 1 << 20

  var sequence: UInt64 { newest.withLock(\.sequence) }

  func note(_ record: RemoteRecord) { note(record.sequence, record.time) }

  func note(_ sequence: UInt64, _ time: Int64) {
    newest.withLock { newest in
      // Times grow with sequences, except by a repair, whose time holds from then on.
      if sequence > newest.sequence { newest = (sequence, time) }
    }
  }

  /// The batch after which no lost sequence is used again, for a store that has lost commits. Nil if it
  /// has all that was seen.
  func batch(mending record: RemoteRecord) -> RemoteBatch? {
    let seen = newest.withLock(\.self)
    guard record.sequence < seen.sequence else { return nil }
    var batch = RemoteBatch(id: [], record: record)
    batch.record.sequence = seen.sequence + Self.gap
    batch.record.time = max(record.time, seen.time)
    batch.record.firstLogged = batch.record.sequence + 1
    batch.record.trimmedTime = batch.record.time
    batch.trimsThrough = record.sequence
    return batch
  }
}
