/// Classes of characters in UTF-8. Inlined: names and paths are checked by them, byte by byte.
extension UInt8 {
  @inlinable package var isASCIIDigit: Bool { self &- 0x30 < 10 }

  @inlinable package var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 }

  @inlinable package var isASCIIAlphanumeric: Bool { isASCIILetter || isASCIIDigit }

  /// A letter, a digit or an underscore.
  @inlinable package var isASCIIWord: Bool { isASCIIAlphanumeric || self == 0x5F }

  /// The value of a hexadecimal digit, in either case.
  package var hexadecimalValue: UInt32? {
    if isASCIIDigit { return UInt32(self) - 0x30 }
    let letter = (self | 0x20) &- 0x61
    return letter < 6 ? UInt32(letter) + 10 : nil
  }
}
