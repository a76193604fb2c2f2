/// The `Encoder` that types receive: it streams into the document's bytes.
struct StreamEncoder: Encoder, SingleValueEncodingContainer {
  let position: EncodingPosition

  var codingPath: [any CodingKey] { position.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { position.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    position.becomeMap()
    let containers = position.state.pointee.containers
    let entry = containers.entry(for: type)
    if let holder = containers.holder(entry: entry, at: position) {
      typealias Holder = any ContainerHolding<KeyedEncodingContainer<Key>>
      return holder.assumingMemoryBound(to: Holder.self).pointee.copy()
    }
    return newContainer(keyedBy: type, entry)
  }

  /// Separate from the fast path, which must not look up the container's type.
  @inline(never)
  private func newContainer<Key: CodingKey>(
    keyedBy type: Key.Type, _ entry: Int
  ) -> KeyedEncodingContainer<Key> {
    let container = KeyedEncodingContainer(StreamKeyedContainer<Key>(position: position))
    position.state.pointee.containers.keep(container, entry: entry, at: position)
    return container
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    position.becomeArray()
    return StreamUnkeyedContainer(position: position)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws {
    guard try position.beginValue() else { return }
    position.writer.null()
  }

  func encode(_ value: Bool) throws {
    guard try position.beginValue() else { return }
    position.writer.boolean(value)
  }

  func encode(_ value: String) throws {
    guard try position.beginValue() else { return }
    position.writer.string(value)
  }

  func encode(_ value: Double) throws {
    guard try position.beginValue() else { return }
    try position.encode(value, key: nil)
  }

  func encode(_ value: Float) throws {
    guard try position.beginValue() else { return }
    try position.encode(value, key: nil)
  }

  @inline(__always)
  func encode<T: FixedWidthInteger & Encodable>(_ value: T) throws {
    guard try position.beginValue() else { return }
    try position.encode(value, key: nil)
  }

  // Apart: for 128 bits the protocol has a default, which Swift prefers to a generic function.

  func encode(_ value: Int128) throws {
    guard try position.beginValue() else { return }
    try position.encode(value, key: nil)
  }

  func encode(_ value: UInt128) throws {
    guard try position.beginValue() else { return }
    try position.encode(value, key: nil)
  }

  func encode<T: Encodable>(_ value: T) throws {
    guard position.enter() else { return }
    guard position.state.pointee.frames[position.index].kind == .empty else {
      throw position.secondValue()
    }
    try position.encodeInPlace(value)
  }
}

struct StreamKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  /// The only stored property: see `ContainerCache`.
  let position: EncodingPosition

  var codingPath: [any CodingKey] { position.codingPath }

  func encodeNil(forKey key: Key) throws {
    guard position.beginField(key) else { return try position.stop() }
    position.writer.null()
  }

  func encode(_ value: Bool, forKey key: Key) throws {
    guard position.beginField(key) else { return try position.stop() }
    position.writer.boolean(value)
  }

  func encode(_ value: String, forKey key: Key) throws {
    guard position.beginField(key) else { return try position.stop() }
    position.writer.string(value)
  }

  func encode(_ value: Double, forKey key: Key) throws {
    guard position.beginField(key) else { return try position.stop() }
    try position.encode(value, key: key)
  }

  func encode(_ value: Float, forKey key: Key) throws {
    guard position.beginField(key) else { return try position.stop() }
    try position.encode(value, key: key)
  }

  @inline(__always)
  func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) throws {
    guard position.beginField(key) else { return try position.stop() }
    try position.encode(value, key: key)
  }

  func encode(_ value: Int128, forKey key: Key) throws {
    guard position.beginField(key) else { return try position.stop() }
    try position.encode(value, key: key)
  }

  func encode(_ value: UInt128, forKey key: Key) throws {
    guard position.beginField(key) else { return try position.stop() }
    try position.encode(value, key: key)
  }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try position.encodeField(value, key)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    StreamEncoder(position: position.nested(key)).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    StreamEncoder(position: position.nested(key)).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    StreamEncoder(position: position.nested(AnyCodingKey.super))
  }

  func superEncoder(forKey key: Key) -> any Encoder {
    StreamEncoder(position: position.nested(key))
  }
}

struct StreamUnkeyedContainer: UnkeyedEncodingContainer {
  let position: EncodingPosition

  var codingPath: [any CodingKey] { position.codingPath }
  var count: Int { position.elementCount }

  func encodeNil() throws {
    guard position.beginElement() else { return try position.stop() }
    position.writer.null()
  }

  func encode(_ value: Bool) throws {
    guard position.beginElement() else { return try position.stop() }
    position.writer.boolean(value)
  }

  func encode(_ value: String) throws {
    guard position.beginElement() else { return try position.stop() }
    position.writer.string(value)
  }

  func encode(_ value: Double) throws {
    guard position.beginElement() else { return try position.stop() }
    try position.encode(value, key: nil)
  }

  func encode(_ value: Float) throws {
    guard position.beginElement() else { return try position.stop() }
    try position.encode(value, key: nil)
  }

  @inline(__always)
  func encode<T: FixedWidthInteger & Encodable>(_ value: T) throws {
    guard position.beginElement() else { return try position.stop() }
    try position.encode(value, key: nil)
  }

  func encode(_ value: Int128) throws {
    guard position.beginElement() else { return try position.stop() }
    try position.encode(value, key: nil)
  }

  func encode(_ value: UInt128) throws {
    guard position.beginElement() else { return try position.stop() }
    try position.encode(value, key: nil)
  }

  func encode<T: Encodable>(_ value: T) throws {
    try position.encodeElement(value)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    StreamEncoder(position: position.nestedElement()).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    StreamEncoder(position: position.nestedElement()).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { StreamEncoder(position: position.nestedElement()) }
}
