import Foundation

/// The position of a value being encoded: a frame of an `EncodingSession`. Three words, so that an
/// `any Encoder` holds it without allocating.
package struct EncodingPosition: BitwiseCopyable {
  typealias StatePointer = UnsafeMutablePointer<State>

  struct State: PooledState {
    var isInUse = false
    var isThreads = false
    /// Owned by the session, for its lifetime.
    let writer = DocumentWriter()
    /// Owned by the caller, which waits for the run to end. Nil between runs.
    var options: Unmanaged<FirebaseDataEncoder>?
    var keysAreDefault = true
    var datesAreTimestamps = true
    var dataIsBlob = true
    var frames = UnsafeMutablePointer<Frame>.allocate(capacity: 64)
    var frameCapacity = 64
    var frameCount = 0
    /// The keys that lead to the innermost frame.
    var path = KeyStack()
    let containers = ContainerCache<EncodingPosition>()
    var serial: UInt64 = 1
    /// Frames with smaller serials belong to earlier runs.
    var firstSerial: UInt64 = 1
    /// A type broke the stream's order: a `TreeEncoder` must encode the value.
    var isBroken = false
    /// Misuse of the encoder in a call that cannot throw.
    var misuse: (any Error)?
    var validationError: Status?
    var transforms: [(field: FieldSegments, transform: FieldTransform)] = []
    var databases: [DatabaseIdentity] = []
    /// How many enclosing values are encoded in the same place, through single value containers.
    var valuesInPlace = 0
    let types = CodingTypeCache()
    /// While a value is encoded directly: one is due, and none was begun.
    var isValueDue = false
    /// The writer's depth where that value began.
    var directDepth = 0
    /// Nothing more is encoded directly in this run.
    var isRefused = false
  }

  /// The highest frame index in a document: that of a value in the innermost map. Without this
  /// limit, types that contain themselves would overflow the stack.
  static let deepest = DocumentFormat.maximumDepth + 1

  struct Frame {
    var serial: UInt64
    var pathCount: Int32
    /// The number of elements of an array.
    var count: Int32 = 0
    var kind: Kind
    /// The keys of a `[String: …]` are not converted.
    var keepsKeys = false
  }

  enum Kind: UInt8 {
    /// Nothing encoded yet.
    case empty
    case value, map, array
    /// No value will be stored: a sentinel, or a document's id.
    case none
  }

  let state: StatePointer
  let serial: UInt64
  let index: Int

  @inline(__always)
  var writer: DocumentWriter { state.pointee.writer }

  // MARK: - Frames

  @inline(__always)
  static func push(on state: StatePointer, kind: Kind) -> EncodingPosition {
    let index = state.pointee.frameCount
    if index == state.pointee.frameCapacity { growFrames(of: state) }
    let serial = state.pointee.serial
    state.pointee.serial = serial + 1
    state.pointee.frames[index] = Frame(
      serial: serial, pathCount: Int32(truncatingIfNeeded: state.pointee.path.count), kind: kind)
    state.pointee.frameCount = index + 1
    return EncodingPosition(state: state, serial: serial, index: index)
  }

  @inline(never)
  private static func growFrames(of state: StatePointer) {
    let capacity = 2 * state.pointee.frameCapacity
    let grown = UnsafeMutablePointer<Frame>.allocate(capacity: capacity)
    grown.moveInitialize(from: state.pointee.frames, count: state.pointee.frameCount)
    state.pointee.frames.deallocate()
    state.pointee.frames = grown
    state.pointee.frameCapacity = capacity
  }

  /// Makes this frame the innermost one by closing those inside it. False if this frame has ended.
  @inline(__always)
  func enter() -> Bool {
    let state = state
    if state.pointee.frameCount == index + 1, state.pointee.frames[index].serial == serial {
      return true
    }
    return enterSlowly()
  }

  @inline(never)
  private func enterSlowly() -> Bool {
    guard isAlive else {
      if serial >= state.pointee.firstSerial { state.pointee.isBroken = true }
      return false
    }
    while state.pointee.frameCount > index + 1 { closeTop() }
    return true
  }

  @inline(__always)
  private var isAlive: Bool {
    index < state.pointee.frameCount && state.pointee.frames[index].serial == serial
  }

  /// Closes the innermost frame. A value that encoded nothing is an empty map.
  @inline(__always)
  func closeTop() {
    let top = state.pointee.frameCount - 1
    switch state.pointee.frames[top].kind {
    case .empty:
      writer.beginMap()
      writer.endMap()
    case .map: writer.endMap()
    case .array: writer.endArray()
    case .value, .none: break
    }
    state.pointee.frameCount = top
    if top > 0 {
      state.pointee.path.truncate(to: Int(state.pointee.frames[top - 1].pathCount))
    }
  }

  // MARK: - Paths and options

  var codingPath: [any CodingKey] {
    guard isAlive else { return [] }
    return state.pointee.path.prefix(Int(state.pointee.frames[index].pathCount))
  }

  var userInfo: [CodingUserInfoKey: Any] {
    isAlive ? options?.userInfo ?? [:] : [:]
  }

  var options: FirebaseDataEncoder? { state.pointee.options?.takeUnretainedValue() }

  func note(validationError: @autoclosure () -> Status) {
    if state.pointee.validationError == nil { state.pointee.validationError = validationError() }
  }

  // MARK: - Depth

  /// Makes this place accept nothing: it is deeper than a document can be.
  @inline(never)
  private func refused() -> EncodingPosition {
    state.pointee.frames[index].kind = .none
    note(validationError: EncodingRules.tooDeep)
    return self
  }

  /// For a call that cannot encode anything here. Throws if the reason is the depth.
  @inline(never)
  func stop() throws {
    if index > EncodingPosition.deepest { throw tooDeep() }
  }

  @inline(never)
  func secondValue() -> any Error {
    index > EncodingPosition.deepest ? tooDeep() : EncodingRules.secondValue(codingPath: codingPath)
  }

  /// Also records the error: a type that catches the error leaves the value out.
  @inline(never)
  private func tooDeep() -> Status {
    note(validationError: EncodingRules.tooDeep)
    return EncodingRules.tooDeep
  }

  /// Encodes the value of a single value container.
  func encodeInPlace<T: Encodable>(_ value: T) throws {
    let state = state
    state.pointee.valuesInPlace += 1
    defer { state.pointee.valuesInPlace -= 1 }
    guard state.pointee.valuesInPlace <= EncodingRules.mostValuesInPlace else {
      throw EncodingRules.endless(value, codingPath: codingPath)
    }
    try encodeHere(value)
  }

  // MARK: - Fields and elements

  // False if a type misused its encoder and this place is not a map or an array. The misuse is
  // recorded.

  /// Begins a field of the map at this place.
  @inline(__always)
  func beginField(_ key: some CodingKey) -> Bool {
    guard enter(), state.pointee.frames[index].kind == .map else { return false }
    if state.pointee.keysAreDefault {
      write(name: key.stringValue)
    } else {
      writeConverted(key)
    }
    return true
  }

  @inline(__always)
  private func write(name: String) {
    let isSuspicious = name.withUTF8Bytes { utf8 in
      writer.field(utf8)
      return utf8.isEmpty || utf8[0] == UInt8(ascii: "_")
    }
    if isSuspicious { check(name: name) }
  }

  @inline(never)
  private func check(name: String) {
    if let validationError = EncodingRules.validationError(ofName: name, path: writer.openPath()) {
      note(validationError: validationError)
    }
  }

  @inline(never)
  private func writeConverted(_ key: some CodingKey) {
    write(name: convertedName(of: key))
  }

  private func convertedName(of key: some CodingKey) -> String {
    guard !state.pointee.keysAreDefault, !state.pointee.frames[index].keepsKeys, let options else {
      return key.stringValue
    }
    return EncodingRules.name(of: key, options: options) { codingPath }
  }

  /// Begins the next element of the array at this place.
  @inline(__always)
  func beginElement() -> Bool {
    guard enter(), state.pointee.frames[index].kind == .array else { return false }
    writer.element()
    state.pointee.frames[index].count += 1
    return true
  }

  /// Begins the single value of this place.
  @inline(__always)
  func beginValue() throws -> Bool {
    guard enter() else { return false }
    guard state.pointee.frames[index].kind == .empty else { throw secondValue() }
    state.pointee.frames[index].kind = .value
    return true
  }

  /// The index of the element begun last.
  @inline(__always)
  private var elementIndex: Int { max(0, Int(state.pointee.frames[index].count) - 1) }

  private func path(_ key: (any CodingKey)?) -> [any CodingKey] {
    if let key { return codingPath + [key] }
    return state.pointee.frames[index].kind == .array
      ? codingPath + [AnyCodingKey.index(elementIndex)] : codingPath
  }

  // MARK: - Values

  // `key` is the key of the field begun last, or nil for an element or a single value.

  @inline(__always)
  func encode(_ value: Double, key: @autoclosure () -> (any CodingKey)?) throws {
    if value.isFinite { return writer.double(value) }
    try encodeNonConforming(value, named: "Double", key: key())
  }

  @inline(__always)
  func encode(_ value: Float, key: @autoclosure () -> (any CodingKey)?) throws {
    if value.isFinite { return writer.double(Double(value)) }
    try encodeNonConforming(Double(value), named: "Float", key: key())
  }

  @inline(never)
  private func encodeNonConforming(
    _ value: Double, named typeName: String, key: (any CodingKey)?
  ) throws {
    guard let options else { return }
    do {
      writer.string(
        try EncodingRules.string(for: value, named: typeName, options: options) { path(key) })
    } catch {
      // The type may catch the error: then its element or value must not have begun.
      state.pointee.isBroken = true
      throw error
    }
  }

  @inline(__always)
  func encode<T: FixedWidthInteger>(
    _ value: T, key: @autoclosure () -> (any CodingKey)?
  ) throws {
    guard let integer = Int64(exactly: value) else {
      // As in `encodeNonConforming`.
      state.pointee.isBroken = true
      throw EncodingRules.tooLarge(value, codingPath: path(key()))
    }
    writer.integer(integer)
  }

  @inline(__always)
  func encodeField<T: Encodable>(_ value: T, _ key: some CodingKey) throws {
    guard enter() else { return }
    let mark = writer.mark()
    guard beginField(key) else { return try stop() }
    if try encodeDirectly(value) { return }
    state.pointee.path.append(key)
    try encodeInside(value, mark)
  }

  func encodeElement<T: Encodable>(_ value: T) throws {
    guard enter() else { return }
    let mark = writer.mark()
    guard beginElement() else { return try stop() }
    do {
      if try encodeDirectly(value) { return }
      state.pointee.path.append(index: elementIndex)
      try encodeInside(value, mark)
    } catch {
      // Removes the element again.
      if isAlive {
        writer.rollBack(to: mark)
        state.pointee.frames[index].count -= 1
      }
      throw error
    }
  }

  /// Encodes a value with a frame of its own.
  @inline(__always)
  private func encodeInside<T: Encodable>(_ value: T, _ mark: DocumentWriter.Mark) throws {
    let position = EncodingPosition.push(on: state, kind: .empty)
    do {
      guard position.index <= EncodingPosition.deepest else { throw tooDeep() }
      try position.encodeHere(value)
    } catch {
      if enter() { writer.rollBack(to: mark) }
      throw error
    }
    if state.pointee.frameCount == index + 2, isAlive {
      closeTop()
    } else if !enter() {
      state.pointee.isBroken = true
    }
  }

  /// Encodes the types that need no frame, with default strategies. False if nothing was written.
  @inline(__always)
  private func encodeDirectly<T: Encodable>(_ value: T) throws -> Bool {
    if T.self == String.self {
      writer.string(identity(value, as: String.self))
    } else if T.self == Date.self, state.pointee.datesAreTimestamps {
      writer.timestamp(try EncodingRules.instant(identity(value, as: Date.self)))
    } else if T.self == Data.self, state.pointee.dataIsBlob {
      identity(value, as: Data.self).withUnsafeBytes { writer.bytes($0) }
    } else if T.self == [String].self {
      encode(elements: identity(value, as: [String].self)) { writer.string($0) }
    } else if T.self == [Int].self {
      encode(elements: identity(value, as: [Int].self)) { writer.integer(Int64($0)) }
    } else if T.self == URL.self {
      writer.string(identity(value, as: URL.self).absoluteString)
    } else {
      return false
    }
    return true
  }

  @inline(__always)
  private func encode<Element>(elements: [Element], _ write: (Element) -> Void) {
    beginArray(insideArray: state.pointee.frames[index].kind == .array)
    for element in elements {
      writer.element()
      write(element)
    }
    writer.endArray()
  }

  /// Encodes a value at this place, for an encoder or a single value container.
  func encodeHere<T: Encodable>(_ value: T) throws {
    if encodeDirect(value) { return }
    if state.pointee.isRefused, let other = try options?.replacement?(value) {
      return try encodeByCodable(other)
    }
    try encodeByCodable(value)
  }

  func encodeByCodable<T: Encodable>(_ value: T) throws {
    guard EncodingRules.isSpecial(T.self), let options else {
      if !state.pointee.keysAreDefault, value is any StringKeyedDictionary {
        state.pointee.frames[index].keepsKeys = true
      }
      return try value.encode(to: StreamEncoder(position: self))
    }
    switch try EncodingRules.handling(of: value, options: options, codingPath: { codingPath }) {
    case .value(let plain):
      guard try beginValue() else { return }
      writer.value(plain)
    case .encode(let encode):
      try encode(StreamEncoder(position: self))
    case .ordinary: try value.encode(to: StreamEncoder(position: self))
    }
  }

  // MARK: - Containers

  /// Makes this place a map. A second call gets the same map.
  func becomeMap() {
    guard enter() else { return }
    switch state.pointee.frames[index].kind {
    case .empty:
      state.pointee.frames[index].kind = .map
      beginMap()
    case .map: break
    default: misuse(EncodingRules.secondContainer("keyed", codingPath: codingPath))
    }
  }

  func becomeArray() {
    guard enter() else { return }
    switch state.pointee.frames[index].kind {
    case .empty:
      state.pointee.frames[index].kind = .array
      beginArray(insideArray: index > 0 && state.pointee.frames[index - 1].kind == .array)
    case .array: break
    default: misuse(EncodingRules.secondContainer("unkeyed", codingPath: codingPath))
    }
  }

  private func misuse(_ error: EncodingError) {
    if index <= EncodingPosition.deepest, state.pointee.misuse == nil {
      state.pointee.misuse = error
    }
  }

  @inline(__always)
  private func beginMap() {
    writer.beginMap()
    if writer.depth > DocumentFormat.maximumDepth + 1 {
      note(validationError: EncodingRules.tooDeep)
    }
  }

  @inline(__always)
  private func beginArray(insideArray: Bool) {
    writer.beginArray()
    if insideArray { note(validationError: EncodingRules.nestedArrays) }
    if writer.depth > DocumentFormat.maximumDepth + 1 {
      note(validationError: EncodingRules.tooDeep)
    }
  }

  /// Begins a field with a place of its own, which stays open until this place encodes again.
  func nested(_ key: some CodingKey) -> EncodingPosition {
    guard enter() else { return self }
    // Two containers for one field become one map, which a stream cannot write.
    if writer.hasField(convertedName(of: key)) { state.pointee.isBroken = true }
    guard beginField(key) else { return self }
    state.pointee.path.append(key)
    let position = EncodingPosition.push(on: state, kind: .empty)
    return position.index <= EncodingPosition.deepest ? position : position.refused()
  }

  /// Begins the next element, with a place of its own.
  func nestedElement() -> EncodingPosition {
    guard beginElement() else { return self }
    state.pointee.path.append(index: elementIndex)
    let position = EncodingPosition.push(on: state, kind: .empty)
    return position.index <= EncodingPosition.deepest ? position : position.refused()
  }

  var elementCount: Int { isAlive ? Int(state.pointee.frames[index].count) : 0 }

  // MARK: - Sentinels and ids

  /// Records the sentinel instead of a value.
  func encode(_ transform: FieldTransform) throws {
    guard try beginValue() else { return }
    guard let path = writer.openPath() else {
      note(validationError: EncodingRules.sentinelInArray(transform))
      return writer.null()
    }
    guard index > 0 else { return }
    state.pointee.frames[index].kind = .none
    state.pointee.transforms.append((FieldSegments(path), transform))
  }

  /// Omits the field at this place. False if this place is not a field.
  func skip() -> Bool {
    guard enter() else { return true }
    guard index > 0, state.pointee.frames[index - 1].kind == .map else { return false }
    state.pointee.frames[index].kind = .none
    return true
  }

  func note(database: DatabaseIdentity) {
    DatabaseIdentity.note(database, in: &state.pointee.databases)
  }
}
