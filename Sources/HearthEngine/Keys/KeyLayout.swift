/// The map of every table and key. `StorageLayout.md` shows it with examples.
///
///     table         key                                              value
///     documents     collection id, path of the parent, document id   the document
///     collections   path of the collection                           number of documents
///     indexes       number of the index                              definition and state
///     entries       number of the index, [path of the parent,]       what the key cannot give back
///                   components, document id or path
///     changes       first sequence of the record                     the record
///     logIndex      collection id, path of the parent, first         further records of the log with changes
///                   sequence of a record                             of the collection
///     tombstones    as in documents                                  sequence of the deletion
///     due           when, hash of the document's key, ordinal        the document's key
///     meta          a name                                           depends on the name
///
/// Keys of documents, collections and entries are cut to the limit (`KeyLimit`); a value whose key
/// may be cut also holds what the key stands for.
enum KeyLayout {
  /// On disk: the names of the tables.
  enum Table: String, CaseIterable, Sendable {
    case documents, collections, changes, tombstones, due, indexes, entries, shapes, logIndex, meta

    /// The version of the format that began to have it.
    var firstFormat: UInt8 {
      switch self {
      case .shapes: 2
      case .logIndex: 3
      default: 1
      }
    }
  }

  /// The smallest bytes that are greater than everything beginning with `prefix`; nil is the end
  /// of the table.
  static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
    guard let last = prefix.lastIndex(where: { $0 != 0xFF }) else { return nil }
    var end = Array(prefix[...last])
    end[last] += 1
    return end
  }

  private static func key(_ build: (inout KeyBuffer) -> Void) -> [UInt8] {
    var buffer = KeyBuffer()
    build(&buffer)
    return buffer.bytes
  }
}

// MARK: - Documents

/// Where a document is stored.
///
///     books/dune            books 00 │ 00                    │ dune 00
///     books/dune/pages/7    pages 00 │ books 00 dune 00 00   │ 7 00
///
/// A collection is one range, in the order of ids. So is a collection group, in the order of
/// parents and then of ids: documents of one group where none lies below another are in the order
/// of their paths.
struct DocumentKey: Hashable, Sendable {
  let bytes: [UInt8]
  /// The bytes do not tell the path, nor the order within a run; and two documents may have the
  /// same, until storage gives one of them another ordinal.
  let isCut: Bool

  init(_ path: ResourcePath, limit: KeyLimit = .standard) {
    var buffer = KeyBuffer()
    buffer.append(documentKey: path)
    (bytes, isCut) = limit.cut(buffer.buffer)
  }

  /// A key as it was stored.
  init(stored bytes: [UInt8], limit: KeyLimit = .standard) {
    self.bytes = bytes
    isCut = limit.isCut(bytes)
  }
}

extension KeyBuffer {
  /// The full key: not cut.
  mutating func append(documentKey path: ResourcePath) {
    precondition(path.isDocument, "Only documents have document keys.")
    append(collectionPrefix: path.segments.dropLast())
    append(id: path.id)
  }

  mutating func append(collectionPrefix path: ResourcePath) {
    precondition(path.isCollection, "Only collections have documents.")
    append(collectionPrefix: path.segments[...])
  }

  private mutating func append(collectionPrefix ids: ArraySlice<String>) {
    for id in ids.suffix(1) { append(id: id) }
    for id in ids.dropLast() { append(id: id) }
    appendTerminator()
  }
}

extension KeyLayout {
  /// What the full keys of a collection's documents begin with.
  static func collectionPrefix(_ collection: ResourcePath) -> [UInt8] {
    key { $0.append(collectionPrefix: collection) }
  }

  /// What the full keys of all documents in collections of this id begin with.
  static func groupPrefix(_ collectionID: String) -> [UInt8] {
    key { $0.append(id: collectionID) }
  }

  /// Of a key that is not cut and begins with the collection's prefix, of `prefixCount` bytes.
  static func documentPath(
    fromKey bytes: UnsafeRawBufferPointer, in collection: ResourcePath, _ prefixCount: Int
  ) throws(Status) -> ResourcePath {
    guard bytes.count >= prefixCount else { throw .dataLoss("A stored key ends too early.") }
    var reader = KeyReader(UnsafeRawBufferPointer(rebasing: bytes[prefixCount...]))
    let path = collection.appending(try reader.readID())
    try reader.expectEnd()
    return path
  }

