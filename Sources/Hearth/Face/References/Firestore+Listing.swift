import Foundation

/// Reading several documents at once, and listing collections and documents.
extension Firestore {
  /// Returns several documents as of one commit, in the order of `references`. Missing ones have
  /// `exists` false.
  ///
  ///     let both = try await db.getAll([dune, emma])
  ///
  /// Throws `invalidArgument` for an invalid reference or one of another database.
  public func getAll(_ references: [DocumentReference]) async throws -> [DocumentSnapshot] {
    try await reporting {
      let paths = try references.map { try $0.path(in: self) }
      let backend = try database().backend
      // On the thread of the answer: there may be many.
      return try await backend.awaiting { context, done in
        backend.read(
          .documents(at: paths), context,
          { answer throws(Status) in
            zip(references, try answer.documents).map { DocumentSnapshot($0, $1) }
          }, done)
      }
    }
  }

  /// Returns the collections at the root, in the order of their ids. Includes collections that have
  /// only deeper documents.
  public func listCollections() async throws -> [CollectionReference] {
    try await reporting { try await collections(below: .root) }
  }

  fileprivate func collections(
    below path: ResourcePath
  ) async throws -> [CollectionReference] {
    let paths = try await database().backend.read(.collections(below: path)).paths
    return paths.map { CollectionReference(self, $0) }
  }
}

extension DocumentReference {
  /// Returns the collections directly below this document, in the order of their ids. The document
  /// itself may be missing.
  public func listCollections() async throws -> [CollectionReference] {
    try await reporting {
      _ = try resolved()
      return try await firestore.collections(below: resourcePath)
    }
  }
}

extension CollectionReference {
  /// Returns the collection's documents, in the order of their ids. Includes documents that do not
  /// exist but have documents below them.
  public func listDocuments() async throws -> [DocumentReference] {
    try await reporting {
      _ = try checked()
      let backend = try firestore.database().backend
      return try await backend.awaiting { context, done in
        backend.read(
          .documentPaths(in: resourcePath), context,
          { [firestore] answer throws(Status) in
            try answer.paths.map { DocumentReference(firestore, $0) }
          }, done)
      }
    }
  }
}
