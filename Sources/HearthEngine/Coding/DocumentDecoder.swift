import Foundation

/// The decoder that types meet: a stored value and the way to it. Three words, so that an
/// `any Decoder` holds it without allocating.
package struct DocumentDecoder: BitwiseCopyable {
  /// What is decoded, for `@DocumentID` and references.
  package struct Context {
    /// What the document is called; nil if the data is not a document's.
    package var document: StoredName?
    /// The database that references belong to, in the roof's terms. Whoever decodes holds it until
    /// the end: a reference counted for every document is what threads wait for each other at.
    package unowned(unsafe) var owner: AnyObject?

    package init(document: StoredName? = nil, owner: AnyObject? = nil) {
      self.document = document
      self.owner = owner
    }
  }

  let state: DecodingSession.StatePointer
  /// Where the value begins in the run's bytes.
  fileprivate let offset: UInt32
  /// How many bytes it has; none for what does not exist, which reads as null.
  fileprivate let count: UInt32
  /// The way to it, how deep it is, and a flag.
  fileprivate let node: UInt32
  fileprivate let epoch: UInt32

  /// The keys of a `[String: …]` stay as they are.
  private static let keepsKeysFlag: UInt32 = 1 << 31
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
      // A null may be one that stands for what does not exist.
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
  private var isAlive: Bool { state.pointee.epoch == epoch }

  private static let null: StaticString = "\0"

  @inline(__always)
  fileprivate func view() throws -> ValueView {
    guard isAlive else { throw DecodingFailure.late }
    guard count > 0 else {
      return ValueView(
        trusting: UnsafeRawBufferPointer(start: DocumentDecoder.null.utf8Start, count: 1))
    }
    // The place was inside the bytes when it was made, and the epoch says that they are the same.
    return ValueView(
      trusting: UnsafeRawBufferPointer(
        start: state.pointee.bytes.baseAddress.map { $0 + Int(offset) }, count: Int(count)))
  }

  /// Nil for another kind.
  @inline(__always)
  private func map(_ view: ValueView) throws -> MapView? {
    if offset == 0, count > 0, let shape = state.pointee.shape {
      return try MapView(body: StoredBody(view.bytes, shape))
    }
    return try view.map()
  }

  fileprivate var options: FirebaseDataDecoder? {
    isAlive ? state.pointee.options?.takeUnretainedValue() : nil
  }

  package var codingPath: [any CodingKey] {
    isAlive ? DecodingFailure.path(to: nodeName, in: state) : []
  }

  /// As the session knows it.
  @inline(__always)
  private var nodeName: UInt32 { node & (1 << DocumentDecoder.depthShift - 1) }

  /// How many maps and arrays are around this; stays at `deepest` beyond that.
  @inline(__always)
  private var depth: UInt32 { node >> DocumentDecoder.depthShift & DocumentDecoder.deepest }

  /// Before going deeper: models may be as deep as damaged bytes say, the stack is not.
  @inline(__always)
  func checkDepth() throws {
    if depth > DocumentFormat.maximumDepth { throw Status.tooDeep }
  }

  package var userInfo: [CodingUserInfoKey: Any] { options?.userInfo ?? [:] }

  // MARK: - Stored kinds, for the types that documents know

  // Nil where the stored value is of another kind.
  func decodeTimestamp() throws -> Instant? { try view().timestamp() }
  func decodeCoordinate() throws -> Coordinate? { try view().geoPoint() }
  func decodeVector() throws -> [Double]? { try view().vector() }
  func decodeReference() throws -> ResourcePath? { try view().reference() }
  /// Any value that can be decoded whole.
  func decodeStoredValue() throws -> Value {
    let view = try view()
    if offset == 0, let map = try map(view) { return .map(try map.value()) }
    return try view.value()
  }

  // MARK: - Types

  /// The value as that type, by the rules for its type.
  @inline(__always)
  func decodeHere<T: Decodable>(_ type: T.Type) throws -> T {
    let view = try view()
    if DocumentDecoder.isDirect(type) { return try decodeDirectly(type, view, key: nil) }
    if let elements = state.pointee.elements[type], let array = try view.array() {
      return try elements.decode(array, at: self, as: type)
    }
    return try type.init(from: forKeys(of: type))
  }

  /// The same decoder, for a dictionary with names for keys.
  @inline(__always)
  private func forKeys<T>(of type: T.Type) -> DocumentDecoder {
    guard !state.pointee.keysAreDefault, type is any StringKeyedDictionary.Type else { return self }
    return DocumentDecoder(
      state: state, offset: offset, count: count, node: node | DocumentDecoder.keepsKeysFlag,
      epoch: epoch)
  }

  /// The types that are read without a decoder of their own.
  @inline(__always)
  private static func isDirect<T>(_ type: T.Type) -> Bool {
    T.self == String.self || T.self == Date.self || T.self == URL.self || T.self == Data.self
      || T.self == [String].self || T.self == [Int].self || T.self == Decimal.self
  }

  /// A value of those types. `key` is the last of the path, if it is not part of this decoder's yet.
  @inline(__always)
  fileprivate func decodeDirectly<T>(
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

  /// `failing` is asked, with a path to tell, where `decode` finds nothing.
  @inline(__always)
  private func elements<Element>(
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
  fileprivate func boolean(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
    -> Bool
  {
    if let value = view.boolean() { return value }
    throw failure(.wrongType, view, Bool.self, key: key())
  }

  @inline(__always)
  fileprivate func string(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
    -> String
  {
    if let value = try view.string() { return value }
    throw failure(.wrongType, view, String.self, key: key())
  }

  @inline(__always)
  fileprivate func integer<T: FixedWidthInteger>(
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
  fileprivate func double(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
    -> Double
  {
    if let value = try view.double() { return value }
    if let value = try view.integer() { return Double(value) }
    return try nonConforming(view, Double.self, key: key())
  }

  @inline(__always)
  fileprivate func float(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
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

  /// What a string says that stands for infinity or NaN.
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
  private func date(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws -> Date {
    guard let options, !view.isNull else { throw failure(.wrongType, view, Date.self, key: key()) }
    let key = key()
    return try DecodingRules.date(
      options.dateDecodingStrategy, from: found(view, Date.self, text: String.self, key))
  }

  @inline(never)
  private func data(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws -> Data {
    guard let options, !view.isNull else { throw failure(.wrongType, view, Data.self, key: key()) }
    let key = key()
    return try DecodingRules.data(
      options.dataDecodingStrategy, from: found(view, Data.self, text: Data.self, key))
  }

  /// - Parameter text: What something is no value of, if it is no string.
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

  private func url(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws -> URL {
    guard let url = URL(string: try string(view, key: key())) else {
      throw failure(.corrupted("Invalid URL string."), view, URL.self, key: key())
    }
    return url
  }

  private func decimal(_ view: ValueView, key: @autoclosure () -> (any CodingKey)?) throws
    -> Decimal
  {
    if let integer = try view.integer() { return Decimal(integer) }
    let number = try double(view, key: key())
    guard let decimal = EncodingRules.decimal(number) else {
      throw failure(.doesNotFit("\(number)"), view, Decimal.self, key: key())
    }
    return decimal
  }

  // MARK: - Further in

  /// A decoder for what stands at `view`, `key` further.
  @inline(__always)
  fileprivate func nested(_ view: ValueView, after key: (any CodingKey)?) -> DocumentDecoder {
    guard let key else { return DocumentDecoder(view, of: state, node: node) }
    return nested(view, behind: key)
  }

  /// The same, without an optional.
  @inline(__always)
  private func nested(_ view: ValueView, behind key: some CodingKey) -> DocumentDecoder {
    let name =
      if let index = DocumentDecoder.index(key) {
        DecodingSession.push(index: index, after: nodeName, on: state)
      } else {
        DecodingSession.push(key, after: nodeName, on: state)
      }
    let depth = min(depth + 1, DocumentDecoder.deepest)
    return DocumentDecoder(view, of: state, node: name | depth << DocumentDecoder.depthShift)
  }

  /// An element's, if the key is one of ours.
  @inline(__always)
  private static func index<Key: CodingKey>(_ key: Key) -> Int? {
    guard Key.self == AnyCodingKey.self else { return nil }
    return identity(key, as: AnyCodingKey.self).intValue
  }

  /// Decodes what stands at `view` as any type.
  @inline(__always)
  func decode<T: Decodable>(
    _ type: T.Type, _ view: ValueView, key: some CodingKey
  ) throws -> T {
    if DocumentDecoder.isDirect(type) { return try decodeDirectly(type, view, key: key) }
    let mark = state.pointee.keys.count
    let decoder = nested(view, behind: key)
    let value: T
    if let elements = state.pointee.elements[type], let array = try view.array() {
      value = try elements.decode(array, at: decoder, as: type)
    } else {
      value = try type.init(from: decoder.forKeys(of: type))
    }
    // What the type kept is of no use to it any more.
    state.pointee.keys.truncate(to: mark)
    return value
  }

  // MARK: - Failures

  @inline(never)
  fileprivate func failure<T>(
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

  /// What a dictionary is told to decode, instead of names that it cannot hold all: a field's name is never
  /// empty, so there is no value, and the error of that is `ambiguous`. `allKeys` itself cannot throw.
  fileprivate static let ambiguousKey = ""

  /// Whether keys of this type are made into `String`s, or types made of such, in a `Dictionary`.
  fileprivate static func isDictionaryKey(_ type: any CodingKey.Type) -> Bool {
    String(reflecting: type) == "Swift._DictionaryCodingKey"
  }

  @inline(never)
  fileprivate func missing(_ key: some CodingKey) -> DecodingError {
    if state.pointee.isAmbiguous, key.stringValue == DocumentDecoder.ambiguousKey {
      state.pointee.isAmbiguous = false
      return DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: codingPath,
          debugDescription:
            "Two names of the map are one String to Swift, and have other bytes. A dictionary cannot "
            + "hold both: decode a type with coding keys, or read them by FieldPath."))
    }
    return DecodingFailure.missing(key, options, codingPath: codingPath)
  }
}

/// Why a value is not what was asked for.
enum DecodingFailure {
  case wrongType
  case noMap, noArray
  case doesNotFit(String)
  case corrupted(String)

  /// - Parameter found: What there is instead: `a number`.
  func error<T>(
    isNull: Bool, found: @autoclosure () -> String, type: T.Type, codingPath: [any CodingKey]
  ) -> DecodingError {
    func context(_ sentence: String) -> DecodingError.Context {
      DecodingError.Context(codingPath: codingPath, debugDescription: sentence)
    }
    switch self {
    case .corrupted(let sentence): return .dataCorrupted(context(sentence))
    case .doesNotFit(let number):
      return .dataCorrupted(context("Parsed JSON number <\(number)> does not fit in \(type)."))
    case .wrongType:
      if isNull {
        return .valueNotFound(
          type, context("Expected \(type) value but found null instead."))
      }
    case .noMap:
      if isNull {
        return .valueNotFound(
          type, context("Cannot get keyed decoding container -- found null value instead."))
      }
      return mismatch([String: Any].self)
    case .noArray:
      if isNull {
        return .valueNotFound(
          type, context("Cannot get unkeyed decoding container -- found null value instead."))
      }
      return mismatch([Any].self)
    }
    return mismatch(type)

    func mismatch(_ expected: Any.Type) -> DecodingError {
      .typeMismatch(
        expected,
        context(
          "Expected to decode \(expected) but found \(found()) instead."))
    }
  }

  /// A type kept its decoder, or a container, and used it when decoding was over.
  static var late: DecodingError {
    .dataCorrupted(
      DecodingError.Context(
        codingPath: [], debugDescription: "The decoder was used after decoding had ended."))
  }

  static func name(of view: ValueView) -> String {
    if StoredBody.shapeID(view.bytes) != nil { return "a dictionary" }
    guard let kind = try? view.kind() else { return "an unknown value" }
    return switch kind {
    case .null: "a null value"
    case .boolean, .integer, .double: "a number"
    case .timestamp: "a timestamp"
    case .string: "a string/data"
    case .bytes: "bytes"
    case .reference: "a document reference"
    case .geoPoint: "a geo point"
    case .array: "an array"
    case .vector: "a vector"
    case .map: "a dictionary"
    }
  }

  static func path(
    to node: UInt32, in state: DecodingSession.StatePointer
  ) -> [any CodingKey] {
    var path: [any CodingKey] = []
    var node = Int(node)
    while node > 0, node <= state.pointee.keys.count {
      path.append(state.pointee.keys[node - 1])
      let parent = Int(state.pointee.parents[node - 1])
      // Parents come before their children; anything else is a decoder kept too long.
      guard parent < node else { break }
      node = parent
    }
    return path.reversed()
  }

  static func missing(
    _ key: some CodingKey, _ options: FirebaseDataDecoder?, codingPath: [any CodingKey]
  ) -> DecodingError {
    .keyNotFound(
      key,
      DecodingError.Context(
        codingPath: codingPath,
        debugDescription: "No value associated with key \(description(of: key, options))."))
  }

  static func atEnd<T>(_ type: T.Type, codingPath: [any CodingKey]) -> DecodingError {
    .valueNotFound(
      type,
      DecodingError.Context(
        codingPath: codingPath, debugDescription: "Unkeyed container is at end."))
  }

  static let endless = DecodingFailure.corrupted(
    "Too many values decode one another in one place.")

  private static func description(
    of key: some CodingKey, _ options: FirebaseDataDecoder?
  ) -> String {
    let original = key.stringValue
    let plain = "\(key) (\"\(original)\")"
    guard case .convertFromSnakeCase = options?.keyDecodingStrategy else { return plain }
    let converted = SnakeCase.fromCamelCase(original)
    if converted == original { return plain }
    let back = SnakeCase.toCamelCase(converted)
    if back == original { return "\(plain), converted to \(converted)" }
    return "\(plain), with divergent representation \(back), converted to \(converted)"
  }
}

// MARK: - Decoder

extension DocumentDecoder: Decoder, SingleValueDecodingContainer {
  package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<
    Key
  > {
    let view = try view()
    try checkDepth()
    guard let map = try map(view) else { throw noMap(view, keyedBy: type) }
    let containers = state.pointee.containers
    let entry = containers.entry(for: type)
    let place = KeyedPosition(
      decoder: self, map: map, guesses: state.pointee.guesses.open(entry),
      converted: state.pointee.keysAreDefault ? -1 : try convertNames(of: map))
    if let holder = containers.holder(entry: entry, at: place) {
      typealias Holder = any ContainerHolding<KeyedDecodingContainer<Key>>
      return holder.assumingMemoryBound(to: Holder.self).pointee.copy()
    }
    return newContainer(keyedBy: type, entry, at: place)
  }

  /// Apart from the usual way, which must not look up the container's type.
  @inline(never)
  private func newContainer<Key: CodingKey>(
    keyedBy type: Key.Type, _ entry: Int, at place: KeyedPosition
  ) -> KeyedDecodingContainer<Key> {
    let container = KeyedDecodingContainer(DocumentKeyedContainer<Key>(place: place))
    state.pointee.containers.keep(container, entry: entry, at: place)
    return container
  }

  @inline(never)
  private func noMap<Key: CodingKey>(_ view: ValueView, keyedBy type: Key.Type) -> DecodingError {
    failure(.noMap, view, KeyedDecodingContainer<Key>.self, key: nil)
  }

  package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let view = try view()
    guard let array = try view.array() else {
      throw failure(.noArray, view, (any UnkeyedDecodingContainer).self, key: nil)
    }
    try checkDepth()
    return DocumentUnkeyedContainer(decoder: self, array: array)
  }

  package func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  package func decodeNil() -> Bool { (try? view().isNull) ?? false }

  package func decode(_ type: Bool.Type) throws -> Bool { try boolean(view(), key: nil) }

  package func decode(_ type: String.Type) throws -> String { try string(view(), key: nil) }

  package func decode(_ type: Double.Type) throws -> Double { try double(view(), key: nil) }

  package func decode(_ type: Float.Type) throws -> Float { try float(view(), key: nil) }

  package func decode(_ type: Int.Type) throws -> Int { try integer(view(), type, key: nil) }

  package func decode(_ type: Int8.Type) throws -> Int8 { try integer(view(), type, key: nil) }

  package func decode(_ type: Int16.Type) throws -> Int16 { try integer(view(), type, key: nil) }

  package func decode(_ type: Int32.Type) throws -> Int32 { try integer(view(), type, key: nil) }

  package func decode(_ type: Int64.Type) throws -> Int64 { try integer(view(), type, key: nil) }

  package func decode(_ type: UInt.Type) throws -> UInt { try integer(view(), type, key: nil) }

  package func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(view(), type, key: nil) }

  package func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(view(), type, key: nil) }

  package func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(view(), type, key: nil) }

  package func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(view(), type, key: nil) }

  package func decode(_ type: Int128.Type) throws -> Int128 { try integer(view(), type, key: nil) }

  package func decode(_ type: UInt128.Type) throws -> UInt128 {
    try integer(view(), type, key: nil)
  }

  package func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let view = try view()
    if view.isNull { throw failure(.wrongType, view, type, key: nil) }
    let state = state
    state.pointee.valuesInPlace += 1
    defer { state.pointee.valuesInPlace -= 1 }
    guard state.pointee.valuesInPlace <= EncodingRules.mostValuesInPlace else {
      throw failure(.endless, view, type, key: nil)
    }
    return try decodeHere(type)
  }

  /// Finds where the keys of a map lead, if they are not the names themselves: gives the place in
  /// the session's `converted`, or -1.
  fileprivate func convertNames(of map: MapView) throws -> Int {
    guard node & DocumentDecoder.keepsKeysFlag == 0, let options else { return -1 }
    var names: [BytewiseString: Int] = [:]
    for index in 0..<map.count {
      let name = try map.nameString(at: index)
      let converted = DecodingRules.key(of: name, options.keyDecodingStrategy) { codingPath }
      // Of names that become the same key the first stays.
      if names[BytewiseString(converted)] == nil { names[BytewiseString(converted)] = index }
    }
    state.pointee.converted.append(names)
    return state.pointee.converted.count - 1
  }

  fileprivate func alive() throws {
    if !isAlive { throw DecodingFailure.late }
  }
}

// MARK: - Keyed containers

/// Where a keyed container stands. Trivial, and never changed: see `ContainerCache`.
struct KeyedPosition: BitwiseCopyable {
  let decoder: DocumentDecoder
  let map: MapView
  let guesses: FieldPositionCache.Cursor
  /// Under a key strategy: which of the session's `converted`. Otherwise -1.
  let converted: Int

  @inline(__always)
  func find(name: String) throws -> ValueView? {
    if converted >= 0 { return try findConverted(name) }
    return try name.withUTF8Bytes { utf8 throws(Status) in
      guard let index = try guesses.index(of: utf8, in: map) else { return nil }
      return try map.value(at: index)
    }
  }

  @inline(never)
  private func findConverted(_ name: String) throws -> ValueView? {
    guard let index = convertedNames[BytewiseString(name)] else { return nil }
    return try map.value(at: index)
  }

  /// The decoder must be alive.
  var convertedNames: [BytewiseString: Int] { decoder.state.pointee.converted[converted] }
}

private struct DocumentKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  /// Nothing else: see `ContainerCache`.
  let place: KeyedPosition

  @inline(__always)
  private var decoder: DocumentDecoder { place.decoder }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] {
    guard (try? decoder.alive()) != nil else { return [] }
    if place.converted >= 0 {
      return place.convertedNames.keys.compactMap { Key(stringValue: $0.string) }
    }
    if (try? place.map.hasEquivalentNames()) == true, DocumentDecoder.isDictionaryKey(Key.self) {
      decoder.state.pointee.isAmbiguous = true
      return [Key(stringValue: DocumentDecoder.ambiguousKey)].compactMap(\.self)
    }
    return (0..<place.map.count).compactMap { index in
      (try? place.map.nameString(at: index)).flatMap { Key(stringValue: $0) }
    }
  }

  /// The field's value, if there is one.
  @inline(__always)
  private func find(_ key: Key) throws -> ValueView? {
    try decoder.alive()
    return try place.find(name: key.stringValue)
  }

  @inline(__always)
  private func value(_ key: Key) throws -> ValueView {
    guard let value = try find(key) else { throw decoder.missing(key) }
    return value
  }

  func contains(_ key: Key) -> Bool { ((try? find(key)) ?? nil) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try decoder.boolean(value(key), key: key)
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.boolean(value, key: key)
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try decoder.string(value(key), key: key)
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.string(value, key: key)
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try decoder.double(value(key), key: key)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.double(value, key: key)
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try decoder.float(value(key), key: key)
  }

  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.float(value, key: key)
  }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.integer(value, type, key: key)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    guard let value = try find(key) else { return try decodeMissing(type, key) }
    return try decoder.decode(type, value, key: key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decoder.decode(type, value, key: key)
  }

  @inline(never)
  private func decodeMissing<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    let isAmbiguous =
      decoder.state.pointee.isAmbiguous && key.stringValue == DocumentDecoder.ambiguousKey
    guard !isAmbiguous, type is any DecodableWithoutField.Type else {
      throw decoder.missing(key)
    }
    return try type.init(from: decoder)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder.nested(value(key), after: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder.nested(value(key), after: key).unkeyedContainer()
  }

  // A missing field gives a decoder of null.

  func superDecoder() throws -> any Decoder {
    try decoder.alive()
    return decoder.nested(
      try place.find(name: AnyCodingKey.super.stringValue) ?? .missing,
      after: AnyCodingKey.super)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    decoder.nested(try find(key) ?? .missing, after: key)
  }
}

/// A type that is decoded from what surrounds it: its field need not be there.
package protocol DecodableWithoutField {}

extension ValueView {
  /// Stands for a field that is not there. A decoder reads it as null.
  fileprivate static var missing: ValueView {
    ValueView(trusting: UnsafeRawBufferPointer(start: nil, count: 0))
  }
}

// MARK: - Unkeyed containers

private struct DocumentUnkeyedContainer: UnkeyedDecodingContainer {
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

  /// The next element, without going on.
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

  mutating func decode(_ type: Int.Type) throws -> Int {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: Int8.Type) throws -> Int8 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: Int16.Type) throws -> Int16 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: Int32.Type) throws -> Int32 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: Int64.Type) throws -> Int64 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: UInt.Type) throws -> UInt {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

  mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
    let (element, rest) = try peek(type)
    let value = try decoder.integer(element, type, key: key)
    goOn(rest)
    return value
  }

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
