/// The order of values, computed on their stored bytes.
///
/// Law: comparing two stored values is the same as `Value.compare` of the decoded values. Decodes
/// nothing but numbers, and allocates nothing.
extension ValueView {
  @inline(__always)
  func typeClass() throws(Status) -> Value.TypeClass {
    switch tag {
    case 0x40...0x80: return .string
    case 0x10...0x18: return .number
    case DocumentFormat.Tag.double, DocumentFormat.Tag.float:
      return try double()?.isNaN == true ? .nan : .number
    case DocumentFormat.Tag.nan: return .nan
    case DocumentFormat.Tag.null: return .null
    case DocumentFormat.Tag.no, DocumentFormat.Tag.yes: return .boolean
    case 0x30...0x38: return .timestamp
    case DocumentFormat.Tag.bytes: return .bytes
    case DocumentFormat.Tag.reference: return .reference
    case DocumentFormat.Tag.geoPoint: return .geoPoint
    case DocumentFormat.Tag.array: return .array
    case DocumentFormat.Tag.vector: return .vector
    case 0x90...0x9F: return .map
    case 0xA0...0xA6 where nameTable != nil: return .map
    default: throw .dataLoss("A stored value has an unknown type.")
    }
  }

  /// Negative, zero or positive as `lhs` sorts before, with or after `rhs`.
  static func compare(_ lhs: ValueView, _ rhs: ValueView) throws(Status) -> Int {
    try compare(lhs, rhs, depthLeft: DocumentFormat.maximumDepth + 1)
  }

  /// Whether both hold the same bytes, with the same names. If so, they are equal. Equal scalars are
  /// always identical, except numbers and points.
  @inline(__always)
  func isIdentical(to other: ValueView) -> Bool {
    bytes.count == other.bytes.count && UTF8Order.compare(bytes, other.bytes) == 0
      && (nameTable == other.nameTable || !mayHoldMaps && !other.mayHoldMaps)
  }

  private static func compare(
    _ lhs: ValueView, _ rhs: ValueView, depthLeft: Int
  ) throws(Status) -> Int {
    guard depthLeft > 0 else { throw .tooDeep }
    let kind = try lhs.typeClass()
    let other = try rhs.typeClass()
    guard kind == other else { return Int(kind.rawValue) - Int(other.rawValue) }
    switch kind {
    case .null, .nan: return 0
    case .boolean: return Int(lhs.tag) - Int(rhs.tag)
    case .number: return try compareNumbers(lhs, rhs)
    case .timestamp:
      guard let left = try lhs.timestamp(), let right = try rhs.timestamp() else { break }
      return Value.order(left.microseconds, right.microseconds)
    case .string:
      guard let left = try lhs.stringBytes(), let right = try rhs.stringBytes() else { break }
      return UTF8Order.compare(left, right)
    case .bytes:
      guard let left = try lhs.blob(), let right = try rhs.blob() else { break }
      return UTF8Order.compare(left, right)
    case .reference:
      guard let left = try lhs.referenceText(), let right = try rhs.referenceText() else { break }
      return ResourcePath.compare(text: left, right)
    case .geoPoint:
      guard let left = try lhs.geoPoint(), let right = try rhs.geoPoint() else { break }
      let latitudes = Value.compare(left.latitude, right.latitude)
      return latitudes != 0 ? latitudes : Value.compare(left.longitude, right.longitude)
    case .array:
      guard let left = try lhs.array(), let right = try rhs.array() else { break }
      return try compare(left, right, depthLeft: depthLeft - 1)
    case .vector:
      guard let left = try lhs.vectorView(), let right = try rhs.vectorView() else { break }
      return compare(left, right)
    case .map:
      guard let left = try lhs.map(), let right = try rhs.map() else { break }
      return try compare(left, right, depthLeft: depthLeft - 1)
    }
    throw .dataLoss("A stored value has an unknown type.")
  }

  private static func compareNumbers(_ lhs: ValueView, _ rhs: ValueView) throws(Status) -> Int {
    if let left = try lhs.integer() {
      if let right = try rhs.integer() { return Value.order(left, right) }
      if let right = try rhs.double() { return -Value.compare(double: right, integer: left) }
    } else if let left = try lhs.double() {
      if let right = try rhs.integer() { return Value.compare(double: left, integer: right) }
      if let right = try rhs.double() { return Value.compare(left, right) }
    }
    throw .dataLoss("A stored value has an unknown type.")
  }

  private static func compare(
    _ lhs: ArrayView, _ rhs: ArrayView, depthLeft: Int
  ) throws(Status) -> Int {
    var left = lhs
    var right = rhs
    for _ in 0..<min(lhs.count, rhs.count) {
      let result = try compare(left.next(), right.next(), depthLeft: depthLeft)
      if result != 0 { return result }
    }
    return lhs.count - rhs.count
  }

  private static func compare(_ lhs: VectorView, _ rhs: VectorView) -> Int {
    guard lhs.count == rhs.count else { return lhs.count - rhs.count }
    for index in 0..<lhs.count {
      let result = Value.compare(lhs[index], rhs[index])
      if result != 0 { return result }
    }
    return 0
  }

  private static func compare(
    _ lhs: MapView, _ rhs: MapView, depthLeft: Int
  ) throws(Status) -> Int {
    for index in 0..<min(lhs.count, rhs.count) {
      let names = UTF8Order.compare(try lhs.name(at: index), try rhs.name(at: index))
      if names != 0 { return names }
      let values = try compare(
        lhs.value(at: index), rhs.value(at: index), depthLeft: depthLeft)
      if values != 0 { return values }
    }
    return lhs.count - rhs.count
  }

  /// `books/dune`, in bytes not yet validated as UTF-8.
  func referenceText() throws(Status) -> UnsafeRawBufferPointer? {
    guard tag == DocumentFormat.Tag.reference else { return nil }
    var payload = ByteCursor(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
    return try payload.bytes(payload.length())
  }

  func vectorView() throws(Status) -> VectorView? {
    guard tag == DocumentFormat.Tag.vector else { return nil }
    var payload = ByteCursor(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
    let count = try payload.length()
    guard count <= payload.rest.count / 8 else { throw .truncated }
    return VectorView(count: count, bytes: try payload.bytes(count * 8))
  }
}

/// A stored vector, read in place.
struct VectorView {
  let count: Int
  /// Eight bytes per component, little-endian, unaligned.
  let bytes: UnsafeRawBufferPointer

  @inline(__always)
  subscript(index: Int) -> Double {
    Double(
      bitPattern: UInt64(
        littleEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)))
  }
}

extension ResourcePath {
  /// Same as `compare(_:_:)`, on paths as text.
  static func compare(text lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Int {
    var left = lhs[...]
    var right = rhs[...]
    while !left.isEmpty, !right.isEmpty {
      let order = compare(segment: takeSegment(&left), takeSegment(&right))
      if order != 0 { return order }
    }
    return (left.isEmpty ? 0 : 1) - (right.isEmpty ? 0 : 1)
  }

  private static func takeSegment(
    _ rest: inout Slice<UnsafeRawBufferPointer>
  ) -> UnsafeRawBufferPointer {
    let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    let segment = UnsafeRawBufferPointer(rebasing: rest[..<end])
    rest = rest[min(end + 1, rest.endIndex)...]
    return segment
  }
}
