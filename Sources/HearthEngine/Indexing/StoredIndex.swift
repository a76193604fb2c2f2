internal import HearthPatterns

/// The state of an index.
///
///     building ──▶ ready ──▶ dropping ──▶ gone
///        │                       ▲
///        └─▶ verifying ──▶ ready │       a unique index, or a rule that documents must exist
///                └─▶ invalid ────┘
enum IndexState: Hashable, Sendable {
  /// Written, not read. It contains the first `documents` documents, up to key `upTo` of the
  /// documents table, and the documents written since. Next: ready, verifying, dropping.
  case building(documents: UInt64, upTo: [UInt8])
  /// Written; read as far as `isReadable` says. It contains every document; whether they keep to the
  /// constraint is not known yet. Next: ready, invalid, dropping.
  case verifying
  /// Written; read as far as `isReadable` says. Some documents violate the constraint. Commits add no
  /// more of these. Next: verifying, if it is declared again; dropping.
  case invalid(IndexViolations)
  /// Written and read. Next: dropping.
  case ready
  /// Neither written nor read; its entries are being deleted. Next: gone.
  case dropping
}

/// The documents that violate the constraint of an index.
struct IndexViolations: Hashable, Sendable {
  /// How many values are in several documents, or how many references are to missing documents.
  var count: UInt64 = 0
  /// For the first of them, in order, two of the documents; or the document and the missing one.
  var examples: [Example] = []

  struct Example: Hashable, Sendable {
    var first: ResourcePath
    var second: ResourcePath
  }

  static let exampleLimit = 20
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
  package var definition: IndexDefinition
  package var state: IndexState
  package var origin: Origin
  /// The approximate time of the last read by a query; maintained for learned indexes only.
  var lastUse = Instant(microseconds: 0)

  var isReady: Bool { state == .ready }

  /// Whether queries may read it. A rule that begins to demand that documents exist goes on to serve
  /// the queries that it served before.
  var isReadable: Bool { isReady || isComplete && definition.requiresTargets }

  /// Whether it has the entries of every document.
  var isComplete: Bool {
    switch state {
    case .ready, .verifying, .invalid: true
    case .building, .dropping: false
    }
  }

  /// Replaces the rule by another one for the same references, which has the same entries.
  mutating func replaceRule(by definition: IndexDefinition) {
    self.definition = definition
    if isComplete { state = definition.isVerified ? .verifying : .ready }
  }

  /// Whether work in the background remains.
  var isUnfinished: Bool {
    switch state {
    case .building, .verifying, .dropping: true
    case .invalid, .ready: false
    }
  }

  /// Whether commits write its entries.
  var isMaintained: Bool { state != .dropping }

  var isGroup: Bool { definition.scope == .group }
}

// MARK: - Record

/// Value of the `indexes` table; the key is the index's number.
///
///     frame ‖ state ‖ origin ‖ last use (8 B) ‖ definition ‖ [progress]
///     definition: scope, constraint (4 bit each) ‖ collection id ‖ count, component …
///                 ‖ name's direction ‖ [action + 16 if documents must exist, target]
///     component:  kind ‖ count, name … ‖ [language ‖ count, (weight ‖ count, name …) …]
///     progress:   documents done, key; or count of violations, count, two paths …
///
/// Counts and lengths are varints; ids, names and paths follow their length.
extension StoredIndex {
  /// On disk. Changing a raw value changes the file format; see StorageLayout.md.
  private enum StateByte: UInt8 {
    case building = 0
    case ready = 1
    case dropping = 2
    case verifying = 3
    case invalid = 4
  }

