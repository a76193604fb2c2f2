internal import LMDB

/// The version of a file's format, and the steps that upgrade an older file.
///
///     none          ─▶ this version is written
///     older         ─▶ step ─▶ step ─▶ … ─▶ this version, in one transaction: all or nothing
///     older, file opened read-only
///                   ─▶ read as it is, if it is at least `oldestReadable`
///     newer         ─▶ refused
///     upgraded by another process while it is open here
///                   ─▶ every later write, and every read of a later commit, is refused
///
/// On disk, in `meta` under "format": frame, `History`. The frame's version is the file's.
struct FileFormat: Sendable {
  /// Upgrades a file from one version to the next.
  typealias Step =
    @Sendable (_ transaction: inout WriteTransaction, _ tables: Tables) throws -> Void

  /// 1 to 15.
  let version: UInt8
  /// Keyed by the version they upgrade from. Every version before this one has a step.
  let steps: [UInt8: Step]
  /// Files of this version and later can be read without an upgrade.
  var oldestReadable: UInt8

  init(version: UInt8, steps: [UInt8: Step], oldestReadable: UInt8? = nil) {
    self.version = version
    self.steps = steps
    self.oldestReadable = oldestReadable ?? version
  }

  static let key = Array("format".utf8)
  /// Version 2 adds name tables. Version 3 adds an index of the change log, which commits fill
  /// gradually. Version 4 adds the names of maps inside documents to name tables. Version 5 adds
  /// constraints to indexes. Version 6 adds indexes on cells and on words. Version 7 adds reference rules
  /// by which documents must exist. Data of an earlier version is valid in later ones, so the steps are
  /// empty.
  static let current = FileFormat(
    version: 7,
    steps: [
      1: { _, _ in }, 2: { _, _ in }, 3: { _, _ in }, 4: { _, _ in }, 5: { _, _ in },
      6: { _, _ in },
    ],
    oldestReadable: 1)

  /// The version in the file; nil for a new file.
  private func found(_ snapshot: Snapshot, _ tables: Tables) throws -> UInt8? {
    guard let stored = try snapshot.get(tables.meta, Self.key) else { return nil }
    try RecordFrame.verify(stored, key: Self.key)
    let found = stored[0] & 0x0F
    guard found > 0 else { throw Status.dataLoss("The file has no format version.") }
    guard found <= version else {
      throw Status(
        .failedPrecondition,
        "The file has format version \(found) and was written by a newer Hearth; this one reads "
          + "up to version \(version).")
    }
    return found
  }

  /// Upgrades an open file to this version. Throws `failedPrecondition` for a newer file, and for a
  /// read-only one older than `oldestReadable`.
  func prepare(_ store: Store) throws {
    let before = try store.read { try found($0.lmdb, store.tables) }
    guard before != version else { return }
    guard !store.configuration.isReadOnly else {
      guard let before, before < oldestReadable else { return }
      throw Status(
        .failedPrecondition,
        "The file has format version \(before). Open it once for writing, which brings it to version "
          + "\(version).")
    }
    do {
      var transaction = try store.environment.beginWrite()
      // Another process may have upgraded the file meanwhile.
      let found = try found(transaction.snapshot, store.tables)
      guard found != version else { return }
      if let found {
        for version in found..<version {
          guard let step = steps[version] else {
            throw Status(.internal, "There is no way from format version \(version) to the next.")
          }
          try step(&transaction, store.tables)
        }
      }
      try write(to: &transaction, store)
      try transaction.commit()
    } catch let error as LMDBError {
      throw Status(opening: store.path, error)
    }
  }

  /// Throws `failedPrecondition` unless the file still has this version. Called under the write
  /// lock, which an upgrade needs too. Looks up one key, and does not verify its record.
  func checkUnchanged(_ snapshot: Snapshot, _ tables: Tables) throws {
    guard let now = try versionNow(snapshot, tables) else {
      throw Status.dataLoss("The file has no format version.")
    }
    if now != version { throw upgraded(to: now) }
  }

  /// Throws `failedPrecondition` if the file has a newer version by now.
  func checkReadable(_ snapshot: Snapshot, _ tables: Tables) throws {
    if let now = try versionNow(snapshot, tables), now > version { throw upgraded(to: now) }
  }

