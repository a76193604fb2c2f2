import Foundation

/// Writes one value of a document. Valid during the call that it is passed to.
///
/// Each function writes the value, and may be called once. After a second call, the whole document
/// is encoded through `Codable`.
public struct DocumentValueWriter: ~Copyable {
  let state: EncodingPosition.StatePointer

  @inline(__always)
  init(_ state: EncodingPosition.StatePointer) { self.state = state }

  @inline(__always)
  private var writer: DocumentWriter { state.pointee.writer }

  /// Begins the value. The next field or element allows another one.
  @inline(__always)
  private func begin() throws(UseCodable) {
    guard state.pointee.isValueDue else { throw state.refusal }
    state.pointee.isValueDue = false
  }

  /// Writes null. Throws `UseCodable` if no value is due here, as all these methods do.
  public func null() throws(UseCodable) {
    try begin()
    writer.null()
  }

  /// Writes a boolean.
  public func boolean(_ value: Bool) throws(UseCodable) {
    try begin()
    writer.boolean(value)
  }

  /// Writes an integer.
  public func integer(_ value: Int64) throws(UseCodable) {
    try begin()
    writer.integer(value)
  }

  /// Infinities and NaN are left to `Codable`.
  public func double(_ value: Double) throws(UseCodable) {
    guard value.isFinite else { throw state.refusal }
    try begin()
    writer.double(value)
  }

  /// Writes a string.
  public func string(_ value: String) throws(UseCodable) {
    try begin()
    writer.string(value)
  }

  /// As a timestamp, if the encoder has the default strategy.
  public func date(_ value: Date) throws(UseCodable) {
    guard state.pointee.datesAreTimestamps, let instant = Instant(value) else {
      throw state.refusal
    }
    try begin()
    writer.timestamp(instant)
  }

  /// As bytes, if the encoder has the default strategy.
  public func data(_ value: Data) throws(UseCodable) {
    guard state.pointee.dataIsBlob else { throw state.refusal }
    try begin()
    value.withUnsafeBytes { writer.bytes($0) }
  }

  /// A value of a Firestore type.
  package func value(_ value: Value, of database: DatabaseIdentity? = nil) throws(UseCodable) {
    try begin()
    writer.value(value)
    guard let database, !state.pointee.databases.contains(database) else { return }
    // Which one an error names depends on the order in which `Codable` writes.
    guard state.pointee.databases.isEmpty else { throw state.refusal }
    state.pointee.databases.append(database)
  }

  /// No value: the field is left out. An element cannot be.
  package func skip() throws(UseCodable) {
    guard writer.depth > 0, !writer.isInArray else { throw state.refusal }
    try begin()
  }

  /// The field's value is what the transform gives when the document is written. Arrays cannot
  /// hold one.
  package func transform(_ transform: FieldTransform) throws(UseCodable) {
    guard writer.depth > 0, let path = writer.openPath() else { throw state.refusal }
    try begin()
    state.pointee.transforms.append((FieldSegments(path), transform))
  }

  /// Any other type, through `Codable`.
  public func codable<T: Encodable>(_ value: T) throws(UseCodable) {
    try begin()
    try EncodingPosition.embed(value, on: state)
  }

  /// A map with these fields. `body` writes them.
  @inlinable
  public func map<Model>(
    _ fields: DocumentFields<Model>,
    _ body: (borrowing DocumentMapWriter) throws(UseCodable) -> Void
  ) throws(UseCodable) {
    let map = try beginMap(fields.table)
    do throws(UseCodable) { try body(map) } catch { throw map.refusal }
    try map.end()
  }

  @usableFromInline
  func beginMap(
    _ table: UnsafePointer<DocumentFieldTable>
  ) throws(UseCodable) -> DocumentMapWriter {
    let writer = writer
    guard table.pointee.isValid, state.pointee.keysAreDefault,
      writer.depth <= DocumentFormat.maximumDepth
    else { throw state.refusal }
    try begin()
    writer.beginMap(table)
    return DocumentMapWriter(state, table)
  }

  /// A map with any names. `body` writes the fields.
  public func map(
    _ body: (borrowing DocumentDictionaryWriter) throws(UseCodable) -> Void
  ) throws(UseCodable) {
    let writer = writer
    guard state.pointee.keysAreDefault, writer.depth <= DocumentFormat.maximumDepth else {
      throw state.refusal
    }
    try begin()
    writer.beginMap()
    try state.refusing { () throws(UseCodable) in try body(DocumentDictionaryWriter(state)) }
    guard !state.pointee.isValueDue else { throw state.refusal }
    writer.endMap()
    state.pointee.isValueDue = false
  }

  /// An array. `body` writes the elements. Arrays inside arrays are left to `Codable`.
  @inlinable
  public func array(
    _ body: (borrowing DocumentArrayWriter) throws(UseCodable) -> Void
  ) throws(UseCodable) {
    let array = try beginArray()
    do throws(UseCodable) { try body(array) } catch { throw array.refusal }
    try array.end()
  }

