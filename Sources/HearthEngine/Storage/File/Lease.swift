internal import LMDB

/// Prevents two processes from doing the same work. The holder renews the lease with its commits;
/// another process takes it once it has expired. It only saves work: doing the work twice is safe.
///
/// On disk, in `meta` under the name of the work: frame, holder, end; 8 bytes each, little-endian.
struct Lease: Sendable {
  /// On disk. Changing a raw value changes the file format; see StorageLayout.md.
  enum Work: String {
    case indexes = "indexLease"
    case sweep = "sweepLease"
  }

  enum State {
    case own
    /// Free or expired, or our own with less than half of its time left.
    case available
    case others
  }

  static let microseconds: Int64 = 2_000_000

  let holder: UInt64
  /// The wall clock, not the clock of commits, so that a lease of an ended process expires.
  let now: @Sendable () -> Instant
  private let key: [UInt8]

  init(
    _ work: Work, holder: UInt64 = UInt64.random(in: 1...UInt64.max),
    now: @escaping @Sendable () -> Instant = Instant.now
  ) {
    key = Array(work.rawValue.utf8)
    self.holder = holder
    self.now = now
  }

  func state(in snapshot: StoreSnapshot) throws -> State {
    guard let (found, end) = try read(snapshot) else { return .available }
    let left = end &- now().microseconds
    // An end too far in the future was written before the clock was set back.
    let isRunning = left > 0 && left <= Self.microseconds
    if found == holder { return isRunning && left > Self.microseconds / 2 ? .own : .available }
    return isRunning ? .others : .available
  }

  func isHeld(in snapshot: StoreSnapshot) throws -> Bool {
    try read(snapshot)?.holder == holder
  }

  private func read(_ snapshot: StoreSnapshot) throws -> (holder: UInt64, end: Int64)? {
    guard let stored = try snapshot.lmdb.get(snapshot.tables.meta, key) else { return nil }
    var reader = ByteCursor(try RecordFrame.payload(of: stored, key: key))
    return (try reader.fixed64(), Int64(bitPattern: try reader.fixed64()))
  }

  func giveBack(_ transaction: inout WriteTransaction, in store: Store) throws {
    try transaction.delete(store.tables.meta, key)
  }

  /// Gives it back in a commit of its own, if it is held.
  func giveBackIfHeld(in store: Store) throws {
    try store.write { transaction in
      if try isHeld(in: StoreSnapshot(transaction.snapshot, store)) {
        try giveBack(&transaction, in: store)
      }
    }
  }

  func take(_ transaction: inout WriteTransaction, in store: Store) throws {
    let end = now().microseconds &+ Self.microseconds
    let record = RecordFrame.record(under: key) { record in
      record.append(littleEndian: holder)
      record.append(littleEndian: UInt64(bitPattern: end))
    }
    try transaction.put(store.tables.meta, key, record)
  }
}
