/// The constants of the document's bytes. For examples, see `DocumentFormat.md`.
enum DocumentFormat {
  // On disk. Changing a value changes the file format; see DocumentFormat.md.
  static let version: UInt8 = 1

  /// Maps and arrays nested inside one another; the document's own map is not counted.
  static let maximumDepth = 20

  /// End offsets have at most four bytes.
  static let maximumBodyBytes = Int(UInt32.max)

  /// The first byte of every value.
  ///
  ///     00      null                 40…7F  string of 0…63 bytes
  ///     01 02   false, true          80     longer string: length, bytes
  ///     10…18   integer, 0…8 bytes   81     bytes: length, bytes
  ///     20      double, 8 bytes      82     reference: length, relative path
  ///     21      double, as float     83     geo point: two doubles
  ///     22      NaN                  84     array: byte length, count, elements
  ///     30…38   timestamp, 0…8 b.    85     vector: count, doubles
  ///                                  90…9F  map: count, ends, names, values
  ///                                  A0…A2  document with a name table: its id, ends, values
  ///                                  A4…A6  map inside of one: index of its names, ends, values
  enum Tag {
    // On disk. Changing a value changes the file format; see DocumentFormat.md.
    static let null: UInt8 = 0x00
    static let no: UInt8 = 0x01
    static let yes: UInt8 = 0x02
    static let integer: UInt8 = 0x10
    static let double: UInt8 = 0x20
    static let float: UInt8 = 0x21
    static let nan: UInt8 = 0x22
    static let timestamp: UInt8 = 0x30
    static let shortString: UInt8 = 0x40
    static let string: UInt8 = 0x80
    static let bytes: UInt8 = 0x81
    static let reference: UInt8 = 0x82
    static let geoPoint: UInt8 = 0x83
    static let array: UInt8 = 0x84
    static let vector: UInt8 = 0x85
    static let map: UInt8 = 0x90
    static let mapWithoutNames: UInt8 = 0xA0
    static let innerMapWithoutNames: UInt8 = 0xA4
    /// The bits of a map's tag that are not width codes.
    static let mapMask: UInt8 = 0xF0
  }

  /// The longest string that has its length in the tag.
  static let shortStringLimit = 63

  /// The bits of every NaN in geo points and vectors.
  static let nanBits: UInt64 = 0x7FF8_0000_0000_0000

  @inline(__always)
  static func storedBits(_ value: Double) -> UInt64 { value.isNaN ? nanBits : value.bitPattern }

  /// The double as a float, if the float converts back to the same bits.
  @inline(__always)
  static func exactFloat(_ value: Double) -> Float? {
    let float = Float(value)
    return Double(float).bitPattern == value.bitPattern ? float : nil
  }

  /// The number of bytes that hold the number in two's complement; 0 for 0.
  @inline(__always)
  static func byteCount(_ number: Int64) -> Int {
    if number == 0 { return 0 }
    let significant = 65 - (number < 0 ? ~number : number).leadingZeroBitCount
    return (significant + 7) >> 3
  }

  /// 0, 1 or 2 for end offsets of one, two or four bytes.
  @inline(__always)
  static func widthCode(_ largest: Int) -> Int {
    largest < 0x100 ? 0 : (largest < 0x1_0000 ? 1 : 2)
  }

  @inline(__always)
  static func varintCount(_ number: UInt64) -> Int {
    number < 0x80 ? 1 : (70 - number.leadingZeroBitCount) / 7
  }
}

/// Reads forward inside a buffer, and never beyond its end.
struct ByteCursor {
  private(set) var rest: UnsafeRawBufferPointer

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

  @inline(__always)
  var isAtEnd: Bool { rest.isEmpty }

  @inline(__always)
  mutating func byte() throws(Status) -> UInt8 {
    guard let base = rest.baseAddress, rest.count > 0 else { throw .truncated }
    rest = UnsafeRawBufferPointer(start: base + 1, count: rest.count - 1)
    return base.load(as: UInt8.self)
  }

