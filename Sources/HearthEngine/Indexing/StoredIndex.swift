/// The state of an index.
///
///     building ──▶ ready ──▶ dropping ──▶ gone
///        └───────────────────▶ ┘
enum IndexState: Hashable, Sendable {
  /// Written, not read. It contains the first `documents` documents, up to key `upTo` of the
  /// documents table, and the documents written since. Next: ready, dropping.
  case building(documents: UInt64, upTo: [UInt8])
  /// Written and read. Next: dropping.
  case ready
  /// Neither written nor read; its entries are being deleted. Next: gone.
  case dropping
}

/// An index as stored in the file.
struct StoredIndex: Hashable, Sendable {
  /// On disk. Changing a raw value changes the file format; see StorageLayout.md.
  enum Origin: UInt8, Sendable {
    /// Declared by the user: it stays until the user drops it.
    case declared = 0
    /// Created by the advisor, and dropped when unused.
    case learned = 1
  }

  /// The prefix of its entries' keys. Reused after the index is gone.
  let number: UInt32
  /// In its stored form: names ascend.
  package let definition: IndexDefinition
  package var state: IndexState
  package var origin: Origin
  /// The approximate time of the last read by a query; maintained for learned indexes only.
  var lastUse = Instant(microseconds: 0)

  var isReady: Bool { state == .ready }

  /// Whether commits write its entries.
  var isMaintained: Bool { state != .dropping }

  var isGroup: Bool { definition.scope == .group }
}

// MARK: - Record

/// Value of the `indexes` table; the key is the index's number.
///
///     frame ‖ state ‖ origin ‖ last use (8 B) ‖ definition ‖ [documents done, key]
///     definition: scope ‖ collection id ‖ count, component … ‖ name's direction
///     component:  kind ‖ count, name …
///
/// Counts and lengths are varints; ids and names follow their length.
extension StoredIndex {
  /// On disk. Changing a raw value changes the file format; see StorageLayout.md.
  private enum StateByte: UInt8 {
    case building = 0
    case ready = 1
    case dropping = 2
  }

  func encoded() -> [UInt8] {
    var record = RecordFrame.room()
    let state: StateByte =
      switch state {
      case .building: .building
      case .ready: .ready
      case .dropping: .dropping
      }
    record.append(state.rawValue)
    record.append(origin.rawValue)
    record.append(littleEndian: UInt64(bitPattern: lastUse.microseconds))
    definition.encode(into: &record)
    if case .building(let documents, let key) = self.state {
      record.append(varint: documents)
      record.append(lengthPrefixed: key)
    }
    RecordFrame.seal(&record, key: KeyLayout.indexKey(number))
    return record
  }

  init(key: UnsafeRawBufferPointer, record: UnsafeRawBufferPointer) throws(Status) {
    number = try KeyLayout.index(fromKey: key)
    var reader = ByteCursor(try RecordFrame.payload(of: record, key: key))
    guard let state = StateByte(rawValue: try reader.byte()),
      let origin = Origin(rawValue: try reader.byte())
    else { throw .dataLoss("A stored index has an unknown state.") }
    self.origin = origin
    lastUse = Instant(microseconds: Int64(bitPattern: try reader.fixed64()))
    definition = try IndexDefinition(decoding: &reader)
    switch state {
    case .building:
      self.state = .building(
        documents: try reader.varint(), upTo: Array(try reader.bytes(reader.length())))
    case .ready: self.state = .ready
    case .dropping: self.state = .dropping
    }
    guard reader.isAtEnd else { throw .dataLoss("A stored index has more bytes than it should.") }
  }
}

extension IndexDefinition {
  fileprivate func encode(into record: inout [UInt8]) {
    record.append(scope.rawValue)
    record.append(lengthPrefixed: collectionID.utf8)
    record.append(varint: UInt64(components.count))
    for component in components {
      record.append(component.kind.rawValue)
      record.append(varint: UInt64(component.field.names.count))
      for name in component.field.names { record.append(lengthPrefixed: name.utf8) }
    }
    record.append(isNameDescending ? 1 : 0)
  }

  fileprivate init(decoding reader: inout ByteCursor) throws(Status) {
    guard let scope = Scope(rawValue: try reader.byte()) else { throw .unknownIndex }
    let collectionID = try reader.text()
    var components: [Component] = []
    for _ in 0..<(try reader.length()) {
      guard let kind = Component.Kind(rawValue: try reader.byte()) else { throw .unknownIndex }
      var names: [String] = []
      for _ in 0..<(try reader.length()) { names.append(try reader.text()) }
      guard !names.isEmpty else { throw .unknownIndex }
      components.append(Component(field: FieldSegments(names), kind: kind))
    }
    let direction = try reader.byte()
    guard direction <= 1, !components.isEmpty else { throw .unknownIndex }
    self.init(collectionID, scope: scope, components, isNameDescending: direction == 1)
  }
}

extension Status {
  fileprivate static let unknownIndex = Status.dataLoss("A stored index is on nothing known.")
}
