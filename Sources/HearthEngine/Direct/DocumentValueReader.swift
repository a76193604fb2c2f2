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
  private var view: ValueView { ValueView(trusting: bytes) }

  /// The value that `read` finds.
  @inline(__always)
  private func found<Found>(
    _ read: (ValueView) throws(Status) -> Found?
  ) throws(UseCodable) -> Found {
    // `Codable` finds the same damage, and says which.
    guard let found = try? read(view) else { throw UseCodable() }
    return found
  }

  public var isNull: Bool { view.isNull }

  public func boolean() throws(UseCodable) -> Bool {
    guard let value = view.boolean() else { throw UseCodable() }
    return value
  }

  /// An integer. A double with an integral value is left to `Codable`.
  public func integer() throws(UseCodable) -> Int64 {
    try found { view throws(Status) in try view.integer() }
  }

  /// A double, or an integer as a double.
  public func double() throws(UseCodable) -> Double {
    let view = view
    if let value = (try? view.double()) ?? nil { return value }
    return Double(try integer())
  }

  public func string() throws(UseCodable) -> String {
    try found { view throws(Status) in try view.string() }
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

  /// A value of any kind.
  package func value() throws(UseCodable) -> Value {
    try found { view throws(Status) in try view.value() }
  }

  package var context: DocumentDecoder.Context { state.pointee.context }

  /// Any other type, through `Codable`.
  public func codable<T: Decodable>(_ type: T.Type = T.self) throws(UseCodable) -> T {
    try DocumentDecoder.embed(type, bytes, on: state, depth: depth)
  }

  /// A map with these fields, of which some may be missing and others there.
  public func map<Result>(
    _ fields: DocumentFields,
    _ body: (borrowing DocumentMapReader) throws(UseCodable) -> Result
  ) throws(UseCodable) -> Result {
    guard state.pointee.keysAreDefault, fields.table.pointee.isValid,
      depth <= DocumentFormat.maximumDepth
    else { throw UseCodable() }
    let map = try mapView()
    return try state.pointee.layouts.withOrder(of: fields.table, in: map) {
      order throws(UseCodable) in
      try body(DocumentMapReader(map, fields.table, order, state, depth: depth + 1))
    }
  }

  /// Calls `body` for each field of a map with any names.
  public func forEachField(
    _ body: (String, borrowing DocumentValueReader) throws(UseCodable) -> Void
  ) throws(UseCodable) {
    guard depth <= DocumentFormat.maximumDepth else { throw UseCodable() }
    let map = try mapView()
    // A dictionary cannot hold two names that are equal to Swift: `Codable` says so.
    guard (try? map.hasEquivalentNames()) == false else { throw UseCodable() }
    for index in 0..<map.count {
      guard let name = try? map.nameString(at: index), let value = try? map.value(at: index) else {
        throw UseCodable()
      }
      try body(name, DocumentValueReader(value.bytes, state, depth: depth + 1))
    }
  }

  /// Calls `body` for each element of an array, in order, after it has called `begin` with their
  /// number. Damaged bytes may claim more elements than there are, at most one for each byte.
  public func forEachElement(
    begin: (Int) -> Void, _ body: (borrowing DocumentValueReader) throws(UseCodable) -> Void
  ) throws(UseCodable) {
    guard depth <= DocumentFormat.maximumDepth else { throw UseCodable() }
    var array = try found { view throws(Status) in try view.array() }
    begin(array.count)
    for _ in 0..<array.count {
      guard let element = try? array.next() else { throw UseCodable() }
      try body(DocumentValueReader(element.bytes, state, depth: depth + 1))
    }
  }

  @inline(__always)
  private func mapView() throws(UseCodable) -> MapView {
    // The names of the document's own map may be stored elsewhere.
    if let nameTable = state.pointee.nameTable, bytes.baseAddress == state.pointee.bytes.baseAddress
    {
      guard let map = try? MapView(body: StoredBody(bytes, nameTable)) else { throw UseCodable() }
      return map
    }
    return try found { view throws(Status) in try view.map() }
  }
}

/// Reads the fields of a map. Valid during the call that it is passed to.
public struct DocumentMapReader: ~Copyable {
  private let map: MapView
  private let table: UnsafePointer<DocumentFields.Table>
  /// For each field, its index in the map; `FieldLayouts.missing` if the map lacks it.
  private let order: UnsafePointer<UInt16>
  private let state: DecodingSession.StatePointer
  private let depth: Int

  @inline(__always)
  fileprivate init(
    _ map: MapView, _ table: UnsafePointer<DocumentFields.Table>, _ order: UnsafePointer<UInt16>,
    _ state: DecodingSession.StatePointer, depth: Int
  ) {
    self.map = map
    self.table = table
    self.order = order
    self.state = state
    self.depth = depth
  }

  /// Whether the field with that index in `documentFields` is there and not null.
  public func hasValue(at index: Int) throws(UseCodable) -> Bool {
    guard index >= 0, index < table.pointee.count else { throw UseCodable() }
    let position = order[index]
    guard position != FieldLayouts.missing else { return false }
    guard let value = try? map.value(at: Int(position)) else { throw UseCodable() }
    return !value.isNull
  }

  /// The reader of the field with that index in `documentFields`.
  public func field(at index: Int) throws(UseCodable) -> DocumentValueReader {
    guard index >= 0, index < table.pointee.count, order[index] != FieldLayouts.missing,
      let value = try? map.value(at: Int(order[index]))
    else { throw UseCodable() }
    return DocumentValueReader(value.bytes, state, depth: depth)
  }

