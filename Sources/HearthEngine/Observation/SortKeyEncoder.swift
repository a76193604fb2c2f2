/// Encodes the position of documents in a query's results as bytes.
///
///     key    first order's value, second's, …, path; each inverted where its order is descending
///
/// Law: comparing two keys as bytes is the same as comparing the documents by the query's orders.
/// No component is a prefix of another, so a cursor is compared with as many bytes as it has.
///
/// Use one for many documents: it learns where the fields are. Used by one thread at a time.
final class SortKeyEncoder {
  private var order: ResultOrder
  private var buffer = KeyBuffer(minimumCapacity: 64)
  /// The last keys: the materialized queries that share this ask one after another.
  private var recent: (document: StoredDocument, key: [UInt8]?)?
  private var recentBefore: (document: StoredDocument, key: [UInt8]?)?

  /// The table it belongs to; nil if it has only one user.
  private unowned let shared: SharedSortKeys?

  /// For effective orders, which end with the document's name.
  init(_ orders: [StructuredQuery.Order], among shared: SharedSortKeys? = nil) {
    self.shared = shared
    order = ResultOrder(orders)
  }

  /// Remembers the last two keys, of the versions before and after a change, until `forget`.
  func key(of document: StoredDocument) throws(Status) -> [UInt8]? {
    if document === recent?.document { return recent?.key }
    if document === recentBefore?.document { return recentBefore?.key }
    let key: [UInt8]? = try document.body.withView { body throws(Status) in
      try self.key(of: document.path, body)
    }
    if recent == nil { shared?.used.append(self) }
    recentBefore = recent
    recent = (document, key)
    return key
  }

  func forget() {
    recent = nil
    recentBefore = nil
  }

  /// Nil if the document lacks one of the fields that it must have: it is not in the result.
  private func key(of path: ResourcePath, _ body: MapView) throws(Status) -> [UInt8]? {
    buffer.removeAll()
    guard let values = try order.keys(of: body) else { return nil }
    for (index, field) in order.fields.enumerated() {
      guard let value = values.value(at: index) else { return nil }
      try buffer.append(value, descending: field.isDescending)
    }
    let start = buffer.count
    buffer.append(tag: .reference)
    buffer.append(path: path)
    if order.isNameDescending { buffer.invert(from: start) }
    return buffer.bytes
  }

  /// A cursor's position. The key of a document with the same values begins with the same bytes.
  func position(of bound: StructuredQuery.Bound) -> [UInt8] {
    buffer.removeAll()
    for (index, value) in bound.values.prefix(order.fields.count + 1).enumerated() {
      buffer.append(value, descending: order.isDescending(at: index))
    }
    return buffer.bytes
  }
}

/// One `SortKeyEncoder` for all materialized queries with the same order: a changed document's key
/// is computed once for all of them.
final class SharedSortKeys {
  private var table: [[StructuredQuery.Order]: (keys: SortKeyEncoder, users: Int)] = [:]
  /// The encoders that remember keys.
  fileprivate var used: [SortKeyEncoder] = []

  func take(_ orders: [StructuredQuery.Order]) -> SortKeyEncoder {
    let keys = table[orders]?.keys ?? SortKeyEncoder(orders, among: self)
    table[orders, default: (keys, 0)].users += 1
    return keys
  }

  func giveBack(_ orders: [StructuredQuery.Order]) {
    table[orders]?.users -= 1
    if table[orders]?.users == 0 { table[orders] = nil }
  }

  /// Releases the documents of a step that all materialized queries have applied.
  func forget() {
    for keys in used { keys.forget() }
    used.removeAll(keepingCapacity: true)
  }
}

/// A cursor, prepared for comparison with keys.
struct EncodedCursor {
  private let position: [UInt8]
  private let isBefore: Bool

  init(_ bound: StructuredQuery.Bound, _ keys: SortKeyEncoder) {
    position = keys.position(of: bound)
    isBefore = bound.isBefore
  }

  /// Whether a document with this key is after the cursor.
  func isBefore(_ key: [UInt8]) -> Bool {
    let order = order(of: key)
    return order > 0 || order == 0 && isBefore
  }

  /// Negative for a key before those of the documents with the cursor's values.
  private func order(of key: [UInt8]) -> Int {
    key.withUnsafeBytes { key in
      position.withUnsafeBytes {
        UTF8Order.compare(UnsafeRawBufferPointer(rebasing: key.prefix($0.count)), $0)
      }
    }
  }
}
