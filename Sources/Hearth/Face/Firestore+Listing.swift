import Foundation

/// Reading several documents at once, and finding out what is there.
extension Firestore {
  /// Several documents as of one moment, in the order of `references`. Missing ones are told too.
  ///
  ///     let both = try await db.getAll([dune, emma])
  public func getAll(_ references: [DocumentReference]) async throws -> [DocumentSnapshot] {
    try await reporting {
      let paths = try references.map { try $0.path(in: self) }
      let found = try await database().backend.documents(at: paths)
      return zip(references, found).map { DocumentSnapshot($0, $1) }
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
    let backend = try database().backend
    let paths = try await backend.awaiting { backend.collections(below: path, .lent, $0) }
    return paths.map { CollectionReference(self, $0) }
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
      _ = try checked()
      let backend = try firestore.database().backend
      let paths = try await backend.awaiting {
        backend.documentPaths(in: resourcePath, .lent, $0)
      }
      return paths.map { DocumentReference(firestore, $0) }
    }
  }
}
