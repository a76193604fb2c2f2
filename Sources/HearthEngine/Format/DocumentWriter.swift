/// Writes one document's canonical bytes, value by value, without an allocation per value.
///
///     beginMap()  field("b") string("x")
///                 field("a") beginArray() element() null() endArray()  endMap()
///
/// Fields may come in any order; `endMap` sorts them. Of fields with equal names, the last one is
/// kept. A field without a value is left out.
///
/// A handle: copies write to the same memory, which lives until `giveBack`. Only one thread at a
/// time may use it.
struct DocumentWriter {
  private let state: UnsafeMutablePointer<State>

  /// While a map is open, its values are in `bytes` in arrival order, its names are in `names`, and
  /// `fields` says which belong together. `endMap` composes the map behind them, and moves it to
  /// the map's start.
  private struct State {
    var bytes: UnsafeMutableRawPointer
    var byteCount = 0
    var byteCapacity: Int
    var names: UnsafeMutableRawPointer
    var nameCount = 0
    var nameCapacity: Int
    var fields: UnsafeMutablePointer<Field>
    var fieldCount = 0
    var fieldCapacity: Int
    var frames: UnsafeMutablePointer<Frame>
    var frameCount = 0
    var frameCapacity: Int
    var deepest = 0
    var isTooLarge = false
    /// See `DocumentBody.needsCheck`.
    var needsCheck = false
    /// See `DocumentBody.mayHoldMaps`.
    var mayHoldMaps = false
    /// The width code of the ends in the last map with the names of a table, by its number: room for
    /// the header is then right, and the values need not be moved.
    let widthCodes = UnsafeMutablePointer<UInt8>.allocate(capacity: DocumentWriter.widthCodeCount)
    let fieldOrders = UnsafeMutablePointer<FieldOrderCache>.allocate(
      capacity: DocumentWriter.fieldOrderCount)
  }

  struct Field {
    /// The name's first eight bytes, as a big-endian number: most comparisons end here.
    fileprivate var prefix: UInt64
    fileprivate var nameStart: UInt32
    fileprivate(set) var nameLength: UInt32
    fileprivate var valueStart: UInt32
    fileprivate var valueEnd: UInt32

    /// False for a name that Firestore might refuse.
    var hasUsualName: Bool {
      UInt(nameLength) &- 1 < DocumentWriter.usualNameBytes && prefix >> 56 != UInt8(ascii: "_")
    }
  }

  /// An open map or array.
  private struct Frame {
    var start: Int
    var fieldStart: Int
    var nameStart: Int
    var elementCount: Int
    /// Where the last element of an array begins. It must have bytes.
    var elementStart = -1
    /// For a map whose fields are denoted by their rank among these names.
    var table: UnsafePointer<DocumentFieldTable>?
    /// The room before the values of such a map, in bytes.
    var headerBytes = 0
  }

  /// Room for the usual array's header, so that the elements need not be moved.
  private static let arrayHeaderBytes = 3

  /// The number of bytes that a short copy may read and write beyond what it copies.
  static let slack = 16

  /// Names of at most this length are no field path that is too long, however deep they are nested.
  static var usualNameBytes: UInt { 70 }

  private static let widthCodeCount = 64

  /// The number of maps whose names are remembered.
  private static let fieldOrderCount = 64

  init() {
    state = .allocate(capacity: 1)
    state.initialize(
      to: State(
        bytes: .allocate(byteCount: 4096, alignment: 16), byteCapacity: 4096,
        names: .allocate(byteCount: 1024, alignment: 16), nameCapacity: 1024,
        fields: .allocate(capacity: 64), fieldCapacity: 64,
        frames: .allocate(capacity: 32), frameCapacity: 32))
    state.pointee.widthCodes.initialize(repeating: 0, count: DocumentWriter.widthCodeCount)
    state.pointee.fieldOrders.initialize(
      repeating: FieldOrderCache(), count: DocumentWriter.fieldOrderCount)
  }

  /// Returns the writer's memory to the system.
  func destroy() {
    state.pointee.bytes.deallocate()
    state.pointee.names.deallocate()
    state.pointee.fields.deallocate()
    state.pointee.frames.deallocate()
    state.pointee.widthCodes.deallocate()
    for index in 0..<DocumentWriter.fieldOrderCount { state.pointee.fieldOrders[index].destroy() }
    state.pointee.fieldOrders.deallocate()
    state.deallocate()
  }

  /// Discards what was written.
  @inline(__always)
  func reset() {
    state.pointee.byteCount = 0
    state.pointee.nameCount = 0
    state.pointee.fieldCount = 0
    state.pointee.frameCount = 0
    state.pointee.deepest = 0
    state.pointee.isTooLarge = false
    state.pointee.needsCheck = false
    state.pointee.mayHoldMaps = false
  }

  /// The number of open maps and arrays, including the document's own map.
  @inline(__always)
  var depth: Int { state.pointee.frameCount }

  /// The deepest nesting of maps and arrays so far; the document's own map is not counted.
  var deepest: Int { Swift.max(0, state.pointee.deepest - 1) }

  /// Whether the value written first is a map. It must have been ended.
  var isMap: Bool {
    state.pointee.byteCount > 0
      && state.pointee.bytes.load(as: UInt8.self) & 0xF0 == DocumentFormat.Tag.map
  }

