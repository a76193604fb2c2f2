import Foundation

/// Reads one value of a document in place. Valid during the call that it is passed to.
///
/// Throws `UseCodable` if the value is of another kind, or damaged.
public struct DocumentValueReader: ~Copyable {
  let state: DecodingSession.StatePointer
  let bytes: UnsafeRawBufferPointer
  /// How many maps and arrays enclose the value.
  let depth: Int

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, _ state: DecodingSession.StatePointer, depth: Int) {
    self.bytes = bytes
    self.state = state
    self.depth = depth
  }

  @inline(__always)
  private var view: ValueView { ValueView(trusting: bytes, in: state.pointee.nameTable) }

  /// The value that `read` finds.
  @inline(__always)
  private func found<Found>(
    _ read: (ValueView) throws(Status) -> Found?
  ) throws(UseCodable) -> Found {
    // `Codable` finds the same damage, and says which.
    guard let found = try? read(view) else { throw UseCodable() }
    return found
  }

  /// Whether the value is null.
  public var isNull: Bool { view.isNull }

  /// A boolean. Throws `UseCodable` for a value of another type, as all these methods do.
  public func boolean() throws(UseCodable) -> Bool { try DocumentValueReader.boolean(view) }

  /// An integer. A double with an integral value is left to `Codable`.
  public func integer() throws(UseCodable) -> Int64 { try DocumentValueReader.integer(view) }

  /// A double, or an integer as a double.
  public func double() throws(UseCodable) -> Double { try DocumentValueReader.double(view) }

  /// A string.
  public func string() throws(UseCodable) -> String { try DocumentValueReader.string(view) }

  @inline(__always)
  fileprivate static func boolean(_ view: ValueView) throws(UseCodable) -> Bool {
    guard let value = view.boolean() else { throw UseCodable() }
    return value
  }

  @inline(__always)
  fileprivate static func integer(_ view: ValueView) throws(UseCodable) -> Int64 {
    guard let value = try? view.integer() else { throw UseCodable() }
    return value
  }

  @inline(__always)
  fileprivate static func double(_ view: ValueView) throws(UseCodable) -> Double {
    if let value = (try? view.double()) ?? nil { return value }
    return Double(try integer(view))
  }

  @inline(__always)
  fileprivate static func string(_ view: ValueView) throws(UseCodable) -> String {
    guard let value = try? view.string() else { throw UseCodable() }
    return value
  }

  /// A timestamp as a date, if the decoder has the default strategy.
  public func date() throws(UseCodable) -> Date {
    guard state.pointee.datesAreTimestamps else { throw UseCodable() }
    return try found { view throws(Status) in try view.timestamp() }.date
  }

  /// Bytes, if the decoder has the default strategy.
  public func data() throws(UseCodable) -> Data {
    guard state.pointee.dataIsBlob else { throw UseCodable() }
    return try found { view throws(Status) in try view.blob().map { Data($0) } }
  }

  func timestamp() throws(UseCodable) -> Instant {
    try found { view throws(Status) in try view.timestamp() }
  }

  func geoPoint() throws(UseCodable) -> Coordinate {
    try found { view throws(Status) in try view.geoPoint() }
  }

  func vector() throws(UseCodable) -> [Double] {
    try found { view throws(Status) in try view.vector() }
  }

  package func reference() throws(UseCodable) -> ResourcePath {
    try found { view throws(Status) in try view.reference() }
  }

  /// The document that is decoded, and its database.
  package var context: DocumentDecoder.Context { state.pointee.context }

  /// The `configuration` of the decoder; nil if it has none.
  public var configuration: (any Sendable)? {
    state.pointee.options?._withUnsafeGuaranteedRef { $0.configuration }
  }

  /// The id of the document that a reference refers to, without an object for the reference.
  public func referencedDocumentID() throws(UseCodable) -> String {
    try found { view throws(Status) in try view.referencedDocumentID() }
  }

  /// Any other type, through `Codable`.
  public func codable<T: Decodable>(_ type: T.Type = T.self) throws(UseCodable) -> T {
    try DocumentDecoder.embed(type, bytes, on: state, depth: depth)
  }

  /// A map with these fields, of which some may be missing and others there.
  @inlinable
  public func map<Model, Result>(
    _ fields: DocumentFields<Model>,
    _ body: (borrowing DocumentMapReader) throws(UseCodable) -> Result
  ) throws(UseCodable) -> Result {
    let map = try map(fields.table)
    return try body(map)
  }

  /// Not generic: only the caller's part is specialized for the caller's types.
  @usableFromInline
  func map(_ table: UnsafePointer<DocumentFieldTable>) throws(UseCodable) -> DocumentMapReader {
    guard state.pointee.keysAreDefault, table.pointee.isValid, depth <= DocumentFormat.maximumDepth
    else { throw UseCodable() }
    state.pointee.trail.enter(table, atDepth: depth)
    let slot = state.pointee.layouts.slot(of: table)
    let found =
      if let nameTable = state.pointee.nameTable {
        slot.pointee.valuesWithoutNames(of: table, in: bytes, nameTable)
      } else {
        slot.pointee.values(of: table, in: bytes)
      }
    guard let values = found else { return try otherMap(table) }
    slot.pointee.readers += 1
    return DocumentMapReader(values, table, slot, state, depth: depth + 1)
  }

  /// A map with other names than the last one, or without them.
  private func otherMap(
    _ table: UnsafePointer<DocumentFieldTable>
  ) throws(UseCodable) -> DocumentMapReader {
    let map = try found { view throws(Status) in try view.map() }
    return DocumentMapReader(
      map.values, table, try state.pointee.layouts.begin(table, in: map), state, depth: depth + 1)
  }

  /// Calls `body` for each field of a map with any names.
  public func forEachField(
    _ body: (String, borrowing DocumentValueReader) throws(UseCodable) -> Void
  ) throws(UseCodable) {
    guard state.pointee.keysAreDefault, depth <= DocumentFormat.maximumDepth else {
      throw UseCodable()
    }
    let map = try found { view throws(Status) in try view.map() }
    // A dictionary cannot hold two names that are equal to Swift: `Codable` says so.
    guard (try? map.hasEquivalentNames()) == false else { throw UseCodable() }
    for index in 0..<map.count {
      guard let bytes = try? map.name(at: index), let name = try? map.nameString(at: index),
        let value = try? map.value(at: index)
      else { throw UseCodable() }
      state.pointee.trail.enter(fieldNamed: bytes, atDepth: depth)
      try body(name, DocumentValueReader(value.bytes, state, depth: depth + 1))
    }
  }

  /// The elements of an array.
  ///
  ///     var elements = try reader.array()
  ///     while let element = try elements.next() { numbers.append(try element.integer()) }
  public func array() throws(UseCodable) -> DocumentArrayReader {
    guard depth <= DocumentFormat.maximumDepth else { throw UseCodable() }
    return DocumentArrayReader(
      try found { view throws(Status) in try view.array() }, state, depth: depth)
  }

  /// An array of strings, in one call.
  @usableFromInline
  func strings() throws(UseCodable) -> [String] {
    guard depth <= DocumentFormat.maximumDepth else { throw UseCodable() }
    var array = try found { view throws(Status) in try view.array() }
    var strings: [String] = []
    strings.reserveCapacity(Swift.min(array.count, DocumentValueReader.reservedStrings))
    for _ in 0..<array.count {
      guard let element = try? array.next() else { throw UseCodable() }
      strings.append(try DocumentValueReader.string(element))
    }
    return strings
  }

  /// Damaged bytes may claim more elements than fit into memory.
  private static let reservedStrings = 1 << 16
}

