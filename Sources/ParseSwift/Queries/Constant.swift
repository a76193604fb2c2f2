import Foundation
import Hearth

/// A value of a constraint or an operation, which becomes one of a document when the database is known.
struct Constant: Sendable {
  private let encode: @Sendable (inout ObjectGraph) throws -> Any

  init<Value: Encodable & Sendable>(_ value: Value) {
    encode = { graph in
      let encoder = Firestore.Encoder()
      encoder.passthroughTypeResolver = PassthroughTypes.self
      return try graph.stored(encoder.encode(["": value])[""] ?? NSNull())
    }
  }

  /// Throws `ParseError` with `.missingObjectId` for an unsaved object.
  func stored(in firestore: Firestore) throws -> Any {
    var graph = ObjectGraph(firestore)
    return try stored(in: &graph)
  }

  /// The same. The graph writes files that are not stored.
  func stored(in graph: inout ObjectGraph) throws -> Any {
    let count = graph.documents.count
    let stored = try encode(&graph)
    guard graph.documents.count == count else {
      throw ParseError(.missingObjectId, "An unsaved object equals no stored one.")
    }
    return stored
  }
}
