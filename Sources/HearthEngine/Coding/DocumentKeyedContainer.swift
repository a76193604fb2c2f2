/// The position of a keyed container. Trivial, and never changed: see `ContainerCache`.
struct KeyedPosition: BitwiseCopyable {
  let decoder: DocumentDecoder
  let map: MapView
  let positions: FieldPositionCache.Cursor
  /// With a key strategy: the index in the session's `converted`. Otherwise -1.
  let converted: Int

  @inline(__always)
  func find(name: String) throws -> ValueView? {
    if converted >= 0 { return try findConverted(name) }
    return try name.withUTF8Bytes { utf8 throws(Status) in
      guard let index = try positions.index(of: utf8, in: map) else { return nil }
      return try map.value(at: index)
    }
  }

  @inline(never)
  private func findConverted(_ name: String) throws -> ValueView? {
    guard let index = convertedNames[BytewiseString(name)] else { return nil }
    return try map.value(at: index)
  }

  /// Requires that the decoder is alive.
  var convertedNames: [BytewiseString: Int] { decoder.state.pointee.converted[converted] }
}

/// The fields of a map.
struct DocumentKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  /// The only stored property: see `ContainerCache`.
  let position: KeyedPosition

  @inline(__always)
  private var decoder: DocumentDecoder { position.decoder }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] {
    guard (try? decoder.alive()) != nil else { return [] }
    if position.converted >= 0 {
      return position.convertedNames.keys.compactMap { Key(stringValue: $0.string) }
    }
    if (try? position.map.hasEquivalentNames()) == true, DocumentDecoder.isDictionaryKey(Key.self) {
      decoder.state.pointee.isAmbiguous = true
      return [Key(stringValue: DocumentDecoder.ambiguousKey)].compactMap(\.self)
    }
    return (0..<position.map.count).compactMap { index in
      (try? position.map.nameString(at: index)).flatMap { Key(stringValue: $0) }
    }
  }

  /// The field's value; nil if there is none.
  @inline(__always)
  private func find(_ key: Key) throws -> ValueView? {
    try decoder.alive()
    return try position.find(name: key.stringValue)
  }

  @inline(__always)
  private func value(_ key: Key) throws -> ValueView {
    guard let value = try find(key) else { throw decoder.missing(key) }
    return value
  }

  /// Nil if the field is missing or null.
  @inline(__always)
  private func present<Result>(
    _ key: Key, _ decode: (ValueView) throws -> Result
  ) throws -> Result? {
    guard let value = try find(key), !value.isNull else { return nil }
    return try decode(value)
  }

  func contains(_ key: Key) -> Bool { ((try? find(key)) ?? nil) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try decoder.boolean(value(key), key: key)
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try present(key) { try decoder.boolean($0, key: key) }
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try decoder.string(value(key), key: key)
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try present(key) { try decoder.string($0, key: key) }
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try decoder.double(value(key), key: key)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try present(key) { try decoder.double($0, key: key) }
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try decoder.float(value(key), key: key)
  }

  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try present(key) { try decoder.float($0, key: key) }
  }

  @inline(__always)
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  // Apart: for 128 bits the protocol has a default, which Swift prefers to a generic function.

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try decoder.integer(value(key), type, key: key)
  }

  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    try present(key) { try decoder.integer($0, type, key: key) }
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    guard let value = try find(key) else { return try decodeMissing(type, key) }
    return try decoder.decode(type, value, key: key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    try present(key) { try decoder.decode(type, $0, key: key) }
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

  // For a missing field, a decoder of null.

  func superDecoder() throws -> any Decoder {
    try decoder.alive()
    return decoder.nested(
      try position.find(name: AnyCodingKey.super.stringValue) ?? .missing,
      after: AnyCodingKey.super)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    decoder.nested(try find(key) ?? .missing, after: key)
  }
}

/// A type that decodes itself from the enclosing decoder if its field is missing.
package protocol DecodableWithoutField {}
