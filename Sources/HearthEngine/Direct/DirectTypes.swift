/// Remembers which types are coded directly: the cast costs more than decoding a small value.
struct DirectTypes {
  private static let entryCount = 128

  private let types = UnsafeMutablePointer<UInt>.allocate(capacity: entryCount)
  private let answers = UnsafeMutablePointer<(any DocumentValueCodable.Type)?>
    .allocate(capacity: entryCount)

  init() {
    types.initialize(repeating: 0, count: DirectTypes.entryCount)
    answers.initialize(repeating: nil, count: DirectTypes.entryCount)
  }

  @inline(__always)
  subscript<T>(type: T.Type) -> (any DocumentValueCodable.Type)? {
    let bits = UInt(bitPattern: ObjectIdentifier(type))
    let home = Int((bits &* 0x9E37_79B9_7F4A_7C15) >> 57)
    return types[home] == bits ? answers[home] : probe(type, bits, from: home)
  }

  /// Probes the entries from `home` on. If 8 are taken, the new type replaces the first.
  @inline(never)
  private func probe<T>(
    _ type: T.Type, _ bits: UInt, from home: Int
  ) -> (any DocumentValueCodable.Type)? {
    var taken = home
    for step in 0..<8 {
      let entry = (home + step) & (DirectTypes.entryCount - 1)
      if types[entry] == bits { return answers[entry] }
      if types[entry] == 0 {
        taken = entry
        break
      }
    }
    types[taken] = bits
    answers[taken] = type as? any DocumentValueCodable.Type
    return answers[taken]
  }
}

extension DocumentValueCodable {
  /// `value` points to a `Self`.
  static func write(at value: UnsafeRawPointer, to writer: borrowing DocumentValueWriter)
    throws(UseCodable)
  {
    try value.assumingMemoryBound(to: Self.self).pointee.write(to: writer)
  }

  /// `target` is uninitialized memory for a `Self`. It stays so if this throws.
  static func read(
    into target: UnsafeMutableRawPointer, from reader: borrowing DocumentValueReader
  ) throws(UseCodable) {
    let value = try Self(reading: reader)
    target.initializeMemory(as: Self.self, to: value)
  }
}

extension EncodingPosition {
  /// Encodes a value at this place, which is empty, if its type does that directly. False if
  /// `Codable` is to encode it; then nothing was written.
  @inline(__always)
  func encodeDirect<T: Encodable>(_ value: T) -> Bool {
    guard let type = state.pointee.direct[T.self] else { return false }
    return encode(value, as: type)
  }

  @inline(never)
  private func encode<T>(_ value: T, as type: any DocumentValueCodable.Type) -> Bool {
    let mark = writer.mark()
    let transformCount = state.pointee.transforms.count
    let frameCount = state.pointee.frameCount
    let isInside = state.pointee.isValueDue
    state.pointee.isValueDue = true
    do throws(UseCodable) {
      try withUnsafePointer(to: value) { pointer throws(UseCodable) in
        try type.write(at: pointer, to: DocumentValueWriter(state))
      }
      guard !state.pointee.isValueDue else { throw UseCodable() }
      state.pointee.isValueDue = isInside
      state.pointee.frames[index].kind = .value
      return true
    } catch {
      writer.rollBack(to: mark)
      state.pointee.transforms.removeSubrange(transformCount...)
      state.pointee.frameCount = frameCount
      state.pointee.isValueDue = isInside
      return false
    }
  }

  /// Encodes a value through `Codable`, inside of one that is encoded directly. Any error is found
  /// again by whoever encodes all of it through `Codable`, with its path.
  static func embed<T: Encodable>(_ value: T, on state: StatePointer) throws(UseCodable) {
    let isInArray = state.pointee.writer.isInArray
    let position = push(on: state, kind: .empty)
    do {
      guard position.index <= deepest else { throw UseCodable() }
      try position.encodeHere(value)
    } catch {
      throw UseCodable()
    }
    guard position.enter(), !state.pointee.isBroken, state.pointee.misuse == nil,
      state.pointee.validationError == nil
    else { throw UseCodable() }
    // An array inside an array.
    if state.pointee.frames[position.index].kind == .array, isInArray {
      throw UseCodable()
    }
    position.closeTop()
  }
}

extension DocumentDecoder {
  /// Decodes the value without `Codable`.
  @inline(never)
  func decode<T>(
    _ type: T.Type, directlyAs direct: any DocumentValueCodable.Type, _ view: ValueView,
    depth: UInt32
  ) throws(UseCodable) -> T {
    // Untyped memory: looking up the types of typed memory costs as much as decoding some fields.
    try withUnsafeTemporaryAllocation(
      byteCount: MemoryLayout<T>.size, alignment: MemoryLayout<T>.alignment
    ) { memory throws(UseCodable) -> T in
      guard let target = memory.baseAddress else { throw UseCodable() }
      let mark = state.pointee.keys.count
      do throws(UseCodable) {
        try direct.read(
          into: target, from: DocumentValueReader(view.bytes, state, depth: Int(depth)))
      } catch {
        state.pointee.keys.truncate(to: mark)
        throw error
      }
      return target.assumingMemoryBound(to: T.self).move()
    }
  }

  /// Decodes a value through `Codable`, inside of one that is decoded directly. Any error is found
  /// again by whoever decodes all of it through `Codable`, with its path.
  static func embed<T: Decodable>(
    _ type: T.Type, _ bytes: UnsafeRawBufferPointer, on state: DecodingSession.StatePointer,
    depth: Int
  ) throws(UseCodable) -> T {
    guard let start = bytes.baseAddress, let base = state.pointee.bytes.baseAddress else {
      throw UseCodable()
    }
    let decoder = DocumentDecoder(
      state: state, offset: UInt32(truncatingIfNeeded: start - base),
      count: UInt32(truncatingIfNeeded: bytes.count), node: node(atDepth: depth),
      epoch: state.pointee.epoch)
    do {
      return try decoder.decodeHere(type)
    } catch {
      throw UseCodable()
    }
  }
}
