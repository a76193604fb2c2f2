/// A stored document's name, computed on demand: most readers need only the fields.
package enum StoredName {
  case path(ResourcePath)
  /// The document's key, which is not truncated. Borrowed, like the keys it belongs to.
  case key(UnsafeRawBufferPointer, of: Unmanaged<CollectionKeys>)

  package var path: ResourcePath {
    get throws(Status) {
      switch self {
      case .path(let path): return path
      case .key(let key, let keys):
        let keys = keys.takeUnretainedValue()
        return try KeyLayout.documentPath(fromKey: key, in: keys.collection, keys.prefixCount)
      }
    }
  }
}

/// The keys of one collection's documents.
package final class CollectionKeys: Sendable {
  let collection: ResourcePath
  /// The length of their common prefix, in bytes.
  let prefixCount: Int

  init(of collection: ResourcePath) {
    self.collection = collection
    prefixCount = KeyLayout.collectionPrefix(collection).count
  }
}