/// Reads the elements of an array, in their order. Valid during the call that its reader is passed
/// to.
public struct DocumentArrayReader: ~Copyable {
  private var array: ArrayView
  private var index = 0
  private let state: DecodingSession.StatePointer
  private let depth: Int

  @inline(__always)
  fileprivate init(_ array: ArrayView, _ state: DecodingSession.StatePointer, depth: Int) {
    self.array = array
    self.state = state
    self.depth = depth
    state.pointee.trail.enterArray(atDepth: depth)
  }

  /// The number of elements. Damaged bytes may claim more than there are, at most one for each byte.
  public var count: Int { array.count }

  /// The reader of the next element; nil after the last one.
  public mutating func next() throws(UseCodable) -> DocumentValueReader? {
    guard index < array.count else { return nil }
    guard let element = try? array.next() else { throw UseCodable() }
    state.pointee.trail.enter(element: index, atDepth: depth)
    index += 1
    return DocumentValueReader(element.bytes, state, depth: depth + 1)
  }
}

/// Reads the fields of a map. Valid during the call that it is passed to.
public struct DocumentMapReader: ~Copyable {
  private let values: MapValues
  private let table: UnsafePointer<DocumentFieldTable>
  private let slot: UnsafeMutablePointer<FieldLayouts.Slot>
  /// For each field, its index in the map; `FieldLayouts.missing` if the map lacks it.
  private let order: UnsafePointer<UInt16>
  private let state: DecodingSession.StatePointer
  private let depth: Int

