/// The five bytes before the payload of every stored record: version and checksum.
///
///     ┌─────────────────────┬──────────┬─────────┐
///     │ flags ‖ version     │ checksum │ payload │
///     │ 1 B (high ‖ low 4b) │ 4 B      │         │
///     └─────────────────────┴──────────┴─────────┘
///
/// The checksum is over the payload and the record's key, so that a record filed under another's
/// key is noticed too.
///
/// On disk. Changing a value here changes the file format; see DocumentFormat.md.
enum RecordFrame {
  static let version: UInt8 = 1
  static let byteCount = 5

  /// The frame's bytes, to be sealed once the payload stands behind them.
  static func room() -> [UInt8] { [version, 0, 0, 0, 0] }

  static func seal(_ record: inout [UInt8], key: [UInt8]) {
    record.withUnsafeMutableBytes { record in
      let sum = key.withUnsafeBytes {
        DocumentRecord.checksum(of: UnsafeRawBufferPointer(record), key: $0)
      }
      record.storeBytes(of: sum.littleEndian, toByteOffset: 1, as: UInt32.self)
    }
  }

  /// The payload, after version and checksum were found right.
  static func payload(
    of record: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
  ) throws(Status) -> UnsafeRawBufferPointer {
    guard record.count >= byteCount else {
      throw Status.dataLoss("A stored record ends too early.")
    }
    guard record[0] & 0x0F <= version else { throw newerFormat(record[0] & 0x0F) }
    let sum = UInt32(littleEndian: record.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
    guard sum == DocumentRecord.checksum(of: record, key: key) else {
      throw Status.dataLoss("A stored record does not match its checksum.")
    }
    return UnsafeRawBufferPointer(rebasing: record[byteCount...])
  }

  static func newerFormat(_ found: UInt8) -> Status {
    Status(
      .failedPrecondition,
      "The file has format version \(found); this Hearth reads up to \(version).")
  }
}
