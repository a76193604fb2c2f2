/// Components of index entries: values as bytes that sort as the values do.
///
///     null                05
///     boolean             0A, 00 or 01
///     NaN                 0D
///     number              0F, seven bits a byte, the low bit set if more follow
///     timestamp           14, eight bytes: microseconds, big-endian, sign flipped
///     string              19, escaped UTF-8, 00
///     bytes               1E, escaped, 00
///     reference           25, path
///     geo point           2D, latitude, longitude: eight bytes each
///     array               32, its elements, 00
///     vector              35, four bytes: count, eight bytes each
///     map                 37, for each field: 01, escaped name, 00, value; 00
///
/// Law: comparing two components as bytes is the same as `Value.compare`; equal values (1 and 1.0,
/// -0.0 and 0) have equal bytes. A descending component has every bit inverted, and so the opposite
/// order. No component is a prefix of another, so that they may follow one another.
///
/// Each piece can also be appended on its own, from stored bytes and without a `Value`.
extension KeyBuffer {
  mutating func append(_ value: Value, descending: Bool) {
    let start = count
    append(value)
    if descending { invert(from: start) }
  }

  mutating func append(_ value: Value) {
    switch value {
    case .null: appendNull()
    case .boolean(let value): append(boolean: value)
    case .integer(let value): append(integer: value)
    case .double(let value): append(double: value)
    case .timestamp(let value): append(timestamp: value)
    case .string(let value): value.withUTF8Bytes { append(utf8: $0) }
    case .bytes(let value): value.withUnsafeBytes { append(bytes: $0) }
    case .reference(let path):
      append(tag: .reference)
      append(path: path)
    case .geoPoint(let point): append(latitude: point.latitude, longitude: point.longitude)
    case .array(let elements):
      append(tag: .array)
      for element in elements { append(element) }
      appendTerminator()
    case .vector(let components):
      beginVector(count: components.count)
      for component in components { append(ordered: component) }
    case .map(let map):
      append(tag: .map)
      for field in map.fields {
        field.name.withUTF8Bytes { appendName(utf8: $0) }
        append(field.value)
      }
      appendTerminator()
    }
  }

  /// Begins a reference (ids and the terminator follow), an array (elements, terminator) or a map
  /// (names and values alternately, terminator).
  @inline(__always)
  mutating func append(tag: Value.TypeClass) { append(byte: tag.rawValue) }

  @inline(__always)
  mutating func appendTerminator() { append(byte: KeyByte.terminator) }

  mutating func appendNull() { append(tag: .null) }

  mutating func append(boolean: Bool) {
    append(tag: .boolean)
    append(byte: boolean ? 1 : 0)
  }

  mutating func append(integer: Int64) {
    let (floor, residual) = OrderedNumber.split(integer)
    append(numberBits: OrderedNumber.bits(floor), residual: residual)
  }

  mutating func append(double: Double) {
    if double.isNaN {
      append(tag: .nan)
    } else {
      append(numberBits: OrderedNumber.bits(double), residual: 0)
    }
  }

  /// 74 bits, 64 and 10, highest first: seven per byte, and no byte after the last set bit.
  private mutating func append(numberBits bits: UInt64, residual: UInt16) {
    append(upTo: 12) { target in
      target[0] = Value.TypeClass.number.rawValue
      // The bits not yet written are at the top of the pair.
      var high = bits
      var low = UInt64(residual) << 54
      var count = 1
      while true {
        let group = UInt8(truncatingIfNeeded: high >> 57) << 1
        high = high << 7 | low >> 57
        low <<= 7
        let isLast = high | low == 0
        target[count] = isLast ? group : group | 1
        count += 1
        if isLast { return count }
      }
    }
  }

  mutating func append(timestamp: Instant) {
    append(tag: .timestamp)
    append(bigEndian: UInt64(bitPattern: timestamp.microseconds) ^ (1 << 63))
  }

  mutating func append(utf8 string: UnsafeRawBufferPointer) {
    append(tag: .string)
    append(escaped: string)
    appendTerminator()
  }

  mutating func append(bytes: UnsafeRawBufferPointer) {
    append(tag: .bytes)
    append(escaped: bytes)
    appendTerminator()
  }

  mutating func append(latitude: Double, longitude: Double) {
    append(tag: .geoPoint)
    append(ordered: latitude)
    append(ordered: longitude)
  }

  /// Call `append(ordered:)` `count` times afterwards.
  mutating func beginVector(count: Int) {
    append(tag: .vector)
    append(bigEndian: UInt32(clamping: count))
  }

  /// A double without tag and terminator: eight bytes.
  @inline(__always)
  mutating func append(ordered double: Double) {
    append(bigEndian: OrderedNumber.bits(double))
  }

  /// The name of a map's field; append the field's value afterwards.
  mutating func appendName(utf8 name: UnsafeRawBufferPointer) {
    append(byte: KeyByte.marker)
    append(escaped: name)
    appendTerminator()
  }
}
