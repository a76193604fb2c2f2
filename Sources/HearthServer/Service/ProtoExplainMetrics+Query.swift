#if Server
  import FirestoreProtocol
  import HearthEngine
  import SwiftProtobuf

  extension ProtoExplainMetrics {
    /// How a query is answered and, if it was measured, what that cost, in the form of Firestore's explain metrics.
    init(of query: StructuredQuery, _ execution: QueryExplanation.Execution? = nil) {
      self.init()
      planSummary.indexesUsed = [
        .with {
          $0.fields = [
            "query_scope": .init(stringValue: query.scopeName),
            "properties": .init(stringValue: query.indexProperties),
          ]
        }
      ]
      if let execution { executionStats = .init(execution) }
    }
  }

  extension ProtoExecutionStats {
    fileprivate init(_ execution: QueryExplanation.Execution) {
      self.init()
      let (seconds, attoseconds) = execution.duration.components
      executionDuration = .init(
        seconds: seconds, nanos: Int32(max(attoseconds / 1_000_000_000, 1)))
      resultsReturned = Int64(execution.resultsReturned)
      readOperations = max(resultsReturned, 1)
      debugStats.fields = [
        "documents_scanned": .init(stringValue: "\(execution.documentsRead)"),
        "index_entries_scanned": .init(
          stringValue: "\(execution.indexEntriesRead + execution.keysRead)"),
        "billing_details": .init(
          structValue: .init(fields: [
            "documents_billable": .init(stringValue: "\(execution.resultsReturned)"),
            "index_entries_billable": .init(stringValue: "0"),
            "small_ops": .init(stringValue: "0"),
            "min_query_cost": .init(stringValue: "0"),
          ])),
      ]
    }
  }

  extension StructuredQuery {
    fileprivate var scopeName: String {
      switch scope {
      case .collection: "Collection"
      case .group, .subtree: "Collection group"
      }
    }

    /// The properties of the index that Firestore would use: those with an equality, then the
    /// orders.
    fileprivate var indexProperties: String {
      let orders = effectiveOrders
      var equal: [FieldSegments] = []
      for comparison in comparisons
      where comparison.isEquality && !equal.contains(comparison.field)
        && !orders.contains(where: { $0.field == comparison.field })
      {
        equal.append(comparison.field)
      }
      var properties = equal.sorted().map { "\($0.canonicalText) ASC" }
      properties += orders.map { "\($0.field.canonicalText) \($0.isDescending ? "DESC" : "ASC")" }
      if let property = question.indexProperty { properties.append(property) }
      return "(\(properties.joined(separator: ", ")))"
    }
  }
#endif