  @usableFromInline
  func beginArray() throws(UseCodable) -> DocumentArrayWriter {
    let writer = writer
    guard writer.depth <= DocumentFormat.maximumDepth, !writer.isInArray else {
      throw state.refusal
    }
    try begin()
    writer.beginArray()
    return DocumentArrayWriter(state)
  }
}

/// Writes the fields of a map. Valid during the call that it is passed to.
///
/// A field without a value is left out. Of two with the same index, the last one is stored.
public struct DocumentMapWriter: ~Copyable {
  private let state: EncodingPosition.StatePointer
  private let table: UnsafePointer<DocumentFieldTable>
  /// Of the map. Inside of a value the writer writes nothing.
  private let depth: Int

  @inline(__always)
  fileprivate init(
    _ state: EncodingPosition.StatePointer, _ table: UnsafePointer<DocumentFieldTable>
  ) {
    self.state = state
    self.table = table
    depth = state.pointee.writer.depth
  }

  /// To be thrown after an error inside of the map.
  @usableFromInline
  var refusal: UseCodable { state.refusal }

  /// Throws if anything inside of the map threw, also if that was caught.
  @usableFromInline
  func end() throws(UseCodable) {
    // The last field may have no value, because its error was caught.
    if state.pointee.isRefused || state.pointee.isValueDue { throw state.refusal }
    state.pointee.writer.endMap(table)
    state.pointee.isValueDue = false
  }

  /// Begins the field with that index in `documentFields`, and returns the writer of its value.
  @usableFromInline
  func field(at index: Int) throws(UseCodable) -> DocumentValueWriter {
    _ = try begin(index)
    state.pointee.isValueDue = true
    return DocumentValueWriter(state)
  }

  /// Begins the field. Its value must follow.
  @inline(__always)
  private func begin(_ index: Int) throws(UseCodable) -> DocumentWriter {
    let writer = state.pointee.writer
    guard UInt(bitPattern: index) < UInt(bitPattern: table.pointee.count), writer.depth == depth,
      !state.pointee.isValueDue
    else { throw state.refusal }
    writer.field(rank: table.pointee.ranks[index])
    return writer
  }

  // The most frequent types, in one call each.

  /// Writes a string field. `index` is the field's position in the table of names; throws `UseCodable`
  /// if it is none, as all these methods do.
  public func write(_ value: String, at index: Int) throws(UseCodable) {
    try begin(index).string(value)
  }

  /// Leaves the field out if the value is nil.
  public func write(_ value: String?, at index: Int) throws(UseCodable) {
    if let value { try begin(index).string(value) }
  }

  /// Writes an integer field.
  public func write(_ value: Int, at index: Int) throws(UseCodable) {
    try begin(index).integer(Int64(value))
  }

  /// Leaves the field out if the value is nil.
  public func write(_ value: Int?, at index: Int) throws(UseCodable) {
    if let value { try begin(index).integer(Int64(value)) }
  }

  /// Infinities and NaN are left to `Codable`.
  public func write(_ value: Double, at index: Int) throws(UseCodable) {
    guard value.isFinite else { throw state.refusal }
    try begin(index).double(value)
  }

  /// Leaves the field out if the value is nil.
  public func write(_ value: Double?, at index: Int) throws(UseCodable) {
    if let value { try write(value, at: index) }
  }

  /// Writes a boolean field.
  public func write(_ value: Bool, at index: Int) throws(UseCodable) {
    try begin(index).boolean(value)
  }

  /// Leaves the field out if the value is nil.
  public func write(_ value: Bool?, at index: Int) throws(UseCodable) {
    if let value { try begin(index).boolean(value) }
  }

  /// Writes a field of a type with direct coding.
  @inlinable
  public func write<T: DocumentValueCodable>(_ value: T, at index: Int) throws(UseCodable) {
    try value.write(to: field(at: index))
  }

  /// Leaves the field out if the value is nil.
  @inlinable
  public func write<T: DocumentValueCodable>(_ value: T?, at index: Int) throws(UseCodable) {
    if let value { try value.write(to: field(at: index)) }
  }

  /// Any other type, through `Codable`.
  @_disfavoredOverload
  public func write<T: Encodable>(_ value: T, at index: Int) throws(UseCodable) {
    try field(at: index).codable(value)
  }

  /// Any other type, through `Codable`. Leaves the field out if the value is nil.
  @_disfavoredOverload
  public func write<T: Encodable>(_ value: T?, at index: Int) throws(UseCodable) {
    if let value { try field(at: index).codable(value) }
  }

  /// A property wrapper: `try fields.write(wrapper: _created, at: 2)`.
  @inlinable
  public func write<T: DocumentFieldCodable>(
    wrapper value: T, at index: Int
  ) throws(UseCodable) {
    try value.write(to: field(at: index))
  }

