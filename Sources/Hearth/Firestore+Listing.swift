import Foundation

/// Reading several documents at once, and finding out what is there.
extension Firestore {
  /// Several documents as of one moment, in the order of `references`. Missing ones are told too.
  ///
  ///     let both = try await db.getAll([dune, emma])
  public func getAll(_ references: [DocumentReference]) async throws -> [DocumentSnapshot] {
    try await reporting {
      let database = try database()
      var names: [DocumentName] = []
      for reference in references {
        guard reference.firestore === self else {
          throw Status.invalidArgument(
            "Provided document reference is from a different Cloud Firestore instance.")
        }
        names.append(try reference.resolved().name)
      }
      for name in names { await database.writer.settle(.document(name.path)) }
      return try database.store.read { snapshot in
        try zip(references, names).map {
          DocumentSnapshot($0, try snapshot.document($1))
        }
      }
    }
  }

  /// The collections at the root, in the order of their ids. One that only leads to deeper ones is
  /// there too.
  public func listCollections() async throws -> [CollectionReference] {
    try await reporting { try await collections(below: .root) }
  }

  fileprivate func collections(
    below path: ResourcePath
  ) async throws -> [CollectionReference] {
    let database = try database()
    await database.writer.settle(.everything)
    return try database.store.read { try $0.collections(below: path) }
      .map { CollectionReference(self, $0) }
  }
}

extension DocumentReference {
  /// The collections directly below this document, in the order of their ids. The document itself
  /// need not exist.
  public func listCollections() async throws -> [CollectionReference] {
    try await reporting {
      _ = try resolved()
      return try await firestore.collections(below: resourcePath)
    }
  }
}

extension CollectionReference {
  /// The collection's documents in the order of their ids, also those that do not exist but have
  /// documents below them.
  public func listDocuments() async throws -> [DocumentReference] {
    try await reporting {
      _ = try effective()
      let database = try firestore.database()
      await database.writer.settle(.everything)
      return try database.store.read { try $0.documentPaths(in: resourcePath) }
        .map { DocumentReference(firestore, $0) }
    }
  }
}

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

  /// The documents of a collection, and those that are only on the way to others.
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
