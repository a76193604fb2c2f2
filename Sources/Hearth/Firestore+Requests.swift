extension Firestore {
  /// Sets several documents, or deletes those without data, in one request: all or nothing. Returns
  /// when it is durable.
  package func commit(
    _ writes: [(document: DocumentReference, data: [String: Any]?)]
  ) async throws {
    try await reporting {
      let database = try database()
      let mutations = try writes.map { document, data in
        let name = try document.resolved().name
        guard let data else { return Mutation(name: name, operation: .delete) }
        let parsed = try ParsedSet(set: data, merge: nil, database: databaseIdentity)
        return try Mutation(setting: name, to: parsed)
      }
      _ = try await database.writer.commit(mutations)
    }
  }
}
