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

  /// Decodes the next element. Does not advance if that throws.
  @inline(__always)
  private mutating func next<T, Result>(
    _ type: T.Type, _ decode: (DocumentDecoder, ValueView, AnyCodingKey) throws -> Result
  ) throws -> Result {
    let (element, rest) = try peek(type)
    let result = try decode(decoder, element, key)
    goOn(rest)
    return result
  }

  mutating func decodeNil() throws -> Bool {
    let (element, rest) = try peek(Any?.self)
    guard element.isNull else { return false }
    goOn(rest)
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    try next(type) { try $0.boolean($1, key: $2) }
  }

  mutating func decode(_ type: String.Type) throws -> String {
    try next(type) { try $0.string($1, key: $2) }
  }

  mutating func decode(_ type: Double.Type) throws -> Double {
    try next(type) { try $0.double($1, key: $2) }
  }

  mutating func decode(_ type: Float.Type) throws -> Float {
    try next(type) { try $0.float($1, key: $2) }
  }

  @inline(__always)
  mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try next(type) { try $0.integer($1, type, key: $2) }
  }

  // Apart: for 128 bits the protocol has a default, which Swift prefers to a generic function.

  mutating func decode(_ type: Int128.Type) throws -> Int128 {
    try next(type) { try $0.integer($1, type, key: $2) }
  }

  mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
    try next(type) { try $0.integer($1, type, key: $2) }
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try next(type) { try $0.decode(type, $1, key: $2) }
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next(KeyedDecodingContainer<NestedKey>.self) {
      try $0.nested($1, after: $2).container(keyedBy: type)
    }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next((any UnkeyedDecodingContainer).self) {
      try $0.nested($1, after: $2).unkeyedContainer()
    }
  }

  mutating func superDecoder() throws -> any Decoder {
    try next((any Decoder).self) { $0.nested($1, after: $2) }
  }
}
