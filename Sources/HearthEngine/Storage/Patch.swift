/// A few documents in other versions than those that are stored: what is planned and not yet put.
struct Patch {
  /// Each document once; nil where it is not there.
  private(set) var versions: [(path: ResourcePath, document: StoredDocument?)] = []
  private var paths: Set<ResourcePath> = []

  var isEmpty: Bool { versions.isEmpty }
  var count: Int { versions.count }

  /// A document that the patch does not have yet.
  mutating func add(_ path: ResourcePath, _ document: StoredDocument?) {
    versions.append((path, document))
    paths.insert(path)
  }

  /// What is stored of this document does not count.
  func covers(_ path: ResourcePath) -> Bool { paths.contains(path) }
}
