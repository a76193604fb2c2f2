#if Server
  import Foundation
  import HearthEngine

  /// The indexes that a server gives its databases, and asks its clients' queries to have.
  struct ServedIndexes: Sendable {
    /// The content of a `firestore.indexes.json`, which replaces the declared indexes of each
    /// database. Nil leaves them.
    var json: String?
    /// Whether a query that needs an index in Cloud Firestore is refused without it.
    var areRequired = false

    /// Throws `invalidArgument` for a text that is no JSON object.
    func check() throws(Status) {
      guard let json else { return }
      guard
        (try? JSONSerialization.jsonObject(with: Data(json.utf8))) is [String: Any]
      else {
        throw .invalidArgument("The indexes are not the content of a firestore.indexes.json.")
      }
    }

    /// Declares the indexes in a database, and builds them if queries are refused without.
    func prepare(_ backend: any StoreBackend) -> Task<Void, any Error>? {
      guard let json else { return nil }
      return Task {
        try await backend.declareOnly(thoseIn: json)
        if areRequired { try await backend.waitForIndexes() }
      }
    }
  }

  extension ServedDatabase {
    /// Throws `failedPrecondition` if indexes are required and the query lacks one. Cloud Firestore
    /// has an index of each field of a collection, and merges those for several equalities; a query
    /// that it answers with a merge of composite indexes needs an index of its own here.
    func checkIndexes(_ query: StructuredQuery) async throws {
      guard indexes.areRequired else { return }
      let isCollection = if case .collection = query.scope { true } else { false }
      let isMerged =
        query.comparisons.allSatisfy(\.isEquality)
        && query.effectiveOrders.allSatisfy(\.field.isDocumentID)
      if isCollection, isMerged, query.question.traits.contains(.ordered) { return }
      let request = ReadRequest.explanation(of: .results(EffectiveQuery(query)))
      let missing = try await backend.read(request).explanation
        .missingIndexes.filter { !isCollection || !Self.isSingleField($0) }
      guard missing.isEmpty else {
        throw Status(
          .failedPrecondition,
          "The query requires an index. Add it to firestore.indexes.json: "
            + missing.joined(separator: ", "))
      }
    }

    /// Whether an entry of a `firestore.indexes.json` is an override of one field.
    private static func isSingleField(_ json: String) -> Bool {
      let entry = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
      return entry?["fieldPath"] != nil
    }
  }
#endif