  /// Nil when the key is cut.
  static func documentPath(
    fromKey bytes: UnsafeRawBufferPointer, limit: KeyLimit = .standard
  ) throws(Status) -> ResourcePath? {
    guard !limit.isCut(bytes) else { return nil }
    var reader = KeyReader(bytes)
    let collectionID = try reader.readID()
    var path = try reader.readPath()
    path.segments.append(collectionID)
    path.segments.append(try reader.readID())
    try reader.expectEnd()
    guard path.isDocument else {
      throw .dataLoss("A stored key is not that of a document: \(path.text)")
    }
    return path
  }
}

// MARK: - Collections

/// The catalogue names every collection that has documents, in pre-order.
///
///     books               books 00 00
///     books/dune/pages    books 00 dune 00 pages 00 00
extension KeyLayout {
  /// The full key: not cut.
  static func catalogueKey(_ collection: ResourcePath) -> [UInt8] {
    precondition(collection.isCollection, "Only collections are in the catalogue.")
    return key { $0.append(path: collection) }
  }

  /// What the full keys of all collections below a document, or of all (the root), begin with; of a
  /// collection, those of it and of all below its documents.
  static func cataloguePrefix(below path: ResourcePath) -> [UInt8] {
    key { $0.appendIDs(of: path) }
  }

  /// Nil when the key is cut.
  static func collectionPath(
    fromKey bytes: UnsafeRawBufferPointer, limit: KeyLimit = .standard
  ) throws(Status) -> ResourcePath? {
    guard !limit.isCut(bytes) else { return nil }
    var reader = KeyReader(bytes)
    let path = try reader.readPath()
    try reader.expectEnd()
    guard path.isCollection else {
      throw .dataLoss("A stored key is not that of a collection: \(path.text)")
    }
    return path
  }
}

extension KeyLimit {
  /// The stored form of a collection's key, with ordinal 0.
  func catalogueKey(_ collection: ResourcePath) -> TruncatedKey {
    KeyLayout.catalogueKey(collection).withUnsafeBytes { cut($0) }
  }
}

// MARK: - Index entries

/// An entry's components stand between these two: values, each as `append(_:descending:)` has it.
///
///     collection scope    index, path of the parent │ components │ document id
///     group scope         index                     │ components │ document path
///
/// Ties come out in the order of names.
extension KeyBuffer {
  /// `parent`, the path of the collection's parent, for an index of collection scope.
  mutating func append(entryPrefix index: UInt32, parent: ResourcePath?) {
    append(index: index)
    if let parent { append(path: parent) }
  }

  /// As it begins every entry of this document.
  mutating func append(entryPrefix index: UInt32, of document: ResourcePath, isGroup: Bool) {
    append(index: index)
    if isGroup { return }
    for id in document.segments.dropLast(2) { append(id: id) }
    append(byte: KeyByte.terminator)
  }

  mutating func append(entryName path: ResourcePath, isGroup: Bool) {
    if isGroup { append(path: path) } else { append(id: path.id) }
  }

  /// One byte up to 239; from there on `F0`…`F3`, and one to four bytes, big-endian.
  mutating func append(index: UInt32) {
    guard index >= KeyByte.longIndex else { return append(byte: UInt8(index)) }
    let count = (39 - index.leadingZeroBitCount) / 8
    append(byte: KeyByte.longIndex + UInt8(count - 1))
    for place in (0..<count).reversed() {
      append(byte: UInt8(truncatingIfNeeded: index >> UInt32(8 * place)))
    }
  }
}

// MARK: - Changes, and other numbers

extension KeyLayout {
  /// Big-endian, so that a scan follows the sequence.
  static func sequenceKey(_ sequence: UInt64) -> [UInt8] { key { $0.append(bigEndian: sequence) } }

  static func sequence(fromKey bytes: UnsafeRawBufferPointer) throws(Status) -> UInt64 {
    var reader = KeyReader(bytes)
    let sequence = try reader.readUInt64()
    try reader.expectEnd()
    return sequence
  }

  static func indexKey(_ index: UInt32) -> [UInt8] { key { $0.append(index: index) } }

  static func index(fromKey bytes: UnsafeRawBufferPointer) throws(Status) -> UInt32 {
    var reader = KeyReader(bytes)
    let index = try reader.readIndex()
    try reader.expectEnd()
    return index
  }
}
