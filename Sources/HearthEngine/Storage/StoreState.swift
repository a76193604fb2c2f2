internal import LMDB

/// The newest sequence and commit time, and the extent of the change log. Read and written inside
/// transactions only.
///
/// On disk, in `meta` under "state": frame, last sequence, last commit time, first sequence still
/// in the change log, last sequence in the index of the log; 8 bytes each, little-endian. Files of
/// formats before 3 lack the last one.
struct StoreState: Equatable, Sendable {
  static let key = Array("state".utf8)

  /// The sequence of the newest change; 0 in a new database.
  var lastSequence: UInt64 = 0
  /// The time of the newest commit, or a later one that a commit without changes has got. Commit times
  /// only grow: each is max(now, last + 1 µs).
  var lastCommitTime = Instant(microseconds: 0)
  /// The log holds every change from here on.
  var firstLoggedSequence: UInt64 = 1
  /// The index of the log covers all changes in the log up to here.
  var indexedSequence: UInt64 = 0

  /// No file gets there: a stored sequence from here on is damage. Below it, a commit can count on
  /// without overflow.
  static let sequenceLimit: UInt64 = 1 << 62

  /// Throws `dataLoss` for a stored sequence that no commit has given.
  static func check(_ sequence: UInt64) throws(Status) {
    guard sequence < sequenceLimit else {
      throw .dataLoss("A stored sequence is higher than any commit's: \(sequence).")
    }
  }

  static func read(_ snapshot: Snapshot, _ tables: Tables) throws -> StoreState {
    guard let stored = try snapshot.get(tables.meta, key) else { return StoreState() }
    try RecordFrame.verify(stored, key: key)
    return try StoreState(parsing: stored)
  }

  func encoded() -> [UInt8] {
    RecordFrame.record(under: Self.key) { record in
      record.append(littleEndian: lastSequence)
      record.append(littleEndian: UInt64(bitPattern: lastCommitTime.microseconds))
      record.append(littleEndian: firstLoggedSequence)
      record.append(littleEndian: indexedSequence)
    }
  }
}

extension StoreState {
  /// Does not verify the checksum.
  init(parsing stored: UnsafeRawBufferPointer) throws(Status) {
    var reader = ByteCursor(try RecordFrame.open(stored).payload)
    lastSequence = try reader.fixed64()
    lastCommitTime = Instant(microseconds: Int64(bitPattern: try reader.fixed64()))
    firstLoggedSequence = try reader.fixed64()
    indexedSequence = reader.isAtEnd ? 0 : try reader.fixed64()
  }
}
