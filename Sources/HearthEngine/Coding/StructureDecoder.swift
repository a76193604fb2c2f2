import Foundation

/// Decodes from a structure: dictionaries, arrays and values as users have them. The counterpart of
/// `DocumentDecoder`, which reads stored bytes: types can be decoded from the same kinds of values,
/// with the same errors.
///
///     [String: Any], [Any], or one value ── StructureValue ──▸ StructureDecoder ──▸ T
///
/// A structure is read unchanged and lazily, one level at a time. Parts that the type does not
/// decode are neither rounded nor rejected.
struct StructureDecoder {
  /// The state that all decoders and containers of one run share.
  final class Run {
    let options: FirebaseDataDecoder
    /// The document being decoded, for `@DocumentID`.
    let document: (any DocumentReferencing)?
    private let passthroughTypes: any StructureCodingPassthroughTypeResolver.Type
    /// How many enclosing values are decoded in the same place, through single value containers.
    var valuesInPlace = 0

    init(options: FirebaseDataDecoder, document: (any DocumentReferencing)?) {
      self.options = options
      self.document = document
      passthroughTypes = options.passthroughTypeResolver
    }

    func passesThrough(_ object: Any) -> Bool { passthroughTypes.isPassthroughType(object) }
  }

  private let input: Any
  private let isNull: Bool
  fileprivate let run: Run
  let codingPath: [any CodingKey]
  /// The keys of a `[String: …]` are not converted.
  private var keepsKeys = false

  private init(_ input: Any, _ run: Run, codingPath: [any CodingKey]) {
    let input = AnyBridge.unwrapped(input) ?? NSNull()
    self.input = input
    isNull = Swift.type(of: input) == NSNull.self
    self.run = run
    self.codingPath = codingPath
  }

  /// Throws `DecodingError`, and rethrows errors of the type.
  static func decode<T: Decodable>(
    _ type: T.Type, from structure: Any, options: FirebaseDataDecoder,
    document: (any DocumentReferencing)? = nil
  ) throws -> T {
    let run = Run(options: options, document: document)
    return try StructureDecoder(structure, run, codingPath: []).decodeHere(type)
  }

  /// Nil for any other decoder.
  package static func of(_ decoder: any Decoder) -> StructureDecoder? {
    decoder as? StructureDecoder
  }

  // MARK: - Firestore types

  /// Nil if the value is of another type, or not a passthrough type.
  func object<T: AnyObject>(_ type: T.Type) -> T? {
    guard let object = AnyBridge.object(input) as? T, run.passesThrough(object) else { return nil }
    return object
  }

  /// The value as a timestamp; accepts a date, too.
  var timestamp: Timestamp? {
    if let timestamp = object(Timestamp.self) { return timestamp }
    guard case .date(let date) = StructureValue(input) else { return nil }
    let timestamp = Timestamp(date: date)
    return run.passesThrough(timestamp) ? timestamp : nil
  }

  /// Nil also if references are not passthrough types.
  package var reference: (any DocumentReferencing)? {
    guard let reference = AnyBridge.object(input) as? any DocumentReferencing,
      run.passesThrough(reference)
    else { return nil }
    return reference
  }

  /// The document that the structure is decoded for.
  package var document: (any DocumentReferencing)? { run.document }

  // MARK: - Types

  /// Decodes the value as `type`, by the rules for that type.
  fileprivate func decodeHere<T: Decodable>(_ type: T.Type) throws -> T {
    try checkDepth()
    if T.self == String.self { return identity(try decode(String.self), as: T.self) }
    if T.self == Date.self { return identity(try date(), as: T.self) }
    if T.self == Data.self { return identity(try data(), as: T.self) }
    if T.self == URL.self { return identity(try url(), as: T.self) }
    if T.self == Decimal.self { return identity(try decimal(), as: T.self) }
    if Swift.type(of: input) == type, run.passesThrough(input), let same = input as? T {
      return same
    }
    guard type is any StringKeyedDictionary.Type else { return try type.init(from: self) }
    var decoder = self
    decoder.keepsKeys = true
    return try type.init(from: decoder)
  }

  private func checkDepth() throws {
    guard codingPath.count > EncodingRules.deepestStructure else { return }
    throw failure(
      .corrupted(
        "Dictionaries and arrays are nested deeper than \(EncodingRules.deepestStructure) levels."),
      Any.self)
  }

  fileprivate func failure<T>(_ failure: DecodingFailure, _ type: T.Type) -> DecodingError {
    let value = StructureValue(input)
    return failure.error(
      isNull: isNull, found: value.name, type: type, codingPath: codingPath)
  }

