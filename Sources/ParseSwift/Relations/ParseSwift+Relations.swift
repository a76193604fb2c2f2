import Hearth

extension ParseSwift {
  /// Checks the edges of a relation, which may have been written through Firestore's interface. Changes
  /// nothing, and returns the problems in the order of the edges' ids.
  ///
  ///     for problem in try await ParseSwift.checkRelation("authors", of: Book.self, to: Author.self) {
  ///       print(problem)
  ///     }
  ///
  /// Reads all edges, 200 from one state of the database at a time. Throws `ParseError`:
  /// `.invalidKeyName` for an invalid key, `.invalidClassName`, `.notInitialized`, and
  /// `.internalServer` if the database fails.
  public static func checkRelation<Parent: ParseObject, Child: ParseObject>(
    _ key: String, of parent: Parent.Type, to child: Child.Type
  ) async throws(ParseError) -> [RelationProblem] {
    try await reporting {
      try await RelationEdgeCheck(key, parent, child, firestore).problems(repaired: false)
    }
  }

  /// Repairs the edges of a relation, and returns the problems that there were. Each commit has up to
  /// 200 edges: call it again after it ended early. Throws as `checkRelation(_:of:to:)`, and
  /// `.exceededQuota` on a full disk.
  @discardableResult
  public static func repairRelation<Parent: ParseObject, Child: ParseObject>(
    _ key: String, of parent: Parent.Type, to child: Child.Type
  ) async throws(ParseError) -> [RelationProblem] {
    try await reporting {
      try await RelationEdgeCheck(key, parent, child, firestore).problems(repaired: true)
    }
  }
}

/// Walks through the edges of a relation in the order of their ids.
private struct RelationEdgeCheck: Sendable {
  private static let batchCount = 200

  let relation: RelationKey
  let ownerClass: String
  let relatedClass: String
  let firestore: Firestore

  init<Parent: ParseObject, Child: ParseObject>(
    _ key: String, _ parent: Parent.Type, _ child: Child.Type, _ firestore: Firestore
  ) throws {
    relation = try RelationKey(key, of: parent)
    ownerClass = try ObjectGraph.collection(parent)
    relatedClass = try ObjectGraph.collection(child)
    self.firestore = firestore
  }

  private typealias Batch = (problems: [RelationProblem], last: String?)

  func problems(repaired: Bool) async throws -> [RelationProblem] {
    var problems: [RelationProblem] = []
    var last: String?
    repeat {
      let start = last
      let batch =
        repaired
        ? try await firestore.write { try check(after: start, $0, $0) }
        : try await firestore.read { try check(after: start, $0, nil) }
      problems += batch.problems
      last = batch.last
    } while last != nil
    return problems
  }

  private func check(
    after start: String?, _ reader: ReadTransaction, _ writer: WriteTransaction?
  ) throws -> Batch {
    var query = relation.edges(in: firestore).order(by: .documentID())
    if let start { query = query.start(after: [start]) }
    let edges = try reader.getDocuments(query.limit(to: Self.batchCount)).documents
    var problems: [RelationProblem] = []
    for edge in edges {
      guard let kind = try problem(of: edge, reader) else { continue }
      problems.append(RelationProblem(path: edge.reference.path, kind: kind))
      guard let writer else { continue }
      try writer.deleteDocument(edge.reference)
      guard kind == .otherID, let proper = proper(edge) else { continue }
      if try !writer.getDocument(proper).exists {
        try writer.setData(edge.data(), forDocument: proper)
      }
    }
    return (problems, edges.count < Self.batchCount ? nil : edges.last?.documentID)
  }

  private func problem(
    of edge: QueryDocumentSnapshot, _ reader: ReadTransaction
  ) throws -> RelationProblem.Kind? {
    for (field, name) in [("owner", ownerClass), ("related", relatedClass)] {
      guard let object = edge[field] as? DocumentReference, object.parent.path == name else {
        return .noReference(field: field)
      }
      if try !reader.getDocument(object).exists { return .missingObject(field: field) }
    }
    return proper(edge)?.path == edge.reference.path ? nil : .otherID
  }

  /// The document that the edge would be if it was saved.
  private func proper(_ edge: QueryDocumentSnapshot) -> DocumentReference? {
    guard let owner = edge["owner"] as? DocumentReference,
      let related = edge["related"] as? DocumentReference
    else { return nil }
    return relation.edge(from: owner, to: related, in: firestore)
  }
}

/// A problem of an edge that was written by hand. See `ParseSwift.checkRelation(_:of:to:)`.
public struct RelationProblem: Hashable, Sendable, CustomStringConvertible {
  /// The kinds of problems, and what a repair does about them.
  public enum Kind: Hashable, Sendable {
    /// `owner` or `related` is not a reference to an object of its class. The edge is deleted.
    case noReference(field: String)
    /// The object does not exist. The edge is deleted.
    case missingObject(field: String)
    /// The id of the edge does not follow from its two objects, so that saving the relation again would
    /// relate them twice. The edge gets its id, or is deleted if there is one with it.
    case otherID
  }

  /// The document of the edge, from the root of the database.
  public let path: String
  /// The kind of the problem.
  public let kind: Kind

  /// A sentence with the path.
  public var description: String {
    switch kind {
    case .noReference(let field): "\(path): \(field) refers to no object of its class."
    case .missingObject(let field): "\(path): the object of \(field) does not exist."
    case .otherID: "\(path): the id does not follow from the two objects."
    }
  }
}
