/// Lists collections and documents, by the catalogue.
extension StoreSnapshot {
  /// The collections directly below a document or the root.
  func collections(below path: ResourcePath) throws -> [ResourcePath] {
    var found: [ResourcePath] = []
    let count = path.segments.count + 1
    let scan = try CatalogueScan(below: path, in: self)
    while let next = try scan.next()?.path {
      let collection = ResourcePath(Array(next.segments.prefix(count)))
      if found.last != collection { found.append(collection) }
      try scan.skip(below: collection)
    }
    return found
  }

  /// The documents of a collection, and those that do not exist but have documents below them.
  func documentPaths(in collection: ResourcePath) throws -> [ResourcePath] {
    var paths: Set<ResourcePath> = []
    let scan = try CollectionScan(collection, in: self)
    while let entry = try scan.nextEntry() { paths.insert(try scan.path(of: entry)) }
    let count = collection.segments.count + 1
    let catalogue = try CatalogueScan(below: collection, in: self)
    while let next = try catalogue.next()?.path {
      guard next.segments.count > count, next.hasPrefix(collection) else { continue }
      let document = ResourcePath(Array(next.segments.prefix(count)))
      paths.insert(document)
      try catalogue.skip(below: document)
    }
    return paths.sorted { ResourcePath.compare($0, $1) < 0 }
  }
}
