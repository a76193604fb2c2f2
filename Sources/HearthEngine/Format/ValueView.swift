/// One stored value, read in place. Borrows its bytes, and is valid as long as they are.
///
/// Trusts that a `DocumentWriter` wrote the bytes, but never reads outside them: damage throws
/// `dataLoss`. The full check is `DocumentBody.validate(_:)`.
package struct ValueView {
  /// The value's tag and payload, exactly.
  let bytes: UnsafeRawBufferPointer
  /// That of the document, which has the names of its maps; nil if they are in the bytes.
  let nameTable: UnsafePointer<FieldNameTable>?

  enum Kind: UInt8, Sendable {
    case null, boolean, integer, double, timestamp, string, bytes, reference, geoPoint, array
    case vector, map
  }

  @inline(__always)
  init(
    trusting bytes: UnsafeRawBufferPointer, in nameTable: UnsafePointer<FieldNameTable>?
  ) {
    self.bytes = bytes
    self.nameTable = nameTable
  }

  /// A missing field. A decoder reads it as null.
  static var missing: ValueView {
    ValueView(trusting: UnsafeRawBufferPointer(start: nil, count: 0), in: nil)
  }

  /// A whole document.
  @inline(__always)
  init(_ body: StoredBody) { self.init(trusting: body.bytes, in: body.nameTable) }

  /// The first byte; for an empty buffer, a byte that is no tag.
  @inline(__always)
  var tag: UInt8 {
    bytes.count > 0 ? bytes[0] : 0xFF
  }

  @inline(__always)
  var isNull: Bool { tag == DocumentFormat.Tag.null }

  /// Whether the value is a map, or an array, which may hold some.
  @inline(__always)
  var mayHoldMaps: Bool { tag == DocumentFormat.Tag.array || isMap }

  @inline(__always)
  private var isMap: Bool {
    let form = tag & DocumentFormat.Tag.mapMask
    return form == DocumentFormat.Tag.map
      || form == DocumentFormat.Tag.mapWithoutNames && nameTable != nil
  }

  func kind() throws(Status) -> Kind {
    switch tag {
    case DocumentFormat.Tag.null: return .null
    case DocumentFormat.Tag.no, DocumentFormat.Tag.yes: return .boolean
    case 0x10...0x18: return .integer
    case 0x20...0x22: return .double
    case 0x30...0x38: return .timestamp
    case 0x40...0x80: return .string
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

  @inline(__always)
  private var payload: ByteCursor {
    ByteCursor(bytes.from(1))
  }

  /// The typed reads below return nil if the value is of another kind.

  @inline(__always)
  func boolean() -> Bool? {
    switch tag {
    case DocumentFormat.Tag.no: false
    case DocumentFormat.Tag.yes: true
    default: nil
    }
  }

  @inline(__always)
  package func integer() throws(Status) -> Int64? {
    let tag = tag
    guard tag & 0xF0 == DocumentFormat.Tag.integer else { return nil }
    var payload = payload
    return try payload.signed(byteCount: Int(tag & 0x0F))
  }

  @inline(__always)
  func double() throws(Status) -> Double? {
    var payload = payload
    switch tag {
    case DocumentFormat.Tag.double: return Double(bitPattern: try payload.fixed64())
    case DocumentFormat.Tag.float: return Double(Float(bitPattern: try payload.fixed32()))
    case DocumentFormat.Tag.nan: return Double.nan
    default: return nil
    }
  }

  @inline(__always)
  func timestamp() throws(Status) -> Instant? {
    let tag = tag
    guard tag & 0xF0 == DocumentFormat.Tag.timestamp else { return nil }
    var payload = payload
    let instant = Instant(microseconds: try payload.signed(byteCount: Int(tag & 0x0F)))
    guard instant >= .earliest, instant <= .latest else {
      throw .dataLoss("A stored timestamp is outside the years 0001 to 9999.")
    }
    return instant
  }

  /// The string's UTF-8 bytes, not yet validated.
  @inline(__always)
  func stringBytes() throws(Status) -> UnsafeRawBufferPointer? {
    let tag = tag
    if tag & 0xC0 == DocumentFormat.Tag.shortString, let start = bytes.baseAddress {
      let count = Int(tag & 0x3F)
      guard count < bytes.count else { throw .truncated }
      return UnsafeRawBufferPointer(start: start + 1, count: count)
    }
    guard tag == DocumentFormat.Tag.string else { return nil }
    var payload = payload
    return try payload.bytes(payload.length())
  }

  @inline(__always)
  package func string() throws(Status) -> String? {
    guard let utf8 = try stringBytes() else { return nil }
    guard let string = String(storedUTF8: utf8) else {
      throw .dataLoss("A stored string is not UTF-8.")
    }
    return string
  }

  func blob() throws(Status) -> UnsafeRawBufferPointer? {
    guard tag == DocumentFormat.Tag.bytes else { return nil }
    var payload = payload
    return try payload.bytes(payload.length())
  }

  func reference() throws(Status) -> ResourcePath? {
    guard let utf8 = try referenceText() else { return nil }
    guard let text = String(storedUTF8: utf8) else {
      throw .dataLoss("A stored reference is not UTF-8.")
    }
    return ResourcePath(relative: text)
  }

  /// The last part of the path of a reference.
  func referencedDocumentID() throws(Status) -> String? {
    guard let path = try referenceText() else { return nil }
    let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? path.startIndex
    guard let text = String(storedUTF8: UnsafeRawBufferPointer(rebasing: path[start...])) else {
      throw .dataLoss("A stored reference is not UTF-8.")
    }
    return text
  }

  func geoPoint() throws(Status) -> Coordinate? {
    guard tag == DocumentFormat.Tag.geoPoint else { return nil }
    var payload = payload
    let latitude = Double(bitPattern: try payload.fixed64())
    let longitude = Double(bitPattern: try payload.fixed64())
    return Coordinate(latitude: latitude, longitude: longitude)
  }

  func vector() throws(Status) -> [Double]? {
    guard let numbers = try vectorView() else { return nil }
    return (0..<numbers.count).map { numbers[$0] }
  }

  @inline(__always)
  package func array() throws(Status) -> ArrayView? {
    guard tag == DocumentFormat.Tag.array else { return nil }
    var payload = payload
    let length = try payload.length()
    var elements = ByteCursor(try payload.bytes(length))
    let count = try elements.length()
    return ArrayView(count: count, elements: elements.rest, in: nameTable)
  }

  @inline(__always)
  package func map() throws(Status) -> MapView? {
    guard isMap else { return nil }
    return try MapView(trusting: bytes, in: nameTable)
  }

  /// The value, fully decoded.
  package func value() throws(Status) -> Value { try value(depthLeft: DocumentFormat.maximumDepth) }

  func value(depthLeft: Int) throws(Status) -> Value {
    switch try kind() {
    case .null: return .null
    case .boolean: return .boolean(tag == DocumentFormat.Tag.yes)
    case .integer: if let integer = try integer() { return .integer(integer) }
    case .double: if let double = try double() { return .double(double) }
    case .timestamp: if let instant = try timestamp() { return .timestamp(instant) }
    case .string: if let string = try string() { return .string(string) }
    case .bytes: if let blob = try blob() { return .bytes(Array(blob)) }
    case .reference: if let path = try reference() { return .reference(path) }
    case .geoPoint: if let point = try geoPoint() { return .geoPoint(point) }
    case .vector: if let vector = try vector() { return .vector(vector) }
    case .array:
      guard depthLeft > 0 else { throw .tooDeep }
      if let array = try array() { return .array(try array.values(depthLeft: depthLeft - 1)) }
    case .map:
      guard depthLeft > 0 else { throw .tooDeep }
      if let map = try map() { return .map(try map.value(depthLeft: depthLeft - 1)) }
    }
    throw .dataLoss("A stored value has an unknown type.")
  }

  /// The length of the value at the front of the bytes, as its header states it.
  @inline(__always)
  static func length(
    atFrontOf bytes: UnsafeRawBufferPointer, in nameTable: UnsafePointer<FieldNameTable>?
  ) throws(Status) -> Int {
    guard bytes.count > 0 else { throw .truncated }
    let tag = bytes[0]
    let length: Int
    if tag & 0xC0 == DocumentFormat.Tag.shortString {
      length = 1 + Int(tag & 0x3F)
    } else if tag & DocumentFormat.Tag.mapMask == DocumentFormat.Tag.map {
      length = try MapView.byteCount(wholeAtFrontOf: bytes)
    } else {
      length = try otherLength(bytes, tag: tag, nameTable)
    }
    guard length <= bytes.count else { throw .truncated }
    return length
  }

  private static func otherLength(
    _ bytes: UnsafeRawBufferPointer, tag: UInt8, _ nameTable: UnsafePointer<FieldNameTable>?
  ) throws(Status) -> Int {
    var cursor = ByteCursor(bytes.from(1))
    switch tag {
    case 0x00...0x02, DocumentFormat.Tag.nan: return 1
    case 0x10...0x18, 0x30...0x38: return 1 + Int(tag & 0x0F)
    case DocumentFormat.Tag.double: return 9
    case DocumentFormat.Tag.float: return 5
    case DocumentFormat.Tag.geoPoint: return 17
    case DocumentFormat.Tag.string...DocumentFormat.Tag.reference, DocumentFormat.Tag.array:
      let length = try cursor.length()
      return bytes.count - cursor.rest.count + length
    case DocumentFormat.Tag.vector:
      let count = try cursor.length()
      guard count <= cursor.rest.count / 8 else { throw .truncated }
      return bytes.count - cursor.rest.count + count * 8
    case 0xA0...0xA6:
      let map = try MapView(atFrontOf: bytes, in: nameTable)
      return bytes.baseAddress.map { map.values.end - $0 } ?? 0
    default:
      throw .dataLoss("A stored value has an unknown type.")
    }
  }
}

/// The elements of a stored array, read in place, one after another.
package struct ArrayView {
  /// The stored count. Not more than the bytes can hold.
  package let count: Int
  private(set) var elements: UnsafeRawBufferPointer
  private let nameTable: UnsafePointer<FieldNameTable>?

  @inline(__always)
  init(
    count: Int, elements: UnsafeRawBufferPointer, in nameTable: UnsafePointer<FieldNameTable>?
  ) {
    self.count = count
    self.elements = elements
    self.nameTable = nameTable
  }

  /// Removes and returns the first of the remaining elements.
  @inline(__always)
  package mutating func next() throws(Status) -> ValueView {
    let length = try ValueView.length(atFrontOf: elements, in: nameTable)
    let element = UnsafeRawBufferPointer(start: elements.baseAddress, count: length)
    elements = elements.from(length)
    return ValueView(trusting: element, in: nameTable)
  }

  func values(depthLeft: Int) throws(Status) -> [Value] {
    var rest = self
    var values: [Value] = []
    values.reserveCapacity(count)
    for _ in 0..<count { values.append(try rest.next().value(depthLeft: depthLeft)) }
    return values
  }
}

extension Status {
  package static var tooDeep: Status {
    .dataLoss("A stored document nests deeper than \(DocumentFormat.maximumDepth) levels.")
  }
}
