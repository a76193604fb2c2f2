/// The exact sum of doubles: a value that was added can be removed again.
///
///     limbs   Σ limb[i] · 2^(32 i − 1074)
///
/// A double is a few bits between 2^-1074 and 2^1024. Here each bit has its own position, so that
/// no order of additions and removals loses one. Infinities and NaN are counted separately.
struct ExactSum {
  private var limbs = [Int64](repeating: 0, count: 68)
  /// Each addition changes a limb of 64 bits by less than 2^32.
  private var additionsLeft = ExactSum.additionsBeforeCarry
  private var nanCount = 0
  private var infinityCount = 0
  private var negativeInfinityCount = 0

  private static let additionsBeforeCarry = 1 << 30

  mutating func add(_ integer: Int128) {
    var (rest, scale) = (integer, 1.0)
    // A double holds 52 bits exactly.
    while rest != 0 {
      let (high, low) = rest.quotientAndRemainder(dividingBy: 1 << 52)
      add(Double(low) * scale)
      (rest, scale) = (high, scale * 0x1p52)
    }
  }

  /// - Parameter sign: -1 removes a double that was added.
  mutating func add(_ double: Double, sign: Int = 1) {
    guard double.isFinite else {
      if double.isNaN {
        nanCount += sign
      } else if double > 0 {
        infinityCount += sign
      } else {
        negativeInfinityCount += sign
      }
      return
    }
    let exponent = Int(double.exponentBitPattern)
    var significand = double.significandBitPattern
    if exponent > 0 { significand |= 1 << 52 }
    // Exponent of the lowest bit, relative to 2^-1074.
    let position = max(exponent - 1, 0)
    var bits = UInt128(significand) << UInt128(position % 32)
    var limb = position / 32
    let isAdded = (double.sign == .plus) == (sign > 0)
    while bits != 0 {
      let part = Int64(truncatingIfNeeded: bits & 0xFFFF_FFFF)
      limbs[limb] += isAdded ? part : -part
      bits >>= 32
      limb += 1
    }
    additionsLeft -= 1
    if additionsLeft == 0 { carry() }
  }

  /// Leaves 32 bits in every limb; the last one keeps the sign.
  private mutating func carry() {
    additionsLeft = Self.additionsBeforeCarry
    for limb in 0..<(limbs.count - 1) {
      limbs[limb + 1] += limbs[limb] >> 32
      limbs[limb] &= 0xFFFF_FFFF
    }
  }

  /// Rounded once.
  var value: Double {
    if nanCount > 0 || infinityCount > 0 && negativeInfinityCount > 0 { return .nan }
    if infinityCount > 0 { return .infinity }
    if negativeInfinityCount > 0 { return -.infinity }
    var sum = self
    sum.carry()
    let isNegative = (sum.limbs.last ?? 0) < 0
    if isNegative {
      for limb in sum.limbs.indices { sum.limbs[limb].negate() }
      sum.carry()
    }
    guard let top = sum.limbs.lastIndex(where: { $0 != 0 }) else { return 0 }
    let lowest = max(top - 2, 0)
    var bits: UInt128 = 0
    for limb in (lowest...top).reversed() {
      bits = bits << 32 | UInt128(UInt64(bitPattern: sum.limbs[limb]))
    }
    // The limbs below can only decide a tie.
    if sum.limbs[..<lowest].contains(where: { $0 != 0 }) { bits |= 1 }
    let magnitude = Double(sign: .plus, exponent: 32 * lowest - 1074, significand: Double(bits))
    return isNegative ? -magnitude : magnitude
  }
}