  /// The written bytes. Every map and array must have been ended.
  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: state.pointee.bytes, count: state.pointee.byteCount))
  }

  /// The document, which must be one map. Resets the writer.
  func finish() throws(Status) -> DocumentBody {
    precondition(depth == 0, "Every map and array has been ended.")
    defer { reset() }
    guard !state.pointee.isTooLarge else { throw .tooLarge }
    let needsCheck = state.pointee.needsCheck || deepest > Limits.nesting
    return withBytes { bytes in
      DocumentBody(
        canonical: [UInt8](bytes), needsCheck: needsCheck, mayHoldMaps: state.pointee.mayHoldMaps)
    }
  }

  // MARK: - Going back

  /// A position in the writing to which `rollBack(to:)` returns.
  struct Mark {
    fileprivate var byteCount: Int
    fileprivate var nameCount: Int
    fileprivate var fieldCount: Int
    fileprivate var frameCount: Int
    fileprivate var elementCount: Int
  }

  @inline(__always)
  func mark() -> Mark {
    let frameCount = state.pointee.frameCount
    return Mark(
      byteCount: state.pointee.byteCount, nameCount: state.pointee.nameCount,
      fieldCount: state.pointee.fieldCount, frameCount: frameCount,
      elementCount: frameCount > 0 ? state.pointee.frames[frameCount - 1].elementCount : 0)
  }

  /// Discards what was written since `mark`. All maps and arrays open at `mark` must still be open.
  func rollBack(to mark: Mark) {
    precondition(mark.frameCount <= state.pointee.frameCount, "What was open is still open.")
    state.pointee.byteCount = mark.byteCount
    state.pointee.nameCount = mark.nameCount
    state.pointee.fieldCount = mark.fieldCount
    state.pointee.frameCount = mark.frameCount
    if mark.frameCount > 0 {
      state.pointee.frames[mark.frameCount - 1].elementCount = mark.elementCount
    }
  }

  // MARK: - Position

  /// Whether the open map has a field of that name, with or without a value.
  func hasField(_ name: String) -> Bool {
    guard state.pointee.frameCount > 0 else { return false }
    let first = state.pointee.frames[state.pointee.frameCount - 1].fieldStart
    return (first..<max(first, state.pointee.fieldCount)).contains {
      UTF8Order.areEqual(self.name(ofField: $0), name)
    }
  }

  /// Whether the innermost open map or array is an array with elements.
  @inline(__always)
  var isInArray: Bool {
    let depth = state.pointee.frameCount
    return depth > 0 && state.pointee.frames[depth - 1].elementCount > 0
  }

  /// The names on the way from the document to the value written next; nil inside an array.
  func openPath() -> [String]? {
    var path: [String] = []
    for index in 0..<state.pointee.frameCount {
      guard let name = lastName(inFrame: index) else { return nil }
      path.append(name)
    }
    return path
  }

  /// Calls `body` for each open map and array from `depth` on: with the name of the field written
  /// last, or with nil and the index of the element.
  func forEachOpenKey(from depth: Int, _ body: (_ name: String?, _ index: Int) -> Void) {
    for index in depth..<max(depth, state.pointee.frameCount) {
      let elementCount = state.pointee.frames[index].elementCount
      if elementCount > 0 {
        body(nil, elementCount - 1)
      } else if let name = lastName(inFrame: index) {
        body(name, 0)
      }
    }
  }

  /// The name of the field written last in an open map; nil for an array.
  private func lastName(inFrame index: Int) -> String? {
    let frame = state.pointee.frames[index]
    let isLast = index + 1 == state.pointee.frameCount
    let fieldEnd = isLast ? state.pointee.fieldCount : state.pointee.frames[index + 1].fieldStart
    guard fieldEnd > frame.fieldStart else { return nil }
    guard let table = frame.table else { return name(ofField: fieldEnd - 1) }
    return table.pointee.name(atRank: Int(state.pointee.fields[fieldEnd - 1].nameStart))
  }

  private func name(ofField index: Int) -> String {
    let field = state.pointee.fields[index]
    let start = UnsafeRawPointer(state.pointee.names) + Int(field.nameStart)
    let utf8 = UnsafeRawBufferPointer(start: start, count: Int(field.nameLength))
    return String(decoding: utf8, as: UTF8.self)
  }

  // MARK: - Maps and arrays

  @inline(__always)
  func beginMap() {
    if state.pointee.frameCount > 0 { state.pointee.mayHoldMaps = true }
    push(start: state.pointee.byteCount)
  }

  @inline(__always)
  func beginArray() {
    let start = state.pointee.byteCount
    let depth = state.pointee.frameCount
    // An array in an array.
    if depth > 0, state.pointee.frames[depth - 1].elementCount > 0 { noteUnusual() }
    push(start: start)
    if reserve(DocumentWriter.arrayHeaderBytes) {
      state.pointee.byteCount = start + DocumentWriter.arrayHeaderBytes
    }
  }

  /// The next value is the next element of the open array.
  @inline(__always)
  func element() {
    let frame = state.pointee.frames + (state.pointee.frameCount - 1)
    if frame.pointee.elementStart == state.pointee.byteCount { noteUnusual() }
    frame.pointee.elementStart = state.pointee.byteCount
    frame.pointee.elementCount += 1
  }

  /// The next value is that field of the open map.
  @inline(__always)
  func field(_ name: UnsafeRawBufferPointer) {
    if state.pointee.fieldCount == state.pointee.fieldCapacity { growFields() }
    let nameStart = state.pointee.nameCount
    // Room for more than the name, so that its prefix can be loaded at once.
    if nameStart + name.count + DocumentWriter.slack > state.pointee.nameCapacity {
      guard growNames(by: name.count + DocumentWriter.slack) else { return }
    }
    let target = state.pointee.names + nameStart
    DocumentWriter.copyShort(name, to: target)
    var prefix = UInt64(bigEndian: target.loadUnaligned(as: UInt64.self))
    if name.count < 8 {
      prefix = name.isEmpty ? 0 : prefix & (~0 << UInt64(64 - 8 * name.count))
    }
    state.pointee.nameCount = nameStart + name.count
    let start = UInt32(truncatingIfNeeded: state.pointee.byteCount)
    let index = state.pointee.fieldCount
    if index > state.pointee.frames[state.pointee.frameCount - 1].fieldStart {
      state.pointee.fields[index - 1].valueEnd = start
    }
    state.pointee.fields[index] = Field(
      prefix: prefix, nameStart: UInt32(truncatingIfNeeded: nameStart),
      nameLength: UInt32(truncatingIfNeeded: name.count), valueStart: start, valueEnd: start)
    state.pointee.fieldCount = index + 1
  }

  @inline(__always)
  func field(_ name: String) { name.withUTF8Bytes { field($0) } }

  func endArray() {
    let frame = pop()
    guard !state.pointee.isTooLarge else { return }
    if frame.elementStart == state.pointee.byteCount { noteUnusual() }
    let elementsStart = frame.start + DocumentWriter.arrayHeaderBytes
    let elementBytes = state.pointee.byteCount - elementsStart
    let count = UInt64(frame.elementCount)
    let countBytes = DocumentFormat.varintCount(count)
    let payload = UInt64(countBytes + elementBytes)
    let header = 1 + DocumentFormat.varintCount(payload) + countBytes
    if header != DocumentWriter.arrayHeaderBytes {
      guard reserve(header) else { return }
      (state.pointee.bytes + frame.start + header)
        .copyMemory(from: state.pointee.bytes + elementsStart, byteCount: elementBytes)
    }
    var target = state.pointee.bytes + frame.start
    target.storeBytes(of: DocumentFormat.Tag.array, as: UInt8.self)
    target += 1
    target = DocumentWriter.store(varint: payload, at: target)
    target = DocumentWriter.store(varint: count, at: target)
    state.pointee.byteCount = frame.start + header + elementBytes
  }

  func endMap() {
    let frame = pop()
    guard !state.pointee.isTooLarge else { return }
    let end = state.pointee.byteCount
    if state.pointee.fieldCount > frame.fieldStart {
      state.pointee.fields[state.pointee.fieldCount - 1].valueEnd = UInt32(truncatingIfNeeded: end)
    }
    let fields = state.pointee.fields + frame.fieldStart
    let arrived = state.pointee.fieldCount - frame.fieldStart
    state.pointee.fieldCount = frame.fieldStart
    if arrived > 0, composeKnown(fields, count: arrived, frame, end: end) { return }
    let count = sortFields(fields, count: arrived)
    var nameBytes = 0
    var valueBytes = 0
    for index in 0..<count {
      if !fields[index].hasUsualName { noteUnusual() }
      nameBytes += Int(fields[index].nameLength)
      valueBytes += Int(fields[index].valueEnd - fields[index].valueStart)
    }
    let nameWidthCode = DocumentFormat.widthCode(nameBytes)
    let valueWidthCode = DocumentFormat.widthCode(valueBytes)
    let header =
      1 + DocumentFormat.varintCount(UInt64(count)) + count << nameWidthCode
      + count << valueWidthCode
    let total = header + nameBytes + valueBytes
    state.pointee.nameCount = frame.nameStart
    guard reserve(total + DocumentWriter.slack) else { return }

    let bytes = state.pointee.bytes
    let names = state.pointee.names
    let composed = bytes + end
    let tag = DocumentFormat.Tag.map | UInt8(nameWidthCode << 2 | valueWidthCode)
    composed.storeBytes(of: tag, as: UInt8.self)
    var nameEnds = DocumentWriter.store(varint: UInt64(count), at: composed + 1)
    var valueEnds = nameEnds + count << nameWidthCode
    let namesStart = composed + header
    let valuesStart = namesStart + nameBytes
    // Names first: a short copy may write beyond its end, into the next part.
    var nameEnd = 0
    for index in 0..<count {
      let length = Int(fields[index].nameLength)
      DocumentWriter.copy(
        names + Int(fields[index].nameStart), to: namesStart + nameEnd, count: length)
      nameEnd += length
      nameEnds = DocumentWriter.store(end: nameEnd, widthCode: nameWidthCode, at: nameEnds)
    }
    var valueEnd = 0
    for index in 0..<count {
      let start = Int(fields[index].valueStart)
      let length = Int(fields[index].valueEnd) - start
      DocumentWriter.copy(bytes + start, to: valuesStart + valueEnd, count: length)
      valueEnd += length
      valueEnds = DocumentWriter.store(end: valueEnd, widthCode: valueWidthCode, at: valueEnds)
    }
    // Moves the map down over the values in arrival order: the ranges may overlap.
    (bytes + frame.start).copyMemory(from: composed, byteCount: total)
    state.pointee.byteCount = frame.start + total
  }

  // MARK: - Maps with known names

  /// Begins a map whose fields are begun with `field(rank:)`, and which `endMap(_:)` ends.
  @inline(__always)
  func beginMap(_ table: UnsafePointer<DocumentFieldTable>) {
    beginMap()
    let frame = state.pointee.frames + (state.pointee.frameCount - 1)
    frame.pointee.table = table
    let header = DocumentWriter.headerBytes(table, widthCode: Int(widthCode(of: table).pointee))
    guard reserve(header) else { return }
    frame.pointee.headerBytes = header
    state.pointee.byteCount += header
  }

  @inline(__always)
  private func widthCode(
    of table: UnsafePointer<DocumentFieldTable>
  ) -> UnsafeMutablePointer<UInt8> {
    state.pointee.widthCodes + (table.pointee.number & (DocumentWriter.widthCodeCount - 1))
  }

  /// The length of all that precedes the values of a map with all fields.
  @inline(__always)
  private static func headerBytes(
    _ table: UnsafePointer<DocumentFieldTable>, widthCode: Int
  ) -> Int {
    1 + table.pointee.headBytes + table.pointee.count << widthCode + table.pointee.nameBytes
  }

  /// The next value is the field of the open map with this rank among its names.
  @inline(__always)
  func field(rank: UInt16) {
    if state.pointee.fieldCount == state.pointee.fieldCapacity { growFields() }
    let start = UInt32(truncatingIfNeeded: state.pointee.byteCount)
    let index = state.pointee.fieldCount
    if index > state.pointee.frames[state.pointee.frameCount - 1].fieldStart {
      state.pointee.fields[index - 1].valueEnd = start
    }
    state.pointee.fields[index] = Field(
      prefix: 0, nameStart: UInt32(rank), nameLength: 0, valueStart: start, valueEnd: start)
    state.pointee.fieldCount = index + 1
  }

  /// Ends a map that `beginMap(_:)` began with the same table.
  func endMap(_ table: UnsafePointer<DocumentFieldTable>) {
    let frame = pop()
    guard !state.pointee.isTooLarge else { return }
    let end = state.pointee.byteCount
    let fields = state.pointee.fields + frame.fieldStart
    let arrived = state.pointee.fieldCount - frame.fieldStart
    state.pointee.fieldCount = frame.fieldStart
    if arrived > 0 { fields[arrived - 1].valueEnd = UInt32(truncatingIfNeeded: end) }
    if table.pointee.hasUnusualNames { noteUnusual() }
    // All fields, in their order: the usual case.
    if arrived == table.pointee.count, areAllInOrder(fields, count: arrived) {
      return composeAll(table, fields, frame)
    }
    compose(table, fields, count: order(fields, count: arrived), frame.start, end: end)
  }

  @inline(__always)
  private func areAllInOrder(_ fields: UnsafeMutablePointer<Field>, count: Int) -> Bool {
    for index in 0..<count {
      let field = fields[index]
      if field.nameStart != UInt32(truncatingIfNeeded: index) || field.valueStart == field.valueEnd
      {
        return false
      }
    }
    return true
  }

  /// The values are in the order of their names already, without gaps.
  @inline(__always)
  private func composeAll(
    _ table: UnsafePointer<DocumentFieldTable>, _ fields: UnsafeMutablePointer<Field>,
    _ frame: Frame
  ) {
    let count = table.pointee.count
    let valuesStart = frame.start + frame.headerBytes
    let valueBytes = state.pointee.byteCount - valuesStart
    let valueWidthCode = DocumentFormat.widthCode(valueBytes)
    let header = DocumentWriter.headerBytes(table, widthCode: valueWidthCode)
    if header != frame.headerBytes {
      widthCode(of: table).pointee = UInt8(truncatingIfNeeded: valueWidthCode)
      guard reserve(header) else { return }
      (state.pointee.bytes + frame.start + header)
        .copyMemory(from: state.pointee.bytes + valuesStart, byteCount: valueBytes)
    }
    let headBytes = table.pointee.headBytes
    let target = state.pointee.bytes + frame.start
    let tag = DocumentFormat.Tag.map | UInt8(table.pointee.nameWidthCode << 2 | valueWidthCode)
    target.storeBytes(of: tag, as: UInt8.self)
    (target + 1).copyMemory(from: table.pointee.head, byteCount: headBytes)
    var valueEnds = target + 1 + headBytes
    let first = UInt32(truncatingIfNeeded: valuesStart)
    for index in 0..<count {
      valueEnds = DocumentWriter.store(
        end: Int(fields[index].valueEnd &- first), widthCode: valueWidthCode, at: valueEnds)
    }
    valueEnds.copyMemory(from: table.pointee.names, byteCount: table.pointee.nameBytes)
    state.pointee.byteCount = frame.start + header + valueBytes
  }

  /// Sorts fields by rank. Drops those without a value, and those that a later one of the same rank
  /// replaces. Returns the number of remaining fields.
  private func order(_ fields: UnsafeMutablePointer<Field>, count: Int) -> Int {
    var kept = 0
    for index in 0..<count {
      let field = fields[index]
      if field.valueStart == field.valueEnd { continue }
      var position = kept
      while position > 0, fields[position - 1].nameStart > field.nameStart { position -= 1 }
      if position > 0, fields[position - 1].nameStart == field.nameStart {
        fields[position - 1] = field
        continue
      }
      var moved = kept
      while moved > position {
        fields[moved] = fields[moved - 1]
        moved -= 1
      }
      fields[position] = field
      kept += 1
    }
    return kept
  }

  /// Composes a map of some fields behind the existing bytes, and moves it to its start.
  private func compose(
    _ table: UnsafePointer<DocumentFieldTable>, _ fields: UnsafeMutablePointer<Field>, count: Int,
    _ start: Int, end: Int
  ) {
    var nameBytes = 0
    var valueBytes = 0
    for index in 0..<count {
      nameBytes += table.pointee.nameBytes(atRank: Int(fields[index].nameStart)).count
      valueBytes += Int(fields[index].valueEnd - fields[index].valueStart)
    }
    let nameWidthCode = DocumentFormat.widthCode(nameBytes)
    let valueWidthCode = DocumentFormat.widthCode(valueBytes)
    let header =
      1 + DocumentFormat.varintCount(UInt64(count)) + count << nameWidthCode
      + count << valueWidthCode
    let total = header + nameBytes + valueBytes
    guard reserve(total + DocumentWriter.slack) else { return }
    let bytes = state.pointee.bytes
    let composed = bytes + end
    let tag = DocumentFormat.Tag.map | UInt8(nameWidthCode << 2 | valueWidthCode)
    composed.storeBytes(of: tag, as: UInt8.self)
    var nameEnds = DocumentWriter.store(varint: UInt64(count), at: composed + 1)
    var valueEnds = nameEnds + count << nameWidthCode
    var (nameEnd, valueEnd) = (0, 0)
    // Names first: a short copy may write beyond its end, into the next part.
    for index in 0..<count {
      let name = table.pointee.nameBytes(atRank: Int(fields[index].nameStart))
      if let source = name.baseAddress {
        (composed + header + nameEnd).copyMemory(from: source, byteCount: name.count)
      }
      nameEnd += name.count
      nameEnds = DocumentWriter.store(end: nameEnd, widthCode: nameWidthCode, at: nameEnds)
    }
    for index in 0..<count {
      let valueStart = Int(fields[index].valueStart)
      let length = Int(fields[index].valueEnd) - valueStart
      DocumentWriter.copy(
        bytes + valueStart, to: composed + header + nameBytes + valueEnd, count: length)
      valueEnd += length
      valueEnds = DocumentWriter.store(end: valueEnd, widthCode: valueWidthCode, at: valueEnds)
    }
    (bytes + start).copyMemory(from: composed, byteCount: total)
    state.pointee.byteCount = start + total
  }

  /// The slot of the names with this hash, or for them: one of four, so that two maps do not evict
  /// each other again and again.
  @inline(__always)
  private func fieldOrderSlot(_ hash: UInt64) -> UnsafeMutablePointer<FieldOrderCache> {
    let home = Int(hash >> 56) & (DocumentWriter.fieldOrderCount - 1)
    for step in 0..<4 {
      let slot = state.pointee.fieldOrders + (home + step) & (DocumentWriter.fieldOrderCount - 1)
      if slot.pointee.hash == hash || slot.pointee.hash == 0 { return slot }
    }
    return state.pointee.fieldOrders + home
  }

  /// Ends a map whose names are remembered. False if they are not, or if a field has no value.
  @inline(__always)
  private func composeKnown(
    _ fields: UnsafeMutablePointer<Field>, count: Int, _ frame: Frame, end: Int
  ) -> Bool {
    let names = state.pointee.names + frame.nameStart
    let nameBytes = state.pointee.nameCount - frame.nameStart
    var hash = UInt64(truncatingIfNeeded: nameBytes)
    var valueBytes = 0
    var isKnown = true
    for index in 0..<count {
      hash = (hash ^ fields[index].prefix) &* 0x9E37_79B9_7F4A_7C15
      let length = Int(fields[index].valueEnd &- fields[index].valueStart)
      valueBytes += length
      if length == 0 { isKnown = false }
    }
    let slot = fieldOrderSlot(hash)
    let known = slot.pointee.memory(
      ifOf: fields, count: count, hash: hash, names: names, nameBytes: nameBytes)
    guard isKnown, let known, let order = slot.pointee.order else {
      if known == nil {
        slot.pointee.learn(fields, count: count, hash: hash, names: names, nameBytes: nameBytes)
      }
      return false
    }
    if slot.pointee.hasUnusualNames { noteUnusual() }
    let valueWidthCode = DocumentFormat.widthCode(valueBytes)
    let headBytes = slot.pointee.headBytes
    let header = 1 + headBytes + count << valueWidthCode
    let total = header + nameBytes + valueBytes
    state.pointee.nameCount = frame.nameStart
    guard reserve(total + DocumentWriter.slack) else { return true }

    let start = state.pointee.bytes + frame.start
    let isSorted = slot.pointee.isSorted
    // Values that arrived in order are moved at once; others are sorted behind the existing bytes.
    let composed = isSorted ? start : state.pointee.bytes + end
    let values = composed + header + nameBytes
    if isSorted { values.copyMemory(from: start, byteCount: valueBytes) }
    let tag = DocumentFormat.Tag.map | UInt8(slot.pointee.nameWidthCode << 2 | valueWidthCode)
    composed.storeBytes(of: tag, as: UInt8.self)
    let stored = slot.pointee.stored(in: known)
    (composed + 1).copyMemory(from: stored, byteCount: headBytes)
    (composed + header).copyMemory(from: stored + headBytes, byteCount: nameBytes)
    var valueEnds = composed + 1 + headBytes
    var valueEnd = 0
    for index in 0..<count {
      let field = isSorted ? index : Int(order[index])
      let valueStart = Int(fields[field].valueStart)
      let length = Int(fields[field].valueEnd) - valueStart
      if !isSorted {
        DocumentWriter.copy(
          state.pointee.bytes + valueStart, to: values + valueEnd, count: length)
      }
      valueEnd += length
      valueEnds = DocumentWriter.store(end: valueEnd, widthCode: valueWidthCode, at: valueEnds)
    }
    if !isSorted { start.copyMemory(from: composed, byteCount: total) }
    state.pointee.byteCount = frame.start + total
    return true
  }

  /// Sorts by name, and drops fields without a value and fields that a later one of the same name
  /// replaces. Returns the number of remaining fields.
  @inline(__always)
  private func sortFields(_ fields: UnsafeMutablePointer<Field>, count: Int) -> Int {
    let names = UnsafeRawPointer(state.pointee.names)
    if count <= 24 {
      var index = 1
      while index < count {
        let field = fields[index]
        var position = index
        while position > 0, DocumentWriter.compare(field, fields[position - 1], names) < 0 {
          fields[position] = fields[position - 1]
          position -= 1
        }
        if position != index { fields[position] = field }
        index += 1
      }
    } else {
      var unsorted = UnsafeMutableBufferPointer(start: fields, count: count)
      unsorted.sort {
        let order = DocumentWriter.compare($0, $1, names)
        return order == 0 ? $0.valueStart < $1.valueStart : order < 0
      }
    }
    var kept = 0
    for index in 0..<count {
      let field = fields[index]
      if field.valueStart == field.valueEnd { continue }
      if kept > 0, DocumentWriter.compare(fields[kept - 1], field, names) == 0 { kept -= 1 }
      fields[kept] = field
      kept += 1
    }
    return kept
  }

  @inline(__always)
  private static func compare(_ lhs: Field, _ rhs: Field, _ names: UnsafeRawPointer) -> Int {
    if lhs.prefix != rhs.prefix { return lhs.prefix < rhs.prefix ? -1 : 1 }
    return UTF8Order.compare(
      UnsafeRawBufferPointer(start: names + Int(lhs.nameStart), count: Int(lhs.nameLength)),
      UnsafeRawBufferPointer(start: names + Int(rhs.nameStart), count: Int(rhs.nameLength)))
  }

  @inline(__always)
  private func push(start: Int) {
    let index = state.pointee.frameCount
    if index == state.pointee.frameCapacity { growFrames() }
    state.pointee.frames[index] = Frame(
      start: start, fieldStart: state.pointee.fieldCount, nameStart: state.pointee.nameCount,
      elementCount: 0)
    state.pointee.frameCount = index + 1
    if index + 1 > state.pointee.deepest { state.pointee.deepest = index + 1 }
  }

  @inline(__always)
  private func pop() -> Frame {
    precondition(state.pointee.frameCount > 0, "Every end has its beginning.")
    state.pointee.frameCount -= 1
    return state.pointee.frames[state.pointee.frameCount]
  }

  // MARK: - Values

  @inline(__always)
  func null() { store(tag: DocumentFormat.Tag.null) }

  @inline(__always)
  func boolean(_ value: Bool) {
    store(tag: value ? DocumentFormat.Tag.yes : DocumentFormat.Tag.no)
  }

  @inline(__always)
  func integer(_ value: Int64) { store(number: value, tag: DocumentFormat.Tag.integer) }

  @inline(__always)
  func timestamp(_ value: Instant) {
    if value < .earliest || value > .latest { noteUnusual() }
    store(number: value.microseconds, tag: DocumentFormat.Tag.timestamp)
  }

  func double(_ value: Double) {
    if value.isNaN {
      store(tag: DocumentFormat.Tag.nan)
    } else if let float = DocumentFormat.exactFloat(value) {
      guard reserve(5) else { return }
      let target = state.pointee.bytes + state.pointee.byteCount
      target.storeBytes(of: DocumentFormat.Tag.float, as: UInt8.self)
      (target + 1).storeBytes(of: float.bitPattern.littleEndian, as: UInt32.self)
      state.pointee.byteCount += 5
    } else {
      guard reserve(9) else { return }
      let target = state.pointee.bytes + state.pointee.byteCount
      target.storeBytes(of: DocumentFormat.Tag.double, as: UInt8.self)
      (target + 1).storeBytes(of: value.bitPattern.littleEndian, as: UInt64.self)
      state.pointee.byteCount += 9
    }
  }

  @inline(__always)
  func string(_ value: String) { value.withUTF8Bytes { string($0) } }

  /// The bytes must be UTF-8.
  @inline(__always)
  func string(_ utf8: UnsafeRawBufferPointer) {
    guard utf8.count <= DocumentFormat.shortStringLimit else {
      return store(blob: utf8, tag: DocumentFormat.Tag.string)
    }
    guard reserve(1 + utf8.count) else { return }
    let target = state.pointee.bytes + state.pointee.byteCount
    let tag = DocumentFormat.Tag.shortString | UInt8(utf8.count)
    target.storeBytes(of: tag, as: UInt8.self)
    DocumentWriter.copyShort(utf8, to: target + 1)
    state.pointee.byteCount += 1 + utf8.count
  }

  func bytes(_ value: UnsafeRawBufferPointer) { store(blob: value, tag: DocumentFormat.Tag.bytes) }

  func reference(_ path: ResourcePath) {
    noteUnusual()
    path.text.withUTF8Bytes { store(blob: $0, tag: DocumentFormat.Tag.reference) }
  }

  func geoPoint(_ value: Coordinate) {
    if !(-90...90).contains(value.latitude) || !(-180...180).contains(value.longitude) {
      noteUnusual()
    }
    guard reserve(17) else { return }
    let target = state.pointee.bytes + state.pointee.byteCount
    let latitude = DocumentFormat.storedBits(value.latitude).littleEndian
    let longitude = DocumentFormat.storedBits(value.longitude).littleEndian
    target.storeBytes(of: DocumentFormat.Tag.geoPoint, as: UInt8.self)
    (target + 1).storeBytes(of: latitude, as: UInt64.self)
    (target + 9).storeBytes(of: longitude, as: UInt64.self)
    state.pointee.byteCount += 17
  }

  func vector(_ value: [Double]) {
    guard value.count <= DocumentFormat.maximumBodyBytes / 8, reserve(11 + 8 * value.count) else {
      state.pointee.isTooLarge = true
      return
    }
    noteUnusual()
    let start = state.pointee.bytes + state.pointee.byteCount
    start.storeBytes(of: DocumentFormat.Tag.vector, as: UInt8.self)
    var target = DocumentWriter.store(varint: UInt64(value.count), at: start + 1)
    for number in value {
      target.storeBytes(of: DocumentFormat.storedBits(number).littleEndian, as: UInt64.self)
      target += 8
    }
    state.pointee.byteCount += target - start
  }

  func value(_ value: Value) {
    switch value {
    case .null: null()
    case .boolean(let value): boolean(value)
    case .integer(let value): integer(value)
    case .double(let value): double(value)
    case .timestamp(let value): timestamp(value)
    case .string(let value): string(value)
    case .bytes(let value): value.withUnsafeBytes { bytes($0) }
    case .reference(let value): reference(value)
    case .geoPoint(let value): geoPoint(value)
    case .vector(let value): vector(value)
    case .map(let value): map(value)
    case .array(let value):
      beginArray()
      for item in value {
        element()
        self.value(item)
      }
      endArray()
    }
  }

  func map(_ map: MapValue) {
    beginMap()
    for item in map.fields {
      field(item.name)
      value(item.value)
    }
    endMap()
  }

  /// Copies a value that is already canonical.
  func canonical(_ view: ValueView) {
    noteUnusual()
    state.pointee.mayHoldMaps = true
    guard reserve(view.bytes.count), let source = view.bytes.baseAddress else { return }
    (state.pointee.bytes + state.pointee.byteCount)
      .copyMemory(from: source, byteCount: view.bytes.count)
    state.pointee.byteCount += view.bytes.count
  }

  /// Records that `DocumentBody.checkFields` must look at the document.
  @inline(__always)
  func noteUnusual() { state.pointee.needsCheck = true }

  // MARK: - Stores

  @inline(__always)
  private func store(tag: UInt8) {
    guard reserve(1) else { return }
    (state.pointee.bytes + state.pointee.byteCount).storeBytes(of: tag, as: UInt8.self)
    state.pointee.byteCount += 1
  }

  /// Always stores eight bytes, but counts only those needed.
  @inline(__always)
  private func store(number: Int64, tag: UInt8) {
    guard reserve(9) else { return }
    let count = DocumentFormat.byteCount(number)
    let target = state.pointee.bytes + state.pointee.byteCount
    target.storeBytes(of: tag | UInt8(truncatingIfNeeded: count), as: UInt8.self)
    (target + 1).storeBytes(of: number.littleEndian, as: Int64.self)
    state.pointee.byteCount += 1 + count
  }

  private func store(blob: UnsafeRawBufferPointer, tag: UInt8) {
    guard blob.count <= DocumentFormat.maximumBodyBytes, reserve(11 + blob.count) else {
      state.pointee.isTooLarge = true
      return
    }
    if blob.count > Limits.fieldValue { noteUnusual() }
    let start = state.pointee.bytes + state.pointee.byteCount
    start.storeBytes(of: tag, as: UInt8.self)
    let target = DocumentWriter.store(varint: UInt64(blob.count), at: start + 1)
    if let source = blob.baseAddress { target.copyMemory(from: source, byteCount: blob.count) }
    state.pointee.byteCount += target - start + blob.count
  }

  /// Returns the address behind what was stored.
  @inline(__always)
  static func store(
    varint number: UInt64, at target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var target = target
    var number = number
    while number >= 0x80 {
      target.storeBytes(of: UInt8(truncatingIfNeeded: number) | 0x80, as: UInt8.self)
      target += 1
      number >>= 7
    }
    target.storeBytes(of: UInt8(truncatingIfNeeded: number), as: UInt8.self)
    return target + 1
  }

  @inline(__always)
  static func store(
    end: Int, widthCode: Int, at target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    switch widthCode {
    case 0: target.storeBytes(of: UInt8(truncatingIfNeeded: end), as: UInt8.self)
    case 1: target.storeBytes(of: UInt16(truncatingIfNeeded: end).littleEndian, as: UInt16.self)
    default: target.storeBytes(of: UInt32(truncatingIfNeeded: end).littleEndian, as: UInt32.self)
    }
    return target + 1 << widthCode
  }

  /// Copies a name or a text. Most are too short to be worth a call of `memcpy`.
  @inline(__always)
  private static func copyShort(
    _ bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer
  ) {
    guard let source = bytes.baseAddress else { return }
    let count = bytes.count
    // Two loads that may overlap.
    func copy<Word: FixedWidthInteger & BitwiseCopyable>(_ type: Word.Type) {
      let rest = count - MemoryLayout<Word>.size
      let first = source.loadUnaligned(as: Word.self)
      let last = source.loadUnaligned(fromByteOffset: rest, as: Word.self)
      target.storeBytes(of: first, as: Word.self)
      target.storeBytes(of: last, toByteOffset: rest, as: Word.self)
    }
    if count > 16 {
      target.copyMemory(from: source, byteCount: count)
    } else if count >= 8 {
      copy(UInt64.self)
    } else if count >= 4 {
      copy(UInt32.self)
    } else if count >= 2 {
      copy(UInt16.self)
    } else if count == 1 {
      copy(UInt8.self)
    }
  }

  /// Copies within the writer's own memory, where `slack` more bytes may be read and written.
  @inline(__always)
  private static func copy(
    _ source: UnsafeMutableRawPointer, to target: UnsafeMutableRawPointer, count: Int
  ) {
    if count <= slack {
      let low = source.loadUnaligned(as: UInt64.self)
      let high = source.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
      target.storeBytes(of: low, as: UInt64.self)
      target.storeBytes(of: high, toByteOffset: 8, as: UInt64.self)
    } else {
      target.copyMemory(from: source, byteCount: count)
    }
  }

  // MARK: - Copies

  @inline(__always)
  var byteCount: Int { state.pointee.byteCount }

  /// Valid until more is written. `offset` must be at most `byteCount`.
  func written(from offset: Int) -> UnsafeMutableRawPointer { state.pointee.bytes + offset }

  /// Appends that many bytes, which `body` stores. Throws `invalidArgument` if there would be too
  /// many.
  func withRoom(_ count: Int, _ body: (UnsafeMutableRawPointer) -> Void) throws(Status) {
    guard reserve(count) else { throw .tooLarge }
    body(state.pointee.bytes + state.pointee.byteCount)
    state.pointee.byteCount += count
  }

  /// Moves all bytes from `offset` on down to another offset.
  func moveEnd(from offset: Int, to target: Int) {
    let count = state.pointee.byteCount - offset
    (state.pointee.bytes + target)
      .copyMemory(from: state.pointee.bytes + offset, byteCount: count)
    state.pointee.byteCount = target + count
  }

  // MARK: - Capacity

  /// False once the document exceeds what the format can hold: the value is then left out, and
  /// `finish` throws.
  @inline(__always)
  private func reserve(_ count: Int) -> Bool {
    state.pointee.byteCount + count <= state.pointee.byteCapacity || growBytes(by: count)
  }

  @inline(never)
  private func growBytes(by count: Int) -> Bool {
    // A map is composed behind its parts, which may need twice the bytes of the result.
    let needed = state.pointee.byteCount + count
    guard needed <= DocumentFormat.maximumBodyBytes else {
      state.pointee.isTooLarge = true
      return false
    }
    let capacity = max(needed, 2 * state.pointee.byteCapacity)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    grown.copyMemory(from: state.pointee.bytes, byteCount: state.pointee.byteCount)
    state.pointee.bytes.deallocate()
    state.pointee.bytes = grown
    state.pointee.byteCapacity = capacity
    return true
  }

  @inline(never)
  private func growNames(by count: Int) -> Bool {
    let needed = state.pointee.nameCount + count
    guard needed <= DocumentFormat.maximumBodyBytes else {
      state.pointee.isTooLarge = true
      return false
    }
    let capacity = max(needed, 2 * state.pointee.nameCapacity)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    grown.copyMemory(from: state.pointee.names, byteCount: state.pointee.nameCount)
    state.pointee.names.deallocate()
    state.pointee.names = grown
    state.pointee.nameCapacity = capacity
    return true
  }

  @inline(never)
  private func growFields() {
    let capacity = 2 * state.pointee.fieldCapacity
    let grown = UnsafeMutablePointer<Field>.allocate(capacity: capacity)
    grown.moveInitialize(from: state.pointee.fields, count: state.pointee.fieldCount)
    state.pointee.fields.deallocate()
    state.pointee.fields = grown
    state.pointee.fieldCapacity = capacity
  }

  @inline(never)
  private func growFrames() {
    let capacity = 2 * state.pointee.frameCapacity
    let grown = UnsafeMutablePointer<Frame>.allocate(capacity: capacity)
    grown.moveInitialize(from: state.pointee.frames, count: state.pointee.frameCount)
    state.pointee.frames.deallocate()
    state.pointee.frames = grown
    state.pointee.frameCapacity = capacity
  }
}

