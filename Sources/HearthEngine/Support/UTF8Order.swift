import Glibc

/// Compares strings as Firestore does: by their UTF-8 bytes.
///
/// Swift's own `==` and `<` on `String` use canonical equivalence ("é" composed equals "é"
/// decomposed). Firestore keeps the two apart, and so does every comparison in the engine.
enum UTF8Order {
  /// Three-way comparison of the UTF-8 bytes: negative, zero or positive.
  static func compare(_ lhs: String, _ rhs: String) -> Int {
    lhs.withUTF8Bytes { left in rhs.withUTF8Bytes { compare(left, $0) } }
  }

  /// The same for bytes.
  @inline(__always)
  static func compare(_ lhs: [UInt8], _ rhs: [UInt8]) -> Int {
    lhs.withUnsafeBytes { left in rhs.withUnsafeBytes { compare(left, $0) } }
  }

  package static func areEqual(_ lhs: String, _ rhs: String) -> Bool { compare(lhs, rhs) == 0 }

  /// Whether the bytes are equal. For short buffers cheaper than a call of `memcmp`.
  @inline(__always)
  package static func areEqual(_ lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Bool
  {
    let count = lhs.count
    guard count == rhs.count else { return false }
    guard let left = lhs.baseAddress, let right = rhs.baseAddress else { return true }
    // Two loads that may overlap.
    func areEqual<Word: FixedWidthInteger & BitwiseCopyable>(_ type: Word.Type) -> Bool {
      let rest = count - MemoryLayout<Word>.size
      return left.loadUnaligned(as: Word.self) == right.loadUnaligned(as: Word.self)
        && left.loadUnaligned(fromByteOffset: rest, as: Word.self)
          == right.loadUnaligned(fromByteOffset: rest, as: Word.self)
    }
    if count > 16 { return memcmp(left, right, count) == 0 }
    if count >= 8 { return areEqual(UInt64.self) }
    if count >= 4 { return areEqual(UInt32.self) }
    if count >= 2 { return areEqual(UInt16.self) }
    return count == 0 || areEqual(UInt8.self)
  }

  /// Three-way comparison of raw bytes, the shorter first where one is a prefix of the other.
  @inline(__always)
  static func compare(_ lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Int {
    let common = min(lhs.count, rhs.count)
    if common > 0, let left = lhs.baseAddress, let right = rhs.baseAddress {
      let order = memcmp(left, right, common)
      if order != 0 { return Int(order) }
    }
    return lhs.count - rhs.count
  }
}
