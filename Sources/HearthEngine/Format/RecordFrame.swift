internal import CXXHash

/// The five bytes before the payload of every stored record: flags and version, checksum.
///
///     ┌───────────────┬──────────┬─────────┐
///     │ flags·version │ checksum │ payload │
///     │ 4 bit each    │ 4 bytes  │         │
///     └───────────────┴──────────┴─────────┘
///
/// The checksum also covers the record's key: a record stored under another key is detected.
///
/// On disk. Changing a value here changes the file format; see DocumentFormat.md.
enum RecordFrame {
  static let version: UInt8 = DocumentFormat.version
  static let byteCount = 5
  private static let checksumOffset = 1

  // MARK: Writing

  /// The frame's bytes, to be sealed after the payload is appended.
  static func room() -> [UInt8] { [version, 0, 0, 0, 0] }

  static func seal(_ record: inout [UInt8], key: [UInt8]) {
    record.withUnsafeMutableBytes { record in
      key.withUnsafeBytes { seal(record, key: $0) }
    }
  }

  /// A whole record, with the payload that `append` appends.
  static func record(under key: [UInt8], _ append: (inout [UInt8]) -> Void) -> [UInt8] {
    var record = room()
    append(&record)
    seal(&record, key: key)
    return record
  }

  /// Fills in the checksum of a record that is otherwise complete.
  static func seal(_ record: UnsafeMutableRawBufferPointer, key: UnsafeRawBufferPointer) {
    let sum = checksum(of: UnsafeRawBufferPointer(record), key: key)
    record.storeBytes(of: sum.littleEndian, toByteOffset: checksumOffset, as: UInt32.self)
  }

  // MARK: Reading

  /// The flags and the payload. Does not check the checksum.
  @inline(__always)
  static func open(
    _ record: UnsafeRawBufferPointer
  ) throws(Status) -> (flags: UInt8, payload: UnsafeRawBufferPointer) {
    guard record.count >= byteCount else { throw .truncated }
    let first = record[0]
    guard first & 0x0F == version else { throw otherVersion(first & 0x0F) }
    return (first & 0xF0, UnsafeRawBufferPointer(rebasing: record[byteCount...]))
  }

  /// Throws `dataLoss` if a byte has changed, or if the record belongs under another key.
  static func verify(
    _ record: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
  ) throws(Status) {
    guard record.count >= byteCount else { throw .truncated }
    let stored = UInt32(
      littleEndian: record.loadUnaligned(fromByteOffset: checksumOffset, as: UInt32.self))
    guard stored == checksum(of: record, key: key) else {
      throw .dataLoss("A stored record's checksum does not match its bytes.")
    }
  }

  /// The payload, after checking version and checksum.
  static func payload(
    of record: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
  ) throws(Status) -> UnsafeRawBufferPointer {
    let payload = try open(record).payload
    try verify(record, key: key)
    return payload
  }

  /// The same, with the key in an array.
  static func verify(_ record: UnsafeRawBufferPointer, key: [UInt8]) throws(Status) {
    try key.withUnsafeBufferPointer { key throws(Status) in
      try verify(record, key: UnsafeRawBufferPointer(key))
    }
  }

  /// The same, with the key in an array.
  static func payload(
    of record: UnsafeRawBufferPointer, key: [UInt8]
  ) throws(Status) -> UnsafeRawBufferPointer {
    try key.withUnsafeBufferPointer { key throws(Status) in
      try payload(of: record, key: UnsafeRawBufferPointer(key))
    }
  }

  private static func otherVersion(_ found: UInt8) -> Status {
    guard found > version else { return .dataLoss("A stored record has no format version.") }
    return Status(
      .failedPrecondition,
      "The record has format version \(found) and was written by a newer Hearth; this one reads "
        + "up to version \(version).")
  }

  /// Hashes the payload. The key and the record's first byte are the seed.
  static func checksum(of record: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> UInt32 {
    let summed = UnsafeRawBufferPointer(rebasing: record[byteCount...])
    let seed = XXH3_64bits(key.baseAddress, key.count) ^ UInt64(record[0])
    return UInt32(truncatingIfNeeded: XXH3_64bits_withSeed(summed.baseAddress, summed.count, seed))
  }
}
