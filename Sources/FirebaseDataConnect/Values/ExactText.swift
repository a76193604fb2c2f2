import Foundation

/// A text that equals another one if both have the same bytes, as in the database. Swift's `String`
/// also equals texts that Unicode calls equivalent: "é" composed and decomposed.
struct ExactText: Hashable, Comparable, Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (lhs: ExactText, rhs: ExactText) -> Bool {
    if lhs.text.utf8.count != rhs.text.utf8.count { return false }
    let areEqual = lhs.text.utf8.withContiguousStorageIfAvailable { left in
      rhs.text.utf8.withContiguousStorageIfAvailable { right in
        guard let one = left.baseAddress, let other = right.baseAddress else { return true }
        return memcmp(one, other, left.count) == 0
      }
    }
    return areEqual.flatMap(\.self) ?? lhs.text.utf8.elementsEqual(rhs.text.utf8)
  }

  static func < (lhs: ExactText, rhs: ExactText) -> Bool {
    lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8)
  }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    // Ends the text: parts of a longer key do not run into each other.
    hasher.combine(0xFF as UInt8)
  }

  /// 128 bits of FNV-1a, in two halves, as hexadecimal digits. No protection against a collision
  /// that somebody wants.
  var digest: String {
    func half(_ basis: UInt64) -> String {
      let hash = text.utf8.reduce(basis) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
      let digits = String(hash, radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
    return half(0xCBF2_9CE4_8422_2325) + half(0x8422_2325_CBF2_9CE4)
  }
}