  // MARK: - Plain values

  package func decode(_ type: Bool.Type) throws -> Bool {
    if case .boolean(let flag) = StructureValue(input) { return flag }
    throw failure(.wrongType, type)
  }

  package func decode(_ type: String.Type) throws -> String {
    if case .string(let string) = StructureValue(input) { return string }
    throw failure(.wrongType, type)
  }

  fileprivate func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    let integer: T?
    let text: String
    switch StructureValue(input) {
    case .integer(let number): (integer, text) = (T(exactly: number), "\(number)")
    case .large(let digits): (integer, text) = (T(digits), digits)
    case .double(let number): (integer, text) = (T(exactly: number), "\(number)")
    // The description of a whole decimal has only digits.
    case .decimal(let number): (integer, text) = (T(number.description), number.description)
    default: throw failure(.wrongType, type)
    }
    guard let integer else { throw failure(.doesNotFit(text), type) }
    return integer
  }

  package func decode(_ type: Double.Type) throws -> Double { try number(type) }

  package func decode(_ type: Float.Type) throws -> Float {
    let number = try number(type)
    if case .string = StructureValue(input) { return Float(number) }
    guard abs(number) <= Double(Float.greatestFiniteMagnitude) else {
      throw failure(.doesNotFit("\(number)"), type)
    }
    return Float(number)
  }

  /// The nearest double.
  private func number<T>(_ type: T.Type) throws -> Double {
    switch StructureValue(input) {
    case .integer(let number): return Double(number)
    case .large(let digits):
      if let number = Double(digits) { return number }
    case .double(let number): return number
    case .decimal(let number): return EncodingRules.double(number)
    case .string(let string):
      let strategy = run.options.nonConformingFloatDecodingStrategy
      if let number = DecodingRules.nonConforming(string, strategy) { return number }
    default: break
    }
    throw failure(.wrongType, type)
  }

  // MARK: - Foundation's values

  private func date() throws -> Date {
    if run.options.datesAreTimestamps, case .date(let date) = StructureValue(input) { return date }
    guard !isNull else { throw failure(.wrongType, Date.self) }
    return try DecodingRules.date(
      run.options.dateDecodingStrategy, from: found(Date.self, text: String.self))
  }

  private func data() throws -> Data {
    if run.options.dataIsBlob, case .data(let data) = StructureValue(input) { return data }
    guard !isNull else { throw failure(.wrongType, Data.self) }
    return try DecodingRules.data(
      run.options.dataDecodingStrategy, from: found(Data.self, text: Data.self))
  }

  /// - Parameter text: The type that an error names if the value is not a string.
  private func found<T, Text>(_ type: T.Type, text: Text.Type) -> DecodingRules.Found {
    DecodingRules.Found(
      string: {
        guard case .string(let string) = StructureValue(input) else {
          throw failure(.wrongType, text)
        }
        return string
      },
      double: { try number(Double.self) }, decoder: { self }, failure: { failure($0, type) })
  }

  private func url() throws -> URL {
    guard let url = URL(string: try decode(String.self)) else {
      throw failure(.corrupted("Invalid URL string."), URL.self)
    }
    return url
  }

  private func decimal() throws -> Decimal {
    switch StructureValue(input) {
    case .decimal(let decimal): return decimal
    case .integer(let number): return Decimal(number)
    case .large(let digits):
      if let decimal = Decimal(string: digits) { return decimal }
    default: break
    }
    let number = try number(Double.self)
    guard let decimal = EncodingRules.decimal(number) else {
      throw failure(.doesNotFit("\(number)"), Decimal.self)
    }
    return decimal
  }

  // MARK: - Nested values

  fileprivate func nested(_ input: Any, _ key: some CodingKey) -> StructureDecoder {
    StructureDecoder(input, run, codingPath: codingPath + [key])
  }
}

// MARK: - Decoder

extension StructureDecoder: Decoder, SingleValueDecodingContainer {
  package var userInfo: [CodingUserInfoKey: Any] { run.options.userInfo }

  package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<
    Key
  > {
    try checkDepth()
    switch StructureValue(input) {
    case .dictionary(let fields):
      return KeyedDecodingContainer(
        StructureKeyedContainer<Key>(decoder: self, fields: converted(fields)))
    case .noDictionary(let sentence): throw failure(.corrupted(sentence), [String: Any].self)
    default: throw failure(.noMap, KeyedDecodingContainer<Key>.self)
    }
  }

