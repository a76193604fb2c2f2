import Foundation
import Synchronization

/// Ids of new objects, in the order in which they are created.
///
///     0gf3kq2Zx | 8Hs01kdPq7b     microseconds since 1970 | 64 random bits
///
/// Both parts are in base 62, whose digits are in the order of their characters. Objects that are saved
/// together, and their entries in indexes, are on neighboring pages of the file; and without an order,
/// results are in the order of creation.
enum ObjectID {
  private static let last = Mutex<UInt64>(0)
  private static let digits = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  static func next() -> String {
    let now = UInt64(max(0, Date().timeIntervalSince1970 * 1_000_000))
    // In order also within a microsecond, and when the clock is set back.
    let time = last.withLock { last in
      last = max(last + 1, now)
      return last
    }
    return String(unsafeUninitializedCapacity: 20) { bytes in
      write(time, 0..<9, bytes)
      write(UInt64.random(in: 0 ... .max), 9..<20, bytes)
      return 20
    }
  }

  private static func write(
    _ number: UInt64, _ range: Range<Int>, _ bytes: UnsafeMutableBufferPointer<UInt8>
  ) {
    var rest = number
    for index in range.reversed() {
      bytes[index] = digits[Int(rest % 62)]
      rest /= 62
    }
  }
}
