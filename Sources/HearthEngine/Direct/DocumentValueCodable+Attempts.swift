extension DocumentValueCodable {
  /// `value` points to a `Self`, which does not change.
  static func write(
    at value: UnsafeMutableRawPointer, to writer: borrowing DocumentValueWriter
  ) throws(UseCodable) {
    // Swift would copy the pointee of an immutable pointer.
    try write(&value.assumingMemoryBound(to: Self.self).pointee, to: writer)
  }

  @inline(__always)
  private static func write(
    _ value: inout Self, to writer: borrowing DocumentValueWriter
  ) throws(UseCodable) {
    try value.write(to: writer)
  }

  /// `target` is uninitialized memory for a `Self`. It stays so if this throws.
  static func read(
    into target: UnsafeMutableRawPointer, from reader: borrowing DocumentValueReader
  ) throws(UseCodable) {
    target.assumingMemoryBound(to: Self.self).initialize(to: try Self(reading: reader))
  }
}

extension EncodingPosition {
  /// Encodes a value at this place, which is empty, if its type does that directly. False if
  /// `Codable` is to encode it; then nothing was written.
  @inline(__always)
  func encodeDirect<T: Encodable>(_ value: T) -> Bool {
    guard let type = state.pointee.types[T.self].pointee.direct else { return false }
    return encode(value, as: type)
  }

  @inline(never)
  private func encode<T>(_ value: T, as type: any DocumentValueCodable.Type) -> Bool {
    let state = state
    // One attempt for a document: where direct types and others alternate, each level would
    // otherwise be tried again by each that encloses it.
    guard !state.pointee.isRefused else { return false }
    let mark = writer.mark()
    let before = Attempt(state)
    state.pointee.isValueDue = true
    state.pointee.directDepth = writer.depth
    do throws(UseCodable) {
      try state.refusing { () throws(UseCodable) in
        try withUnsafePointer(to: value) { pointer throws(UseCodable) in
          try type.write(
            at: UnsafeMutableRawPointer(mutating: pointer), to: DocumentValueWriter(state))
        }
      }
      guard !state.pointee.isValueDue else { throw state.refusal }
    } catch {
      writer.rollBack(to: mark)
      before.restore(state)
      state.pointee.path.truncate(to: Int(state.pointee.frames[index].pathCount))
      return false
    }
    before.end(state)
    state.pointee.frames[index].kind = .value
    return true
  }

  /// The state before a value is encoded directly, apart from the writer's.
  private struct Attempt {
    private let transformCount: Int
    private let databaseCount: Int
    private let frameCount: Int
    private let isValueDue: Bool
    private let directDepth: Int
    private let hasMisuse: Bool
    private let hasError: Bool

    @inline(__always)
    init(_ state: StatePointer) {
      transformCount = state.pointee.transforms.count
      databaseCount = state.pointee.databases.count
      frameCount = state.pointee.frameCount
      isValueDue = state.pointee.isValueDue
      directDepth = state.pointee.directDepth
      hasMisuse = state.pointee.misuse != nil
      hasError = state.pointee.validationError != nil
    }

    @inline(__always)
    func end(_ state: StatePointer) {
      state.pointee.isValueDue = isValueDue
      state.pointee.directDepth = directDepth
    }

    func restore(_ state: StatePointer) {
      end(state)
      state.pointee.transforms.removeSubrange(transformCount...)
      state.pointee.databases.removeSubrange(databaseCount...)
      state.pointee.frameCount = frameCount
      if !hasMisuse { state.pointee.misuse = nil }
      if !hasError { state.pointee.validationError = nil }
    }
  }