  /// The fields with their names converted to coding keys.
  private func converted(_ fields: [String: Any]) -> [String: Any] {
    guard !keepsKeys, !run.options.keysAreDefault else { return fields }
    let strategy = run.options.keyDecodingStrategy
    var converted: [String: Any] = [:]
    converted.reserveCapacity(fields.count)
    // If several names become the same key, the first by bytes wins, as in a document.
    for (name, value) in fields.sorted(by: { UTF8Order.compare($0.key, $1.key) < 0 }) {
      let key = DecodingRules.key(of: name, strategy) { codingPath }
      if converted[key] == nil { converted[key] = value }
    }
    return converted
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try checkDepth()
    guard case .array(let elements) = StructureValue(input) else {
      throw failure(.noArray, (any UnkeyedDecodingContainer).self)
    }
    return StructureUnkeyedContainer(decoder: self, elements: elements)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { isNull }

  package func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try integer(type)
  }

  // Apart: for 128 bits the protocol has a default, which Swift prefers to a generic function.

  package func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }

  package func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

  package func decode<T: Decodable>(_ type: T.Type) throws -> T {
    if isNull { throw failure(.wrongType, type) }
    run.valuesInPlace += 1
    defer { run.valuesInPlace -= 1 }
    guard run.valuesInPlace <= EncodingRules.mostValuesInPlace(at: codingPath) else {
      throw failure(.endless, type)
    }
    return try decodeHere(type)
  }
}

// MARK: - Keyed containers

private struct StructureKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: StructureDecoder
  let fields: [String: Any]

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { fields.keys.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }

  /// A decoder for the field's value.
  private func field(_ key: Key) throws -> StructureDecoder {
    guard let value = fields[key.stringValue] else {
      throw DecodingFailure.missing(key, decoder.run.options, codingPath: codingPath)
    }
    return decoder.nested(value, key)
  }

  func decodeNil(forKey key: Key) throws -> Bool { try field(key).decodeNil() }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try field(key).decode(type) }

  func decode(_ type: String.Type, forKey key: Key) throws -> String { try field(key).decode(type) }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try field(key).decode(type) }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try field(key).decode(type) }

  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try field(key).integer(type)
  }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    try field(key).integer(type)
  }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try field(key).integer(type)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    if fields[key.stringValue] == nil, type is any DecodableWithoutField.Type {
      return try type.init(from: decoder)
    }
    return try field(key).decodeHere(type)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try field(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try field(key).unkeyedContainer()
  }

  // For a missing field, a decoder of null.

  func superDecoder() throws -> any Decoder {
    decoder.nested(fields[AnyCodingKey.super.stringValue] ?? NSNull(), AnyCodingKey.super)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    decoder.nested(fields[key.stringValue] ?? NSNull(), key)
  }
}

// MARK: - Unkeyed containers

private struct StructureUnkeyedContainer: UnkeyedDecodingContainer {
  let decoder: StructureDecoder
  let elements: [Any]
  private(set) var currentIndex = 0

  init(decoder: StructureDecoder, elements: [Any]) {
    self.decoder = decoder
    self.elements = elements
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  /// Decodes the next element. Does not advance if that throws.
  private mutating func next<T, Result>(
    _ type: T.Type, _ decode: (StructureDecoder) throws -> Result
  ) throws -> Result {
    let key = AnyCodingKey.index(currentIndex)
    guard !isAtEnd else { throw DecodingFailure.atEnd(type, codingPath: codingPath + [key]) }
    let result = try decode(decoder.nested(elements[currentIndex], key))
    currentIndex += 1
    return result
  }

  mutating func decodeNil() throws -> Bool {
    let isNil = try next(Any?.self) { $0.decodeNil() }
    if !isNil { currentIndex -= 1 }
    return isNil
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try next(type) { try $0.decode(type) } }

  mutating func decode(_ type: String.Type) throws -> String {
    try next(type) { try $0.decode(type) }
  }

  mutating func decode(_ type: Double.Type) throws -> Double {
    try next(type) { try $0.decode(type) }
  }

  mutating func decode(_ type: Float.Type) throws -> Float {
    try next(type) { try $0.decode(type) }
  }

  mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try integer(type)
  }

  mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }

  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

  private mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    try next(type) { try $0.integer(type) }
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try next(type) { try $0.decodeHere(type) }
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next(KeyedDecodingContainer<NestedKey>.self) { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next((any Decoder).self) { $0 } }
}
