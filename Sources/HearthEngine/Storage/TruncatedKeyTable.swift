internal import LMDB

/// A table whose keys may be cut, with the path they stand for in the value where they are.
///
/// Two paths with one cut key (same beginning, same hash) are kept apart by the ordinal in the key's
/// last byte, and told apart by comparing the paths, never by trusting the hash.
struct TruncatedKeyTable: Sendable {
  let table: Table
  /// The path text that a value carries if its key is cut.
  let pathText: @Sendable (UnsafeRawBufferPointer) throws -> String?

  /// Where the path's entry is and what it holds, borrowed; nil if there is none.
  func entry(
    _ cut: TruncatedKey, of path: ResourcePath, in snapshot: Snapshot
  ) throws -> (key: [UInt8], value: UnsafeRawBufferPointer)? {
    if !cut.isCut {
      return try cut.bytes.withUnsafeBytes { try snapshot.get(table, $0) }.map { (cut.bytes, $0) }
    }
    let text = path.text
    var result: (key: [UInt8], value: UnsafeRawBufferPointer)?
    try eachWithHash(of: cut, in: snapshot) { key, value in
      guard let found = try pathText(value), UTF8Order.areEqual(found, text) else { return true }
      result = (key, value)
      return false
    }
    return result
  }

  /// The key that a new entry gets: the first ordinal that neither the table has nor `isPlanned`.
  func freeKey(
    _ cut: TruncatedKey, in snapshot: Snapshot, isPlanned: ([UInt8]) -> Bool
  ) throws -> [UInt8] {
    guard cut.isCut else { return cut.bytes }
    var taken: Set<UInt8> = []
    try eachWithHash(of: cut, in: snapshot) { key, _ in
      taken.insert(key[key.count - 1])
      return true
    }
    for ordinal in 0...UInt8.max where !taken.contains(ordinal) {
      let key = Array(cut.bytes.dropLast()) + [ordinal]
      if !isPlanned(key) { return key }
    }
    throw Status(
      .resourceExhausted, "More than 256 long names share one hash; one of them cannot be stored.")
  }

  private func eachWithHash(
    of cut: TruncatedKey, in snapshot: Snapshot,
    _ body: ([UInt8], UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var cursor = try snapshot.cursor(table)
    let hashed = cut.bytes.dropLast()
    var found = try cut.bytes.withUnsafeBytes { try cursor.seek(to: $0) }
    while found, cursor.key.count == cut.bytes.count, cursor.key.starts(with: hashed) {
      guard try body(Array(cursor.key), cursor.value) else { return }
      found = try cursor.next()
    }
  }
}

/// A number, and the path it belongs to where the key is cut: the catalogue's and tombstones' values.
///
///     frame ‖ number (8 bytes, little-endian) ‖ [path text]
///
/// On disk. Changing this changes the file format; see StorageLayout.md.
enum NumberRecord {
  static func encode(_ number: UInt64, path: ResourcePath, key: [UInt8], isCut: Bool) -> [UInt8] {
    var record = RecordFrame.room()
    record.append(littleEndian: number)
    if isCut { record.append(contentsOf: path.text.utf8) }
    RecordFrame.seal(&record, key: key)
    return record
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
