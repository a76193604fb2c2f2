internal import CXXHash
internal import LMDB

/// The expiration table: documents with a TTL, in the order in which they expire.
///
///     key    ┌─────────────────────────────┬────────────────────────────┬─────────┐
///            │ time, 8 bytes, as in keys   │ hash of the document's key │ ordinal │
///            └─────────────────────────────┴────────────────────────────┴─────────┘
///     value  frame ‖ the document's key, as it is stored
///
/// Documents with the same time and hash have different ordinals; lookups compare their keys.
///
/// On disk. Changing this changes the file format; see StorageLayout.md.
enum ExpirationTable {
  /// When the document expires: the timestamp in the field. Any other value never expires.
  static func time(
    in body: StoredBody, at field: FieldSegments?
  ) throws(Status) -> Instant? {
    guard let field, let value = try MapView(body: body).value(at: field) else { return nil }
    return try value.kind() == .timestamp ? try value.timestamp() : nil
  }

  static func time(fromKey key: UnsafeRawBufferPointer) throws(Status) -> Instant {
    guard key.count == 17 else {
      throw .dataLoss("An expiring document's key has the wrong length.")
    }
    var reader = KeyReader(key)
    return Instant(microseconds: Int64(bitPattern: try reader.readUInt64() ^ (1 << 63)))
  }

  static func documentKey(
    _ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
  ) throws(Status) -> UnsafeRawBufferPointer {
    let documentKey = try RecordFrame.payload(of: value, key: key)
    guard !documentKey.isEmpty else { throw .dataLoss("An expiring document has no key.") }
    return documentKey
  }

  /// An entry's key without the ordinal.
  static func prefix(_ time: Instant, _ document: [UInt8]) -> [UInt8] {
    var buffer = KeyBuffer()
    buffer.append(bigEndian: UInt64(bitPattern: time.microseconds) ^ (1 << 63))
    buffer.append(bigEndian: document.withUnsafeBytes { XXH3_64bits($0.baseAddress, $0.count) })
    return buffer.bytes
  }
}

/// The changes of the expiration table that follow from changed documents, planned before the first
/// put.
struct ExpirationChanges {
  /// A put, or a delete if the value is nil.
  private(set) var steps: [(key: [UInt8], value: [UInt8]?)] = []

  private let store: StoreSnapshot
  private let rules: TTLPolicies
  /// By the keys' prefix, then by key.
  private var planned: [[UInt8]: [[UInt8]: [UInt8]?]] = [:]

  init(_ store: StoreSnapshot, _ rules: TTLPolicies) {
    self.store = store
    self.rules = rules
  }

  /// There are no TTL policies: `change` need not be called.
  var isIdle: Bool { rules.rules.isEmpty }

  /// Takes a document's bodies before and after; nil if it does not exist.
  mutating func change(
    _ path: ResourcePath, key: [UInt8], from before: StoredBody?, to after: StoredBody?
  ) throws {
    guard let rule = rules[path.parent.id] else { return }
    let field = key.withUnsafeBytes { rule.field(forKey: $0) }
    try change(
      key: key, from: try before.flatMap { try ExpirationTable.time(in: $0, at: field) },
      to: try after.flatMap { try ExpirationTable.time(in: $0, at: field) })
  }

  mutating func change(key: [UInt8], from before: Instant?, to after: Instant?) throws {
    guard before != after else { return }
    if let before, let entry = try position(of: key, at: before).stored {
      plan(entry, nil)
    }
    guard let after else { return }
    let (stored, free) = try position(of: key, at: after)
    guard stored == nil else { return }
    guard let free else {
      throw Status(
        .resourceExhausted,
        "More than 256 documents that expire at one time share one hash; one of them cannot be stored."
      )
    }
    plan(free, RecordFrame.record(under: free) { $0 += key })
  }

  private mutating func plan(_ key: [UInt8], _ value: [UInt8]?) {
    planned[Array(key.dropLast()), default: [:]][key] = .some(value)
    steps.append((key, value))
  }

  /// The key of the document's entry, if it has one; otherwise the first free key, if any.
  private func position(
    of document: [UInt8], at time: Instant
  ) throws -> (stored: [UInt8]?, free: [UInt8]?) {
    let prefix = ExpirationTable.prefix(time, document)
    var entries = planned[prefix] ?? [:]
    var walk = try PrefixWalk(prefix, of: store.tables.expirations, in: store.lmdb)
    while try walk.advance() {
      let key = Array(walk.cursor.key)
      if entries[key] == nil { entries[key] = Array(walk.cursor.value) }
    }
    for case (let key, let value?) in entries
    where value.dropFirst(RecordFrame.byteCount).elementsEqual(document) {
      return (key, nil)
    }
    let free = (0...UInt8.max).lazy.map { prefix + [$0] }.first { (entries[$0] ?? nil) == nil }
    return (nil, free)
  }
}
