/// The references between documents of a database, and the rules for them.
///
/// A commit that deletes a document applies the rules in the same commit: all of it happens, or
/// nothing. Rules hold for every writer, in every process. Documents that a rule deletes or changes
/// are ordinary changes for listeners and in `Firestore.changes(since:)`. One commit changes at most
/// 10,000 documents by rules, and 64 MiB; beyond that it fails with `resourceExhausted`.
///
/// A rule demands that a document exists when a reference to it is stored only if its `mustExist` is
/// true. `danglingReferences(of:)` finds references to documents that do not exist.
public struct FirestoreReferences: Sendable {
  let firestore: Firestore

  /// Declares rules in addition to the existing ones. A rule replaces one for the same field and the
  /// same target that has another action or another `mustExist`.
  ///
  /// Returns when this is durable. Rules hold for all commits from then on. Until the index of the
  /// references is built, in the background, a deletion reads all documents of the rule's
  /// collections; see `FirestoreIndexes.waitUntilReady()`. Rules are listed, and exported, among the
  /// indexes.
  ///
  /// A rule with `mustExist` is verified in the background. If documents that are older than the rule
  /// refer to missing documents, the rule is invalid: `FirestoreIndexes.waitUntilReady()` throws
  /// `failedPrecondition`, and `FirestoreIndexes.list()` returns examples. Commits add no more of these.
  /// Change the documents, and declare the rule again, which verifies an invalid rule again.
  ///
  /// Throws `invalidArgument` for an invalid rule, and for two rules for the same field and
  /// target.
  public func declare(_ rules: FirestoreReferenceRule...) async throws { try await declare(rules) }

  /// Same as `declare(_:)` with the rules as arguments.
  public func declare(_ rules: [FirestoreReferenceRule]) async throws {
    try await reporting {
      try await firestore.database().backend.asIndexed().declare(rules.map { try $0.definition() })
    }
  }

  /// Drops rules. Ignores rules that do not exist.
  public func drop(_ rules: FirestoreReferenceRule...) async throws {
    try await reporting {
      try await firestore.database().backend.asIndexed().drop(rules.map { try $0.definition() })
    }
  }

  /// A reference to a document that does not exist.
  public struct DanglingReference: Hashable, Sendable {
    /// The document that has the reference.
    public var document: DocumentReference
    /// The document that does not exist.
    public var target: DocumentReference
  }

  /// Returns the references of a rule, declared or not, to documents that do not exist, in the order
  /// of the documents' paths.
  ///
  ///     for found in try await db.references.danglingReferences(of: rule) {
  ///       print(found.document.path, "refers to", found.target.path)
  ///     }
  ///
  /// Reads all documents of the rule's collections, 500 at a time. References that other tasks write
  /// meanwhile may be missing.
  ///
  /// - Parameters:
  ///   - rule: The field to check, and the collection that it is in.
  ///   - limit: Stops after that many.
  public func danglingReferences(
    of rule: FirestoreReferenceRule, limit: Int = 1000
  ) async throws -> [DanglingReference] {
    try await reporting {
      var found: [DanglingReference] = []
      try await forEachDangling(rule.definition()) { document, targets in
        for target in targets {
          found.append(
            DanglingReference(
              document: DocumentReference(firestore, document.path),
              target: DocumentReference(firestore, target)))
        }
        return found.count < limit
      }
      return Array(found.prefix(max(0, limit)))
    }
  }

  /// Does with each dangling reference what the rule would have done, and returns the number of
  /// documents that were changed or deleted. Throws `invalidArgument` for a rule with `.restrict`.
  ///
  /// Each document is repaired in a commit of its own, unless it, or a document that it refers to,
  /// has been written meanwhile.
  @discardableResult
  public func repair(_ rule: FirestoreReferenceRule) async throws -> Int {
    try await reporting {
      guard rule.action != .restrict else {
        throw Status.invalidArgument(
          "A rule that restricts deletions does not say what to do with dangling references.")
      }
      let definition = try rule.definition()
      let backend = try firestore.database().backend
      var count = 0
      try await forEachDangling(definition) { document, targets in
        if try await backend.isCommitted(definition.repair(of: document, without: targets)) {
          count += 1
        }
        return true
      }
      return count
    }
  }

  /// Calls `body` with each document that has dangling references, and the documents that do not
  /// exist, until it returns false.
  private func forEachDangling(
    _ definition: IndexDefinition,
    _ body: (StoredDocument, [ResourcePath]) async throws -> Bool
  ) async throws {
    let backend = try firestore.database().backend
    var page = definition.everyDocument
    page.limit = Self.pageSize
    while true {
      let documents = try await backend.read(.results(EffectiveQuery(page))).results
      let references = try documents.map { try definition.references(of: $0) }
      let targets = Array(Set(references.joined()))
      let missing = Set(
        zip(targets, try await backend.read(.documents(at: targets)).documents).filter {
          $0.1 == nil
        }.map(\.0))
      for (document, references) in zip(documents, references) {
        let dangling = references.filter(missing.contains)
        if !dangling.isEmpty, try await !body(document, dangling) { return }
      }
      guard documents.count == Self.pageSize, let last = documents.last else { return }
      page.start = StructuredQuery.Bound(values: [.reference(last.path)], isBefore: false)
    }
  }

  private static let pageSize = 500
}

extension Firestore {
  /// Declares rules for references, and finds references to documents that do not exist.
  public var references: FirestoreReferences { FirestoreReferences(firestore: self) }
}

extension Backend {
  /// Commits the mutations. Returns false if a precondition no longer holds.
  fileprivate func isCommitted(_ mutations: [Mutation]) async throws -> Bool {
    do {
      try await commit(mutations)
      return true
    } catch let status as Status
      where status.refusal != nil || [.aborted, .notFound].contains(status.code)
    {
      return false
    }
  }
}