  @inline(__always)
  fileprivate init(
    _ values: MapValues, _ table: UnsafePointer<DocumentFieldTable>,
    _ slot: UnsafeMutablePointer<FieldLayouts.Slot>, _ state: DecodingSession.StatePointer,
    depth: Int
  ) {
    self.values = values
    self.table = table
    self.slot = slot
    order = slot.pointee.positions
    self.state = state
    self.depth = depth
  }

  deinit { FieldLayouts.end(slot) }

  /// The document that is decoded, and its database.
  package var context: DocumentDecoder.Context { state.pointee.context }

  /// The field's index in the map; `FieldLayouts.missing` if the map lacks it.
  @inline(__always)
  private func position(_ index: Int) throws(UseCodable) -> UInt16 {
    guard UInt(bitPattern: index) < UInt(bitPattern: table.pointee.count) else {
      throw UseCodable()
    }
    return order[index]
  }

  @inline(__always)
  private func value(atPosition position: UInt16) throws(UseCodable) -> ValueView {
    guard let bytes = values.bytes(at: Int(position)) else { throw UseCodable() }
    // The readers of maps and arrays know the name table.
    return ValueView(trusting: bytes, in: nil)
  }

  @inline(__always)
  private func value(at index: Int) throws(UseCodable) -> ValueView {
    let position = try position(index)
    guard position != FieldLayouts.missing else { throw UseCodable() }
    return try value(atPosition: position)
  }

  /// Whether the field with that index in `documentFields` is there, even if it is null.
  public func isStored(at index: Int) throws(UseCodable) -> Bool {
    try position(index) != FieldLayouts.missing
  }

  /// The reader of the field with that index in `documentFields`; nil if it is missing or null.
  @usableFromInline
  func fieldWithValue(at index: Int) throws(UseCodable) -> DocumentValueReader? {
    guard let value = try valueIfAny(at: index) else { return nil }
    state.pointee.trail.enter(field: index, atDepth: depth - 1)
    return DocumentValueReader(value.bytes, state, depth: depth)
  }

  /// The reader of the field with that index in `documentFields`.
  @usableFromInline
  func field(at index: Int) throws(UseCodable) -> DocumentValueReader {
    let value = try value(at: index)
    state.pointee.trail.enter(field: index, atDepth: depth - 1)
    return DocumentValueReader(value.bytes, state, depth: depth)
  }

  /// Nil if the field is missing or null.
  @inline(__always)
  private func valueIfAny(at index: Int) throws(UseCodable) -> ValueView? {
    let position = try position(index)
    guard position != FieldLayouts.missing else { return nil }
    let value = try value(atPosition: position)
    return value.isNull ? nil : value
  }

  // The most frequent types, in one call each.

  /// A string.
  public func read(
    _ type: String.Type = String.self, at index: Int
  ) throws(UseCodable) -> String {
    try DocumentValueReader.string(value(at: index))
  }

  /// Nil if the field is missing or null.
  public func read(
    _ type: String?.Type = String?.self, at index: Int
  ) throws(UseCodable) -> String? {
    guard let value = try valueIfAny(at: index) else { return nil }
    return try DocumentValueReader.string(value)
  }

