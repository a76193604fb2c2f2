internal import CXXHash

/// A stored key, with ordinal 0 if it is truncated.
typealias TruncatedKey = (bytes: [UInt8], isTruncated: Bool)

/// How long a stored key may be, and how longer ones are truncated.
///
///     full key of at most count − 9 bytes    ┌──────────┐
///                                            │ full key │
///                                            └──────────┘
///     longer: truncated to count bytes       ┌───────────────────────┬──────┬─────────┐
///                                            │ its first (count − 9) │ hash │ ordinal │
///                                            └───────────────────────┴──────┴─────────┘
///
/// Law: truncated keys sort like the full keys up to the truncation. Keys that are equal up to it
/// are a *collision run*: within it the order is that of hashes and has no meaning. No full key of
/// a table is a prefix of another, so a collision run holds truncated keys only.
///
/// The hash (XXH3, 64 bits, of the whole key, big-endian) distinguishes the keys of a collision
/// run, but only with high probability: code that stores a key compares the full names, and takes
/// the next ordinal if they differ.
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

  /// The limit minus `byteCount`, which leaves room for a suffix; at least `tailCount + 1`.
  func shortened(by byteCount: Int) -> KeyLimit {
    KeyLimit(max(count - byteCount, KeyLimit.tailCount + 1), hash: hash)
  }

  static let xxh3: @Sendable (UnsafeRawBufferPointer) -> UInt64 = {
    XXH3_64bits($0.baseAddress, $0.count)
  }

  /// The bytes of hash and ordinal.
  private static let tailCount = 9

  /// The longest full key that is stored whole. Longer ones are truncated to these bytes.
  var truncatedCount: Int { count - KeyLimit.tailCount }

  func isTruncated(_ stored: UnsafeRawBufferPointer) -> Bool { stored.count == count }

  func isTruncated(_ stored: [UInt8]) -> Bool { stored.count == count }

  /// The stored form of a full key, with ordinal 0.
  func truncated(_ full: UnsafeRawBufferPointer) -> (bytes: [UInt8], isTruncated: Bool) {
    guard full.count > truncatedCount else { return ([UInt8](full), false) }
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { target, initialized in
      let raw = UnsafeMutableRawBufferPointer(target)
      raw.copyMemory(from: UnsafeRawBufferPointer(rebasing: full[..<truncatedCount]))
      raw.storeBytes(of: hash(full).bigEndian, toByteOffset: truncatedCount, as: UInt64.self)
      raw[count - 1] = 0
      initialized = count
    }
    return (bytes, true)
  }

  /// Truncates `key` in place, with ordinal 0. Returns whether it was too long.
  func truncated(_ key: inout KeyBuffer) -> Bool {
    guard key.count > truncatedCount else { return false }
    let hash = hash(key.buffer)
    key.truncate(to: truncatedCount)
    key.append(bigEndian: hash)
    key.append(byte: 0)
    return true
  }

  /// Whether both are truncated and in one collision run: the order of their bytes has no meaning.
  func sameRun(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    isTruncated(one) && isTruncated(other)
      && one[..<truncatedCount].elementsEqual(other[..<truncatedCount])
  }

  /// The prefix of all stored keys whose full keys begin with `prefix`.
  ///
  /// If it is shorter than `prefix`, other keys have it, too.
  func scanPrefix(_ prefix: [UInt8]) -> [UInt8] { Array(prefix.prefix(truncatedCount)) }

  /// The start of a scan of full keys from `full` on. Not all of a collision run there is in range.
  func scanStart(_ full: [UInt8]) -> [UInt8] { scanPrefix(full) }

  /// The end (excluded) of a scan of full keys below `full`; nil is the end of the table.
  ///
  /// Not all of a collision run there is in range.
  func scanEnd(_ full: [UInt8]) -> [UInt8]? {
    full.count <= truncatedCount ? full : KeyLayout.end(ofPrefix: scanPrefix(full))
  }
}
