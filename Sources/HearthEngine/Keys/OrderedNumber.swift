/// Numbers as bits that sort as the numbers do.
enum OrderedNumber {
  /// Law: comparing the bits of two doubles is the same as comparing the doubles; -0.0 equals 0.0
  /// and NaN is below all.
  ///
  /// The magnitude's bits are added to the middle, or subtracted from it, so that "round" numbers
  /// of both signs end in zeros.
  @inline(__always)
  static func bits(_ double: Double) -> UInt64 {
    if double.isNaN { return 0 }
    let magnitude = double.bitPattern & ~middle
    return double.sign == .minus ? middle - magnitude : middle + magnitude
  }

  /// Nil for bits that no double has. Zero is returned as 0.0.
  static func double(_ bits: UInt64) -> Double? {
    if bits == 0 { return .nan }
    let magnitude = bits >= middle ? bits - middle : middle - bits
    guard magnitude <= Double.infinity.bitPattern else { return nil }
    return Double(bitPattern: bits >= middle ? magnitude : magnitude | middle)
  }

  private static let middle: UInt64 = 1 << 63

  /// The largest double that is not above the integer, and the difference: 0...1023.
  @inline(__always)
  static func split(_ integer: Int64) -> (floor: Double, residual: UInt16) {
    let nearest = Double(integer)
    guard integer.magnitude > 1 << 53 else { return (nearest, 0) }
    // 2^63 is the only result of rounding that does not convert back.
    let floor = nearest < 0x1p63 && Int64(nearest) <= integer ? nearest : nearest.nextDown
    return (floor, UInt16(truncatingIfNeeded: integer &- Int64(floor)))
  }

  /// Nil if no integer splits into these.
  static func join(floor: Double, residual: UInt16) -> Int64? {
    guard let whole = Int64(exactly: floor) else { return nil }
    let (integer, overflow) = whole.addingReportingOverflow(Int64(residual))
    guard !overflow, split(integer) == (floor, residual) else { return nil }
    return integer
  }
}
