/// The encoder that types meet: it streams into the document's bytes.
struct StreamEncoder: Encoder, SingleValueEncodingContainer {
  let place: EncodingPosition

  var codingPath: [any CodingKey] { place.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { place.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    place.becomeMap()
    let containers = place.state.pointee.containers
    let entry = containers.entry(for: type)
    if let holder = containers.holder(entry: entry, at: place) {
      typealias Holder = any ContainerHolding<KeyedEncodingContainer<Key>>
      return holder.assumingMemoryBound(to: Holder.self).pointee.copy()
    }
    return newContainer(keyedBy: type, entry)
  }

  /// Apart from the usual way, which must not look up the container's type.
  @inline(never)
  private func newContainer<Key: CodingKey>(
    keyedBy type: Key.Type, _ entry: Int
  ) -> KeyedEncodingContainer<Key> {
    let container = KeyedEncodingContainer(StreamKeyedContainer<Key>(place: place))
    place.state.pointee.containers.keep(container, entry: entry, at: place)
    return container
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    place.becomeArray()
    return StreamUnkeyedContainer(place: place)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws {
    guard try place.beginValue() else { return }
    place.writer.null()
  }

  func encode(_ value: Bool) throws {
    guard try place.beginValue() else { return }
    place.writer.boolean(value)
  }

  func encode(_ value: String) throws {
    guard try place.beginValue() else { return }
    place.writer.string(value)
  }

  func encode(_ value: Double) throws {
    guard try place.beginValue() else { return }
    try place.encode(value, key: nil)
  }

  func encode(_ value: Float) throws {
    guard try place.beginValue() else { return }
    try place.encode(value, key: nil)
  }

  func encode(_ value: Int) throws {
    guard try place.beginValue() else { return }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int8) throws {
    guard try place.beginValue() else { return }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int16) throws {
    guard try place.beginValue() else { return }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int32) throws {
    guard try place.beginValue() else { return }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int64) throws {
    guard try place.beginValue() else { return }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt8) throws {
    guard try place.beginValue() else { return }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt16) throws {
    guard try place.beginValue() else { return }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt32) throws {
    guard try place.beginValue() else { return }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt) throws {
    guard try place.beginValue() else { return }
    try place.encode(value, key: nil)
  }

  func encode(_ value: UInt64) throws {
    guard try place.beginValue() else { return }
    try place.encode(value, key: nil)
  }

  func encode(_ value: Int128) throws {
    guard try place.beginValue() else { return }
    try place.encode(value, key: nil)
  }

  func encode(_ value: UInt128) throws {
    guard try place.beginValue() else { return }
    try place.encode(value, key: nil)
  }

  func encode<T: Encodable>(_ value: T) throws {
    guard place.enter() else { return }
    guard place.state.pointee.frames[place.index].kind == .empty else { throw place.secondValue() }
    try place.encodeInPlace(value)
  }
}

struct StreamKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  /// Nothing else: see `ContainerCache`.
  let place: EncodingPosition

  var codingPath: [any CodingKey] { place.codingPath }

  func encodeNil(forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.null()
  }

  func encode(_ value: Bool, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.boolean(value)
  }

  func encode(_ value: String, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.string(value)
  }

  func encode(_ value: Double, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    try place.encode(value, key: key)
  }

  func encode(_ value: Float, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    try place.encode(value, key: key)
  }

  func encode(_ value: Int, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int8, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int16, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int32, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int64, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt8, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt16, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt32, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    try place.encode(value, key: key)
  }

  func encode(_ value: UInt64, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    try place.encode(value, key: key)
  }

  func encode(_ value: Int128, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    try place.encode(value, key: key)
  }

  func encode(_ value: UInt128, forKey key: Key) throws {
    guard place.beginField(key) else { return try place.stop() }
    try place.encode(value, key: key)
  }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try place.encodeField(value, key)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    StreamEncoder(place: place.nested(key)).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    StreamEncoder(place: place.nested(key)).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { StreamEncoder(place: place.nested(AnyCodingKey.super)) }

  func superEncoder(forKey key: Key) -> any Encoder { StreamEncoder(place: place.nested(key)) }
}

struct StreamUnkeyedContainer: UnkeyedEncodingContainer {
  let place: EncodingPosition

  var codingPath: [any CodingKey] { place.codingPath }
  var count: Int { place.elementCount }

  func encodeNil() throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.null()
  }

  func encode(_ value: Bool) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.boolean(value)
  }

  func encode(_ value: String) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.string(value)
  }

  func encode(_ value: Double) throws {
    guard place.beginElement() else { return try place.stop() }
    try place.encode(value, key: nil)
  }

  func encode(_ value: Float) throws {
    guard place.beginElement() else { return try place.stop() }
    try place.encode(value, key: nil)
  }

  func encode(_ value: Int) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int8) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int16) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int32) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: Int64) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt8) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt16) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt32) throws {
    guard place.beginElement() else { return try place.stop() }
    place.writer.integer(Int64(value))
  }

  func encode(_ value: UInt) throws {
    guard place.beginElement() else { return try place.stop() }
    try place.encode(value, key: nil)
  }

  func encode(_ value: UInt64) throws {
    guard place.beginElement() else { return try place.stop() }
    try place.encode(value, key: nil)
  }

  func encode(_ value: Int128) throws {
    guard place.beginElement() else { return try place.stop() }
    try place.encode(value, key: nil)
  }

  func encode(_ value: UInt128) throws {
    guard place.beginElement() else { return try place.stop() }
    try place.encode(value, key: nil)
  }

  func encode<T: Encodable>(_ value: T) throws {
    try place.encodeElement(value)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    StreamEncoder(place: place.nestedElement()).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    StreamEncoder(place: place.nestedElement()).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { StreamEncoder(place: place.nestedElement()) }
}
