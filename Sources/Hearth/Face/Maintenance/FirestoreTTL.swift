import Foundation

/// TTL policies: documents that are deleted after a time that one of their fields holds.
///
///     try await db.ttl.setPolicy(collectionGroup: "sessions", field: "expiresAt")
///
/// The terms are those of Cloud Firestore's TTL policies.
public struct FirestoreTTL: Sendable {
  let firestore: Firestore

  /// Which field says when the documents of a collection group expire.
  public struct Policy: Sendable, Hashable {
    /// The id of the collections.
    public let collectionGroup: String
    /// A name or dotted path.
    public let field: String
  }

  /// Sets the policy of all collections with this id, in place of an earlier one.
  ///
  /// A document expires when the field holds a `Timestamp` in the past; with any other type, or without the field, it
  /// never expires. An expired document can be read until it is deleted, which happens within
  /// `FirestoreSettings.ttlSweepInterval`. The deletion is a change like any other: listeners receive it, and documents
  /// below the deleted one stay. The policy is kept in the database and applies in every process.
  ///
  /// Returns when all existing documents are registered. Throws `invalidArgument` for a name that no collection or
  /// field can have, and what a commit throws.
  ///
  /// - Parameters:
  ///   - collectionGroup: The id of the collections.
  ///   - field: A name or dotted path.
  public func setPolicy(collectionGroup: String, field: String) async throws {
    try await set(collectionGroup, field)
  }

  /// Removes the policy of all collections with this id: their documents no longer expire. Throws as `setPolicy`.
  public func removePolicy(collectionGroup: String) async throws {
    try await set(collectionGroup, nil)
  }

  private func set(_ collectionID: String, _ field: String?) async throws {
    try await reporting {
      let backend = try firestore.expiring()
      try ResourcePath.check(collectionGroupID: collectionID)
      let segments = try field.map { field throws(Status) in
        let segments = try FieldSegments(dotted: field)
        try segments.checkNames()
        return segments
      }
      try await backend.setTTL(collectionID, segments)
    }
  }

  /// All policies, in the order of the UTF-8 bytes of the collection ids.
  public func policies() async throws -> [Policy] {
    try await reporting {
      try await firestore.expiring().ttlPolicies().compactMap { rule in
        rule.field.map { Policy(collectionGroup: rule.collectionID, field: $0.canonicalText) }
      }
    }
  }

  /// Deletes every expired document now. Returns the number of deleted documents.
  @discardableResult
  public func deleteExpired() async throws -> Int {
    try await reporting { try await firestore.expiring().deleteExpiredDocuments() }
  }
}

extension Firestore {
  /// The TTL policies of this database.
  public var ttl: FirestoreTTL { FirestoreTTL(firestore: self) }
}
