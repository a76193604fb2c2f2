import Foundation

/// Documents that are deleted when their time has come.
extension Firestore {
  /// Has documents in all collections with this id expire at the time that one of their fields holds.
  ///
  ///     try await db.setExpiry(collectionID: "sessions", field: "expiresAt")
  ///
  /// A `Timestamp` in the past makes a document due; any other type never does. A document that is due stays
  /// readable until it is swept: every so often, see `FirestoreSettings.expirySweepInterval`. Its deletion is a
  /// change like any other, which listeners hear of; what lies below it stays. The rule is kept in the file and
  /// holds in every process. Returns when all documents that are there are counted in. Throws
  /// `invalidArgument` for a name that no collection or field has, and what writing throws.
  ///
  /// - Parameter field: A name or dotted path; nil for documents that do not expire any more.
  public func setExpiry(collectionID: String, field: String?) async throws {
    try await reporting {
      let backend = try file()
      try ResourcePath.check(collectionGroupID: collectionID)
      let segments = try field.map { field throws(Status) in
        let segments = try FieldSegments(dotted: field)
        try segments.checkNames()
        return segments
      }
      try await backend.setExpiry(collectionID, segments)
    }
  }

  /// The fields by which documents expire, by collection id. Throws `failedPrecondition` if two of the ids are one
  /// `String` to Swift and have other bytes: a dictionary cannot hold both, an export names them.
  public func expiryFields() async throws -> [String: String] {
    try reporting {
      var fields: [String: String] = [:]
      for rule in try file().expiryRules() {
        guard let field = rule.field else { continue }
        guard fields.updateValue(field.canonicalText, forKey: rule.collectionID) == nil else {
          throw Status(
            .failedPrecondition,
            "Two collection ids are one String to Swift, and have other bytes: \(rule.collectionID). A "
              + "dictionary cannot hold the rules of both.")
        }
      }
      return fields
    }
  }

  /// Deletes every document whose time has come, without waiting for the next sweep. Returns their number.
  @discardableResult
  public func deleteExpiredDocuments() async throws -> Int {
    try await reporting { try await file().deleteExpiredDocuments() }
  }
}
