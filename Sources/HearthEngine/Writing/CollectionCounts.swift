/// By how much the document counts of collections change in a group.
struct CollectionCounts {
  private(set) var changes: [(path: ResourcePath, change: Int64)] = []
  private var indexes: [ResourcePath: Int] = [:]
  /// Index of the last collection: documents of one collection often come together.
  private var latest = 0

  mutating func add(_ change: Int64, to document: ResourcePath) {
    if latest < changes.count, document.isDirectly(in: changes[latest].path) {
      changes[latest].change += change
      return
    }
    let collection = document.parent
    if let index = indexes[collection] {
      latest = index
      changes[index].change += change
      return
    }
    latest = changes.count
    indexes[collection] = latest
    changes.append((collection, change))
  }
}
