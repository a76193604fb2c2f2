import Foundation

/// The `Decoder` that types receive: a stored value and its path. Three words, so that an
/// `any Decoder` holds it without allocating.
package struct DocumentDecoder: BitwiseCopyable {
  /// The document being decoded, for `@DocumentID` and references.
  package struct Context {
    /// The document's name; nil if the data is not a document's.
    package var document: StoredName?
    /// The database that references belong to, an object of the public API. The caller retains it
    /// until the end: counting a reference for every document makes threads wait for each other.
    package unowned(unsafe) var owner: AnyObject?

    package init(document: StoredName? = nil, owner: AnyObject? = nil) {
      self.document = document
      self.owner = owner
    }
  }

  let state: DecodingSession.StatePointer
  /// The offset of the value in the run's bytes.
  let offset: UInt32
  /// The value's length in bytes; 0 for a missing value, which reads as null.
  let count: UInt32
  /// The node's name in the session, the depth, and a flag.
  let node: UInt32
  let epoch: UInt32

  /// The keys of a `[String: …]` are not converted.
  static let keepsKeysFlag: UInt32 = 1 << 31
  private static let depthShift: UInt32 = 26
  private static let deepest: UInt32 = 31

  init(
    state: DecodingSession.StatePointer, offset: UInt32, count: UInt32, node: UInt32, epoch: UInt32
  ) {
    self.state = state
    self.offset = offset
    self.count = count
    self.node = node
    self.epoch = epoch
  }

  private init(_ view: ValueView, of state: DecodingSession.StatePointer, node: UInt32) {
    self.state = state
    if let start = view.bytes.baseAddress, let base = state.pointee.bytes.baseAddress, !view.isNull
    {
      offset = UInt32(truncatingIfNeeded: start - base)
      count = UInt32(truncatingIfNeeded: view.bytes.count)
    } else {
      // A null view may be a missing value, which has no bytes.
      offset = 0
      count = 0
    }
    self.node = node
    epoch = state.pointee.epoch
  }

  /// Nil for any other decoder.
  package static func of(_ decoder: any Decoder) -> DocumentDecoder? { decoder as? DocumentDecoder }

  package var context: Context { isAlive ? state.pointee.context : Context() }

  @inline(__always)
  var isAlive: Bool { state.pointee.epoch == epoch }

  private static let null: StaticString = "\0"

  @inline(__always)
  func view() throws -> ValueView {
    guard isAlive else { throw DecodingFailure.late }
    guard count > 0 else {
      return ValueView(
        trusting: UnsafeRawBufferPointer(start: DocumentDecoder.null.utf8Start, count: 1), in: nil)
    }
    // The range was inside the bytes when it was made; the epoch proves that they are the same
    // bytes.
    return ValueView(
      trusting: UnsafeRawBufferPointer(
        start: state.pointee.bytes.baseAddress.map { $0 + Int(offset) }, count: Int(count)),
      in: state.pointee.nameTable)
  }

  var options: FirebaseDataDecoder? {
    isAlive ? state.pointee.options?.takeUnretainedValue() : nil
  }

  package var codingPath: [any CodingKey] {
    isAlive ? DecodingFailure.path(to: nodeName, in: state) : []
  }

  /// The node's name in the session.
  @inline(__always)
  var nodeName: UInt32 { node & (1 << DocumentDecoder.depthShift - 1) }

  /// The node of a value with an unknown path.
  static func node(atDepth depth: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: min(depth, Int(deepest))) << depthShift
  }

  /// How many maps and arrays enclose this value, at most `deepest`.
  @inline(__always)
  var depth: UInt32 { node >> DocumentDecoder.depthShift & DocumentDecoder.deepest }

  /// Checked before descending: damaged bytes may claim any depth, and the stack is limited.
  @inline(__always)
  func checkDepth() throws {
    if depth > DocumentFormat.maximumDepth { throw Status.tooDeep }
  }

  package var userInfo: [CodingUserInfoKey: Any] { options?.userInfo ?? [:] }

  // MARK: - Stored kinds, for Firestore types

  // Nil if the stored value is of another kind.
  func decodeTimestamp() throws -> Instant? { try view().timestamp() }
  func decodeCoordinate() throws -> Coordinate? { try view().geoPoint() }
  func decodeVector() throws -> [Double]? { try view().vector() }
  func decodeReference() throws -> ResourcePath? { try view().reference() }

  // MARK: - Types

  /// Decodes the value as `type`, by the rules for that type.
  @inline(__always)
  func decodeHere<T: Decodable>(_ type: T.Type) throws -> T {
    let view = try view()
    if DocumentDecoder.isDirect(type) { return try decodeDirectly(type, view, key: nil) }
    if let direct = state.pointee.types[type].pointee.direct {
      return try decode(type, directlyAs: direct, view)
    }
    return try decodeByCodable(type, view)
  }

  /// Same, through the type's `Decodable` conformance. The value must be at `view`.
  @inline(__always)
  func decodeByCodable<T: Decodable>(_ type: T.Type, _ view: ValueView) throws -> T {
    if let elements = state.pointee.types[type].pointee.elements, let array = try view.array() {
      return try elements.decode(array, at: self, as: type)
    }
    return try type.init(from: forKeys(of: type))
  }

  /// This decoder, marked to keep the keys if `type` is a `[String: …]`.
  @inline(__always)
  func forKeys<T>(of type: T.Type) -> DocumentDecoder {
    guard !state.pointee.keysAreDefault, type is any StringKeyedDictionary.Type else { return self }
    return DocumentDecoder(
      state: state, offset: offset, count: count, node: node | DocumentDecoder.keepsKeysFlag,
      epoch: epoch)
  }

  /// Whether the type is read without a decoder of its own.
  @inline(__always)
  static func isDirect<T>(_ type: T.Type) -> Bool {
    T.self == String.self || T.self == Date.self || T.self == URL.self || T.self == Data.self
      || T.self == [String].self || T.self == [Int].self || T.self == Decimal.self
  }

  /// Decodes one of those types. `key` is the last component of the path, if this decoder's path
  /// lacks it.
  @inline(__always)
  func decodeDirectly<T>(
    _ type: T.Type, _ view: ValueView, key: @autoclosure () -> (any CodingKey)?
  ) throws -> T {
    if T.self == String.self {
      return identity(try string(view, key: key()), as: T.self)
    }
    if T.self == Date.self {
      if state.pointee.datesAreTimestamps, let instant = try view.timestamp() {
        return identity(instant.date, as: T.self)
      }
      return identity(try date(view, key: key()), as: T.self)
    }
    if T.self == URL.self { return identity(try url(view, key: key()), as: T.self) }
    if T.self == Data.self {
      if state.pointee.dataIsBlob, let bytes = try view.blob() {
        return identity(Data(bytes), as: T.self)
      }
      return identity(try data(view, key: key()), as: T.self)
    }
    if T.self == [String].self {
      return identity(
        try elements(view, key: key()) {
          try $0.string()
        } failing: {
          try $0.string($1, key: $2)
        },
        as: T.self)
    }
    if T.self == [Int].self {
      return identity(
        try elements(view, key: key()) {
          try $0.integer().map { Int(truncatingIfNeeded: $0) }
        } failing: {
          try $0.integer($1, Int.self, key: $2)
        }, as: T.self)
    }
    return identity(try decimal(view, key: key()), as: T.self)
  }

  /// Where `decode` returns nil, calls `failing`, with the element's path.
  @inline(__always)
  func elements<Element>(
    _ view: ValueView, key: @autoclosure () -> (any CodingKey)?,
    _ decode: (ValueView) throws -> Element?,
    failing: (DocumentDecoder, ValueView, AnyCodingKey) throws -> Element
  ) throws -> [Element] {
    guard var array = try view.array() else {
      throw failure(.noArray, view, [Element].self, key: key())
    }
    var elements: [Element] = []
    elements.reserveCapacity(array.count)
    for index in 0..<array.count {
      let element = try array.next()
      if let value = try decode(element) {
        elements.append(value)
      } else {
        let mark = state.pointee.keys.count
        elements.append(try failing(nested(view, after: key()), element, .index(index)))
        state.pointee.keys.truncate(to: mark)
      }
    }
    return elements
  }

  // MARK: - Plain values

  @inline(__always)
  func boolean(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
    -> Bool
  {
    if let value = view.boolean() { return value }
    throw failure(.wrongType, view, Bool.self, key: key())
  }

  @inline(__always)
  func string(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
    -> String
  {
    if let value = try view.string() { return value }
    throw failure(.wrongType, view, String.self, key: key())
  }

  @inline(__always)
  func integer<T: FixedWidthInteger>(
    _ view: ValueView, _ type: T.Type, key: @autoclosure () -> (any CodingKey)?
  ) throws -> T {
    if let stored = try view.integer() {
      if let value = T(exactly: stored) { return value }
      throw failure(.doesNotFit("\(stored)"), view, type, key: key())
    }
    if let stored = try view.double() {
      if let value = T(exactly: stored) { return value }
      throw failure(.doesNotFit("\(stored)"), view, type, key: key())
    }
    throw failure(.wrongType, view, type, key: key())
  }

  @inline(__always)
  func double(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
    -> Double
  {
    if let value = try view.double() { return value }
    if let value = try view.integer() { return Double(value) }
    return try nonConforming(view, Double.self, key: key())
  }

  @inline(__always)
  func float(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
    -> Float
  {
    let number: Double
    if let value = try view.double() {
      number = value
    } else if let value = try view.integer() {
      number = Double(value)
    } else {
      return Float(try nonConforming(view, Float.self, key: key()))
    }
    guard abs(number) <= Double(Float.greatestFiniteMagnitude) else {
      throw failure(.doesNotFit("\(number)"), view, Float.self, key: key())
    }
    return Float(number)
  }

  /// Infinity or NaN, if the value is the string for one of them.
  @inline(never)
  private func nonConforming<T>(
    _ view: ValueView, _ type: T.Type, key: @autoclosure () -> (any CodingKey)?
  ) throws -> Double {
    if let options, let string = try view.string(),
      let number = DecodingRules.nonConforming(string, options.nonConformingFloatDecodingStrategy)
    {
      return number
    }
    throw failure(.wrongType, view, type, key: key())
  }

  // MARK: - Foundation's values

  @inline(never)
  func date(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws -> Date {
    guard let options, !view.isNull else { throw failure(.wrongType, view, Date.self, key: key()) }
    let key = key()
    return try DecodingRules.date(
      options.dateDecodingStrategy, from: found(view, Date.self, text: String.self, key))
  }

  @inline(never)
  func data(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws -> Data {
    guard let options, !view.isNull else { throw failure(.wrongType, view, Data.self, key: key()) }
    let key = key()
    return try DecodingRules.data(
      options.dataDecodingStrategy, from: found(view, Data.self, text: Data.self, key))
  }

  /// - Parameter text: The type that an error names if the value is not a string.
  private func found<T, Text>(
    _ view: ValueView, _ type: T.Type, text: Text.Type, _ key: (any CodingKey)?
  ) -> DecodingRules.Found {
    DecodingRules.Found(
      string: {
        guard let string = try view.string() else {
          throw failure(.wrongType, view, text, key: key)
        }
        return string
      },
      double: { try double(view, key: key) }, decoder: { nested(view, after: key) },
      failure: { failure($0, view, type, key: key) })
  }

  func url(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws -> URL {
    guard let url = URL(string: try string(view, key: key())) else {
      throw failure(.corrupted("Invalid URL string."), view, URL.self, key: key())
    }
    return url
  }

  func decimal(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
    -> Decimal
  {
    if let integer = try view.integer() { return Decimal(integer) }
    let number = try double(view, key: key())
    guard let decimal = EncodingRules.decimal(number) else {
      throw failure(.doesNotFit("\(number)"), view, Decimal.self, key: key())
    }
    return decimal
  }

  // MARK: - Nested values

  /// A decoder for the value at `view`, with `key` appended to the path.
  @inline(__always)
  func nested(_ view: ValueView, after key: (any CodingKey)?) -> DocumentDecoder {
    guard let key else { return DocumentDecoder(view, of: state, node: node) }
    return nested(view, behind: key)
  }

  /// The same, for a key that is not optional.
  @inline(__always)
  func nested(_ view: ValueView, behind key: some CodingKey) -> DocumentDecoder {
    let name =
      if let index = DocumentDecoder.index(key) {
        DecodingSession.push(index: index, after: nodeName, on: state)
      } else {
        DecodingSession.push(key, after: nodeName, on: state)
      }
    let depth = min(depth + 1, DocumentDecoder.deepest)
    return DocumentDecoder(view, of: state, node: name | depth << DocumentDecoder.depthShift)
  }

  /// The index, if the key is an `AnyCodingKey` of an element.
  @inline(__always)
  static func index<Key: CodingKey>(_ key: Key) -> Int? {
    guard Key.self == AnyCodingKey.self else { return nil }
    return identity(key, as: AnyCodingKey.self).intValue
  }

  /// Decodes the value at `view` as any type.
  @inline(__always)
  func decode<T: Decodable>(
    _ type: T.Type, _ view: ValueView, key: some CodingKey
  ) throws -> T {
    if DocumentDecoder.isDirect(type) { return try decodeDirectly(type, view, key: key) }
    let mark = state.pointee.keys.count
    let decoder = nested(view, behind: key)
    let value: T
    let entry = state.pointee.types[type].pointee
    if let direct = entry.direct {
      value = try decoder.decode(type, directlyAs: direct, view)
    } else if let elements = entry.elements, let array = try view.array() {
      value = try elements.decode(array, at: decoder, as: type)
    } else {
      value = try type.init(from: decoder.forKeys(of: type))
    }
    // Decoders that the type kept lose their path here.
    state.pointee.keys.truncate(to: mark)
    return value
  }

  // MARK: - Failures

  @inline(never)
  func failure<T>(
    _ failure: DecodingFailure, _ view: ValueView, _ type: T.Type, key: (any CodingKey)?
  ) -> DecodingError {
    failure.error(
      isNull: view.isNull, found: DecodingFailure.name(of: view), type: type,
      codingPath: codingPath + (key.map { [$0] } ?? []))
  }

  /// The stored value is of another kind than that type.
  package func mismatch<T>(_ type: T.Type) -> any Error {
    do {
      return failure(.wrongType, try view(), type, key: nil)
    } catch {
      return error
    }
  }

  /// The only key that a dictionary sees if it cannot hold all names of the map. A field's name is
  /// never empty, so this key has no value, and `missing` then returns the error about equivalent
  /// names. `allKeys` itself cannot throw.
  static let ambiguousKey = ""

  /// Whether this is the key type with which a `Dictionary` decodes keys that are `String`s or made
  /// from them.
  static func isDictionaryKey(_ type: any CodingKey.Type) -> Bool {
    String(reflecting: type) == "Swift._DictionaryCodingKey"
  }

  @inline(never)
  func missing(_ key: some CodingKey) -> DecodingError {
    if state.pointee.isAmbiguous, key.stringValue == DocumentDecoder.ambiguousKey {
      state.pointee.isAmbiguous = false
      return .dataCorrupted(
        .init(
          codingPath,
          "Two names of the map are one String to Swift, and have other bytes. A dictionary cannot "
            + "hold both: decode a type with coding keys, or read them by FieldPath."))
    }
    return DecodingFailure.missing(key, options, codingPath: codingPath)
  }
}
