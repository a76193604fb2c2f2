internal import LMDB

/// A table whose keys may be truncated. The value of a truncated key has the path that the key is
/// made from.
///
/// Two paths with the same truncated key (same beginning, same hash) get different ordinals in the
/// key's last byte. Lookups compare the paths, never only the hash.
struct TruncatedKeyTable: Sendable {
  let table: Table
  /// The path text in a value; nil if its key is not truncated.
  let pathText: @Sendable (UnsafeRawBufferPointer) throws -> String?

  /// The key and value of a path's entry, borrowed; nil if there is none.
  func entry(
    _ truncated: TruncatedKey, of path: ResourcePath, in snapshot: Snapshot
  ) throws -> (key: [UInt8], value: UnsafeRawBufferPointer)? {
    if !truncated.isTruncated {
      return try snapshot.get(table, truncated.bytes).map { (truncated.bytes, $0) }
    }
    let text = path.text
    var result: (key: [UInt8], value: UnsafeRawBufferPointer)?
    try eachWithHash(of: truncated, in: snapshot) { key, value in
      guard let found = try pathText(value), UTF8Order.areEqual(found, text) else { return true }
      result = (key, value)
      return false
    }
    return result
  }

  /// The key and the number of a path's entry, in a table of numbers; nil if there is none.
  func number(
    _ truncated: TruncatedKey, of path: ResourcePath, in snapshot: Snapshot
  ) throws -> (key: [UInt8], number: UInt64)? {
    try entry(truncated, of: path, in: snapshot).map { key, value in
      (key, try key.withUnsafeBytes { try NumberRecord.decode(value, key: $0) })
    }
  }

  /// The key for a new entry: the first ordinal that is neither in the table nor `isPlanned`.
  func freeKey(
    _ truncated: TruncatedKey, in snapshot: Snapshot,
    isPlanned: ([UInt8]) -> Bool = { _ in false }
  ) throws -> [UInt8] {
    guard truncated.isTruncated else { return truncated.bytes }
    var taken: Set<UInt8> = []
    try eachWithHash(of: truncated, in: snapshot) { key, _ in
      taken.insert(key[key.count - 1])
      return true
    }
    for ordinal in 0...UInt8.max where !taken.contains(ordinal) {
      let key = Array(truncated.bytes.dropLast()) + [ordinal]
      if !isPlanned(key) { return key }
    }
    throw Status(
      .resourceExhausted, "More than 256 long names share one hash; one of them cannot be stored.")
  }

  private func eachWithHash(
    of truncated: TruncatedKey, in snapshot: Snapshot,
    _ body: ([UInt8], UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var cursor = try snapshot.cursor(table)
    let hashed = truncated.bytes.dropLast()
    var found = try cursor.seek(to: truncated.bytes)
    while found, cursor.key.count == truncated.bytes.count, cursor.key.starts(with: hashed) {
      guard try body(Array(cursor.key), cursor.value) else { return }
      found = try cursor.next()
    }
  }
}

/// A number, and the path if the key is truncated: the values of the catalogue and of tombstones.
///
///     frame ‖ number (8 bytes, little-endian) ‖ [path text]
///
/// On disk. Changing this changes the file format; see StorageLayout.md.
enum NumberRecord {
  static func encode(_ number: UInt64, path: ResourcePath, key: [UInt8], isTruncated: Bool)
    -> [UInt8]
  {
    RecordFrame.record(under: key) { record in
      record.append(littleEndian: number)
      if isTruncated { record.append(contentsOf: path.text.utf8) }
    }
  }

  static func decode(
    _ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
  ) throws -> UInt64 {
    var reader = ByteCursor(try RecordFrame.payload(of: value, key: key))
    return try reader.fixed64()
  }

  @Sendable static func pathText(_ value: UnsafeRawBufferPointer) throws -> String? {
    guard value.count >= RecordFrame.byteCount + 8 else {
      throw Status.dataLoss("A stored record ends too early.")
    }
    let text = UnsafeRawBufferPointer(rebasing: value[(RecordFrame.byteCount + 8)...])
    return text.isEmpty ? nil : String(validating: text, as: UTF8.self)
  }
}