  private func versionNow(_ snapshot: Snapshot, _ tables: Tables) throws -> UInt8? {
    try snapshot.get(tables.meta, Self.key)?.first.map { $0 & 0x0F }
  }

  private func upgraded(to now: UInt8) -> Status {
    Status(
      .failedPrecondition,
      "Another process has upgraded the file to format version \(now), and this one supports version "
        + "\(version). Restart it with the version of Hearth that upgraded the file.",
      cause: Upgraded(version: now))
  }

  /// Another process has upgraded the file.
  private struct Upgraded: Error {
    let version: UInt8
  }

  private func write(to transaction: inout WriteTransaction, _ store: Store) throws {
    var record = [version, 0, 0, 0, 0]
    if let stored = try transaction.snapshot.get(store.tables.meta, Self.key) {
      record += stored.from(RecordFrame.byteCount)
    } else {
      record.append(littleEndian: UInt64(bitPattern: store.configuration.now().microseconds))
    }
    RecordFrame.seal(&record, key: Self.key)
    try transaction.put(store.tables.meta, Self.key, record)
  }
}

/// Identifies a file's history of changes. Sequences are comparable only within one history.
///
/// On disk, in `meta` under "format", after the frame: the id and, in a file restored from a
/// backup or with a lost commit, the id that it was created with. 8 bytes each, little-endian.
struct History: Equatable, Sendable {
  /// Roughly the time when the file was created, or when a new history began. Two restores of one
  /// backup get different ids, even if the clock was set back in between.
  var id: Instant
  /// Whether there was a history before: of the backup, or of commits that may be lost.
  var isRestored = false

  static func read(_ snapshot: StoreSnapshot) throws -> History {
    // An empty database that is opened read-only has none.
    guard let stored = try snapshot.lmdb.get(snapshot.tables.meta, FileFormat.key) else {
      return History(id: .earliest)
    }
    let payload = stored.from(RecordFrame.byteCount)
    var cursor = ByteCursor(payload)
    let id = Instant(microseconds: Int64(bitPattern: try cursor.fixed64()))
    return History(id: id, isRestored: payload.count > 8)
  }

  /// Gives a file a new history.
  static func begin(_ transaction: inout WriteTransaction, in store: Store) throws {
    let stored = try transaction.snapshot.get(store.tables.meta, FileFormat.key).map { Array($0) }
    guard let stored, stored.count >= RecordFrame.byteCount + 8 else {
      throw Status.dataLoss("The file has no format version.")
    }
    let old = stored[RecordFrame.byteCount...]
    let oldID = old.prefix(8).reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    let id =
      max(store.configuration.now().microseconds, Int64(bitPattern: oldID) &+ 1)
      &+ Int64.random(in: 0..<1 << 30)
    var record = [stored[0], 0, 0, 0, 0]
    record.append(littleEndian: UInt64(bitPattern: id))
    record += old.suffix(8)
    RecordFrame.seal(&record, key: FileFormat.key)
    try transaction.put(store.tables.meta, FileFormat.key, record)
  }
}

extension WriteTransaction {
  /// Puts an entry, or deletes it if the value is nil.
  mutating func put(
    _ table: Table, _ key: [UInt8], _ value: [UInt8]?, append: Bool = false
  ) throws {
    guard let value else { return try delete(table, key) }
    let (keyCount, valueCount) = (key.count, value.count)
    try key.withUnsafeBufferPointer { key in
      try value.withUnsafeBufferPointer { value in
        try put(
          table, UnsafeRawBufferPointer(start: key.baseAddress, count: keyCount),
          UnsafeRawBufferPointer(start: value.baseAddress, count: valueCount), append: append)
      }
    }
  }

  mutating func delete(_ table: Table, _ key: [UInt8]) throws {
    _ = try key.withUnsafeBytes { try delete(table, $0) }
  }
}

extension Snapshot {
  func get(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> UnsafeRawBufferPointer? {
    try key.withUnsafeBufferPointer { key throws(LMDBError) in
      try get(table, UnsafeRawBufferPointer(key))
    }
  }
}

extension Cursor {
  mutating func seek(to key: [UInt8]) throws(LMDBError) -> Bool {
    try key.withUnsafeBufferPointer { key throws(LMDBError) in
      try seek(to: UnsafeRawBufferPointer(key))
    }
  }
}
