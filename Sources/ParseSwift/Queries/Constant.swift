import Foundation
import Hearth

/// A value of a constraint or an operation, which becomes one of a document when the database is known.
struct Constant: Sendable {
  private enum Content {
    /// Stored as it is.
    case plain(any Sendable)
    case pointer(any PointerValue)
    case encoded(@Sendable (ObjectGraph) throws -> Any)
  }

  private let content: Content

  init<Value: Encodable & Sendable>(_ value: Value) {
    if Self.isPlain(Value.self) {
      content = .plain(value)
    } else if let pointer = value as? any PointerValue {
      content = .pointer(pointer)
    } else {
      content = .encoded { try $0.stored(["": value])[""] ?? NSNull() }
    }
  }

  /// Whether encoding leaves the values of the type as they are.
  private static func isPlain<Value>(_ type: Value.Type) -> Bool {
    type == String.self || type == Int.self || type == Bool.self
  }

  /// Throws `ParseError` with `.missingObjectId` for an unsaved object.
  func stored(in firestore: Firestore) throws -> Any {
    switch content {
    case .plain(let value): return value
    case .pointer(let pointer): return try pointer.reference(in: firestore)
    case .encoded: return try stored(in: ObjectGraph(firestore))
    }
  }

  /// The same. The graph writes files that are not stored.
  func stored(in graph: ObjectGraph) throws -> Any {
    guard case .encoded(let encode) = content else { return try stored(in: graph.firestore) }
    let count = graph.count
    let stored = try encode(graph)
    guard graph.count == count else {
      throw ParseError(.missingObjectId, "An unsaved object equals no stored one.")
    }
    return stored
  }
}
