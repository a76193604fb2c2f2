@testable import HearthEngine

extension Backend {
  /// Adds documents, also with names that only a server gives.
  func add(_ documents: [(path: ResourcePath, fields: MapValue)]) async throws {
    for start in stride(from: 0, to: documents.count, by: 200) {
      let mutations = try documents[start..<min(start + 200, documents.count)].map { document in
        Mutation(path: document.path, operation: try .set(encoding: document.fields))
      }
      try await commit(mutations, areChecked: true)
    }
  }
}
