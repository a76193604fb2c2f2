internal import LMDB

/// A document's path and its key, so that neither is made twice.
struct DocumentName: Hashable, Sendable {
  let path: ResourcePath
  let key: TruncatedKey

  init(_ path: ResourcePath, limit: KeyLimit) {
    self.path = path
    key = limit.documentKey(path)
  }

  static func == (lhs: DocumentName, rhs: DocumentName) -> Bool {
    lhs.key.bytes == rhs.key.bytes && (!lhs.key.isTruncated || lhs.path == rhs.path)
  }

  func hash(into hasher: inout Hasher) {
    key.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }
}
