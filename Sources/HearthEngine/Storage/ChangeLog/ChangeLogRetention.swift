internal import LMDB

/// How long past changes are kept: the change log is trimmed to the smaller of the two limits.
///
/// Stored only once it was set for the file. Then it applies to every process that writes, in place
/// of the settings of each.
// On disk, in `meta` under "retention": frame, age in microseconds, bytes; 8 bytes each, little-endian.
public struct ChangeLogRetention: Sendable, Hashable {
  /// The age after which a change may be removed.
  public var age: Duration
  /// About how many bytes of changes are kept.
  public var limitBytes: Int

  /// Creates a retention; `Firestore.setChangeLogRetention` stores it.
  ///
  /// - Parameters:
  ///   - age: The age after which a change may be removed. Kept to the microsecond.
  ///   - limitBytes: About how many bytes of changes are kept.
  public init(age: Duration, limitBytes: Int) {
    self.age = age
    self.limitBytes = limitBytes
  }

  static let key = Array("retention".utf8)

  /// The age, of at most some 35,000 years.
  var ageMicroseconds: Int64 { age.clampedMicroseconds }

  /// Less than a result takes that is read in parts: a minute, or 16 MiB of changes.
  var isShort: Bool { ageMicroseconds < 60_000_000 || limitBytes < 16 << 20 }

  /// Throws `invalidArgument` for a negative limit.
  package func check() throws(Status) {
    guard age >= .zero, limitBytes >= 0 else {
      throw .invalidArgument("A change log's retention cannot be negative.")
    }
  }

  /// Nil if none was set for this file.
  static func read(_ snapshot: Snapshot, _ tables: Tables) throws -> ChangeLogRetention? {
    guard let stored = try snapshot.get(tables.meta, key) else { return nil }
    try RecordFrame.verify(stored, key: key)
    var reader = ByteCursor(try RecordFrame.open(stored).payload)
    return ChangeLogRetention(
      age: .microseconds(Int64(bitPattern: try reader.fixed64())),
      limitBytes: Int(clamping: try reader.fixed64()))
  }

  func encoded() -> [UInt8] {
    RecordFrame.record(under: Self.key) { record in
      record.append(littleEndian: UInt64(bitPattern: ageMicroseconds))
      record.append(littleEndian: UInt64(max(0, limitBytes)))
    }
  }
}

extension Store {
  /// Stores the retention for every process that writes; nil leaves it to the settings of each.
  /// Blocks. Throws `invalidArgument` for a negative limit, and what a commit throws.
  ///
  /// - Parameter isDefault: Does nothing if a retention is stored.
  func setRetention(_ retention: ChangeLogRetention?, isDefault: Bool = false) throws {
    try retention?.check()
    if isDefault, try read({ try ChangeLogRetention.read($0.lmdb, tables) != nil }) { return }
    try write { transaction in
      let stored = try ChangeLogRetention.read(transaction.snapshot, tables)
      if stored == retention || isDefault && stored != nil { return }
      try transaction.put(tables.meta, ChangeLogRetention.key, retention?.encoded())
    }
  }
}

extension StoreSnapshot {
  /// The retention in force: the stored one, or that of the settings.
  func retention() throws -> ChangeLogRetention {
    try ChangeLogRetention.read(lmdb, tables) ?? store.configuration.retention
  }
}
