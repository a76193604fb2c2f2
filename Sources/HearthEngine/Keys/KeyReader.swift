import Glibc

/// Reads stored bytes that `KeyBuffer` wrote.
///
/// Accepts exactly what `KeyBuffer` writes: reading and writing again gives the same bytes.
/// Everything else, truncated keys included, throws `dataLoss`. Valid as long as the bytes are.
struct KeyReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0
  /// 0xFF inside a descending component.
  private var mask: UInt8 = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }
  /// The bytes not yet read: after the components, the entry's name.
  var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[offset...]) }

  func expectEnd() throws(Status) {
    guard isAtEnd else { throw damaged("has more bytes than it should") }
  }

  // MARK: Paths

  /// Returns nil at the end of a path, and consumes the terminator.
  mutating func readIDOrEnd() throws(Status) -> String? {
    switch try readByte() {
    case KeyByte.terminator: return nil
    case KeyByte.marker:
      let id = Int64(bitPattern: try readUInt64() ^ (1 << 63))
      guard id != 0 else { throw damaged("has a numeric id of zero") }
      return "__id\(id)__"
    default:
      offset -= 1
      let id = try readText()
      guard ResourcePath.numericID(id) == nil else {
        throw damaged("has a numeric id written as text")
      }
      return id
    }
  }

  mutating func readID() throws(Status) -> String {
    guard let id = try readIDOrEnd() else { throw damaged("lacks an id") }
    return id
  }

  mutating func skipID() throws(Status) {
    guard try skipIDOrEnd() else { throw damaged("lacks an id") }
  }

  /// False at the end of a path, after its terminator.
  @inline(__always)
  private mutating func skipIDOrEnd() throws(Status) -> Bool {
    switch try readByte() {
    case KeyByte.terminator: return false
    case KeyByte.marker: try skip(8)
    default:
      offset -= 1
      try skipEscaped()
    }
    return true
  }

  mutating func readPath() throws(Status) -> ResourcePath {
    var path = ResourcePath()
    while let id = try readIDOrEnd() { path.segments.append(id) }
    return path
  }

  // MARK: Components

  /// The value, as far as the bytes determine it: a whole number in the range of `Int64` is
  /// returned as an integer, every other number as a double; zero has no sign.
  mutating func readValue(descending: Bool = false) throws(Status) -> Value {
    mask = descending ? 0xFF : 0
    defer { mask = 0 }
    return try readValue(depth: 0)
  }

  private mutating func readValue(depth: Int) throws(Status) -> Value {
    switch try readTag(depth: depth) {
    case .null: return .null
    case .boolean:
      switch try readByte() {
      case 0: return .boolean(false)
      case 1: return .boolean(true)
      default: throw damaged("has a boolean that is neither")
      }
    case .nan: return .double(.nan)
    case .number: return try readNumber()
    case .timestamp:
      return .timestamp(Instant(microseconds: Int64(bitPattern: try readUInt64() ^ (1 << 63))))
    case .string: return .string(try readText())
    case .bytes: return .bytes(try readEscaped())
    case .reference: return .reference(try readPath())
    case .geoPoint:
      let latitude = try readOrderedDouble()
      return .geoPoint(Coordinate(latitude: latitude, longitude: try readOrderedDouble()))
    case .array:
      var elements: [Value] = []
      while try !takeTerminator() { elements.append(try readValue(depth: depth + 1)) }
      return .array(elements)
    case .vector:
      var components: [Double] = []
      for _ in 0..<(try readUInt32()) { components.append(try readOrderedDouble()) }
      return .vector(components)
    case .map:
      var fields: [(String, Value)] = []
      while try !takeTerminator() {
        guard try readByte() == KeyByte.marker else { throw damaged("has a map without a name") }
        let name = try readText()
        if let last = fields.last, UTF8Order.compare(last.0, name) >= 0 {
          throw damaged("has a map out of order")
        }
        fields.append((name, try readValue(depth: depth + 1)))
      }
      return .map(MapValue(fields))
    }
  }

  /// Whether the next component is null.
  func isAtNull(descending: Bool = false) -> Bool {
    offset < bytes.count && bytes[offset] ^ (descending ? 0xFF : 0) == Value.TypeClass.null.rawValue
  }

  /// Steps over a component, and decodes only what is needed to find its end.
  mutating func skipValue(descending: Bool = false) throws(Status) {
    mask = descending ? 0xFF : 0
    defer { mask = 0 }
    try skipValue(depth: 0)
  }

  private mutating func skipValue(depth: Int) throws(Status) {
    switch try readTag(depth: depth) {
    case .null, .nan: break
    case .boolean: try skip(1)
    case .number: while try readByte() & 1 != 0 {}
    case .timestamp: try skip(8)
    case .string, .bytes: try skipEscaped()
    case .reference: while try skipIDOrEnd() {}
    case .geoPoint: try skip(16)
    case .array: while try !takeTerminator() { try skipValue(depth: depth + 1) }
    case .vector: try skip(8 * Int(try readUInt32()))
    case .map:
      while try !takeTerminator() {
        try skip(1)
        try skipEscaped()
        try skipValue(depth: depth + 1)
      }
    }
  }

  /// Steps over `component` if it is the next one.
  @inline(__always)
  mutating func take(_ component: [UInt8]) -> Bool {
    // No component is a prefix of another.
    let count = component.count
    guard bytes.count - offset >= count else { return false }
    let isNext = component.withUnsafeBytes {
      UTF8Order.areEqual(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]), $0)
    }
    if isNext { offset += count }
    return isNext
  }

  // MARK: Pieces

  mutating func readByte() throws(Status) -> UInt8 {
    guard offset < bytes.count else { throw damaged("ends too early") }
    defer { offset += 1 }
    return bytes[offset] ^ mask
  }

  mutating func readIndex() throws(Status) -> UInt32 {
    let first = try readByte()
    guard first >= KeyByte.longIndex else { return UInt32(first) }
    let count = Int(first - KeyByte.longIndex) + 1
    guard count <= 4 else { throw damaged("has a number of an index that is too long") }
    var index: UInt32 = 0
    for _ in 0..<count { index = index << 8 | UInt32(try readByte()) }
    guard index >= KeyByte.longIndex, (39 - index.leadingZeroBitCount) / 8 == count else {
      throw damaged("has a number of an index that is not in its shortest form")
    }
    return index
  }

  private mutating func readUInt32() throws(Status) -> UInt32 {
    try skip(4)
    return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset - 4, as: UInt32.self))
      ^ (mask == 0 ? 0 : .max)
  }

  mutating func readUInt64() throws(Status) -> UInt64 {
    try skip(8)
    return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset - 8, as: UInt64.self))
      ^ (mask == 0 ? 0 : .max)
  }

  private mutating func skip(_ count: Int) throws(Status) {
    guard count <= bytes.count - offset else { throw damaged("ends too early") }
    offset += count
  }

  private mutating func takeTerminator() throws(Status) -> Bool {
    guard try readByte() != KeyByte.terminator else { return true }
    offset -= 1
    return false
  }

  private mutating func readTag(depth: Int) throws(Status) -> Value.TypeClass {
    guard let tag = Value.TypeClass(rawValue: try readByte()) else {
      throw damaged("has an unknown type")
    }
    guard depth <= Limits.nesting else { throw damaged("nests too deep") }
    return tag
  }

  private mutating func readNumber() throws(Status) -> Value {
    var high: UInt64 = 0
    var low: UInt64 = 0
    var shift = 57
    var groups = 0
    while true {
      let byte = try readByte()
      let group = UInt64(byte >> 1)
      if shift >= 0 {
        high |= group << UInt64(shift)
      } else {
        high |= group >> UInt64(-shift)
        low |= group << UInt64(64 + shift)
      }
      shift -= 7
      groups += 1
      if byte & 1 == 0 {
        // The last group is not zero, unless it is the only one, and is within the 74 bits.
        guard group != 0 || groups == 1 else { throw damaged("has a number that is too long") }
        break
      }
      guard groups < 11 else { throw damaged("has a number that is too long") }
    }
    let residual = UInt16(truncatingIfNeeded: low >> 54)
    guard low << 10 == 0, let floor = OrderedNumber.double(high), !floor.isNaN else {
      throw damaged("has bits that are no number")
    }
    if let integer = OrderedNumber.join(floor: floor, residual: residual) {
      return .integer(integer)
    }
    guard residual == 0 else { throw damaged("has bits that are no number") }
    return .double(floor)
  }

  private mutating func readOrderedDouble() throws(Status) -> Double {
    guard let double = OrderedNumber.double(try readUInt64()) else {
      throw damaged("has bits that are no number")
    }
    return double
  }

  private mutating func skipEscaped() throws(Status) { _ = try takeEscaped() }

  /// The bytes before the terminator, which is consumed.
  @inline(__always)
  private mutating func takeEscaped() throws(Status) -> UnsafeRawBufferPointer {
    let start = offset
    guard let base = bytes.baseAddress,
      let end = memchr(base + start, Int32(KeyByte.terminator ^ mask), bytes.count - start)
    else { throw damaged("has text without an end") }
    let count = UnsafeRawPointer(end) - (base + start)
    offset = start + count + 1
    return UnsafeRawBufferPointer(start: base + start, count: count)
  }

  private mutating func readEscaped() throws(Status) -> [UInt8] {
    try unescape(try takeEscaped())
  }

  private func unescape(_ escaped: UnsafeRawBufferPointer) throws(Status) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(escaped.count)
    var isEscape = false
    for stored in escaped {
      let byte = stored ^ mask
      if isEscape {
        guard (1...3).contains(byte) else { throw damaged("has a wrong escape") }
        result.append(byte - 1)
        isEscape = false
      } else if byte == KeyByte.escape {
        isEscape = true
      } else {
        guard byte != KeyByte.marker else { throw damaged("has a byte that is not escaped") }
        result.append(byte)
      }
    }
    guard !isEscape else { throw damaged("has a wrong escape") }
    return result
  }

  private mutating func readText() throws(Status) -> String {
    let escaped = try takeEscaped()
    if mask == 0 && !escaped.contains(where: { $0 <= KeyByte.escape }) {
      return try text(escaped)
    }
    return try unescape(escaped).withUnsafeBufferPointer { utf8 throws(Status) in
      try text(UnsafeRawBufferPointer(utf8))
    }
  }

  private func text(_ utf8: UnsafeRawBufferPointer) throws(Status) -> String {
    guard let text = String(storedUTF8: utf8) else { throw damaged("has text that is not UTF-8") }
    return text
  }

  private func damaged(_ how: String) -> Status {
    .dataLoss("A stored key \(how), near byte \(offset).")
  }
}