  package var context: DocumentDecoder.Context { state.pointee.context }

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
    guard try hasValue(at: index) else { return nil }
    return try T(reading: field(at: index))
  }

  /// Any other type, through `Codable`.
  @_disfavoredOverload
  public func read<T: Decodable>(
    _ type: T.Type = T.self, at index: Int
  ) throws(UseCodable) -> T {
    try field(at: index).codable(type)
  }

  @_disfavoredOverload
  public func read<T: Decodable>(
    _ type: T?.Type = T?.self, at index: Int
  ) throws(UseCodable) -> T? {
    guard try hasValue(at: index) else { return nil }
    return try field(at: index).codable(T.self)
  }
}

/// Remembers for each type where its fields are in maps with the names of the last map.
///
/// The names of most maps are those of the last one: they are compared at once, and not searched.
struct FieldLayouts {
  /// In an order: the map lacks the field.
  static let missing = UInt16.max
  private static let slotCount = 128

  fileprivate struct Slot {
    /// Nil for an unused slot.
    var table: UnsafePointer<DocumentFields.Table>?
    /// The names of the last map, with their ends before them.
    var names: UnsafeMutableRawPointer?
    var endBytes = 0
    var nameBytes = 0
    var capacity = 0
    var order: UnsafeMutablePointer<UInt16>?
    /// How many maps are being read in this order. It does not change meanwhile.
    var readers = 0
  }

  private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: slotCount)

  init() { slots.initialize(repeating: Slot(), count: FieldLayouts.slotCount) }

  /// Calls `body` with the position of each field in the map.
  @inline(__always)
  func withOrder<Result>(
    of table: UnsafePointer<DocumentFields.Table>, in map: MapView,
    _ body: (UnsafePointer<UInt16>) throws(UseCodable) -> Result
  ) throws(UseCodable) -> Result {
    let slot = slots + (table.pointee.number & (FieldLayouts.slotCount - 1))
    if !slot.pointee.matches(table, map) {
      guard slot.pointee.readers == 0 else { return try withOwnOrder(of: table, in: map, body) }
      try slot.pointee.learn(table, map)
    }
    guard let order = slot.pointee.order else { throw UseCodable() }
    slot.pointee.readers += 1
    defer { slot.pointee.readers -= 1 }
    return try body(order)
  }

  /// An enclosing map is read in the slot's order: it is of the same type and has other names, or
  /// its type has the same slot.
  @inline(never)
  private func withOwnOrder<Result>(
    of table: UnsafePointer<DocumentFields.Table>, in map: MapView,
    _ body: (UnsafePointer<UInt16>) throws(UseCodable) -> Result
  ) throws(UseCodable) -> Result {
    var slot = Slot()
    defer { slot.deallocate() }
    try slot.learn(table, map)
    guard let order = slot.order else { throw UseCodable() }
    return try body(order)
  }
}

extension FieldLayouts.Slot {
  @inline(__always)
  fileprivate func matches(
    _ table: UnsafePointer<DocumentFields.Table>, _ map: MapView
  ) -> Bool {
    let (ends, names) = (map.nameEndBytes, map.nameBytes)
    guard self.table == table, endBytes == ends.count, nameBytes == names.count,
      let known = self.names
    else { return false }
    return UTF8Order.areEqual(ends, UnsafeRawBufferPointer(start: known, count: ends.count))
      && UTF8Order.areEqual(
        names, UnsafeRawBufferPointer(start: known + ends.count, count: names.count))
  }

  /// Both names and fields are sorted: one walk over both finds all.
  @inline(never)
  fileprivate mutating func learn(
    _ table: UnsafePointer<DocumentFields.Table>, _ map: MapView
  ) throws(UseCodable) {
    let (ends, names) = (map.nameEndBytes, map.nameBytes)
    let count = table.pointee.count
    guard map.count < Int(FieldLayouts.missing) else { throw UseCodable() }
    // Until all of it is right.
    self.table = nil
    order?.deallocate()
    let order = UnsafeMutablePointer<UInt16>.allocate(capacity: max(1, count))
    self.order = order
    if capacity < ends.count + names.count {
      self.names?.deallocate()
      capacity = 2 * (ends.count + names.count)
      self.names = .allocate(byteCount: capacity, alignment: 8)
    }
    var positions = [UInt16](repeating: FieldLayouts.missing, count: count)
    var position = 0
    var rank = 0
    while position < map.count, rank < count {
      guard let name = try? map.name(at: position) else { throw UseCodable() }
      let difference = UTF8Order.compare(name, table.pointee.nameBytes(atRank: rank))
      if difference == 0 { positions[rank] = UInt16(truncatingIfNeeded: position) }
      if difference <= 0 { position += 1 }
      if difference >= 0 { rank += 1 }
    }
    for index in 0..<count { order[index] = positions[Int(table.pointee.ranks[index])] }
    endBytes = ends.count
    nameBytes = names.count
    if let known = self.names {
      if let source = ends.baseAddress { known.copyMemory(from: source, byteCount: ends.count) }
      if let source = names.baseAddress {
        (known + ends.count).copyMemory(from: source, byteCount: names.count)
      }
    }
    self.table = table
  }

  fileprivate func deallocate() {
    names?.deallocate()
    order?.deallocate()
  }
}