  func encoded() -> [UInt8] {
    RecordFrame.record(under: KeyLayout.indexKey(number)) { record in
      let state: StateByte =
        switch state {
        case .building: .building
        case .verifying: .verifying
        case .invalid: .invalid
        case .ready: .ready
        case .dropping: .dropping
        }
      record.append(state.rawValue)
      record.append(origin.rawValue)
      record.append(littleEndian: UInt64(bitPattern: lastUse.microseconds))
      definition.encode(into: &record)
      switch self.state {
      case .building(let documents, let key):
        record.append(varint: documents)
        record.append(lengthPrefixed: key)
      case .invalid(let violations):
        record.append(varint: violations.count)
        record.append(varint: UInt64(violations.examples.count))
        for example in violations.examples {
          record.append(lengthPrefixed: example.first.text.utf8)
          record.append(lengthPrefixed: example.second.text.utf8)
        }
      case .verifying, .ready, .dropping: break
      }
    }
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
    case .verifying: self.state = .verifying
    case .invalid:
      var violations = IndexViolations(count: try reader.varint())
      for _ in 0..<(try reader.length()) {
        violations.examples.append(
          .init(
            first: try ResourcePath(storedDocument: reader.text()),
            second: try ResourcePath(storedDocument: reader.text())))
      }
      self.state = .invalid(violations)
    case .ready: self.state = .ready
    case .dropping: self.state = .dropping
    }
    guard reader.isAtEnd else { throw .dataLoss("A stored index has more bytes than it should.") }
  }
}

extension IndexDefinition {
  /// On disk, in the upper half of the scope's byte. Changing a raw value changes the file format;
  /// see StorageLayout.md.
  private enum ConstraintBits: UInt8 {
    case none = 0
    case unique = 1
    case reference = 2
  }

  /// On disk, beside the action. Changing it changes the file format; see StorageLayout.md.
  private static let mustExistBit: UInt8 = 16

  fileprivate func encode(into record: inout [UInt8]) {
    let bits: ConstraintBits =
      switch constraint {
      case .none: .none
      case .unique: .unique
      case .reference: .reference
      }
    record.append(scope.rawValue | bits.rawValue << 4)
    record.append(lengthPrefixed: collectionID.utf8)
    record.append(varint: UInt64(components.count))
    for component in components {
      record.append(component.kind.rawValue)
      record.append(namesOf: component.field)
      guard let words = component.words else { continue }
      record.append(words.language.rawValue)
      record.append(varint: UInt64(words.fields.count))
      for field in words.fields {
        record.append(varint: UInt64(field.weight))
        record.append(namesOf: field.field)
      }
    }
    record.append(isNameDescending ? 1 : 0)
    guard let referenceRule else { return }
    record.append(
      referenceRule.action.rawValue | (referenceRule.mustExist ? Self.mustExistBit : 0))
    record.append(lengthPrefixed: referenceRule.target.utf8)
  }

  fileprivate init(decoding reader: inout ByteCursor) throws(Status) {
    let first = try reader.byte()
    guard let scope = Scope(rawValue: first & 0x0F), let bits = ConstraintBits(rawValue: first >> 4)
    else { throw .unknownIndex }
    let collectionID = try reader.text()
    var components: [Component] = []
    for _ in 0..<(try reader.length()) {
      guard let kind = Component.Kind(rawValue: try reader.byte()) else { throw .unknownIndex }
      let field = try FieldSegments(decoding: &reader)
      guard !field.names.isEmpty else { throw .unknownIndex }
      var component = Component(field: field, kind: kind)
      if kind == .words { component = Component(words: try WordFields(decoding: &reader)) }
      components.append(component)
    }
    let direction = try reader.byte()
    guard direction <= 1, !components.isEmpty else { throw .unknownIndex }
    self.init(collectionID, scope: scope, components, isNameDescending: direction == 1)
    switch bits {
    case .none: break
    case .unique: constraint = .unique
    case .reference:
      let byte = try reader.byte()
      guard let action = ReferenceRule.Action(rawValue: byte & ~Self.mustExistBit) else {
        throw .unknownIndex
      }
      constraint = .reference(
        ReferenceRule(
          action, target: try reader.text(), mustExist: byte & Self.mustExistBit != 0))
    }
  }
}

extension WordFields {
  fileprivate init(decoding reader: inout ByteCursor) throws(Status) {
    guard let language = WordLanguage(rawValue: try reader.byte()) else { throw .unknownIndex }
    var fields: [Field] = []
    for _ in 0..<(try reader.length()) {
      let weight = Int(clamping: try reader.varint())
      fields.append(Field(field: try FieldSegments(decoding: &reader), weight: weight))
    }
    guard !fields.isEmpty else { throw .unknownIndex }
    self.init(fields, language)
  }
}

extension Status {
  fileprivate static let unknownIndex = Status.dataLoss("A stored index is on nothing known.")
}
