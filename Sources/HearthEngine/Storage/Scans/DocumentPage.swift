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
    var walk = try PrefixWalk([], of: tables.documents, in: lmdb, from: position)
    var byteCount = 0
    while try walk.advance() {
      let entry = StoredEntry(key: walk.cursor.key, record: walk.cursor.value)
      if page.documents.isEmpty, let position, entry.key.elementsEqual(position) { continue }
      let document = try copy(entry, path: path(of: entry))
      page.documents.append(document)
      byteCount += document.body.bytes.count
      if page.documents.count >= limits.count || byteCount >= limits.byteCount {
        page.next = Array(entry.key)
        break
      }
    }
    return page
  }
}
