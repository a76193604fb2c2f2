/// The `Decoder` and the container of a single value.
extension DocumentDecoder: Decoder, SingleValueDecodingContainer {
  package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<
    Key
  > {
    let view = try view()
    try checkDepth()
    guard let map = try view.map() else { throw noMap(view, keyedBy: type) }
    let containers = state.pointee.containers
    let entry = containers.entry(for: type)
    let position = KeyedPosition(
      decoder: self, map: map, positions: state.pointee.positions.open(entry),
      converted: state.pointee.keysAreDefault ? -1 : try convertNames(of: map))
    if let holder = containers.holder(entry: entry, at: position) {
      typealias Holder = any ContainerHolding<KeyedDecodingContainer<Key>>
      return holder.assumingMemoryBound(to: Holder.self).pointee.copy()
    }
    return newContainer(keyedBy: type, entry, at: position)
  }

  /// Separate from the fast path, which must not look up the container's type.
  @inline(never)
  func newContainer<Key: CodingKey>(
    keyedBy type: Key.Type, _ entry: Int, at position: KeyedPosition
  ) -> KeyedDecodingContainer<Key> {
    let container = KeyedDecodingContainer(DocumentKeyedContainer<Key>(position: position))
    state.pointee.containers.keep(container, entry: entry, at: position)
    return container
  }

  @inline(never)
  func noMap<Key: CodingKey>(_ view: ValueView, keyedBy type: Key.Type) -> DecodingError {
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

  @inline(__always)
  package func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try integer(view(), type, key: nil)
  }

  // Apart: for 128 bits the protocol has a default, which Swift prefers to a generic function.

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

  /// Finds the field of each key, if the keys are not the names themselves. Returns the index in
  /// the session's `converted`, or -1.
  func convertNames(of map: MapView) throws -> Int {
    guard node & DocumentDecoder.keepsKeysFlag == 0, let options else { return -1 }
    var names: [BytewiseString: Int] = [:]
    for index in 0..<map.count {
      let name = try map.nameString(at: index)
      let converted = DecodingRules.key(of: name, options.keyDecodingStrategy) { codingPath }
      // If several names become the same key, the first one wins.
      if names[BytewiseString(converted)] == nil { names[BytewiseString(converted)] = index }
    }
    state.pointee.converted.append(names)
    return state.pointee.converted.count - 1
  }

  func alive() throws {
    if !isAlive { throw DecodingFailure.late }
  }
}
