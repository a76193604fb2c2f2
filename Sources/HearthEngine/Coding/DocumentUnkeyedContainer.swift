/// The elements of an array.
struct DocumentUnkeyedContainer: UnkeyedDecodingContainer {
  let decoder: DocumentDecoder
  private var rest: ArrayView
  private(set) var currentIndex = 0

  init(decoder: DocumentDecoder, array: ArrayView) {
    self.decoder = decoder
    rest = array
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { rest.count }
  var isAtEnd: Bool { currentIndex >= rest.count }

  private var key: AnyCodingKey { .index(currentIndex) }

  /// The next element, without advancing.
  @inline(__always)
  private func peek<T>(_ type: T.Type) throws -> (element: ValueView, rest: ArrayView) {
    try decoder.alive()
    guard !isAtEnd else { throw atEnd(type) }
    var rest = rest
    let element = try rest.next()
    return (element, rest)
  }

  @inline(never)
  private func atEnd<T>(_ type: T.Type) -> DecodingError {
    DecodingFailure.atEnd(type, codingPath: codingPath + [key])
  }

  @inline(__always)
  private mutating func goOn(_ rest: ArrayView) {
    self.rest = rest
    currentIndex += 1
  }

  mutating func decodeNil() throws -> Bool {
    let (element, rest) = try peek(Any?.self)
    guard element.isNull else { return false }
    goOn(rest)
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    let (element, rest) = try peek(type)
    let value = try decoder.boolean(element, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: String.Type) throws -> String {
    let (element, rest) = try peek(type)
    let value = try decoder.string(element, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: Double.Type) throws -> Double {
    let (element, rest) = try peek(type)
    let value = try decoder.double(element, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: Float.Type) throws -> Float {
    let (element, rest) = try peek(type)
    let value = try decoder.float(element, key: key)
    goOn(rest)
    return value
  }

  @inline(__always)
  mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  // Apart: for 128 bits the protocol has a default, which Swift prefers to a generic function.

  mutating func decode(_ type: Int128.Type) throws -> Int128 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let (element, rest) = try peek(type)
    let value = try decoder.decode(type, element, key: key)
    goOn(rest)
    return value
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let (element, rest) = try peek(KeyedDecodingContainer<NestedKey>.self)
    let container = try decoder.nested(element, after: key).container(keyedBy: type)
    goOn(rest)
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let (element, rest) = try peek((any UnkeyedDecodingContainer).self)
    let container = try decoder.nested(element, after: key).unkeyedContainer()
    goOn(rest)
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let (element, rest) = try peek((any Decoder).self)
    let decoder = decoder.nested(element, after: key)
    goOn(rest)
    return decoder
  }
}