extension Status {
  fileprivate static var tooLarge: Status { .invalidArgument("A document is too large.") }
}

// MARK: - Idle writers

extension DocumentWriter {
  /// Addresses of idle writers' states. Only the pool owns them.
  private static let idle = Guarded<[UInt]>([])
  private static let idleLimit = 16
  private static let idleByteLimit = 4 << 20

  /// A writer from the pool, or a new one.
  static func borrow() -> DocumentWriter {
    let address = idle.withLock { $0.popLast() }
    guard let address, let state = UnsafeMutablePointer<State>(bitPattern: address) else {
      return DocumentWriter()
    }
    return DocumentWriter(state: state)
  }

  /// Resets the writer and returns it to the pool. Use no copy of it afterwards.
  func giveBack() {
    reset()
    let isKept =
      state.pointee.byteCapacity <= DocumentWriter.idleByteLimit
      && DocumentWriter.idle.withLock { idle in
        guard idle.count < DocumentWriter.idleLimit else { return false }
        idle.append(UInt(bitPattern: state))
        return true
      }
    if !isKept { destroy() }
  }

  /// Resets a writer that is kept for other documents, and frees memory that most do not need.
  @inline(__always)
  func resetAndTrim() {
    reset()
    if state.pointee.byteCapacity > DocumentWriter.idleByteLimit { trim() }
  }

  @inline(never)
  private func trim() {
    state.pointee.bytes.deallocate()
    state.pointee.bytes = .allocate(byteCount: 4096, alignment: 16)
    state.pointee.byteCapacity = 4096
  }

  private init(state: UnsafeMutablePointer<State>) { self.state = state }
}