  @inline(__always)
  mutating func bytes(_ count: Int) throws(Status) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= rest.count else { throw .truncated }
    guard let base = rest.baseAddress else { return rest }
    rest = UnsafeRawBufferPointer(start: base + count, count: rest.count - count)
    return UnsafeRawBufferPointer(start: base, count: count)
  }

  /// Seven bits per byte, lowest first. A form longer than needed is damage.
  @inline(__always)
  mutating func varint() throws(Status) -> UInt64 {
    let first = try byte()
    if first < 0x80 { return UInt64(first) }
    return try longVarint(first)
  }

  @inline(never)
  private mutating func longVarint(_ first: UInt8) throws(Status) -> UInt64 {
    var number = UInt64(first & 0x7F)
    var shift: UInt64 = 7
    while true {
      let next = try byte()
      guard next != 0, shift < 63 || next == 1 else {
        throw .dataLoss("A stored number is not in its shortest form.")
      }
      number |= UInt64(next & 0x7F) << shift
      if next < 0x80 { return number }
      shift += 7
    }
  }

  /// A varint that counts bytes or items which must still be in the buffer.
  @inline(__always)
  mutating func length() throws(Status) -> Int {
    let length = try varint()
    guard length <= UInt64(rest.count) else { throw .truncated }
    return Int(length)
  }

  @inline(__always)
  mutating func fixed64() throws(Status) -> UInt64 {
    try UInt64(littleEndian: bytes(8).loadUnaligned(as: UInt64.self))
  }

  @inline(__always)
  mutating func fixed32() throws(Status) -> UInt32 {
    try UInt32(littleEndian: bytes(4).loadUnaligned(as: UInt32.self))
  }

  /// Two's complement in `count` bytes (0…8), the lowest first.
  @inline(__always)
  mutating func signed(byteCount count: Int) throws(Status) -> Int64 {
    let source = try bytes(count)
    guard count > 0 else { return 0 }
    guard count <= 8 else { throw .dataLoss("A stored integer has more than eight bytes.") }
    var bits: UInt64 = 0
    var index = count
    while index > 0 {
      index -= 1
      bits = bits << 8 | UInt64(source[index])
    }
    let unused = UInt64(64 - 8 * count)
    return Int64(bitPattern: bits << unused) >> Int64(unused)
  }
}

extension Status {
  static var truncated: Status { .dataLoss("A stored document ends too early.") }
}

extension UnsafeRawBufferPointer {
  /// The first eight bytes as a number that compares as they do; zeros follow fewer bytes.
  @inline(__always)
  var head: UInt64 {
    if count >= 8 { return UInt64(bigEndian: loadUnaligned(as: UInt64.self)) }
    return reduce(0) { $0 << 8 | UInt64($1) } << UInt64(8 * (8 - count))
  }

  /// The bytes from `offset` on; empty if there are none.
  @inline(__always)
  func from(_ offset: Int) -> UnsafeRawBufferPointer {
    guard let baseAddress, offset <= count else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(start: baseAddress + offset, count: count - offset)
  }

  @inline(__always)
  fileprivate var isASCII: Bool {
    guard let baseAddress else { return true }
    // The last load may overlap the one before.
    guard count >= 8 else {
      guard count >= 4 else {
        return (0..<count).allSatisfy {
          baseAddress.load(fromByteOffset: $0, as: UInt8.self) < 0x80
        }
      }
      let bits =
        baseAddress.loadUnaligned(as: UInt32.self)
        | baseAddress.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
      return bits & 0x8080_8080 == 0
    }
    var bits = baseAddress.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
    var offset = 0
    while offset + 8 < count {
      bits |= baseAddress.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }
}

extension String {
  /// Nil unless the bytes are UTF-8.
  @inline(__always)
  init?(storedUTF8 bytes: UnsafeRawBufferPointer) {
    if bytes.isASCII {
      self = bytes.withMemoryRebound(to: UInt8.self) { String(ascii: $0) }
    } else {
      self.init(validatingUTF8: bytes)
    }
  }

  /// `ascii` is not checked again.
  @inline(__always)
  private init(ascii: UnsafeBufferPointer<UInt8>) {
    if #available(macOS 26, *) {
      self.init(copying: UTF8Span(unchecked: ascii.span, isKnownASCII: true))
    } else {
      self.init(decoding: ascii, as: UTF8.self)
    }
  }

  /// The standard library's check. Its fixed cost is about that of a whole ASCII string.
  @inline(never)
  private init?(validatingUTF8 bytes: UnsafeRawBufferPointer) {
    self.init(validating: bytes, as: UTF8.self)
  }
}