  /// An integer. A double with an integral value is left to `Codable`.
  public func read(
    _ type: Int.Type = Int.self, at index: Int
  ) throws(UseCodable) -> Int {
    Int(truncatingIfNeeded: try DocumentValueReader.integer(value(at: index)))
  }

  /// Nil if the field is missing or null.
  public func read(
    _ type: Int?.Type = Int?.self, at index: Int
  ) throws(UseCodable) -> Int? {
    guard let value = try valueIfAny(at: index) else { return nil }
    return Int(truncatingIfNeeded: try DocumentValueReader.integer(value))
  }

  /// A double, or an integer as a double.
  public func read(
    _ type: Double.Type = Double.self, at index: Int
  ) throws(UseCodable) -> Double {
    try DocumentValueReader.double(value(at: index))
  }

  /// Nil if the field is missing or null.
  public func read(
    _ type: Double?.Type = Double?.self, at index: Int
  ) throws(UseCodable) -> Double? {
    guard let value = try valueIfAny(at: index) else { return nil }
    return try DocumentValueReader.double(value)
  }

  /// A Boolean value.
  public func read(
    _ type: Bool.Type = Bool.self, at index: Int
  ) throws(UseCodable) -> Bool {
    try DocumentValueReader.boolean(value(at: index))
  }

  /// Nil if the field is missing or null.
  public func read(
    _ type: Bool?.Type = Bool?.self, at index: Int
  ) throws(UseCodable) -> Bool? {
    guard let value = try valueIfAny(at: index) else { return nil }
    return try DocumentValueReader.boolean(value)
  }

  /// A field of a type with direct coding.
  @inlinable
  public func read<T: DocumentValueCodable>(
    _ type: T.Type = T.self, at index: Int
  ) throws(UseCodable) -> T {
    try T(reading: field(at: index))
  }

  /// Nil if the field is missing or null.
  @inlinable
  public func read<T: DocumentValueCodable>(
    _ type: T?.Type = T?.self, at index: Int
  ) throws(UseCodable) -> T? {
    guard let value = try fieldWithValue(at: index) else { return nil }
    return try T(reading: value)
  }

  /// Any other type, through `Codable`.
  @_disfavoredOverload
  public func read<T: Decodable>(
    _ type: T.Type = T.self, at index: Int
  ) throws(UseCodable) -> T {
    try field(at: index).codable(type)
  }

  /// Any other type, through `Codable`. Nil if the field is missing or null.
  @_disfavoredOverload
  public func read<T: Decodable>(
    _ type: T?.Type = T?.self, at index: Int
  ) throws(UseCodable) -> T? {
    guard let value = try fieldWithValue(at: index) else { return nil }
    return try value.codable(T.self)
  }

  /// A property wrapper, which says what the value of a missing field is:
  /// `_created = try fields.read(wrapperAt: 2)`.
  @inlinable
  public func read<T: DocumentFieldCodable>(
    _ type: T.Type = T.self, wrapperAt index: Int
  ) throws(UseCodable) -> T {
    guard try isStored(at: index) else { return try T(missingFrom: self) }
    return try T(reading: field(at: index))
  }

  /// Any other wrapper: only `Codable` knows how it is read, and reads the whole document. For an
  /// `ExplicitNull` around a type without a conformance, write
  /// `_note = ExplicitNull(wrappedValue: try fields.read(at: 2))`.
  @_disfavoredOverload
  public func read<T: Decodable>(
    _ type: T.Type = T.self, wrapperAt index: Int
  ) throws(UseCodable) -> T {
    throw UseCodable()
  }

  /// The index in `documentFields` of the only field that the map has. Throws `UseCodable` if it has
  /// several, none, or one that is not among them.
  public func onlyField() throws(UseCodable) -> Int {
    guard slot.pointee.count == 1,
      let index = (0..<table.pointee.count).first(where: { order[$0] != FieldLayouts.missing })
    else { throw UseCodable() }
    return index
  }

  /// A map within the map, with these fields.
  @inlinable
  public func map<Model, Result>(
    _ fields: DocumentFields<Model>, at index: Int,
    _ body: (borrowing DocumentMapReader) throws(UseCodable) -> Result
  ) throws(UseCodable) -> Result {
    try field(at: index).map(fields, body)
  }
}
