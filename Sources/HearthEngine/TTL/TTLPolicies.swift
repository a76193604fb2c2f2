internal import LMDB

/// The TTL policies: for each collection id, the field with the documents' expiration time.
///
/// Setting, changing or removing a policy starts one walk over its documents, in small
/// transactions, from the first key to the last. The expiration table has documents below `cursor`
/// by `field`, and the others by `previous`. Every write of such a document keeps this true.
///
/// On disk, in `meta` under "expiry"; see StorageLayout.md.
package struct TTLPolicies: Equatable, Sendable {
  package struct Rule: Equatable, Sendable {
    package var collectionID: String
    package var field: FieldSegments?
    var previous: FieldSegments?
    /// Nil when the walk is finished.
    var cursor: [UInt8]?

    /// The field by which the table has a document with this key.
    func field(forKey key: UnsafeRawBufferPointer) -> FieldSegments? {
      guard let cursor else { return field }
      let isBelow = cursor.withUnsafeBytes { UTF8Order.compare(key, $0) < 0 }
      return isBelow ? field : previous
    }
  }

  static let key = Array("expiry".utf8)

  /// Sorted by collection id.
  private(set) var rules: [Rule] = []

  subscript(collectionID: String) -> Rule? {
    get { rules.first { UTF8Order.areEqual($0.collectionID, collectionID) } }
    set {
      rules.removeAll { UTF8Order.areEqual($0.collectionID, collectionID) }
      if let newValue { rules.append(newValue) }
      rules.sort { UTF8Order.compare($0.collectionID, $1.collectionID) < 0 }
    }
  }

  /// Whether a walk is not finished.
  var hasWalk: Bool { rules.contains { $0.cursor != nil } }

  // MARK: Stored

  static func read(_ snapshot: Snapshot, _ tables: Tables) throws -> TTLPolicies {
    guard let stored = try snapshot.get(tables.meta, key) else { return TTLPolicies() }
    try RecordFrame.verify(stored, key: key)
    return try TTLPolicies(parsing: stored)
  }

  init() {}

  /// A record that `encoded` returned.
  init(verifying record: [UInt8]) throws {
    self = try record.withUnsafeBytes { record in
      try RecordFrame.verify(record, key: Self.key)
      return try TTLPolicies(parsing: record)
    }
  }

  /// Does not verify the checksum.
  private init(parsing stored: UnsafeRawBufferPointer) throws(Status) {
    var reader = ByteCursor(try RecordFrame.open(stored).payload)
    while !reader.isAtEnd {
      var rule = Rule(collectionID: try reader.text())
      rule.field = try Self.field(from: &reader)
      rule.previous = try Self.field(from: &reader)
      let cursorCount = try reader.length()
      if cursorCount > 0 { rule.cursor = Array(try reader.bytes(cursorCount)) }
      rules.append(rule)
    }
  }

  /// The record of the same policies for an empty expiration table: every walk starts again.
  static func begunAnew(_ record: [UInt8]) throws -> [UInt8] {
    var rules = try record.withUnsafeBytes { try TTLPolicies(parsing: $0) }
    for index in rules.rules.indices {
      rules.rules[index].previous = nil
      rules.rules[index].cursor = [0]
    }
    return rules.encoded()
  }

  private static func field(from reader: inout ByteCursor) throws(Status) -> FieldSegments? {
    let field = try FieldSegments(decoding: &reader)
    return field.names.isEmpty ? nil : field
  }

  func encoded() -> [UInt8] {
    RecordFrame.record(under: Self.key) { record in
      for rule in rules {
        record.append(lengthPrefixed: rule.collectionID.utf8)
        for field in [rule.field, rule.previous] { record.append(namesOf: field) }
        record.append(lengthPrefixed: rule.cursor ?? [])
      }
    }
  }
}
