/// A byte buffer that grows at the end. Builds keys without an allocation per piece.
///
/// Keep one and call `removeAll()` between keys; the memory stays. The methods that append are in
/// `KeyBuffer+Path.swift` (ids and paths) and `KeyBuffer+Value.swift` (components of index
/// entries).
struct KeyBuffer: ~Copyable {
  private var base: UnsafeMutableRawPointer
  private var capacity: Int
  private(set) var count = 0

  init(minimumCapacity: Int = 512) {
    capacity = max(minimumCapacity, 16)
    base = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { base.deallocate() }

  /// Valid until the next append.
  var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// A copy of the bytes.
  var bytes: [UInt8] { [UInt8](buffer) }

  mutating func removeAll() { count = 0 }

  mutating func truncate(to newCount: Int) {
    precondition(newCount <= count, "A key buffer is truncated to a length it had before.")
    count = newCount
  }

  /// Room for `extra` more bytes; write there, then increase `count`.
  @inline(__always)
  private mutating func room(_ extra: Int) -> UnsafeMutableRawPointer {
    if capacity - count < extra { grow(extra) }
    return base + count
  }

  @inline(never)
  private mutating func grow(_ extra: Int) {
    capacity = max(capacity * 2, count + extra)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    larger.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = larger
  }

  @inline(__always)
  mutating func append(byte: UInt8) {
    room(1).storeBytes(of: byte, as: UInt8.self)
    count += 1
  }

  @inline(__always)
  mutating func append(bigEndian value: some FixedWidthInteger & BitwiseCopyable) {
    let size = value.bitWidth / 8
    room(size).storeBytes(of: value.bigEndian, as: type(of: value))
    count += size
  }

  /// Appends at most `capacity` bytes. `body` writes them and returns their number.
  @inline(__always)
  mutating func append(upTo capacity: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    let target = room(capacity)
    count += target.withMemoryRebound(to: UInt8.self, capacity: capacity, body)
  }

  mutating func append(raw bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    room(bytes.count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  mutating func append(raw bytes: [UInt8]) { bytes.withUnsafeBytes { append(raw: $0) } }

  /// Bytes below 3 become two, so that 0 can end the escaped bytes and 1 can begin something that
  /// is not text.
  ///
  /// Law: comparing two escaped byte strings, each followed by 0, is the same as comparing the
  /// unescaped ones.
  mutating func append(escaped bytes: UnsafeRawBufferPointer) {
    var target = room(bytes.count * 2)
    let start = target
    var index = 0
    while index < bytes.count {
      // Eight bytes at a time while none is below 3.
      while bytes.count - index >= 8 {
        let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let low = (word &- 0x0303_0303_0303_0303) & ~word & 0x8080_8080_8080_8080
        if low != 0 { break }
        target.storeBytes(of: word, as: UInt64.self)
        target += 8
        index += 8
      }
      let end = min(index + 8, bytes.count)
      while index < end {
        let byte = bytes[index]
        if byte <= KeyByte.escape {
          target.storeBytes(of: KeyByte.escape, as: UInt8.self)
          target.storeBytes(of: byte + 1, toByteOffset: 1, as: UInt8.self)
          target += 2
        } else {
          target.storeBytes(of: byte, as: UInt8.self)
          target += 1
        }
        index += 1
      }
    }
    count += target - start
  }

  /// Reverses the order of what was appended since the buffer had `start` bytes.
  mutating func invert(from start: Int) {
    precondition(start <= count, "A key buffer is inverted from a length it had before.")
    let bytes = UnsafeMutableRawBufferPointer(start: base + start, count: count - start)
    for index in bytes.indices { bytes[index] = ~bytes[index] }
  }
}

/// On disk. Changing a raw value changes the file format; see KeyEncoding.md.
enum KeyByte {
  /// Ends text, bytes, paths, arrays and maps; smaller than anything that can follow instead.
  static let terminator: UInt8 = 0
  /// Begins a numeric id in a path and an entry in a map; smaller than any text.
  static let marker: UInt8 = 1
  /// Precedes a byte of 0, 1 or 2, which is stored as one more.
  static let escape: UInt8 = 2
  /// The first number of an index that needs more than one byte, and the first of its leading
  /// bytes.
  static let longIndex: UInt8 = 0xF0
}