  /// Around a type that is written through `Codable`.
  @_disfavoredOverload
  public func write<T: Encodable>(
    wrapper value: ExplicitNull<T>, at index: Int
  ) throws(UseCodable) {
    let field = try field(at: index)
    if let value = value.wrappedValue { try field.codable(value) } else { try field.null() }
  }

  /// Any other wrapper: only `Codable` knows how it is written.
  @_disfavoredOverload
  public func write<T: Encodable>(wrapper value: T, at index: Int) throws(UseCodable) {
    throw refusal
  }

  /// A map within the map, with these fields. `body` writes them.
  @inlinable
  public func map<Model>(
    _ fields: DocumentFields<Model>, at index: Int,
    _ body: (borrowing DocumentMapWriter) throws(UseCodable) -> Void
  ) throws(UseCodable) {
    try field(at: index).map(fields, body)
  }
}

/// Writes a map whose names are not known beforehand. Valid during the call that it is passed to.
public struct DocumentDictionaryWriter: ~Copyable {
  private let state: EncodingPosition.StatePointer
  /// Of the map. Inside of a value the writer writes nothing.
  private let depth: Int

  @inline(__always)
  fileprivate init(_ state: EncodingPosition.StatePointer) {
    self.state = state
    depth = state.pointee.writer.depth
  }

  /// Begins a field, and returns the writer of its value. Names that Firestore may refuse are left
  /// to `Codable`.
  @usableFromInline
  func field(_ name: String) throws(UseCodable) -> DocumentValueWriter {
    guard state.pointee.writer.depth == depth, !state.pointee.isValueDue else {
      throw state.refusal
    }
    let isUsual = name.withUTF8Bytes { utf8 in
      guard !utf8.isEmpty, utf8[0] != UInt8(ascii: "_") else { return false }
      state.pointee.writer.field(utf8)
      return true
    }
    guard isUsual else { throw state.refusal }
    state.pointee.isValueDue = true
    return DocumentValueWriter(state)
  }

  /// Writes a field of a type with direct coding.
  @inlinable
  public func write<T: DocumentValueCodable>(
    _ value: T, named name: String
  ) throws(UseCodable) {
    try value.write(to: field(name))
  }

  /// Any other type, through `Codable`.
  @_disfavoredOverload
  public func write<T: Encodable>(_ value: T, named name: String) throws(UseCodable) {
    try field(name).codable(value)
  }
}

/// Writes the elements of an array. Valid during the call that it is passed to.
public struct DocumentArrayWriter: ~Copyable {
  private let state: EncodingPosition.StatePointer
  /// Of the array. Inside of an element the writer writes nothing.
  private let depth: Int

  @inline(__always)
  fileprivate init(_ state: EncodingPosition.StatePointer) {
    self.state = state
    depth = state.pointee.writer.depth
  }

  /// Begins the next element, and returns the writer of its value.
  @usableFromInline
  func element() throws(UseCodable) -> DocumentValueWriter {
    guard state.pointee.writer.depth == depth, !state.pointee.isValueDue else {
      throw state.refusal
    }
    state.pointee.writer.element()
    state.pointee.isValueDue = true
    return DocumentValueWriter(state)
  }

  /// To be thrown after an error inside of the array.
  @usableFromInline
  var refusal: UseCodable { state.refusal }

  /// Throws if anything inside of the array threw, also if that was caught.
  @usableFromInline
  func end() throws(UseCodable) {
    if state.pointee.isRefused || state.pointee.isValueDue { throw state.refusal }
    state.pointee.writer.endArray()
  }

  /// Throws if the element has no value.
  @inlinable
  public func write<T: DocumentValueCodable>(_ value: T) throws(UseCodable) {
    try value.write(to: element())
  }

  /// Strings, in one call.
  @usableFromInline
  func write(strings: [String]) throws(UseCodable) {
    let writer = state.pointee.writer
    guard writer.depth == depth, !state.pointee.isValueDue else { throw state.refusal }
    for string in strings {
      writer.element()
      writer.string(string)
    }
  }

  /// Any other type, through `Codable`.
  @_disfavoredOverload
  public func write<T: Encodable>(_ value: T) throws(UseCodable) {
    try element().codable(value)
  }
}

extension UnsafeMutablePointer where Pointee == EncodingPosition.State {
  /// To be thrown. The whole document is then encoded through `Codable`, also if a conformance
  /// catches the error: maps and arrays may be open.
  var refusal: UseCodable {
    @inline(never) get {
      pointee.isRefused = true
      return UseCodable()
    }
  }

  /// Throws if anything inside of `body` threw, also if that was caught.
  @inline(__always)
  func refusing(_ body: () throws(UseCodable) -> Void) throws(UseCodable) {
    do throws(UseCodable) { try body() } catch { throw refusal }
    if pointee.isRefused { throw UseCodable() }
  }
}
