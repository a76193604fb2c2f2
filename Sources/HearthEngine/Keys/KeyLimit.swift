internal import CXXHash

/// A key as it is stored, with ordinal 0 where it is cut.
typealias TruncatedKey = (bytes: [UInt8], isCut: Bool)

/// How long a stored key may be, and what becomes of longer ones.
///
///     full key of at most count − 9 bytes    ┌──────────┐
///                                            │ full key │
///                                            └──────────┘
///     longer: cut, count bytes exactly       ┌───────────────────────┬──────┬─────────┐
///                                            │ its first (count − 9) │ hash │ ordinal │
///                                            └───────────────────────┴──────┴─────────┘
///
/// Law: cut keys order up to the cut. Those that are equal up to the cut are a *run*; within it the
/// order is that of hashes and says nothing. No full key of a table is the beginning of another, so a
/// run holds cut keys only.
///
/// The hash (XXH3, 64 bits, of the whole key, big-endian) keeps different keys of a run apart, and
/// does so by chance only: whoever stores compares the full names, and takes the next ordinal when
/// they differ.
struct KeyLimit: Sendable {
  /// The longest stored key.
  let count: Int
  private let hash: @Sendable (UnsafeRawBufferPointer) -> UInt64

  /// LMDB's longest key, as Debian builds it.
  static let standard = KeyLimit(511)

  init(
    _ count: Int,
    hash: @escaping @Sendable (UnsafeRawBufferPointer) -> UInt64 = KeyLimit.xxh3
  ) {
    precondition(count > KeyLimit.tailCount, "A key limit leaves room for the hash.")
    self.count = count
    self.hash = hash
  }

  /// What leaves room for something behind the key, as far as the hash does.
  func shortened(by byteCount: Int) -> KeyLimit {
    KeyLimit(max(count - byteCount, KeyLimit.tailCount + 1), hash: hash)
  }

  static let xxh3: @Sendable (UnsafeRawBufferPointer) -> UInt64 = {
    XXH3_64bits($0.baseAddress, $0.count)
  }

  /// Hash and ordinal.
  private static let tailCount = 9

  /// The longest full key that is stored whole, and where longer ones are cut.
  var cutCount: Int { count - KeyLimit.tailCount }

  func isCut(_ stored: UnsafeRawBufferPointer) -> Bool { stored.count == count }

  func isCut(_ stored: [UInt8]) -> Bool { stored.count == count }

  /// The stored form of a full key, with ordinal 0.
  func cut(_ full: UnsafeRawBufferPointer) -> (bytes: [UInt8], isCut: Bool) {
    guard full.count > cutCount else { return ([UInt8](full), false) }
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { target, initialized in
      let raw = UnsafeMutableRawBufferPointer(target)
      raw.copyMemory(from: UnsafeRawBufferPointer(rebasing: full[..<cutCount]))
      raw.storeBytes(of: hash(full).bigEndian, toByteOffset: cutCount, as: UInt64.self)
      raw[count - 1] = 0
      initialized = count
    }
    return (bytes, true)
  }

  /// `cut` in place.
  func cut(_ key: inout KeyBuffer) -> Bool {
    guard key.count > cutCount else { return false }
    let hash = hash(key.buffer)
    key.truncate(to: cutCount)
    key.append(bigEndian: hash)
    key.append(byte: 0)
    return true
  }

  /// Both are cut, and at the same bytes: their order is not theirs.
  func sameRun(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    isCut(one) && isCut(other) && one[..<cutCount].elementsEqual(other[..<cutCount])
  }

  /// What all stored keys begin with whose full keys begin with `prefix`.
  ///
  /// If it is shorter than `prefix`, keys that do not belong are among them.
  func scanPrefix(_ prefix: [UInt8]) -> [UInt8] { Array(prefix.prefix(cutCount)) }

  /// Where a scan of full keys from `full` on begins. A run that begins there is not all in range.
  func scanStart(_ full: [UInt8]) -> [UInt8] { scanPrefix(full) }

  /// Where a scan of full keys below `full` ends (excluded); nil is the end of the table.
  ///
  /// A run that ends there is not all in range.
  func scanEnd(_ full: [UInt8]) -> [UInt8]? {
    full.count <= cutCount ? full : KeyLayout.end(ofPrefix: scanPrefix(full))
  }
}
