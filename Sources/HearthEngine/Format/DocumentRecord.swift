/// A document as stored in the documents table: a header, then the body. Borrows its bytes.
///
///     ┌──────────────┬──────────┬──────────┬────────────┬───────────┬────────┬──────┐
///     │ flags·version│ checksum │ sequence │ updateTime │ age       │ (path) │ body │
///     │ 4 bit each   │ 4 bytes  │ varint   │ 8 bytes    │ varint    │        │      │
///     └──────────────┴──────────┴──────────┴────────────┴───────────┴────────┴──────┘
///
/// `age` is the update time minus the create time, in microseconds. The path (its length, then
/// text) is present if the key is truncated and cannot give it back.
struct DocumentRecord {
  /// The sequence of the commit that last changed the document.
  let sequence: UInt64
  let updateTime: Instant
  let createTime: Instant
  /// `books/dune`, if the record's key does not give the whole path.
  let path: String?
  /// The body as stored: the bytes of a `StoredBody`.
  let storedBody: UnsafeRawBufferPointer
  private let bytes: UnsafeRawBufferPointer

  // On disk. Changing a value changes the file format; see DocumentFormat.md.
  private static let pathFlag: UInt8 = 0x10

  /// Checks the header's bounds, not the checksum and not the body.
  init(parsing bytes: UnsafeRawBufferPointer) throws(Status) {
    let (flags, payload) = try RecordFrame.open(bytes)
    guard flags & ~DocumentRecord.pathFlag == 0 else {
      throw .dataLoss("A stored document's header has unknown flags.")
    }
    var cursor = ByteCursor(payload)
    sequence = try cursor.varint()
    let updated = Int64(bitPattern: try cursor.fixed64())
    let age = Int64(bitPattern: try cursor.varint())
    updateTime = Instant(microseconds: updated)
    createTime = Instant(microseconds: updated &- age)
    let moments = Instant.earliest...Instant.latest
    guard moments.contains(updateTime), moments.contains(createTime) else {
      throw .dataLoss("A stored document's times are outside the years 0001 to 9999.")
    }
    if flags & DocumentRecord.pathFlag != 0 {
      let length = try cursor.length()
      guard length > 0, let text = String(storedUTF8: try cursor.bytes(length)) else {
        throw .dataLoss("A stored document's path is not UTF-8.")
      }
      path = text
    } else {
      path = nil
    }
    storedBody = cursor.rest
    self.bytes = bytes
  }

  /// The body alone, for scans that examine many records and keep few.
  @inline(__always)
  static func storedBody(of bytes: UnsafeRawBufferPointer) throws(Status) -> UnsafeRawBufferPointer
  {
    var cursor = ByteCursor(bytes)
    let first = try cursor.byte()
    guard first == DocumentFormat.version else {
      return try DocumentRecord(parsing: bytes).storedBody
    }
    _ = try cursor.bytes(4)
    _ = try cursor.varint()
    _ = try cursor.bytes(8)
    _ = try cursor.varint()
    return cursor.rest
  }

  /// Throws `dataLoss` if a byte has changed, or if the record belongs under another key.
  func verifyChecksum(key: UnsafeRawBufferPointer) throws(Status) {
    try RecordFrame.verify(bytes, key: key)
  }

  // MARK: Times of any year

  /// The times, in microseconds. Accepts those of any year, as a clock may have set them that was
  /// ahead.
  static func times(
    of bytes: UnsafeRawBufferPointer
  ) throws(Status) -> (create: Int64, update: Int64) {
    var cursor = ByteCursor(try RecordFrame.open(bytes).payload)
    _ = try cursor.varint()
    let update = Int64(bitPattern: try cursor.fixed64())
    return (update &- Int64(bitPattern: try cursor.varint()), update)
  }

  /// The record with other times; nil if they are the same. Accepts times of any year.
  static func record(
    _ bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
    changingTimes change: (Int64) -> Int64
  ) throws(Status) -> [UInt8]? {
    let (create, update) = try times(of: bytes)
    let changed = (create: change(create), update: change(update))
    guard changed != (create, update) else { return nil }
    var cursor = ByteCursor(try RecordFrame.open(bytes).payload)
    _ = try cursor.varint()
    var record = Array(bytes[..<(bytes.count - cursor.rest.count)])
    _ = try cursor.fixed64()
    _ = try cursor.varint()
    record.append(littleEndian: UInt64(bitPattern: changed.update))
    record.append(varint: UInt64(bitPattern: changed.update &- changed.create))
    record += cursor.rest
    record.withUnsafeMutableBytes { RecordFrame.seal($0, key: key) }
    return record
  }

  // MARK: Writing

  /// `path` is needed only if the key does not give the whole path.
  static func encode(
    sequence: UInt64, updateTime: Instant, createTime: Instant, path: String? = nil,
    body: BodyParts, key: UnsafeRawBufferPointer
  ) -> [UInt8] {
    let age = UInt64(bitPattern: updateTime.microseconds &- createTime.microseconds)
    let pathCount = path.map { $0.utf8.count } ?? 0
    let count =
      RecordFrame.byteCount + DocumentFormat.varintCount(sequence) + 8
      + DocumentFormat.varintCount(age) + body.count
      + (path == nil ? 0 : DocumentFormat.varintCount(UInt64(pathCount)) + pathCount)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let record = UnsafeMutableRawBufferPointer(buffer)
      guard let start = record.baseAddress else { return }
      record[0] = RecordFrame.version | (path == nil ? 0 : pathFlag)
      var target = DocumentWriter.store(varint: sequence, at: start + RecordFrame.byteCount)
      target.storeBytes(of: updateTime.microseconds.littleEndian, as: Int64.self)
      target = DocumentWriter.store(varint: age, at: target + 8)
      if let path {
        target = DocumentWriter.store(varint: UInt64(pathCount), at: target)
        path.withUTF8Bytes { utf8 in
          if let source = utf8.baseAddress {
            target.copyMemory(from: source, byteCount: utf8.count)
          }
        }
        target += pathCount
      }
      body.copy(to: target)
      RecordFrame.seal(record, key: key)
      initialized = count
    }
  }
}