  /// Encodes a value through `Codable`, inside of one that is encoded directly. Any error is found
  /// again by whoever encodes all of it through `Codable`, which has its order.
  static func embed<T: Encodable>(_ value: T, on state: StatePointer) throws(UseCodable) {
    let writer = state.pointee.writer
    let isInArray = writer.isInArray
    let pathCount = state.pointee.path.count
    writer.forEachOpenKey(from: state.pointee.directDepth) { name, index in
      if let name {
        state.pointee.path.append(AnyCodingKey.name(name))
      } else {
        state.pointee.path.append(index: index)
      }
    }
    let position = push(on: state, kind: .empty)
    do {
      guard position.index <= deepest else { throw state.refusal }
      // Not directly, which may be what calls this.
      try position.encodeByCodable(value)
    } catch {
      throw state.refusal
    }
    guard position.enter(), !state.pointee.isBroken, state.pointee.misuse == nil,
      state.pointee.validationError == nil, !state.pointee.isRefused
    else { throw state.refusal }
    // An array inside an array.
    if state.pointee.frames[position.index].kind == .array, isInArray { throw state.refusal }
    position.closeTop()
    state.pointee.path.truncate(to: pathCount)
  }
}

extension DocumentDecoder {
  /// Decodes the value without `Codable`, if that is possible.
  // An optional result would look up its type, which costs as much as decoding some fields.
  @inline(never)
  func decode<T: Decodable>(
    _ type: T.Type, directlyAs direct: any DocumentValueCodable.Type, _ view: ValueView
  ) throws -> T {
    let (state, mark) = (state, state.pointee.scratch.mark)
    defer { state.pointee.scratch.giveBack(to: mark) }
    let target = state.pointee.scratch.borrow(
      byteCount: MemoryLayout<T>.size, alignment: MemoryLayout<T>.alignment)
    guard let target, read(into: target, as: direct, view) else {
      return try decodeByCodable(type, view)
    }
    return target.assumingMemoryBound(to: T.self).move()
  }

  /// False if `Codable` is to decode the value; then the memory stays uninitialized.
  private func read(
    into target: UnsafeMutableRawPointer, as direct: any DocumentValueCodable.Type,
    _ view: ValueView
  ) -> Bool {
    let state = state
    // One attempt for a document, as for encoding.
    if state.pointee.isRefused, !(direct is any DocumentOnlyCodable.Type) { return false }
    let mark = state.pointee.keys.count
    let root = state.pointee.directRoot
    state.pointee.directRoot = (node: nodeName, depth: depth)
    defer {
      state.pointee.directRoot = root
      state.pointee.keys.truncate(to: mark)
    }
    do throws(UseCodable) {
      try direct.read(
        into: target, from: DocumentValueReader(view.bytes, state, depth: Int(depth)))
      return true
    } catch {
      if !(direct is any DocumentOnlyCodable.Type) { state.pointee.isRefused = true }
      return false
    }
  }

  /// Decodes a value through `Codable`, inside of one that is decoded directly. Any error is found
  /// again by whoever decodes all of it through `Codable`.
  static func embed<T: Decodable>(
    _ type: T.Type, _ bytes: UnsafeRawBufferPointer, on state: DecodingSession.StatePointer,
    depth: Int
  ) throws(UseCodable) -> T {
    guard let start = bytes.baseAddress, let base = state.pointee.bytes.baseAddress, start >= base,
      start + bytes.count <= base + state.pointee.bytes.count
    else { throw UseCodable() }
    let mark = state.pointee.keys.count
    let root = state.pointee.directRoot
    var node = root.node
    for step in Int(root.depth)..<depth {
      let key = state.pointee.trail.key(atDepth: step)
      node =
        if let index = key.intValue {
          DecodingSession.push(index: index, after: node, on: state)
        } else {
          DecodingSession.push(key, after: node, on: state)
        }
    }
    let decoder = DocumentDecoder(
      state: state, offset: UInt32(truncatingIfNeeded: start - base),
      count: UInt32(truncatingIfNeeded: bytes.count),
      node: node | DocumentDecoder.node(atDepth: depth), epoch: state.pointee.epoch)
    do {
      // Not directly, which may be what calls this.
      let view = try decoder.view()
      let value =
        try isDirect(type)
        ? decoder.decodeDirectly(type, view, key: nil) : decoder.decodeByCodable(type, view)
      state.pointee.keys.truncate(to: mark)
      return value
    } catch {
      state.pointee.isRefused = true
      throw UseCodable()
    }
  }
}
