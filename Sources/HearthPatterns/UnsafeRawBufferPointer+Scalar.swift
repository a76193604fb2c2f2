extension UnsafeRawBufferPointer {
  /// The scalar of a text in UTF-8 and the count of its bytes. A byte that does not begin a valid
  /// sequence is read as U+FFFD, alone.
  func scalar(at offset: Int) -> (value: UInt32, byteCount: Int) {
    let first = self[offset]
    if first < 0x80 { return (UInt32(first), 1) }
    let invalid = (value: UInt32(0xFFFD), byteCount: 1)
    let byteCount = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard first >= 0xC2, first < 0xF5, offset + byteCount <= count else { return invalid }
    var value = UInt32(first) & (0x7F >> UInt32(byteCount))
    for continuation in self[offset + 1..<offset + byteCount] {
      guard continuation & 0xC0 == 0x80 else { return invalid }
      value = value << 6 | UInt32(continuation & 0x3F)
    }
    // Overlong forms, surrogates and numbers beyond Unicode.
    guard value >= (byteCount == 2 ? 0x80 : byteCount == 3 ? 0x800 : 0x10000),
      Unicode.Scalar(value) != nil
    else { return invalid }
    return (value, byteCount)
  }
}
