internal import LMDB

/// A part of all documents of a database: of a walk that others may write during.
///
/// A document that exists from the beginning of the walk to its end is in one of its pages, in a
/// version of that time.
package struct DocumentPage: Sendable {
  package var documents: [StoredDocument] = []
  /// The position after the last document; nil at the end of the walk.
  package var next: [UInt8]?
}

/// The limits of a page of documents or changes. A page has at least one of them if there is one, and ends
/// behind the first that exceeds a limit.
package struct PageLimits: Sendable, Hashable {
  package var count: Int
  /// The bytes of the bodies together. A server adds those of the names. Some backends ignore this limit.
  package var byteCount: Int

  package init(count: Int, byteCount: Int = 8 << 20) {
    self.count = count
    self.byteCount = byteCount
  }
}

extension StoreSnapshot {
  /// In the order of keys. A position is a key, of a document that may have been deleted since.
  func page(after position: [UInt8]?, _ limits: PageLimits) throws -> DocumentPage {
    var page = DocumentPage()
    var cursor = try lmdb.cursor(tables.documents)
    var isAtEntry: Bool
    if let position {
      isAtEntry = try position.withUnsafeBytes { try cursor.seek(to: $0) }
      if isAtEntry, position.elementsEqual(cursor.key) { isAtEntry = try cursor.next() }
    } else {
      isAtEntry = try cursor.first()
    }
    var byteCount = 0
    while isAtEntry {
      let entry = StoredEntry(key: cursor.key, record: cursor.value)
      let document = try copy(entry, path: path(of: entry))
      page.documents.append(document)
      byteCount += document.body.bytes.count
      if page.documents.count >= limits.count || byteCount >= limits.byteCount {
        page.next = Array(cursor.key)
        break
      }
      isAtEntry = try cursor.next()
    }
    return page
  }
}
