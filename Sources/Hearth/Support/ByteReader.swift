/// Reads forward over borrowed bytes that may be damaged: every step is checked, and throws `dataLoss`.
struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { offset >= bytes.count }
  /// What has not been read yet.
  var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[offset...]) }

  private static let cutShort = Status.dataLoss("A stored record ends too early.")

  mutating func byte() throws(Status) -> UInt8 {
    guard offset < bytes.count else { throw Self.cutShort }
    defer { offset += 1 }
    return bytes[offset]
  }

  mutating func bytes(_ count: Int) throws(Status) -> UnsafeRawBufferPointer {
    guard count >= 0, bytes.count - offset >= count else { throw Self.cutShort }
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }

  mutating func littleEndianUInt64() throws(Status) -> UInt64 {
    UInt64(littleEndian: try bytes(8).loadUnaligned(as: UInt64.self))
  }

  mutating func varint() throws(Status) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let next = try byte()
      guard shift < 63 || (shift == 63 && next <= 1) else {
        throw Status.dataLoss("A stored number is longer than 64 bits.")
      }
      value |= UInt64(next & 0x7F) << shift
      if next & 0x80 == 0 { return value }
      shift += 7
    }
  }

  mutating func lengthPrefixedBytes() throws(Status) -> UnsafeRawBufferPointer {
    let count = try varint()
    guard count <= UInt64(bytes.count) else { throw Self.cutShort }
    return try bytes(Int(count))
  }

  mutating func lengthPrefixedString() throws(Status) -> String {
    let utf8 = try lengthPrefixedBytes()
    guard let text = String(validating: utf8, as: UTF8.self) else {
      throw Status.dataLoss("Stored text is not UTF-8.")
    }
    return text
  }
}
