/// Hashes that are the same in every process, as hexadecimal digits. No protection against
/// a collision that somebody wants.
package enum FNV1a {
  /// 64 bits.
  package static func digits(_ text: String, basis: UInt64 = 0xCBF2_9CE4_8422_2325) -> String {
    let hash = text.utf8.reduce(basis) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    return String(hash, radix: 16, width: 16)
  }

  /// 128 bits, in two halves.
  package static func longDigits(_ text: String) -> String {
    digits(text) + digits(text, basis: 0x8422_2325_CBF2_9CE4)
  }
}
